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
    var (read, next) = (0, 512)
    func reply(_ read: Int, goOn: () throws(ModelError) -> Void) throws(ModelError) -> DatastoreDescription {
      let datastore = rows.isWhole ? rows.datastore : nil
      return try fields.description(of: read, rows.total, indexes: datastore, goOn: goOn)
    }
    do throws(ModelError) {
      try rows.forEach { count throws(ModelError) in
        read = count
        var progress = Progress(done: read, total: rows.total)
        if read >= next, read < rows.total {
          // Reports after twice as many rows each time, so that all partial reports together cost as much as the last.
          next = read * 2
          progress.found = .part(PartialReply(number: read, value: try reply(read, goOn: context.goOn)))
        }
        context.report(progress)
      } _: { _, document in
        fields.see(document)
      }
    } catch {
      // The records that were read before the end are described.
      guard read > 0, read < rows.total else { throw error }
      let part = try reply(read) {}
      if error == .cancelled { return part }
      context.report(Progress(done: read, total: rows.total, found: .part(PartialReply(number: read, value: part))))
      throw error
    }
    return try reply(rows.total, goOn: context.goOn)
  }
}
