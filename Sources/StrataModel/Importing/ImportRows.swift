package import StrataDocuments
import StrataEngine

/// Prepares the rows of a source for writing. Needs no transaction, and so runs on a thread beside the writing one.
struct ImportRows: Sendable {
  let plan: ImportPlan
  let indexing: RecordIndexing
  /// The parts that are read of each document: the examined fields, and the text to be stored.
  private let wanted: WantedParts
  /// The bytes before the content of each new record.
  private let head: [UInt8]
  /// Whether the rows are lines of `export --versions`.
  let hasVersions: Bool
  /// The columns of a table of cells; nil for documents.
  let columns: [DocumentPath]?
  /// The shape that new records must fit; nil if there is no stored record to learn it from.
  private let shape: StoredShape?

  init(plan: ImportPlan, indexing: RecordIndexing, survey: ImportSurvey, shape: StoredShape?) {
    self.plan = plan
    self.indexing = indexing
    self.shape = plan.version == nil ? shape : nil
    hasVersions = survey.hasVersions
    columns = survey.columns
    let isRead = hasVersions || plan.existing == .merged || shape?.hasVersions == true
    wanted =
      indexing.descriptor.coding == .json && !isRead
      ? .text(with: DocumentSelection([plan.identifier] + indexing.valuePaths)) : .all
    head = RecordBytes.head(version: plan.version ?? indexing.descriptor.version)
  }

  struct Prepared: Sendable {
    enum Content: Sendable {
      case record(Record)
      /// With the reason.
      case rejected(String)
    }

    var content: Content
    var place: SourcePlace
  }

  /// All encoded parts that are written for a document.
  struct Record: Sendable {
    var identifier: [UInt8]
    /// As in `RecordBytes`.
    var bytes: [UInt8]
    /// Per index, in the order of the descriptor's indexes; or why the row alone cannot be indexed. Merged over a stored record it may be,
    /// because it then has that record's fields.
    var values: Result<[[[UInt8]]], ModelError>
    /// Without the version tag.
    var content: [UInt8]
    /// The row's document; for a line of text only the examined parts.
    var document: Document
    /// The version that the row names.
    var version: String?
    /// Why the import cannot bring it as a new record.
    var refusal: String?
    /// The fields that the record which it replaces loses.
    var losses: [DocumentPath] = []
  }

  /// Some rows, and the error that ended the reading after them.
  struct Batch: Sendable {
    enum Rows: Sendable {
      case prepared([Prepared])
      /// As they were read, for the writer to prepare.
      case read([ImportRow])
    }

    var rows: Rows
    var error: ModelError?
  }

  /// How many batches may wait for the writer: enough that neither thread waits for each row of the other, and only a few MB if records
  /// have some kilobytes.
  static let batchesAhead = 4
  private static let batchCount = 256
  /// A batch of large documents is handed over sooner.
  private static let batchBytes = 1 << 20

  /// Reads a source to its end, or until no more rows are wanted. It also prepares the rows, unless the writer is idle: then the writer
  /// prepares them, and this thread reads on.
  func prepare(from source: inout some ImportSource, into queue: BoundedQueue<Batch>) {
    var isOver = false
    while !isOver {
      var batch: Batch
      do {
        let rows = try read(&source)
        isOver = rows.isEmpty
        batch = Batch(rows: queue.isEmpty ? .read(rows) : .prepared(try prepare(rows)))
      } catch {
        isOver = true
        batch = Batch(rows: .read([]), error: error)
      }
      if !queue.put(batch) { return }
    }
  }

  /// The next rows; none at the end.
  private func read(_ source: inout some ImportSource) throws(ModelError) -> [ImportRow] {
    var rows: [ImportRow] = []
    rows.reserveCapacity(Self.batchCount)
    var size = 0
    while rows.count < Self.batchCount, size < Self.batchBytes, let row = try source.next(wanted) {
      size += row.size
      rows.append(row)
    }
    return rows
  }

