import Documents
import StorageEngine

/// Makes the rows of a source into what is written of them. Needs no transaction, and so runs on a thread beside the writing one.
struct ImportRows: Sendable {
  let plan: ImportPlan
  let indexing: RecordIndexing
  /// What is read of each document: the fields that are looked at, and the text that is stored.
  private let wanted: WantedParts
  /// What stands before the content of each record.
  private let head: [UInt8]

  init(plan: ImportPlan, indexing: RecordIndexing) {
    self.plan = plan
    self.indexing = indexing
    wanted =
      indexing.descriptor.coding == .json
      ? .text(with: DocumentSelection([plan.identifier] + indexing.valuePaths)) : .all
    head = RecordBytes.head(version: indexing.descriptor.version)
  }

  /// A row as it is to be written.
  struct Prepared: Sendable {
    enum Content: Sendable {
      case record(Record)
      /// With the reason.
      case rejected(String)
    }

    var content: Content
    var place: SourcePlace
  }

  /// Everything that is written of a document, encoded.
  struct Record: Sendable {
    var identifier: [UInt8]
    /// As in `RecordBytes`.
    var bytes: [UInt8]
    /// Per index, in the order of the descriptor's indexes.
    var values: [[[UInt8]]]
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

  /// How many batches may wait for the writer: enough that neither thread waits for each row of the other, and a few MB with records of
  /// some kilobytes.
  static let batchesAhead = 4
  private static let batchCount = 256
  /// A batch of large documents is handed over sooner.
  private static let batchBytes = 1 << 20

  /// Reads a source to its end, or until no more is wanted. Prepares what it reads, but where the writer has nothing to do: then that one
  /// prepares the rows, and this thread reads on.
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
    var prepared: [Prepared] = []
    prepared.reserveCapacity(rows.count)
    for row in rows { prepared.append(try prepare(row)) }
    return prepared
  }

  private func prepare(_ row: ImportRow) throws(ModelError) -> Prepared {
    do {
      return Prepared(content: .record(try record(of: row)), place: row.place)
    } catch .refused(let reason) {
      return Prepared(content: .rejected(reason), place: row.place)
    } catch .invalid(_, _, let reason) {
      return Prepared(content: .rejected(reason), place: row.place)
    } catch {
      throw error
    }
  }

  private func record(of row: ImportRow) throws(ModelError) -> Record {
    let document: Document
    switch row.content {
    case .document(let found): document = plan.document(found, underKey: row.key)
    case .unreadable(let reason): throw .refused(reason: reason)
    }
    guard case .object = document else { throw .refused(reason: "\(document.typeName) and no object") }
    let identifier = try identifier(of: document)
    let bytes = if let text = row.text { text } else { try onDocument(indexing.descriptor.coding.encode(document)) }
    let content = RecordContent(version: indexing.descriptor.version, bytes: bytes)
    let values = try indexing.values(of: content, document)
    try indexing.checkLengths(values, of: identifier)
    return Record(
      identifier: identifier, bytes: head + content.bytes, values: values)
  }

  /// The encoded identifier of a document.
  func identifier(of document: Document) throws(ModelError) -> [UInt8] {
    let encoding = indexing.descriptor.identifierEncoding
    guard let field = document[plan.identifier], field != .null else {
      throw .refused(reason: "\(plan.identifier) is missing, which is the identifier")
    }
    guard let value = encoding.keyValue(of: field) else {
      throw .refused(
        reason: "the identifier \(plan.identifier) is \(field.shownInSentence), which is no \(encoding.name)")
    }
    return try encoding.encode(value)
  }
}
