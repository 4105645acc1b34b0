/// Writes a tree's fresh nodes into a frame, children before parents.
struct NodeWriter {
  let draft: FrameDraft
  let file: DataFile
  private(set) var nodeBytes: UInt64 = 0
  private let buffer = ByteBuffer()
  private var pointers: [(index: Int, pointer: NodePointer)] = []

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
    if view.form == .inner {
      for index in 0..<view.count {
        guard let child = node.children[index] else { continue }
        pointers.append((index, try write(child, count: try view.childCount(index))))
      }
    }
    buffer.removeAll()
    buffer.append(node.bytes)
    let copy = buffer.mutableBytes
    for (index, pointer) in pointers[first...] {
      let start = view.heap + (index == 0 ? 0 : view.end(index - 1))
      guard start + NodePointer.size <= copy.count, let base = copy.baseAddress else { throw view.damage }
      pointer.store(into: base + start)
    }
    pointers.removeSubrange(first...)
    guard let length = UInt16(exactly: buffer.count) else { throw .damaged(what: "tree node", offset: draft.position) }
    let offset = try draft.append(buffer.bytes)
    nodeBytes += UInt64(length)
    file.counters.nodesWritten.add(1)
    file.counters.nodeBytesWritten.add(UInt64(length))
    let pointer = NodePointer(
      offset: offset, length: length, check: file.header.nodeCheck(buffer.bytes, at: offset), count: count)
    file.trust(pointer)
    return pointer
  }
}
