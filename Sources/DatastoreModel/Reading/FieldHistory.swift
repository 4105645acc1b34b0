package import Documents

// The history of fields, walked along the versions of a record. It costs nothing at write time and as many versions as
// it has to look at when it is asked for.

/// A value that a field had from a commit on.
package struct FieldVersion: Sendable {
  package var commit: Commit
  /// Nil where the commit took the field away, or deleted the record.
  package var value: Document?
  /// Whether the record itself was there.
  package var recordExists: Bool
}

extension ReadableStore {
  /// Every value that a field of a record has had, newest first, each with the commit that brought it.
  package func lifeLine(
    of field: DocumentPath, in record: RecordPlace, from newest: CommitNumber, limit: Int,
    isCancelled: () -> Bool = { false }
  ) throws(ModelError) -> [FieldVersion] {
    var line: [FieldVersion] = []
    var walk = VersionWalk(self, record, from: newest)
    while !isCancelled(), let version = try walk.next() {
      let value = try version.record?.document()[field]
      let exists = version.record != nil
      if let last = line.last, last.value == value, last.recordExists == exists {
        line[line.count - 1].commit = version.commit
      } else if line.count < limit {
        line.append(FieldVersion(commit: version.commit, value: value, recordExists: exists))
      } else {
        break
      }
    }
    // Before its first value a field was not there; that is no value it had.
    if let last = line.last, last.value == nil, line.count < limit { line.removeLast() }
    return line
  }
}

/// The versions of a record, newest first, read in pages.
package struct VersionWalk {
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

  private mutating func nextPage(from start: CommitNumber) throws(ModelError) -> [RecordVersion] {
    let isFirst = isFirstPage
    isFirstPage = false
    do {
      return try store.versions(of: record.identifier, in: record.datastore, from: start, limit: 64)
    } catch .noSuchDatastore where !isFirst {
      return []
    } catch {
      throw error
    }
  }
}
