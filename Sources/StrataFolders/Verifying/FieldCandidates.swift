import StrataDocuments
import StrataModel

/// Finds the field that an index's values come from, version by version.
///
/// The first entries of a version name the candidate fields; all other entries are tested on these.
struct FieldCandidates: Sendable {
  private let index: IndexDescriptor
  private var versions: [String: Version] = [:]

  private static let sampleSize = 64
  /// The number of entries that must follow a field before the others count against the index.
  private static let evidence = 20

  private struct Version: Sendable {
    var entryCount = 0
    var sampled = 0
    /// The number of entries that each field gives, and the first records for which it gives another value.
    var matches: [DocumentPath: Int] = [:]
    var misses: [DocumentPath: Sample] = [:]
    var hasValueBesideNull = false
  }

  init(_ index: IndexDescriptor) { self.index = index }

  /// Tests the value of an entry. Returns whether it is a date that the entry keeps inexactly.
  mutating func test(_ value: StoredKey, of document: Document, version: String, identifier: StoredKey) -> Bool {
    var state = versions[version] ?? Version()
    defer { versions[version] = state }
    state.entryCount += 1
    if value.value != .null { state.hasValueBesideNull = true }
    if state.sampled < Self.sampleSize, value.value != .null {
      for path in index.paths(to: value.bytes, in: document) where state.matches[path] == nil {
        state.matches[path] = 0
        // It gave another value in the entries before, or none.
        if state.entryCount > 1 { state.misses[path] = Sample(count: state.entryCount - 1) }
      }
      state.sampled += 1
    }
    for path in state.matches.keys {
      if Self.values(of: index, at: path, in: document).contains(value.bytes) {
        state.matches[path, default: 0] += 1
      } else {
        state.misses[path, default: Sample()].add(identifier)
      }
    }
    if case .date(let seconds) = value.value { return holdsInexactDate(near: seconds, in: document) }
    return false
  }

  var verdict: IndexAgreement.ValueSource {
    let told = versions.filter(\.value.hasValueBesideNull)
    guard !told.isEmpty, index.encoding.isByteOrdered, index.encoding != .date, index.encoding != .optional(.date)
    else {
      return .unknown
    }
    let followed = told.mapValues { version in Set(version.matches.filter { $0.value == version.entryCount }.keys) }
    let common = followed.values.dropFirst().reduce(followed.values.first ?? []) { $0.intersection($1) }
    if let path = preferred(common) { return .field(path) }
    if followed.count > 1, followed.values.allSatisfy({ !$0.isEmpty }) {
      return .fieldsByVersion(followed.compactMapValues { preferred($0) })
    }
    for version in told.values {
      for (path, matches) in version.matches {
        let misses = version.misses[path] ?? Sample()
        if matches >= Self.evidence, misses.count * 10 <= version.entryCount, !misses.isEmpty {
          return .contradicted(path, misses)
        }
      }
    }
    return .unknown
  }

  /// The field with the name of the index, or the first by name.
  private func preferred(_ paths: Set<DocumentPath>) -> DocumentPath? {
    paths.min { left, right in
      let names = (left.shortText == index.name, right.shortText == index.name)
      return names.0 != names.1 ? names.0 : left.description < right.description
    }
  }

  /// The keys that a field gives: itself, or each distinct element of a list.
  static func values(of index: IndexDescriptor, at path: DocumentPath, in document: Document) -> Set<[UInt8]> {
    var fields = [document[path]]
    if index.kind.hasManyValues {
      guard case .array(let elements)? = fields[0] else { return [] }
      fields = elements
    }
    let encoding = index.encoding
    return Set(fields.compactMap { field in encoding.keyValue(of: field).flatMap { try? encoding.encode($0) } })
  }

  /// Whether a record has a date that the entry keeps to the millisecond only. The original library reads back the same number for
  /// multiples of an eighth of a second. For other dates it computes another number than the record has, and never finds the entry again.
  private func holdsInexactDate(near seconds: Double, in document: Document) -> Bool {
    document.fields.contains { _, field in
      let date: Double
      switch field {
      case .date(let value): date = value
      case .number(let number): date = number.double
      default: return false
      }
      return abs(date - seconds) <= 0.001 && (date * 8).rounded() != date * 8
    }
  }
}
