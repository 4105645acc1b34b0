/// A place in a tree that moves from entry to entry in order. It reads only the nodes that it passes.
///
/// A cursor is a value: a copy goes its own way. It stays on the snapshot that it was made for.
package struct Cursor: Sendable {
  private let file: DataFile
  private let root: TreeRoot
  /// From the root to a leaf; the index is the cell that was gone down through, or the current cell.
  private var path: [Step] = []

  /// The entry at the cursor; nil before the first seek, and beyond either end. Each time it is asked for, the key is copied.
  package var current: Entry? {
    guard let last = path.indices.last, let payload = currentPayload,
      let key = try? path[last].node.view.keyBytes(path[last].index)
    else { return nil }
    return Entry(key: key, payload: payload)
  }

  /// What the entry at the cursor holds beside its key, without a copy of the key.
  package var currentPayload: Payload? {
    guard let last = path.indices.last else { return nil }
    // The cell was checked when the cursor came here. Read where it lies: a copy of the step would count a reference.
    return try? path[last].node.view.payload(path[last].index)
  }

  /// Beyond which end the cursor stands, where it has no current entry.
  private var edge: Edge?

  private enum Edge { case beforeStart, afterEnd }

  private struct Step {
    var node: Node
    var index: Int
  }

  init(file: DataFile, root: TreeRoot) {
    self.file = file
    self.root = root
  }

  /// Goes to the first entry that is not less than the probe. Reads one node a level (two where the entry lies in the
  /// next leaf).
  package mutating func seek(to probe: KeyProbe) throws(StorageError) {
    try probe.withProbe { probe throws(StorageError) in try self.seek(to: probe) }
  }

  private mutating func seek(to probe: Probe) throws(StorageError) {
    leave(.afterEnd)
    guard var node = try root.node(in: file) else { return }
    while node.view.form == .inner {
      let index = try node.view.childIndex(probe)
      path.append(Step(node: node, index: index))
      node = try node.child(index, in: file)
    }
    path.append(Step(node: node, index: try node.view.lowerBound(probe).index))
    try settleForward()
  }

  /// Goes to the entry with `rank` entries before it; beyond the end where there are not so many.
  package mutating func seek(rank: UInt64) throws(StorageError) {
    leave(.afterEnd)
    guard rank < root.count, var node = try root.node(in: file) else { return }
    var rest = rank
    while node.view.form == .inner {
      var index = 0
      while true {
        guard index < node.view.count else { throw node.view.damage }
        let count = try node.view.childCount(index)
        if rest < count { break }
        rest -= count
        index += 1
      }
      path.append(Step(node: node, index: index))
      node = try node.child(index, in: file)
    }
    guard rest < UInt64(node.view.count) else { throw node.view.damage }
    path.append(Step(node: node, index: Int(rest)))
    try load()
  }

  /// Goes to the first entry.
  package mutating func seekToStart() throws(StorageError) { try seek(rank: 0) }

  /// Goes to the last entry.
  package mutating func seekToEnd() throws(StorageError) { try seek(rank: root.count &- 1) }

  /// Goes to the entry behind; from before the start to the first one. Beyond the last there is none.
  package mutating func next() throws(StorageError) {
    guard let last = path.indices.last else {
      if edge == .beforeStart { try seekToStart() }
      return
    }
    path[last].index += 1
    try settleForward()
  }

  /// Goes to the entry before; from behind the end to the last one. Before the first there is none.
  package mutating func previous() throws(StorageError) {
    guard let last = path.indices.last else {
      if edge == .afterEnd { try seekToEnd() }
      return
    }
    if path[last].index > 0 {
      path[last].index -= 1
      return try load()
    }
    path.removeLast()
    while let last = path.indices.last {
      if path[last].index > 0 {
        path[last].index -= 1
        return try descend(toEnd: true)
      }
      path.removeLast()
    }
    leave(.beforeStart)
  }

  /// Where the cursor stands behind the last entry of a leaf, goes on to the next leaf.
  private mutating func settleForward() throws(StorageError) {
    guard let last = path.indices.last else { return }
    if path[last].index < path[last].node.view.count { return try load() }
    path.removeLast()
    while let last = path.indices.last {
      if path[last].index + 1 < path[last].node.view.count {
        path[last].index += 1
        return try descend(toEnd: false)
      }
      path.removeLast()
    }
    leave(.afterEnd)
  }

  private mutating func descend(toEnd: Bool) throws(StorageError) {
    while let step = path.last, step.node.view.form == .inner {
      let child = try step.node.child(step.index, in: file)
      path.append(Step(node: child, index: toEnd ? child.view.count - 1 : 0))
    }
    try load()
  }

  private mutating func leave(_ newEdge: Edge) {
    path.removeAll(keepingCapacity: true)
    edge = newEdge
  }

  private mutating func load() throws(StorageError) {
    guard let last = path.indices.last else { return leave(.afterEnd) }
    edge = nil
    let view = path[last].node.view
    _ = try view.suffix(path[last].index)
    guard view.form != .inner else { throw view.damage }
  }
}
