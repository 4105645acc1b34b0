package import StrataModel

/// Describes the fields of a table's rows; results so far are reported as partial replies.
package struct DescribeRequest: RowsQuestion, Hashable {
  package var source: RowSource
  package var commit: CommitNumber
  /// The rows of a filter, if they are known; nil for the whole range, through the filter.
  package var ranks: RowRanks?

  package func reply(in context: WorkContext) throws(ModelError) -> DatastoreDescription {
    let rows = try RowReader(source, ranks: ranks, at: commit, in: context)
    var fields = RowDescription()
    var next = 512
    func reply(_ read: Int) throws(ModelError) -> DatastoreDescription {
      let datastore = rows.isWhole ? rows.datastore : nil
      return try fields.description(of: read, rows.total, indexes: datastore, goOn: context.goOn)
    }
    try rows.forEach { read throws(ModelError) in
      var progress = Progress(done: read, total: rows.total)
      if read >= next, read < rows.total {
        // Reports after twice as many rows each time, so that all partial reports together cost as much as the last.
        next = read * 2
        progress.found = .part(PartialReply(number: read, value: try reply(read)))
      }
      context.report(progress)
    } _: { _, document in
      fields.see(document)
    }
    return try reply(rows.total)
  }
}
