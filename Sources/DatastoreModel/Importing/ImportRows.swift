import Documents
import StorageEngine

/// Makes the rows of a source into what is written of them. Needs no transaction, and so runs on a thread beside the writing one.
struct ImportRows: Sendable {
  let plan: ImportPlan
  let indexing: RecordIndexing

  /// A row as it is to be written.
  struct Prepared: Sendable {
    enum Content: Sendable {
      case record(Record)
      /// With the reason.
      case rejected(String)
    }

    var content: Content
    /// `FILE:LINE` or `FILE:LINE:COLUMN`.
    var place: String
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
    var rows: [Prepared] = []
    var error: ModelError?
  }

  /// How many batches may wait for the writer: enough that neither thread waits for each row of the other, and a few MB with records of
  /// some kilobytes.
  static let batchesAhead = 4
  private static let batchCount = 256
  /// A batch of large documents is handed over sooner.
  private static let batchBytes = 1 << 20

  /// Reads a source to its end, or until no more is wanted.
  func prepare(from source: inout some ImportSource, into queue: BoundedQueue<Batch>) {
    var batch = Batch()
    var size = 0
    do {
      while let row = try source.next() {
        let prepared = try prepare(row)
        if case .record(let record) = prepared.content { size += record.bytes.count }
        batch.rows.append(prepared)
        guard batch.rows.count >= Self.batchCount || size >= Self.batchBytes else { continue }
        if !queue.put(batch) { return }
        (batch, size) = (Batch(), 0)
      }
    } catch {
      batch.error = error
    }
    _ = queue.put(batch)
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
    let content = RecordContent(
      version: indexing.descriptor.version, bytes: try onDocument(indexing.descriptor.coding.encode(document)))
    let values = try indexing.values(of: content, document)
    try indexing.checkLengths(values, of: identifier)
    return Record(
      identifier: identifier, bytes: RecordBytes.make(version: content.version, content: content.bytes), values: values)
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
