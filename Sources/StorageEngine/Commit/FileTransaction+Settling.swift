extension FileTransaction {
  /// Writes the new nodes of a tree into the frame now instead of with the commit, so that filling a tree in the order of its keys
  /// takes the memory of its last nodes only.
  ///
  /// Nodes that change again are written again, and their first form is dead: call it every few thousand keys, for keys that come in
  /// order. It does nothing where more than a MiB of nodes is new, and nothing where none is.
  package func settle(_ name: TreeName) throws(StorageError) {
    try locked { () throws(StorageError) in
      let treeIndex = try existing(name)
      let root = state.pointee.trees[treeIndex].primary.root
      guard let fresh = root.fresh, case let count = fresh.freshLength, count <= ChangeEntry.largeValue else { return }
      try wholly { () throws(StorageError) in
        try draft.beginNodes(of: state.pointee.trees[treeIndex].entry.identifier, count: count)
        var writer = NodeWriter(draft: draft, file: file)
        state.pointee.trees[treeIndex].primary.settle(as: try writer.write(root))
        state.pointee.trees[treeIndex].settledBytes += writer.nodeBytes
        guard writer.nodeBytes == UInt64(count) else { throw .damaged(what: "tree node", offset: draft.position) }
        try draft.spill()
      }
    }
  }
}

extension FreshNode {
  /// Bytes of the node and of all fresh nodes below it.
  fileprivate var freshLength: Int {
    var length = length
    var next = 0
    while let (index, child) = children.first(from: next) {
      length += child.freshLength
      next = index + 1
    }
    return length
  }
}
