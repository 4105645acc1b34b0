/// Writes a tree's fresh nodes into a frame, children before parents.
struct NodeWriter {
  private let draft: FrameDraft
  /// Whether the nodes belong to a transaction that is not committed yet: they are written whole.
  private let isSettling: Bool
  private var file: DataFile { draft.file }
  private(set) var writtenBytes: UInt64 = 0
  /// The bytes that are live because of the nodes: those of their bases, too.
  private(set) var liveBytes: UInt64 = 0
  private var nodes = 0
  private var pointers: [(place: Int, pointer: NodePointer)] = []

  init(draft: FrameDraft, isSettling: Bool = false) {
    self.draft = draft
    self.isSettling = isSettling
  }

  /// Writes a tree's fresh nodes. Returns its stored root. Fresh nodes stay as they are: snapshots may hold them.
  mutating func write(_ root: TreeRoot) throws(StorageError) -> NodePointer {
    guard let fresh = root.fresh else { return root.isEmpty ? .none : root.pointer }
    return try write(fresh, count: root.count)
  }

  private mutating func write(_ node: FreshNode, count: UInt64) throws(StorageError) -> NodePointer {
    let view = try node.view
    // The pointers of the node's fresh children, above those of nodes that wait for theirs.
    let first = pointers.count
    var next = 0
    while let (index, child) = node.children.first(from: next) {
      let place = try view.pointerPlace(index)
      pointers.append((place, try write(child, count: try view.childCount(index))))
      next = index + 1
    }
    let base = isSettling ? .none : node.base
    let (pointer, live) = try withUnsafeTemporaryAllocation(byteCount: view.length, alignment: 8) {
      copy throws(StorageError) in
      // Snapshots may hold the node, so its children's places are put into a copy.
      copy.copyMemory(from: node.bytes)
      for (place, pointer) in pointers[first...] { copy.baseAddress.map { pointer.store(into: $0 + place) } }
      let view = try NodeView(UnsafeRawBufferPointer(copy), offset: 0)
      return try draft.append(view, count: count, insteadOf: base)
    }
    pointers.removeSubrange(first...)
    writtenBytes += UInt64(pointer.length)
    liveBytes += live
    nodes &+= 1
    // A commit of many changes takes tens of milliseconds.
    if nodes % 64 == 0 { yieldThread() }
    file.counters.nodesWritten.add(1)
    file.counters.nodeBytesWritten.add(UInt64(pointer.length))
    file.trust(pointer)
    return pointer
  }

  /// Writes the changed trees of a transaction, and the catalog. Returns its root, and the bytes of the state after that.
  mutating func write(
    _ state: inout TransactionState
  ) throws(StorageError) -> (catalog: NodePointer, liveBytes: UInt64) {
    var live = LiveBytes(state.liveBytes)
    for treeIndex in state.trees.indices where state.trees[treeIndex].isChanged {
      let tree = state.trees[treeIndex]
      let before = self.liveBytes
      if tree.isDropped {
        // A new tree of the name comes after it, and is set then.
        if !tree.isNew {
          live.subtract(tree.entry.liveBytes)
          try state.catalog.change(tree.name.bytes, to: nil, in: file)
        }
        continue
      }
      var entry = tree.entry
      entry.root = try write(tree.primary.root)
      entry.tombstones = try write(tree.tombstones.root)
      let nodeChange =
        Int64(self.liveBytes - before) + Int64(tree.settledBytes) - Int64(tree.primary.replacedNodeBytes)
        - Int64(tree.tombstones.replacedNodeBytes)
      entry.nodeBytes = LiveBytes(entry.nodeBytes, changedBy: nodeChange).count
      entry.entryBytes = LiveBytes(entry.entryBytes, changedBy: tree.tally.entryBytes).count
      live.change(by: nodeChange + tree.tally.entryBytes)
      state.trees[treeIndex].entry = entry
      try state.catalog.change(tree.name.bytes, to: .bytes(entry.encoded()), in: file)
    }
    let before = self.liveBytes
    let root = try write(state.catalog.root)
    live.change(by: Int64(self.liveBytes - before) - Int64(state.catalog.replacedNodeBytes))
    return (root, live.count)
  }

  /// Writes the tree of names with some changes. Returns its root.
  ///
  /// Texts that are equal are one name, though their bytes may differ ("é" is one letter, or two). A change of a name removes its other
  /// spellings, which no text could ask for. So all names are read.
  ///
  /// - Parameter place: Returns the start of a commit's frame; nil if the commit is not in the file.
  mutating func write(
    _ changes: [NameChange], to names: NodePointer, place: (UInt64) throws(StorageError) -> FileOffset?
  ) throws(StorageError) -> NodePointer {
    guard !changes.isEmpty else { return names }
    let stored = TreeRoot(pointer: names)
    var editor = TreeEditor(root: stored, order: .bytes, isReferences: false)
    let spellings = Dictionary(grouping: try CatalogScan(file: file).names(in: stored, prefix: [])) {
      String(decoding: $0.bytes, as: UTF8.self)
    }
    for change in changes {
      let key = Array(change.name.utf8)
      for known in spellings[change.name] ?? [] where known.bytes != key {
        try editor.change(known.bytes, to: nil, in: file)
      }
      var named: NamedCommit?
      if let number = change.commit, let offset = try place(number) {
        named = NamedCommit(number: number, offset: offset)
      }
      try editor.change(key, to: named?.payload, in: file)
    }
    return try write(editor.root)
  }
}
