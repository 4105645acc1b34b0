package import StrataModel

/// The commits of a history over time.
package struct CommitStripRequest: Question, Hashable {
  static let slot = WorkSlot(name: "strip", isSlow: true)
  package var scope: HistoryScope
  package var history: HistoryEdition
  package var parts: Int

  /// The number of commits in the scope, from the newest on, after which no further page is read.
  static let limit = 20_000

  /// Returns nil if there are no commits.
  package func reply(in context: WorkContext) throws(ModelError) -> CommitStrip? {
    var commits: [CommitDetails] = []
    var open = [history.head]
    while !open.isEmpty, commits.count < Self.limit {
      try context.goOn()
      let page = try context.store.commitPage(from: open, limit: 512, folded: true)
      commits +=
        scope.datastore.map { key in page.commits.filter { $0.changes.contains { $0.datastore == key } } }
        ?? page.commits
      open = page.next
    }
    return CommitStrip(commits, parts: parts)
  }
}
