/// The trees of a transaction: made, dropped, restored by their roots.
extension FileTransaction {
  package func tree(_ name: TreeName) throws(StorageError) -> Tree? {
    try locked { () throws(StorageError) in
      guard let treeIndex = try treeIndex(of: name) else { return nil }
      let tree = state.pointee.trees[treeIndex]
      return Tree(
        name: name, identifier: tree.entry.identifier, kind: tree.entry.kind, order: tree.entry.order,
        attributes: tree.attributes, root: tree.primary.root, goneRoot: tree.tombstones.root, source: source)
    }
  }

  package func trees(prefix: [UInt8]) throws(StorageError) -> [TreeName] {
    try locked { () throws(StorageError) in
      var names = Set(try CatalogScan(file: file).names(in: state.pointee.catalog.root, prefix: prefix))
      for tree in state.pointee.trees where tree.name.hasPrefix(prefix) {
        if tree.isDropped { names.remove(tree.name) } else { names.insert(tree.name) }
      }
      return names.sorted()
    }
  }

  package func createTree(
    _ name: TreeName, kind: TreeKind, order: TreeOrder, attributes: Bytes
  ) throws(StorageError) {
    guard !name.bytes.isEmpty else { throw .invalidName("") }
    guard name.bytes.count <= Limits.treeName else {
      throw .keyTooLong(count: name.bytes.count, limit: Limits.treeName)
    }
    try locked { () throws(StorageError) in
      if try treeIndex(of: name) != nil { throw .treeExists(name) }
      var tree = TreeState(
        name: name, entry: CatalogEntry(identifier: state.pointee.nextTree, kind: kind, order: order),
        attributes: Bytes())
      guard state.pointee.nextTree < .max else { throw .damaged(what: "catalog", offset: base.links.catalog.offset) }
      state.pointee.nextTree += 1
      tree.isNew = true
      try setAttributes(attributes, of: &tree)
      add(tree)
    }
  }

  package func dropTree(_ name: TreeName) throws(StorageError) {
    try locked { () throws(StorageError) in
      let treeIndex = try existing(name)
      state.pointee.trees[treeIndex].isDropped = true
    }
  }

  package func setAttributes(_ attributes: [UInt8], of name: TreeName) throws(StorageError) {
    try locked { () throws(StorageError) in
      let treeIndex = try existing(name)
      // A copy, because the call also records in `state` which entry it supersedes.
      var tree = state.pointee.trees[treeIndex]
      try setAttributes(Bytes(attributes), of: &tree)
      state.pointee.trees[treeIndex] = tree
    }
  }

  private func setAttributes(_ bytes: Bytes, of tree: inout TreeState) throws(StorageError) {
    guard bytes.count <= Limits.attributes else {
      throw .valueTooLong(count: UInt64(bytes.count), limit: UInt64(Limits.attributes))
    }
    guard bytes != tree.attributes else { return }
    let old = tree.entry.attributes
    var new = EntryReference.none
    if !bytes.isEmpty {
      let head = ChangeEntry.Head(
        kind: .attributes, tree: tree.entry.identifier, key: .none,
        replaced: old == .none || draft.contains(old.offset) ? nil : old)
      new = try atomically { () throws(StorageError) in
        try bytes.withUnsafeBytes { value throws(StorageError) in try draft.append(head, value) }
      }
    }
    if old != .none, draft.contains(old.offset) { supersede(old) }
    tree.tally.entryBytes += Int64(new.length) - Int64(old.length)
    tree.entry.attributes = new
    tree.attributes = bytes
    tree.hasNewAttributes = true
  }

  func supersede(_ reference: EntryReference) { state.pointee.superseded.append(reference.offset - draft.start) }

  @discardableResult
  private func add(_ tree: TreeState) -> Int {
    // A dropped tree of the same name stays in the list, so that its bytes are counted as dead.
    // Room for a datastore with a few indexes at once.
    if state.pointee.trees.isEmpty { state.pointee.trees.reserveCapacity(4) }
    state.pointee.trees.append(tree)
    return state.pointee.trees.count - 1
  }

  /// The index of a tree's state, taken from the catalog if it was not touched yet. Returns nil if there is no such tree.
  ///
  /// - Parameter isReplaced: Whether the attributes are replaced, so that they need not be readable.
  func treeIndex(of name: TreeName, isReplaced: Bool = false) throws(StorageError) -> Int? {
    if let treeIndex = state.pointee.treeIndex(of: name) {
      return state.pointee.trees[treeIndex].isDropped ? nil : treeIndex
    }
    if let known = store.writing.tail.trees.tree(name, in: state.pointee.storedCatalog) {
      return add(TreeState(name: name, entry: known.entry, attributes: known.attributes))
    }
    let entry = try CatalogScan(file: file).entry(
      name, in: state.pointee.catalog.root, storedAt: base.links.catalog)
    guard let entry else { return nil }
    var attributes = Bytes()
    do throws(StorageError) {
      if entry.attributes != .none { attributes = try file.value(entry.attributes) }
    } catch {
      guard isReplaced, case .damaged = error else { throw error }
    }
    return add(TreeState(name: name, entry: entry, attributes: attributes))
  }

  func existing(_ name: TreeName) throws(StorageError) -> Int {
    guard let treeIndex = try treeIndex(of: name) else { throw .noSuchTree(name) }
    return treeIndex
  }

  var source: RecordSource { RecordSource(file: file, draft: draft, draftNumber: number) }

  package func restore(_ names: [TreeName]?, from view: View) throws(StorageError) {
    try locked { () throws(StorageError) in
      let view = try current(view)
      guard let names else {
        guard !state.pointee.isChanged else {
          throw .wrongTree(TreeName([]), reason: "it was changed before being restored")
        }
        let nextTree = state.pointee.nextTree
        state.pointee = TransactionState(
          catalog: view.commit.links.catalog, nextTree: nextTree, liveBytes: view.commit.liveBytes)
        state.pointee.restores = view.number
        return
      }
      for name in names where try restore(name, from: view) { state.pointee.restores = view.number }
    }
  }

  /// A view of the file that is written: compaction may have put another one in place since the view was taken.
  private func current(_ view: View) throws(StorageError) -> View {
    if view.file === file { return view }
    let search = CommitSearch(file: file, newest: beginning.newest)
    return View(commit: try search.commit(view.number), file: file)
  }

  /// Restores a tree. Returns false if neither the view nor the transaction has such a tree.
  private func restore(_ name: TreeName, from view: View) throws(StorageError) -> Bool {
    let old = try view.catalogEntry(name)
    let treeIndex = try treeIndex(of: name, isReplaced: true)
    if let treeIndex, state.pointee.trees[treeIndex].isChanged {
      throw .wrongTree(name, reason: "it was changed before being restored")
    }
    guard let old else {
      if let treeIndex { state.pointee.trees[treeIndex].isDropped = true }
      return treeIndex != nil
    }
    var tree = TreeState(name: name, entry: old, attributes: try view.tree(name, old).attributes)
    tree.isRestored = true
    var live = LiveBytes(state.pointee.liveBytes)
    live.add(old.liveBytes)
    if let treeIndex {
      // The restored roots replace the bytes that the tree counted before.
      live.subtract(state.pointee.trees[treeIndex].entry.liveBytes)
      state.pointee.trees[treeIndex] = tree
    } else {
      add(tree)
    }
    state.pointee.liveBytes = live.count
    return true
  }
}
