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
  /// The pages that its entry touches.
  private let pages: [DatedIdentifier]
  private let source: PageFiles?

  init(of key: StoredKey, in datastore: String, at view: FolderView) throws(ModelError) {
    self.key = key
    self.datastore = datastore
    root = view.rootFile(of: datastore)?.file
    guard root != nil, let store = view.folderDatastore(datastore) else {
      (record, pages, source) = (nil, [], nil)
      return
    }
    let entries = try store.primaryIndex.entries
    source = entries.source
    guard let place = try store.primaryIndex.place(of: key, value: nil) else {
      (record, pages) = (nil, [])
      return
    }
    let entry = try reading { () throws(FolderError) in try store.primaryIndex.entry(at: place, in: entries) }
    record = Record(entry, like: store.descriptor.coding)
    pages = Array(entries.pages[entry.pages])
  }

  private init(_ state: RecordState, root: String?) {
    (key, datastore, record, pages, source) = (state.key, state.datastore, state.record, state.pages, state.source)
    self.root = root
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
    return try RecordState(of: key, in: datastore, at: view)
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
