import StrataModel
import StrataDocuments

/// Columns with fields of the record to which a field leads: `countrycode name, population` shows `Country.name` and
/// `Country.population`.
struct Join: Hashable, Sendable {
  /// As it is typed and kept.
  let text: String
  /// The first part of the columns' names.
  let name: String
  /// The field that leads to the other record.
  let field: DocumentPath
  /// The datastore of the other record.
  let target: String
  /// The shown fields of the other record; their last parts end the columns' names.
  let fields: [DocumentPath]

  /// The largest number of fields, which is the largest number of an object's members that have columns of their own.
  static let limit = 8

  var path: DocumentPath { DocumentPath([.member(name)]) }
  var columns: [DocumentPath] { fields.map { path.appending($0.components.lastMember ?? "") } }
  /// The remedy if another column has the name.
  var otherName: String { "NAME = \(text) gives another name" }

  /// Reads `FIELD FIELD, …` or `NAME = FIELD FIELD, …`; without a name the columns have that of the target.
  ///
  /// - Parameter source: The rows with the columns that are derived already, which lead nowhere.
  init(
    parsing text: String, of descriptor: DatastoreDescriptor, _ naming: Naming, beside source: RowSource? = nil
  ) throws(ModelError) {
    self.text = text.trimmed
    let (given, rest) = text.splitOutsideQuotes(at: "=") ?? ("", text.trimmed)
    let lead = rest.words.first ?? ""
    func refuse(_ word: some StringProtocol, _ reason: String) -> ModelError {
      let place = text.firstRange(of: String(word)).map { text.distance(from: text.startIndex, to: $0.lowerBound) } ?? 0
      return .invalid(text: text, column: place + 1, reason: reason)
    }
    field = try WorkContext.path(lead)
    if source?.derives([field]) == true {
      throw refuse(lead, "\(field.shortText) is a derived column; a join follows a field of the record itself")
    }
    guard let target = naming.fields(of: descriptor).target(of: field) else {
      throw refuse(lead, "\(field.shortText) leads to no datastore; :reference \(field.shortText) DATASTORE says where")
    }
    self.target = target
    name = given.isEmpty ? target : given
    var fields: [DocumentPath] = []
    for part in RecordQuery.names(in: String(rest.dropFirst(lead.count))) where !part.isEmpty {
      let path = try WorkContext.path(part)
      guard !fields.contains(where: { $0.components.lastMember == path.components.lastMember }) else {
        throw refuse(part, "\(part) is there already")
      }
      fields.append(path)
    }
    guard (1...Self.limit).contains(fields.count) else {
      throw refuse(lead, "from one to \(Self.limit) fields of \(target) follow, as in \(lead) name, population")
    }
    self.fields = fields
  }
}

/// The joined and computed fields of a table's records, as one piece of work reads them. Each record that is joined is read once, and those
/// of a batch of rows in the order of their identifiers, so that each node of the tree is read once a batch.
final class DerivedFields {
  private let source: RowSource
  private let context: WorkContext
  private let targets: LabelReader
  private var known: [Reference: [Document]] = [:]

  private struct Reference: Hashable {
    var join: Int
    var value: Document
  }

  /// The length of the kept fields as JSON, of each record at least that of a small one.
  private var knownBytes = 0

  private static let mostBytes = 8 << 20
  private static let leastOfRecord = 64

  init(_ source: RowSource, at commit: CommitNumber, in context: WorkContext) {
    (self.source, self.context) = (source, context)
    targets = LabelReader(context: context, commit: commit, naming: Naming())
  }

  /// Returns a record with its joined fields, then its computed ones. A field is null if the record that the value names, or the field in
  /// it, is missing.
  func adding(to document: Document) throws(ModelError) -> Document { source.adding(to: try joining(document)) }

  func cells(of document: Document) throws(ModelError) -> [(path: String, value: ValueText)] {
    source.cells(of: try joining(document))
  }

  /// Reads the joined records of a batch of rows that is processed next.
  func prepare(_ documents: [Document?]) throws(ModelError) {
    for (number, join) in source.joined.enumerated() {
      guard let datastore = try targets.datastore(join.target) else { continue }
      var wanted: [StoredKey: Document] = [:]
      for value in documents.compactMap({ $0?[join.field] }) where known[Reference(join: number, value: value)] == nil {
        if let identifier = datastore.identifier(namedBy: value) { wanted[identifier] = value }
      }
      let sorted = wanted.keys.sorted { $0.bytes.precedes($1.bytes) }
      for start in stride(from: 0, to: sorted.count, by: Self.batch) {
        do throws(ModelError) {
          try read(sorted[start..<min(sorted.count, start + Self.batch)], wanted, of: number, in: datastore)
        } catch {
          // The damaged record is met again by the row that leads to it.
          guard error.exitStatus == 3 else { throw error }
        }
      }
    }
  }

