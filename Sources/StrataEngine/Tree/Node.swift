/// A readable node, with the owner that keeps its memory alive.
struct Node: Sendable {
  // The view points into `owner`'s memory, which is not written while the node is held.
  nonisolated(unsafe) let view: NodeView
  let owner: Owner

  /// The owner of a node's memory.
  enum Owner: Sendable {
    case fresh(FreshNode)
    /// Of a mapped file: the object that keeps its mappings in place.
    case mapping(any AnyObject & Sendable)
    case block(MemoryBlock)
  }

  func child(_ index: Int, in file: DataFile) throws(StorageError) -> Node {
    if case .fresh(let node) = owner, let child = node.children[index] { return try Node(child) }
    return try file.node(at: try view.pointer(index), below: view.level)
  }
}

extension Node {
  init(_ node: FreshNode) throws(StorageError) { self.init(view: try node.view, owner: .fresh(node)) }
}

/// The root of a tree: stored, fresh, or none.
struct TreeRoot: Sendable {
  /// The stored root; its `count` is also valid for a fresh root.
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
