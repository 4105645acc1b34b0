/// A tree read past its damage: the entries that can be reached, in order, with the gaps between them.
struct TolerantWalk {
  enum Item {
    case entry(key: [UInt8], payload: Payload)
    /// Entries that cannot be reached lie here, by the parent's count.
    case gap(count: UInt64)
  }

  private let file: DataFile
  /// The places of the nodes that were walked. A node has one place in a tree. Forged pointers may lead to a node many times over, and it
  /// would be walked as often as there are ways to it.
  private var seen: Set<FileOffset> = []
  private(set) var items: [Item] = []

  init(_ root: NodePointer, in file: DataFile) {
    self.file = file
    if !root.isNone { walk(root) }
  }

  var gapCount: UInt64 {
    items.reduce(0) { if case .gap(let count) = $1 { $0 &+ count } else { $0 } }
  }

  private mutating func walk(_ pointer: NodePointer, below level: UInt8? = nil) {
    do {
      let node = try file.node(at: pointer, below: level)
      guard seen.insert(pointer.offset).inserted else { throw node.view.damage }
      // Read whole before any of it is kept.
      var found: [Item] = []
      var children: [NodePointer] = []
      for index in 0..<node.view.count {
        if node.view.form == .inner {
          children.append(try node.view.pointer(index))
        } else {
          found.append(.entry(key: try node.view.key(index), payload: try node.view.payload(index)))
        }
      }
      items += found
      for child in children { walk(child, below: node.view.level) }
    } catch {
      items.append(.gap(count: pointer.count))
    }
  }
}
