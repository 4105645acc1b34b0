package import Documents

/// Searches the values that records have had, commit by commit from the newest, and streams what it finds.
///
///     var search = HistorySearch(store, from: head) { $0.text.contains("Calvino") }
///     while let found = try search.next() { … }         // one commit a call
///
/// Costs the changes of each commit it passes; the caller stops whenever it likes.
package struct HistorySearch {
  /// A field whose value came or went with a commit.
  package struct Match: Sendable, Hashable {
    package var commit: Commit
    package var record: RecordPlace
    package var field: FieldChange
  }

  /// Where the search has come to: the last commit that was looked through.
  package private(set) var position: CommitNumber?
  private let store: any ReadableStore
  private let datastore: String?
  private let isWanted: @Sendable (Document) -> Bool
  private var pending: [Commit] = []
  private var nextCommit: CommitNumber?

  /// - Parameters:
  ///   - datastore: only records of this one; nil: of all.
  ///   - isWanted: whether a value (a leaf of a record) is one that is looked for.
  package init(
    _ store: any ReadableStore, from newest: CommitNumber, datastore: String? = nil,
    isWanted: @escaping @Sendable (Document) -> Bool
  ) {
    self.store = store
    self.datastore = datastore
    self.isWanted = isWanted
    nextCommit = newest
  }

  /// What the next commit brought or took away; an empty answer is a commit without a match, nil the end.
  package mutating func next() throws(ModelError) -> [Match]? {
    if pending.isEmpty, let start = nextCommit {
      pending = try store.commits(from: start, limit: 64, folded: true).reversed()
      nextCommit = pending.first?.parents.first
    }
    guard let commit = pending.popLast() else { return nil }
    position = commit.number
    var matches: [Match] = []
    let reader = try store.changes(of: commit.number)
    while true {
      let changes = try reader.next(256)
      if changes.isEmpty { break }
      for change in changes where datastore == nil || change.datastore == datastore {
        for field in try fields(of: change) {
          guard field.old.map(isWanted) ?? false || field.new.map(isWanted) ?? false else { continue }
          let place = RecordPlace(datastore: change.datastore, identifier: change.identifier)
          matches.append(Match(commit: commit, record: place, field: field))
        }
      }
    }
    return matches
  }

  /// A record that is inserted or deleted brings or takes each of its fields.
  private func fields(of change: RecordChange) throws(ModelError) -> [FieldChange] {
    switch (try change.old?.document(), try change.new?.document()) {
    case (let old?, let new?): Document.difference(old, new)
    case (let old?, nil): old.fields.map { FieldChange(path: $0.path, old: $0.value, new: nil) }
    case (nil, let new?): new.fields.map { FieldChange(path: $0.path, old: nil, new: $0.value) }
    case (nil, nil): []
    }
  }
}