  func prepare(_ rows: [ImportRow]) throws(ModelError) -> [Prepared] {
    try rows.map { row throws(ModelError) in try prepare(row) }
  }

  private func prepare(_ row: ImportRow) throws(ModelError) -> Prepared {
    do {
      return Prepared(content: .record(try record(of: row)), place: row.place)
    } catch .refused(let reason) {
      return Prepared(content: .rejected(reason), place: row.place)
    } catch .invalid(_, _, let reason) {
      return Prepared(content: .rejected(reason), place: row.place)
    }
  }

  private func record(of row: ImportRow) throws(ModelError) -> Record {
    let found: Document
    switch row.content {
    case .document(let document): found = self.document(document, underKey: row.key)
    case .unreadable(let reason): throw .refused(reason: reason)
    }
    let line = hasVersions ? VersionedLine(found, plan.identifier) : nil
    let document = line?.value ?? found
    guard case .object = document else { throw .refused(reason: "\(document.typeName) and no object") }
    let identifier = try identifier(of: document)
    let bytes = if let text = row.text { text } else { try onDocument(indexing.descriptor.coding.encode(document)) }
    let version = line?.version
    let content = RecordContent(version: version ?? plan.version ?? indexing.descriptor.version, bytes: bytes)
    return Record(
      identifier: identifier, bytes: (version.map { RecordBytes.head(version: $0) } ?? head) + bytes,
      values: values(of: content, document, identifier), content: bytes, document: document, version: version,
      refusal: version == nil ? shape?.refusal(of: document) : nil)
  }

  /// Adds the identifier to a document if the source has it only as the document's key.
  func document(_ document: Document, underKey key: String?) -> Document {
    plan.document(document, underKey: key, asText: indexing.descriptor.identifierEncoding.isOfText)
  }

  private func values(
    of content: RecordContent, _ document: Document, _ identifier: [UInt8]
  ) -> Result<[[[UInt8]]], ModelError> {
    Result { () throws(ModelError) in
      let values = try indexing.values(of: content, document)
      try indexing.checkLengths(values, of: identifier)
      return values
    }
  }

  /// Returns a row merged over the stored record: with that record's version, with its values if a cell only spells them differently, and,
  /// if the plan merges, with the fields that the row does not have.
  func record(_ row: Record, over stored: RecordContent) throws(ModelError) -> Record {
    if stored == .damaged {
      guard plan.existing != .merged else {
        throw .refused(
          reason: "the stored record is damaged, so its other fields cannot be kept; --replace replaces all of it")
      }
      return row
    }
    var row = row
    let version = row.version ?? stored.version
    // The app's types read each version in its own way.
    var isEvaluated = indexing.format == nil
    var document = row.document
    if row.content != stored.bytes {
      let old = try indexing.document(of: stored)
      var new = row.document
      if let columns {
        new = try cells(new, columns, over: old, losses: &row.losses)
      } else if plan.existing == .merged {
        new = old.merged(with: new)
      } else {
        // Only parts of a line of text were read.
        new = try onDocument(indexing.descriptor.coding.document(of: row.content))
        row.losses = old.members.filter { $0.value != .null && new[member: $0.name] == nil }.map {
          DocumentPath([.member($0.name)])
        }
      }
      if columns != nil || plan.existing == .merged {
        row.content = try onDocument(indexing.descriptor.coding.encode(new, keeping: stored.bytes))
        (document, isEvaluated) = (new, false)
      }
    }
    if !isEvaluated {
      row.values = values(of: RecordContent(version: version, bytes: row.content), document, row.identifier)
    }
    row.bytes = RecordBytes.make(version: version, content: row.content)
    return row
  }

