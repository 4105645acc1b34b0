package import StrataModel

/// How the entries of an index, or the identifiers, are spread; see `Histogram`.
package struct HistogramRequest: Question, Hashable {
  package var datastore: String
  /// Nil is the order by identifier.
  package var index: String?
  package var commit: CommitNumber
  package var choice: Histogram.Choice
  package var bins: Int

  package func reply(in context: WorkContext) throws(ModelError) -> Histogram {
    let index = try context.datastore(datastore, at: commit).index(index)
    return try Histogram(of: index, choice: choice, bins: bins, goOn: context.goOn)
  }
}
