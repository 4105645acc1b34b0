extension FileTransaction {
  /// Writes the new nodes of a tree into the frame now instead of with the commit, so that filling a tree in the order of its keys
  /// takes the memory of its last nodes only.
  ///
  /// Nodes that change again are written again, and their first form is dead: call it every few thousand keys, for keys that come in
  /// order. It does nothing if no node is new.
  package func flushNodes(_ name: TreeName) throws(StorageError) {
    try locked { () throws(StorageError) in try flushNodes(existing(name)) }
  }

  func flushNodes(_ treeIndex: Int) throws(StorageError) {
    try atomically { () throws(StorageError) in
      let identifier = state.pointee.trees[treeIndex].entry.identifier
      var written: UInt64 = 0
      func write(_ node: FreshNode, _ count: UInt64, _ length: Int) throws(StorageError) -> NodePointer {
        try draft.beginNodes(of: identifier, count: length)
        var writer = NodeWriter(draft: draft, isSettling: true)
        let pointer = try writer.write(TreeRoot(pointer: .fresh(count: count), fresh: node))
        guard writer.writtenBytes == UInt64(length) else { throw .damaged(what: "tree node", offset: draft.position) }
        written += writer.writtenBytes
        return pointer
      }
      try state.pointee.trees[treeIndex].primary.flush(limit: ChangeEntry.largeValue, in: file, write: write)
      try state.pointee.trees[treeIndex].tombstones.flush(limit: ChangeEntry.largeValue, in: file, write: write)
      state.pointee.trees[treeIndex].settledBytes += written
      if written > 0 { try draft.spill() }
    }
  }

  /// The bytes of new nodes after which they are written, if entries come in the order of their keys: those nodes are full, and most do not
  /// change again.
  static let mostAscendingBytes = 1 << 18

  /// How much memory the new nodes of a transaction may take, in bytes.
  private static let mostFreshBytes = 28 << 20

  /// Writes the new nodes of a tree where they take more memory than its share, whatever the order of the keys.
  @inline(__always)
  func boundMemory(of treeIndex: Int) throws(StorageError) {
    let fresh = state.pointee.trees[treeIndex].primary.freshBytes + state.pointee.trees[treeIndex].tombstones.freshBytes
    if fresh > Self.mostFreshBytes / state.pointee.trees.count { try flushNodes(treeIndex) }
  }
}

extension FreshNode {
  /// Bytes of the node and of all fresh nodes below it.
  var freshLength: Int {
    var length = length
    var next = 0
    while let (index, child) = children.first(from: next) {
      length += child.freshLength
      next = index + 1
    }
    return length
  }
}
