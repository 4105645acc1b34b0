import StrataModel
import StrataDocuments
import StrataExpressions

/// The rows of a table with their derived columns, for work that reads all of them: each record once.
struct RowReader {
  let context: WorkContext
  let source: RowSource
  /// The ranks of the rows in the index, if a filter has found them; nil for the whole range.
  let ranks: RowRanks?
  let datastore: any ReadableDatastore
  let index: any ReadableIndex
  let bounds: Range<Int>
  private let repeats: Bool
  private let hasAll: Bool
  /// The filter of rows whose ranks are not known yet.
  private let test: Filter?
  private let fields: DerivedFields

  /// - Parameter repeats: Whether a record is passed once for each of its entries, as a table shows it.
  init(
    _ source: RowSource, ranks: RowRanks?, at commit: CommitNumber, repeats: Bool = false,
    in context: WorkContext
  ) throws(ModelError) {
    self.context = context
    self.source = source
    self.ranks = ranks
    self.repeats = repeats
    datastore = try context.datastore(source.datastore, at: commit)
    index = try datastore.index(source.index)
    hasAll = try source.hasAll(of: datastore)
    bounds = try WorkContext.bounds(of: source.range, in: index)
    fields = DerivedFields(source, at: commit, in: context)
    test = try ranks == nil ? source.condition : nil
  }

  /// The number of rows to read.
  var total: Int { ranks?.count ?? bounds.count }

  /// Whether these are all records of the datastore.
  var isWhole: Bool { ranks == nil && test == nil && source.range == nil && hasAll }

  /// Passes the documents of the rows with their ranks to `body`; nil for a record that is not a document.
  ///
  /// - Parameters:
  ///   - limit: the largest number of rows to read.
  ///   - paths: the parts to read of a document.
  ///   - report: called with the number of rows read, every few hundred rows; throws to end the work.
  func forEach(
    limit: Int = .max, selecting paths: [DocumentPath] = [.root], report: ((Int) throws(ModelError) -> Void)? = nil,
    _ body: (Int, Document?) throws(ModelError) -> Void
  ) throws(ModelError) {
    let total = min(self.total, limit)
    let selection = DocumentSelection(test == nil && !source.derivesColumns ? paths : [.root])
    var batch: [(rank: Int, stored: Document?)] = []
    func step(_ read: Int) throws(ModelError) {
      try context.goOn()
      try fields.prepare(batch.map(\.stored))
      for (rank, stored) in batch {
        let document = try stored.map { document throws(ModelError) in try fields.adding(to: document) }
        if let test {
          guard let document, test.matches(document) else { continue }
        }
        try body(rank, document)
      }
      batch.removeAll(keepingCapacity: true)
      if let report { try report(read) } else { context.report(Progress(done: read, total: total)) }
    }
    if source.index == nil, ranks == nil {
      // In the order of the identifiers, records are stored one after the other.
      var cursor = try datastore.records(at: bounds.lowerBound..<bounds.lowerBound + total)
      var read = 0
      while try cursor.next() {
        if let record = try cursor.rawRecord() {
          batch.append((bounds.lowerBound + read, try? record.document(at: selection)))
        }
        read += 1
        if read.isMultiple(of: 512) { try step(read) }
      }
      return try step(read)
    }
    var seen: Set<StoredKey>? = index.descriptor.kind.hasManyValues && !repeats ? [] : nil
    for start in stride(from: 0, to: total, by: 256) {
      let places = start..<min(total, start + 256)
      let known = ranks.map { Array($0[places]) } ?? places.map { bounds.lowerBound + $0 }
      let rows = try context.entries(at: known, of: index)
      for (rank, entry) in rows where seen?.insert(entry.identifier).inserted != false {
        if let record = try datastore.record(entry.identifier) {
          batch.append((rank, try? record.document(at: selection)))
        }
      }
      try step(places.upperBound)
    }
  }
}
