package import StrataModel

/// How the entries of an index, or the identifiers, are spread; see `Histogram`.
package struct HistogramRequest: Question, Hashable {
  package var datastore: String
  /// Nil is the order by identifier.
  package var index: String?
  package var commit: CommitNumber
  package var choice: Histogram.Choice
  package var bins: Int

  package func reply(in context: WorkContext) throws(ModelError) -> HistogramReply {
    let index = try context.datastore(datastore, at: commit).index(index)
    return HistogramReply(
      request: self, histogram: try Histogram(of: index, choice: choice, bins: bins, goOn: context.goOn))
  }
}

package struct HistogramReply: Sendable, Equatable {
  package var request: HistogramRequest
  package var histogram: Histogram
}
