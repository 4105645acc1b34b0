package import StrataDocuments
import StrataEngine

/// The shape of a datastore's records, learnt from all of them or from a sample of some thousand: the types of their fields, and the
/// members of each version.
struct StoredShape: Sendable {
  private static let sampleSize = 4_096
  private static let runs = 64

  private struct Version: Sendable {
    var count = 0
    /// For each member, the number of records that have it, and the types of its values.
    var members: [String: (count: Int, types: Set<CellType>)] = [:]
  }

  /// Includes fields within objects.
  private var types: [DocumentPath: Set<CellType>] = [:]
  /// The fields of which a value has a fraction.
  private var fractions: Set<DocumentPath> = []
  private var versions: [String: Version] = [:]
  /// Members that are the identifier in all records seen so far; nil before the first one.
  private var identifierNames: [String]?
  private let descriptor: DatastoreDescriptor

  init(_ datastore: EngineDatastore) throws(ModelError) {
    descriptor = datastore.descriptor
    let count = try datastore.count
    // Adjacent records are read in one walk, so a sample consists of runs of them.
    let runs = count <= Self.sampleSize ? 1 : Self.runs
    let width = count <= Self.sampleSize ? count : Self.sampleSize / runs
    for run in 0..<runs {
      let start = run * (count / runs)
      var records = datastore.records(at: start..<start + width)
      while try records.next() {
        guard let record = try? records.rawRecord(), let document = try? record.document() else { continue }
        see(document, at: .root)
        see(document, version: record.version)
        guard case .object(let members) = document, let identifier = try? records.identifier.value else { continue }
        let equal = members.filter { descriptor.identifierEncoding.keyValue(of: $0.value) == identifier }.map(\.name)
        identifierNames = identifierNames?.filter { equal.contains($0) } ?? equal
      }
    }
  }

  private mutating func see(_ document: Document, at path: DocumentPath) {
    if case .object(let members) = document {
      if !path.isRoot { types[path, default: []].insert(.json) }
      for member in members { see(member.value, at: path.appending(member.name)) }
    } else if let type = CellType(document) {
      types[path, default: []].insert(type)
      if case .number(let number) = document, !number.isInteger { fractions.insert(path) }
    }
  }

  private mutating func see(_ document: Document, version: String) {
    guard case .object(let members) = document else { return }
    var shape = versions[version] ?? Version()
    shape.count += 1
    for member in members.lastOfEachName {
      var known = shape.members[member.name] ?? (0, [])
      known.count += 1
      if let type = CellType(member.value) { known.types.insert(type) }
      shape.members[member.name] = known
    }
    versions[version] = shape
  }

  /// Whether records of several versions were found.
  var hasVersions: Bool { versions.keys.contains { $0 != descriptor.version } }

  /// Returns the rule for a column of cells, or nil if the records do not give one.
  func rule(of path: DocumentPath, isIdentifier: Bool) -> ColumnRule? {
    if isIdentifier {
      return descriptor.identifierEncoding.cellType.map {
        ColumnRule(type: $0, origin: "as the identifier of \(descriptor.key)")
      }
    }
    guard let types = types[path], types.count == 1, let type = types.first else { return nil }
    // Coders write 2.0 as 2. An index of the field has fractions, or refuses them itself.
    let isIndexed = descriptor.indexes.contains { $0.subjectPaths == [path] }
    let isWhole = type == .number && !isIndexed && !fractions.contains(path)
    return ColumnRule(
      type: isWhole ? .integer : type, origin: "in the records of \(descriptor.key)", isChangeable: true)
  }

  /// The field that is the identifier: the one in the descriptor, or the only field that is it in all examined records.
  var identifierField: DocumentPath? {
    get throws(ModelError) {
      if let path = descriptor.identifierPath { return try onDocument(DocumentPath(parsing: path)) }
      let names = identifierNames ?? []
      return names.count == 1 ? DocumentPath([.member(names[0])]) : nil
    }
  }

  /// Why a document cannot be a record of the newest version: its members do not match that version. Nil if it can be one.
  func refusal(of document: Document) -> String? {
    guard hasVersions, case .object(let members) = document, let reason = mismatch(members, descriptor.version) else {
      return nil
    }
    let older = versions.keys.sorted(by: >).first { mismatch(members, $0) == nil } ?? descriptor.version
    let claim = "as a new record of \(descriptor.key) it would have the newest version \(descriptor.version)"
    return "\(claim), and \(reason); --version \(older) gives it that version"
  }

  private func mismatch(_ members: [Document.Member], _ version: String) -> String? {
    guard let shape = versions[version] else { return "no record of that version was found to compare it with" }
    for (name, known) in shape.members.sorted(by: { $0.key < $1.key })
    where known.count == shape.count && !members.contains(where: { $0.name == name }) {
      return "it lacks \(name), which those have"
    }
    for member in members {
      guard let known = shape.members[member.name] else {
        if versions.values.contains(where: { $0.members[member.name] != nil }) {
          return "it has \(member.name), which only others have"
        }
        continue
      }
      if let type = CellType(member.value), known.types.count == 1, !known.types.contains(type) {
        return "\(member.name) is of another type than in those"
      }
    }
    return nil
  }
}

extension EngineStore {
  /// The shape of a datastore's records; nil if there is no such datastore.
  func shape(of datastore: String) throws(ModelError) -> StoredShape? {
    try view(engine.head).ownDatastore(datastore).map { present throws(ModelError) in try StoredShape(present) }
  }

  /// The field that is the identifier of a datastore's records; nil if there is none, or no such datastore.
  package func identifierField(of datastore: String) throws(ModelError) -> DocumentPath? {
    try shape(of: datastore)?.identifierField
  }
}

extension CellType {
  /// The type of a value; nil for null and for values that a cell cannot have.
  fileprivate init?(_ value: Document) {
    switch value {
    case .string: self = .text
    case .number: self = .number
    case .bool: self = .bool
    case .array, .object: self = .json
    case .null, .date, .data: return nil
    }
  }
}

extension KeyEncoding {
  var isOfText: Bool { cellType == .text }
  var isNumber: Bool { cellType == .integer || cellType == .number }
  /// Whether its keys are numbers that may have a fraction.
  package var hasFractions: Bool { cellType == .number }

  /// The type that a cell of such keys must have; nil if any type may do.
  fileprivate var cellType: CellType? {
    switch self {
    case .string, .uuid: .text
    case .integer, .unsigned: .integer
    case .double, .float, .decimal: .number
    case .bool: .bool
    case .compound: .json
    case .optional(let inner), .descending(let inner): inner.cellType
    case .data, .date, .duration, .comparator: nil
    }
  }
}
