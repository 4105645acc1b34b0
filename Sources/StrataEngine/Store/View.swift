/// The whole store as of one commit: immutable, cheap to take and copy, safe from any thread. It stays readable as long as it is held, even
/// after a compaction or after the store was closed.
package struct View: Sendable {
  /// One reference to all of it: a view is copied for each call, and the record of a commit has seven references to count.
  private let state: Shared<State>

  private struct State: Sendable {
    let commit: CommitRecord
    var file = DataFile.none
    var servedView: (any ServedView)?
  }

  init(commit: CommitRecord, file: DataFile) { state = Shared(State(commit: commit, file: file)) }

  package init(commit: CommitRecord, served: any ServedView) {
    state = Shared(State(commit: commit, servedView: served))
  }

  package var commit: CommitRecord { _read { yield state.value.commit } }
  /// The commit's number. Costs less than `commit`, which lends the whole record.
  package var number: UInt64 { state.value.commit.number }
  var file: DataFile { state.value.file }
  /// The view on a server that reads the state; nil for a view of a file.
  package var servedView: (any ServedView)? { state.value.servedView }

  /// Whether another view shows the same state in the same bytes. A compaction copies a commit into another file, and a commit that
  /// failed leaves its number to the next one.
  package func isSame(as other: View) -> Bool {
    let (commit, known) = (state.value.commit, other.state.value.commit)
    return file === other.file && commit.number == known.number && commit.identity == known.identity
      && commit.links.catalog == known.links.catalog
  }

  /// The changes that the commit's frame holds, in the order in which they were made. A restore by roots has none of its own: its changes
  /// are the difference to its parent. Only valid if `CommitRecord.listsChanges`.
  package func changes() throws(StorageError) -> ChangeCursor { try ChangeCursor(commit: commit, file: file) }

  private var catalog: TreeRoot { TreeRoot(pointer: commit.links.catalog) }

  /// A tree. Returns nil if this view has no tree of that name.
  package func tree(_ name: TreeName) throws(StorageError) -> Tree? {
    if let servedView { return try servedView.tree(name) }
    guard let entry = try catalogEntry(name) else { return nil }
    return try tree(name, entry)
  }

  /// The names of the trees that begin with `prefix`, in their order. The cost does not grow with the trees' entries.
  package func trees(prefix: [UInt8] = []) throws(StorageError) -> [TreeName] {
    if let servedView { return try servedView.trees(prefix: prefix) }
    return try CatalogScan(file: file).names(in: catalog, prefix: prefix)
  }

  func catalogEntry(_ name: TreeName) throws(StorageError) -> CatalogEntry? {
    try CatalogScan(file: file).entry(name, in: catalog, storedAt: catalog.pointer)
  }

  func tree(_ name: TreeName, _ entry: CatalogEntry) throws(StorageError) -> Tree {
    let source = RecordSource(file: file)
    return Tree(
      name: name, identifier: entry.identifier, kind: entry.kind, order: entry.order,
      attributes: entry.attributes == .none ? Bytes() : try source.value(entry.attributes),
      root: TreeRoot(pointer: entry.root), goneRoot: TreeRoot(pointer: entry.tombstones), source: source)
  }

  /// The value of a record that a version or a change of this store refers to, with its check verified.
  package func value(of record: RecordReference) throws(StorageError) -> Bytes {
    try RecordSource(file: file).value(of: record)
  }
}

struct CatalogScan {
  let file: DataFile

  /// The catalog's entry of a tree, or nil. `storedAt`: the catalog's place, or that of the one it was made from, for messages.
  func entry(
    _ name: TreeName, in catalog: TreeRoot, storedAt pointer: NodePointer
  ) throws(StorageError) -> CatalogEntry? {
    let payload = try name.bytes.withBytes { key throws(StorageError) in
      try TreeSearch(file: file).find(.bytes(key), in: catalog)
    }
    return try payload.map { payload throws(StorageError) in try CatalogEntry(payload, catalogAt: pointer.offset) }
  }

  /// All entries of a stored catalog, in the order of the names.
  func entries(in pointer: NodePointer) throws(StorageError) -> [(name: TreeName, entry: CatalogEntry)] {
    var entries: [(name: TreeName, entry: CatalogEntry)] = []
    try forEach(in: TreeRoot(pointer: pointer), prefix: []) { name, payload throws(StorageError) in
      entries.append((name, try CatalogEntry(payload, catalogAt: pointer.offset)))
    }
    return entries
  }

  func names(in catalog: TreeRoot, prefix: [UInt8]) throws(StorageError) -> [TreeName] {
    var names: [TreeName] = []
    try forEach(in: catalog, prefix: prefix) { name, _ throws(StorageError) in names.append(name) }
    return names
  }

  func forEach(
    in catalog: TreeRoot, prefix: [UInt8], _ body: (TreeName, Payload) throws(StorageError) -> Void
  ) throws(StorageError) {
    var cursor = Cursor(file: file, root: catalog)
    try cursor.seek(to: .bytes(prefix))
    while let entry = cursor.current {
      let name = TreeName(entry.key.array)
      guard name.hasPrefix(prefix) else { return }
      try body(name, entry.payload)
      try cursor.next()
    }
  }
}
