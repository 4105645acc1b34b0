package import DatastoreModel

/// What is in the fields of the rows that a table shows; what is known so far comes as parts.
package struct DescribeRequest: Question, Hashable {
  package var source: RowSource
  package var commit: CommitNumber
  /// The rows of a filter, where they are known; nil is the whole range, through the filter.
  package var ranks: [Int]?

  package func reply(in context: WorkContext) throws(ModelError) -> DescribeReply {
    let rows = try RowReader(source, ranks: ranks, at: commit, in: context)
    var fields = RowDescription()
    var next = 512
    func reply(_ read: Int) throws(ModelError) -> DescribeReply {
      let datastore = rows.isWhole ? rows.datastore : nil
      return DescribeReply(
        request: self,
        description: try fields.description(of: read, rows.total, indexes: datastore, goOn: context.goOn))
    }
    try rows.forEach { read throws(ModelError) in
      var progress = Progress(done: read, total: rows.total)
      if read >= next, read < rows.total {
        // Twice as much each time, so that all parts together cost what the last does.
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

package struct DescribeReply: Sendable {
  package var request: DescribeRequest
  package var description: DatastoreDescription
}