  /// Puts a row of cells over a record. A value stays as it is if an export of the record would write the same cell.
  private func cells(
    _ row: Document, _ columns: [DocumentPath], over old: Document, losses: inout [DocumentPath]
  ) throws(ModelError) -> Document {
    var new = old
    for column in columns {
      let (before, after) = (old[column], row[column] ?? .null)
      // An empty cell does not say whether it means an empty text or no text.
      let isSame =
        plan.types[column] == nil
        ? TableWriter.cell(before) ?? "" == TableWriter.cell(after) ?? "" : before == after
      if !isSame {
        new = try onDocument(new.setting(column, to: after))
      }
    }
    guard plan.existing != .merged else { return new }
    for (field, value) in old.fields where value != .null {
      guard let place = field.memberPath, !columns.contains(where: { $0.contains(place) || place.contains($0) }),
        new[place] != nil
      else { continue }
      losses.append(place)
      new = try onDocument(new.removing(place))
    }
    return new
  }

  func identifier(of document: Document) throws(ModelError) -> [UInt8] {
    let document = hasVersions ? VersionedLine(document, plan.identifier)?.value ?? document : document
    return try indexing.descriptor.identifierEncoding.identifier(of: document, at: plan.identifier)
  }
}

/// A line of `export --versions`: `{"id":1,"version":"2026-09-01","value":{"id":1,…}}`.
struct VersionedLine {
  let version: String
  let isText: Bool
  let value: Document

  /// Returns nil for any other document, and for one whose value has another identifier.
  init?(_ document: Document, _ identifier: DocumentPath) {
    guard case .object(let members) = document, members.count == 3, let id = document[member: "id"],
      let value = document[member: "value"], case .object = value, value[identifier] == id
    else { return nil }
    switch document[member: "version"] {
    case .string(let text)?: (version, isText) = (text, true)
    case .number(let number)?: (version, isText) = (number.text, false)
    default: return nil
    }
    self.value = value
  }

  /// Whether its version comes behind another one. Numbers are compared by their values, texts by their characters.
  func isNewer(than other: String) -> Bool {
    isText ? other < version : NumberText(unchecked: other).double < NumberText(unchecked: version).double
  }
}

extension TableSource {
  /// Returns the field that is the identifier in lines of `export --versions`, or nil if the first hundred documents are not such lines.
  package mutating func versionedIdentifier() throws(ModelError) -> DocumentPath? {
    try rewind()
    var names: [String]?
    for _ in 0..<100 {
      guard let row = try next(.all) else { break }
      guard case .document(let document) = row.content, document.members.count == 3,
        document[member: "version"] != nil, let id = document[member: "id"], let value = document[member: "value"]
      else { return nil }
      let equal = value.members.filter { $0.value == id }.map(\.name)
      names = names?.filter { equal.contains($0) } ?? equal
    }
    try rewind()
    return names?.first.map { DocumentPath([.member($0)]) }
  }

  /// Whether the first value at a path is a list.
  package mutating func hasList(at path: DocumentPath) throws(ModelError) -> Bool {
    try rewind()
    var value: Document?
    while value == nil || value == .null, let row = try next(.parts(DocumentSelection([path]))) {
      if case .document(let document) = row.content { value = document[path] }
    }
    try rewind()
    if case .array? = value { return true }
    return false
  }
}

extension Document {
  fileprivate var members: [Document.Member] { if case .object(let members) = self { members } else { [] } }

  /// Returns the document with the members of another one replacing its own, including those of nested objects.
  fileprivate func merged(with other: Document) -> Document {
    guard case .object(var members) = self, case .object(let changes) = other else { return other }
    for change in changes.lastOfEachName {
      if let index = members.lastIndex(where: { $0.name == change.name }) {
        members[index].value = members[index].value.merged(with: change.value)
      } else {
        members.append(change)
      }
    }
    return .object(members)
  }
}

extension DocumentPath {
  /// The path up to the first list.
  fileprivate var memberPath: DocumentPath? {
    let members = components.prefix { if case .member = $0 { true } else { false } }
    return members.isEmpty ? nil : DocumentPath(Array(members))
  }
}
