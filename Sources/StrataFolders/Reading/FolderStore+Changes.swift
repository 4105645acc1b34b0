package import StrataModel

extension FolderStore {
  package func changes(of commit: CommitNumber) throws(ModelError) -> any ChangeReader {
    guard commit.rawValue > 0 else { throw .noSuchCommit("\(commit)") }
    return try changes(from: CommitNumber(commit.rawValue - 1), to: commit)
  }

  package func changes(from old: CommitNumber, to new: CommitNumber) throws(ModelError) -> any ChangeReader {
    FolderChanges(from: try folderView(at: old), to: try folderView(at: new))
  }

  package func versions(
    of key: StoredKey, in datastore: String, from newest: CommitNumber, limit: Int
  ) throws(ModelError) -> [RecordVersion] {
    var versions: [RecordVersion] = []
    var number = min(newest, history.head)
    var state = try RecordState(of: key, in: datastore, at: folderView(at: number))
    if state.record == nil {
      let found = try RecordState(of: key, in: datastore, at: folderView(at: number), inAnyOrder: true)
      if found.record != nil { state = found }
    }
    while number.rawValue > 0, versions.count < limit {
      let before = CommitNumber(number.rawValue - 1)
      let old = try state.before(folderView(at: before))
      if !state.isEqual(to: old) { versions.append(RecordVersion(commit: try commit(number), record: state.record)) }
      (number, state) = (before, old)
    }
    return versions
  }
}

/// A record as of one commit, with the root and pages that show cheaply whether an older commit has the same.
private struct RecordState {
  let key: StoredKey
  let datastore: String
  let record: Record?
  private let root: String?
  /// Whether the records lie out of the order of their type, so that a search may miss one.
  private let inAnyOrder: Bool
  /// The pages that its entry touches.
  private let pages: [DatedIdentifier]
  private let source: PageFiles?

  init(
    of key: StoredKey, in datastore: String, at view: FolderView, inAnyOrder: Bool = false
  ) throws(ModelError) {
    (self.key, self.datastore, self.inAnyOrder) = (key, datastore, inAnyOrder)
    root = view.rootFile(of: datastore)?.file
    guard root != nil, let store = view.folderDatastore(datastore) else {
      (record, pages, source) = (nil, [], nil)
      return
    }
    let entries = try store.primaryIndex.entries
    source = entries.source
    let index = store.primaryIndex
    guard let place = try inAnyOrder ? index.placeInAnyOrder(of: key) : index.place(of: key, value: nil) else {
      (record, pages) = (nil, [])
      return
    }
    let entry = try reading { () throws(FolderError) in try index.entry(at: place, in: entries) }
    record = Record(entry, like: store.descriptor.coding)
    pages = Array(entries.pages[entry.pages])
  }

  private init(_ state: RecordState, root: String?) {
    (key, datastore, record, pages, source) = (state.key, state.datastore, state.record, state.pages, state.source)
    (self.root, inAnyOrder) = (root, state.inAnyOrder)
  }

  /// The record one commit earlier. If that commit names the same root, or the same pages, the record is the same.
  func before(_ view: FolderView) throws(ModelError) -> RecordState {
    let older = view.rootFile(of: datastore)
    if older?.file == root { return self }
    if !pages.isEmpty, let older, let list = try? view.contents.primaryEntries(of: older), list.source === source,
      list.holds(pages)
    {
      return RecordState(self, root: older.file)
    }
    return try RecordState(of: key, in: datastore, at: view, inAnyOrder: inAnyOrder)
  }

  func isEqual(to other: RecordState) -> Bool {
    record?.content == other.record?.content && record?.version == other.record?.version
  }
}

extension FolderContents {
  /// The primary entries of a root, without looking at any page.
  fileprivate func primaryEntries(of root: (file: String, folder: String)) throws(FolderError) -> EntryList {
    try entries(of: FolderLayout.primaryIndex(of: root.folder), manifest: try self.root(root.file).primaryManifest)
  }
}

extension EntryList {
  /// Whether these pages follow one another in the list.
  fileprivate func holds(_ run: [DatedIdentifier]) -> Bool {
    guard let first = run.first, let start = pages.firstIndex(of: first) else { return false }
    return pages[start...].starts(with: run)
  }
}
