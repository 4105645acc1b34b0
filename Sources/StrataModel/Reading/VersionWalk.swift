/// The versions of a record along one line of commits, newest first, read in pages.
package struct VersionWalk: VersionLine {
  private let store: any ReadableStore
  private let record: RecordPlace
  private var page: ArraySlice<RecordVersion> = []
  private var pageStart: CommitNumber?
  private var isFirstPage = true

  package init(_ store: any ReadableStore, _ record: RecordPlace, from newest: CommitNumber) {
    self.store = store
    self.record = record
    pageStart = newest
  }

  package mutating func next() throws(ModelError) -> RecordVersion? {
    if page.isEmpty, let start = pageStart {
      page = try nextPage(from: start)[...]
      pageStart = page.last?.commit.parents.first
    }
    return page.popFirst()
  }

  package func line(from commit: CommitNumber) -> VersionWalk? {
    var line = VersionWalk(store, record, from: commit)
    line.isFirstPage = false
    return line
  }

  private mutating func nextPage(from start: CommitNumber) throws(ModelError) -> [RecordVersion] {
    let isFirst = isFirstPage
    isFirstPage = false
    do {
      return try store.versions(of: record.identifier, in: record.datastore, from: start, limit: 64)
    } catch .noSuchDatastore where !isFirst, .noSuchCommit where !isFirst {
      return []
    }
  }
}
