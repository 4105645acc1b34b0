/// Writes a tree's fresh nodes into a frame, children before parents.
struct NodeWriter {
  let draft: FrameDraft
  let file: DataFile
  private(set) var nodeBytes: UInt64 = 0
  private var nodes = 0
  private var pointers: [(place: Int, pointer: NodePointer)] = []

  init(draft: FrameDraft, file: DataFile) {
    self.draft = draft
    self.file = file
  }

  /// The stored root of a tree after its fresh nodes were written. Fresh nodes stay as they are: snapshots may hold them.
  mutating func write(_ root: TreeRoot) throws(StorageError) -> NodePointer {
    guard let fresh = root.fresh else { return root.isEmpty ? .none : root.pointer }
    return try write(fresh, count: root.count)
  }

  private mutating func write(_ node: FreshNode, count: UInt64) throws(StorageError) -> NodePointer {
    let view = try node.view
    // Those of the node's fresh children, above those of nodes that wait for theirs.
    let first = pointers.count
    var next = 0
    while let (index, child) = node.children.first(from: next) {
      let place = try view.pointerPlace(index)
      pointers.append((place, try write(child, count: try view.childCount(index))))
      next = index + 1
    }
    guard let length = UInt16(exactly: view.length) else { throw .damaged(what: "tree node", offset: draft.position) }
    let (offset, check) = try draft.appendNode(node.bytes, children: pointers[first...])
    pointers.removeSubrange(first...)
    nodeBytes += UInt64(length)
    nodes &+= 1
    // A commit of many changes takes tens of milliseconds.
    if nodes % 64 == 0 { letOthersRun() }
    file.counters.nodesWritten.add(1)
    file.counters.nodeBytesWritten.add(UInt64(length))
    let pointer = NodePointer(
      offset: offset, length: length, check: check, count: count)
    file.trust(pointer)
    return pointer
  }
}
