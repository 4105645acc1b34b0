package import DatastoreModel

/// What is in the fields of a datastore; what is known so far comes as parts.
package struct DescribeRequest: Question, Hashable {
  package var datastore: String
  package var commit: CommitNumber

  package func reply(in context: WorkContext) throws(ModelError) -> DescribeReply {
    var reading = try DescriptionReading(context.datastore(datastore, at: commit))
    var next = 512
    while try reading.read(min(1_024, next)) {
      try context.goOn()
      var progress = Progress(done: reading.read, total: reading.total)
      if reading.read >= next {
        // Twice as much each time, so that all parts together cost what the last does.
        next *= 2
        progress.found = .part(
          PartialReply(
            number: reading.read, value: DescribeReply(request: self, description: try reading.description())))
      }
      context.report(progress)
    }
    return DescribeReply(request: self, description: try reading.description())
  }
}

package struct DescribeReply: Sendable {
  package var request: DescribeRequest
  package var description: DatastoreDescription
}
