/// A node that can be read, with what keeps its memory alive.
struct Node: Sendable {
  // The view points into `owner`'s memory, which nobody writes while the node is held.
  nonisolated(unsafe) let view: NodeView
  let owner: Owner

  /// What keeps a node's memory in place.
  enum Owner: Sendable {
    case fresh(FreshNode)
    /// Of a mapped file.
    case file(DataFile)
    case block(MemoryBlock)
  }

  /// The child below a cell.
  func child(_ index: Int, in file: DataFile) throws(StorageError) -> Node {
    if case .fresh(let node) = owner, let child = node.children[index] { return try Node(child) }
    let child = try file.node(at: try view.pointer(index))
    // Levels fall by one, so that no damage makes a walk endless.
    guard Int(child.view.level) + 1 == Int(view.level) else { throw child.view.damage }
    return child
  }

  /// Where the child lies in the file, or nil where it is not there yet.
  func storedChild(_ index: Int) throws(StorageError) -> NodePointer? {
    if case .fresh(let node) = owner, node.children[index] != nil { return nil }
    return try view.pointer(index)
  }
}

extension Node {
  init(_ node: FreshNode) throws(StorageError) { self.init(view: try node.view, owner: .fresh(node)) }
}

/// The root of a tree: stored, fresh, or none.
struct TreeRoot: Sendable {
  /// The stored root; its `count` counts for a fresh root too.
  var pointer: NodePointer
  var fresh: FreshNode?

  static let empty = TreeRoot(pointer: .none, fresh: nil)

  var count: UInt64 { pointer.count }
  var isEmpty: Bool { pointer.count == 0 }

  func node(in file: DataFile) throws(StorageError) -> Node? {
    if let fresh { return try Node(fresh) }
    if pointer.isNone { return nil }
    return try file.node(at: pointer)
  }
}
