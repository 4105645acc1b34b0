/// Looking for places in a tree, without a cursor.
struct TreeSearch {
  let file: DataFile

  func find(_ probe: Probe, in root: TreeRoot) throws(StorageError) -> Payload? {
    var descent = Descent()
    guard let view = try descent.leaf(of: probe, in: root, file) else { return nil }
    let bound = try view.lowerBound(probe)
    return bound.isEqual ? try view.payload(bound.index) : nil
  }

  func entry(_ probe: Probe, in root: TreeRoot) throws(StorageError) -> Entry? {
    var descent = Descent()
    guard let view = try descent.leaf(of: probe, in: root, file) else { return nil }
    let bound = try view.lowerBound(probe)
    return bound.isEqual ? try view.entry(bound.index) : nil
  }

  func rank(of probe: Probe, in root: TreeRoot) throws(StorageError) -> UInt64 {
    var descent = Descent()
    var rank: UInt64 = 0
    let leaf = try descent.leaf(of: probe, in: root, file) { view, index throws(StorageError) in
      for earlier in 0..<index { rank &+= try view.childCount(earlier) }
    }
    guard let leaf else { return 0 }
    return rank &+ UInt64(try leaf.lowerBound(probe).index)
  }
}

/// Goes from a root to a leaf, keeping alive only the node that it stands on.
private struct Descent {
  private var fresh: FreshNode?
  private var block: MemoryBlock?
  private var reads: UInt64 = 0

  /// The leaf below which the probe belongs; its view is valid while the descent is there.
  @inline(__always)
  mutating func leaf(
    of probe: Probe, in root: TreeRoot, _ file: DataFile,
    passing: (NodeView, Int) throws(StorageError) -> Void = { _, _ in }
  ) throws(StorageError) -> NodeView? {
    guard !root.isEmpty else { return nil }
    var view: NodeView
    if let node = root.fresh {
      fresh = node
      view = try node.view
    } else {
      view = try stored(root.pointer, file)
    }
    while view.form == .inner {
      let index = try view.childIndex(probe)
      try passing(view, index)
      let level = Int(view.level)
      if let node = fresh, let child = node.children[index] {
        fresh = child
        view = try child.view
      } else {
        fresh = nil
        view = try stored(try view.pointer(index), file)
      }
      // Levels fall by one, so that no damage makes a walk endless.
      guard Int(view.level) + 1 == level else { throw view.damage }
    }
    file.counters.nodeReads.add(reads)
    return view
  }

  @inline(__always)
  private mutating func stored(_ pointer: NodePointer, _ file: DataFile) throws(StorageError) -> NodeView {
    reads &+= 1
    return try file.view(at: pointer, keeping: &block)
  }
}
