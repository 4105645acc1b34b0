extension TreeEditor {
  /// Removes a key, and returns its payload. Returns nil if the key was not there.
  mutating func remove(at probe: Probe, in file: DataFile) throws(StorageError) -> Payload? {
    // Looked up first, so that removing a missing key copies nothing.
    guard try TreeSearch(file: file).find(probe, in: root) != nil else { return nil }
    try makeRootFresh(in: file)
    guard let top = root.fresh else { return nil }
    let removed = try remove(probe, from: top, file: file)
    root.pointer.count -= 1
    if root.pointer.count == 0 {
      root = .empty
      return removed
    }
    try lowerRoot()
    return removed
  }

  private mutating func remove(_ probe: Probe, from node: FreshNode, file: DataFile) throws(StorageError) -> Payload {
    let view = try node.view
    guard view.form == .inner else {
      let position = try view.lowerBound(probe)
      guard position.isEqual else { throw view.damage }
      let payload = try view.payload(position.index)
      try node.removeCell(at: position.index)
      return payload
    }
    let index = try view.childIndex(probe)
    let count = try view.childCount(index)
    guard count > 0 else { throw view.damage }
    let payload: Payload
    let length: Int
    do {
      // Released before it is joined: a second reference would force a copy of it.
      let child = try ownChild(index, of: .passUnretained(node), file: file).takeUnretainedValue()
      payload = try remove(probe, from: child, file: file)
      length = child.length
    }
    if count == 1 {
      try node.removeCell(at: index)
    } else {
      node.setChildCount(at: index, count - 1)
      if length < NodeView.targetSize / 4 { try join(index, of: node, file: file) }
    }
    return payload
  }

  /// Makes one node of a child that has become short and a neighbour, if both fit into one.
  private mutating func join(_ index: Int, of node: FreshNode, file: DataFile) throws(StorageError) {
    let view = try node.view
    guard view.count > 1 else { return }
    let left = index > 0 ? index - 1 : index
    let reader = try Node(node)
    // Released right after this check: a second reference would force a copy of the child.
    let leftLength = try reader.child(left, in: file).view.length
    let rightView = try reader.child(left + 1, in: file)
    guard leftLength + rightView.view.length <= NodeView.targetSize * 3 / 4 else { return }
    let key = try view.key(left + 1)
    let count = try view.childCount(left) + (try view.childCount(left + 1))
    if node.children[left + 1] == nil { replacedNodeBytes += try file.liveBytes(of: view.pointer(left + 1)) }
    let target = try ownChild(left, of: .passUnretained(node), file: file).takeUnretainedValue()
    try target.append(rightView, firstKey: key)
    target.base = .none
    try node.removeCell(at: left + 1)
    node.setChildCount(at: left, count)
  }

  /// Removes roots with a single child.
  private mutating func lowerRoot() throws(StorageError) {
    while let top = root.fresh, let view = try? top.view, view.form == .inner, view.count == 1 {
      if let child = top.children[0] {
        root.fresh = child
      } else {
        let count = root.count
        root = TreeRoot(pointer: try view.pointer(0))
        guard root.count == count else { throw view.damage }
      }
    }
  }
}
