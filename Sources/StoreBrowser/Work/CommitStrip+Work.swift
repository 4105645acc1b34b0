package import StrataModel

/// The commits of a history over time.
package struct CommitStripRequest: Question, Hashable {
  package var scope: HistoryScope
  package var newest: CommitNumber
  package var parts: Int

  /// The most commits that are looked at, from the newest on.
  static let limit = 20_000

  package func reply(in context: WorkContext) throws(ModelError) -> CommitStripReply {
    var commits: [CommitDetails] = []
    var open = [newest]
    while !open.isEmpty, commits.count < Self.limit {
      try context.goOn()
      let page = try context.store.commitPage(from: open, limit: 512, folded: true)
      commits +=
        scope.datastore.map { key in page.commits.filter { $0.changes.contains { $0.datastore == key } } }
        ?? page.commits
      open = page.next
    }
    return CommitStripReply(request: self, strip: CommitStrip(commits, parts: parts))
  }
}

package struct CommitStripReply: Sendable, Equatable {
  package var request: CommitStripRequest
  /// Nil where there are no commits.
  package var strip: CommitStrip?
}