  /// Records that lie close together are read as they lie; the others are looked up when their row is shown.
  private func read(
    _ keys: ArraySlice<StoredKey>, _ wanted: [StoredKey: Document], of number: Int, in datastore: any ReadableDatastore
  ) throws(ModelError) {
    guard let first = keys.first, let last = keys.last, keys.count > 1,
      let lowest = try datastore.primary.rank(of: first, value: nil),
      let highest = try datastore.primary.rank(of: last, value: nil),
      lowest..<lowest + Self.distance * keys.count ~= highest
    else { return }
    var records = try datastore.records(at: lowest..<highest + 1)
    while try records.next() {
      guard let value = wanted[try records.identifier] else { continue }
      keep(try records.rawRecord().flatMap { try? $0.document() }, of: number, at: value)
    }
  }

  /// The records that are read together, and the records between two of them that are passed over.
  private static let (batch, distance) = (64, 8)

  private func joining(_ document: Document) throws(ModelError) -> Document {
    var whole = document
    for (number, join) in source.joined.enumerated() {
      let values = try values(of: number, at: document[join.field] ?? .null)
      let members = zip(join.fields, values).map { Document.Member($0.components.lastMember ?? "", $1) }
      whole = (try? whole.setting(join.path, to: .object(members))) ?? whole
    }
    return whole
  }

  private func values(of number: Int, at value: Document) throws(ModelError) -> [Document] {
    let (join, reference) = (source.joined[number], Reference(join: number, value: value))
    if let found = known[reference] { return found }
    var document: Document?
    if let datastore = try targets.datastore(join.target), let identifier = datastore.identifier(namedBy: value) {
      document = try context.reading(datastore).record(identifier).flatMap { try? $0.document() }
    }
    return keep(document, of: number, at: value)
  }

  /// Keeps the joined fields of a record, or null for each if there is none.
  @discardableResult
  private func keep(_ document: Document?, of number: Int, at value: Document) -> [Document] {
    let values = source.joined[number].fields.map { document?[$0] ?? .null }
    if knownBytes > Self.mostBytes { (known, knownBytes) = ([:], 0) }
    known[Reference(join: number, value: value)] = values
    knownBytes += max(Self.leastOfRecord, values.reduce(0) { $0 + $1.json(.compact).count })
    return values
  }
}

extension WorkContext {
  /// Returns a field of a join that no record of its target has.
  func unknownName(in join: Join, at commit: CommitNumber) throws(ModelError) -> UnknownName? {
    let query = RecordQuery(sort: join.fields.map { ($0, false) })
    return try query.unknownNames(in: datastore(join.target, at: commit)).first
  }
}

extension Browser {
  /// `FIELD FIELD, …` adds columns or changes them, `NAME` takes them away with the filter and the orders that need them.
  mutating func joinColumns(_ text: String) {
    guard let source = table.source, let descriptor = session.current?.descriptor else { return }
    let text = text.trimmed
    if let join = source.joined.first(where: { $0.name == text }) {
      var rest = source
      rest.joined.removeAll { $0 == join }
      keepDerived(of: rest, without: join.path)
      return session.say("the columns of \(text) are gone\(removeUses(of: join.path, made: join.text))")
    }
    guard text.contains(where: \.isWhitespace) else {
      let names = source.joined.map(\.name).joined(separator: ", ")
      return session.warn("nothing is joined as \(text)\(names.isEmpty ? "" : "; there are \(names)")")
    }
    do throws(ModelError) {
      let join = try Join(parsing: text, of: descriptor, session.naming, beside: source)
      let check = Inquiry { [shown = session.shown] context throws(ModelError) in
        try context.unknownName(in: join, at: shown)
      }
      session.start(.join, check) { $0.add(join, of: source.datastore, unknown: $1) }
    } catch { session.complain(error) }
  }

  private mutating func add(_ join: Join, of datastore: String, unknown: UnknownName?) {
    guard let source = table.source, source.datastore == datastore else { return }
    if let unknown { return session.warn("not joined: \(join.target) has \(unknown.sentence)") }
    if let other = source.joined.first(where: { $0.name == join.name && $0.field != join.field }) {
      return session.warn("\(other.field.shortText) is joined as \(join.name) already; \(join.otherName)")
    }
    do throws(ModelError) {
      var changed = source
      try changed.add(join, beside: table.columns)
      keepDerived(of: changed)
      table.soughtField = join.columns.first?.description
      session.say("joined: \(join.field.shortText) leads to \(join.target)")
    } catch { session.complain(error) }
  }
}
