/// Looking for places in a tree, without a cursor.
struct TreeSearch {
  let file: DataFile

  /// The payload of the probe's key, or nil.
  func find(_ probe: Probe, in root: TreeRoot) throws(StorageError) -> Payload? {
    guard let found = try place(probe, in: root), found.isEqual else { return nil }
    return try found.node.view.payload(found.index)
  }

  func entry(_ probe: Probe, in root: TreeRoot) throws(StorageError) -> Entry? {
    guard let found = try place(probe, in: root), found.isEqual else { return nil }
    return Entry(key: try found.node.view.keyBytes(found.index), payload: try found.node.view.payload(found.index))
  }

  private func place(_ probe: Probe, in root: TreeRoot) throws(StorageError) -> (node: Node, index: Int, isEqual: Bool)? {
    guard var node = try root.node(in: file) else { return nil }
    while node.view.form == .inner {
      node = try node.child(try node.view.childIndex(probe), in: file)
    }
    let bound = try node.view.lowerBound(probe)
    return (node, bound.index, bound.isEqual)
  }

  /// How many entries lie before the probe.
  func rank(of probe: Probe, in root: TreeRoot) throws(StorageError) -> UInt64 {
    guard var node = try root.node(in: file) else { return 0 }
    var rank: UInt64 = 0
    while node.view.form == .inner {
      let index = try node.view.childIndex(probe)
      for earlier in 0..<index { rank &+= try node.view.childCount(earlier) }
      node = try node.child(index, in: file)
    }
    return rank &+ UInt64(try node.view.lowerBound(probe).index)
  }
}
