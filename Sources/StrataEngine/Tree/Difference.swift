/// An entry that two views of a tree do not share.
package struct Difference: Sendable {
  package var key: Bytes
  /// Nil if only the newer view has the key.
  package var old: Entry?
  /// Nil if only the older view has the key.
  package var new: Entry?

  package init(key: Bytes, old: Entry?, new: Entry?) {
    self.key = key
    self.old = old
    self.new = new
  }
}

/// The differences between two views in one tree; a tree that one of them lacks counts as empty.
///
/// Subtrees that both share are skipped without being read, so the cost is that of the differences. In trees of byte order the differences
/// come in that order and memory stays bounded; in trees of the caller's order they come in no order, unless one of the two is empty.
package func difference(_ old: View, _ new: View, tree: TreeName) throws(StorageError) -> DifferenceCursor {
  if let older = old.servedView, let newer = new.servedView {
    let pages = ServedPages<Difference, [UInt8]>(place: []) { key throws(StorageError) in
      try older.differences(to: newer, in: tree, from: key)
    }
    return DifferenceCursor(pages)
  }
  let (oldEntry, newEntry) = (try old.catalogEntry(tree), try new.catalogEntry(tree))
  return DifferenceCursor(
    (old.file, oldEntry?.root), (new.file, newEntry?.root), order: TreeOrder(of: oldEntry, and: newEntry))
}

extension TreeOrder {
  /// The order for comparing two trees, whose own orders may differ because one of them was created again.
  init(of old: CatalogEntry?, and new: CatalogEntry?) {
    self = [old?.order, new?.order].contains(.caller) ? .caller : .bytes
  }
}

/// Visits the differences of two trees.
package typealias DifferenceCursor = WalkCursor<Difference>

extension DifferenceCursor {
  /// A tree in its file, by its root; nil if the tree is empty.
  typealias Side = (file: DataFile, root: NodePointer?)

  init(_ old: Side, _ new: Side, order: TreeOrder) {
    // Beside an empty tree no keys are compared, so the order makes no difference.
    let isOneEmpty = old.root?.isNone ?? true || new.root?.isNone ?? true
    switch order {
    case .caller where !isOneEmpty: self.init(UnorderedDifference(old: old, new: new))
    default: self.init(OrderedDifference(old: SubtreeWalk(old), new: SubtreeWalk(new)))
    }
  }
}

/// Visits elements in order, wherever they come from. A copy moves independently.
package struct WalkCursor<Element>: Sendable {
  private var walk: any Walk<Element>

  init(_ walk: any Walk<Element>) { self.walk = walk }

  /// The next element, or nil at the end.
  package mutating func next() throws(StorageError) -> Element? { try walk.next() }
}

/// Elements in order, each read when it is requested: from a file, or from a server.
protocol Walk<Element>: Sendable {
  associatedtype Element

  /// The next element, or nil at the end.
  mutating func next() throws(StorageError) -> Element?
}

/// Walks two trees of byte order side by side, and opens subtrees only if the two are not at the same one.
struct OrderedDifference: Walk {
  var old: SubtreeWalk
  var new: SubtreeWalk

  mutating func next() throws(StorageError) -> Difference? {
    while true {
      switch (try old.head(), try new.head()) {
      case (nil, nil): return nil
      case (.subtree(let left, _)?, .subtree(let right, _)?) where old.file === new.file && left == right:
        old.skip()
        new.skip()
      case (.subtree(_, let left)?, .subtree(_, let right)?):
        // The higher one first: its children may equal the other.
        if left >= right { try old.open() }
        if right >= left { try new.open() }
      case (.subtree?, _): try old.open()
      case (_, .subtree?): try new.open()
      case (.entry(let entry)?, nil):
        old.skip()
        return Difference(key: entry.key, old: entry, new: nil)
      case (nil, .entry(let entry)?):
        new.skip()
        return Difference(key: entry.key, old: nil, new: entry)
      case (.entry(let left)?, .entry(let right)?):
        if left.key < right.key {
          old.skip()
          return Difference(key: left.key, old: left, new: nil)
        }
        if right.key < left.key {
          new.skip()
          return Difference(key: right.key, old: nil, new: right)
        }
        old.skip()
        new.skip()
        if try old.file.differs(left, from: right, in: new.file) {
          return Difference(key: left.key, old: left, new: right)
        }
      }
    }
  }
}

/// A position in a tree that can be a whole subtree, not read yet.
struct SubtreeWalk: Sendable {
  let file: DataFile
  private var path: [(node: Node, index: Int)] = []
  private var extent = TreeExtent()
  /// The root while it has not been read.
  private var unread: NodePointer?
  /// The part at the position: a subtree with its level, or an entry. An unread root counts as higher than all.
  enum Head {
    case subtree(offset: FileOffset, level: Int)
    case entry(Entry)
  }

  init(_ tree: DifferenceCursor.Side) {
    file = tree.file
    unread = tree.root.flatMap { $0.isNone ? nil : $0 }
  }

  func head() throws(StorageError) -> Head? {
    if let unread { return .subtree(offset: unread.offset, level: Int(UInt8.max) + 1) }
    guard let (node, index) = path.last else { return nil }
    if node.view.form == .inner {
      return .subtree(offset: try node.view.pointer(index).offset, level: Int(node.view.level) - 1)
    }
    return .entry(try node.view.entry(index))
  }

  /// Goes behind the part at the head.
  mutating func skip() {
    if unread != nil {
      unread = nil
      return
    }
    while let last = path.indices.last {
      path[last].index += 1
      if path[last].index < path[last].node.view.count { return }
      path.removeLast()
    }
  }

  /// Reads the subtree at the head, and goes to its first part.
  mutating func open() throws(StorageError) {
    if let pointer = unread {
      unread = nil
      try enter(try file.node(at: pointer))
    } else if let (node, index) = path.last, node.view.form == .inner {
      try enter(try node.child(index, in: file))
    }
  }

  private mutating func enter(_ node: Node) throws(StorageError) {
    try extent.add(node, of: file)
    path.append((node, 0))
  }
}

/// The number of bytes in the nodes that a walk of a tree reached. A tree has no more than its file, but forged pointers can lead to the
/// same nodes so many times that a walk would never end.
struct TreeExtent: Sendable {
  private var bytes: UInt64 = 0

  /// Throws if the tree is larger than its file.
  mutating func add(_ node: Node, of file: DataFile) throws(StorageError) {
    bytes += UInt64(node.view.length)
    if bytes > file.end.bytes { throw node.view.damage }
  }
}

/// Compares two trees whose order only the caller knows: level by level, leaving out the nodes that both have, and matching the entries of
/// the other leaves by their keys.
struct UnorderedDifference: Walk {
  let old: DifferenceCursor.Side
  let new: DifferenceCursor.Side
  /// The entries that were not returned yet; nil if the node was not compared yet.
  var rest: ArraySlice<Difference>?

  mutating func next() throws(StorageError) -> Difference? {
    if rest == nil { rest = try compare()[...] }
    return rest?.popFirst()
  }

  private func compare() throws(StorageError) -> [Difference] {
    let sharesNodes = old.file === new.file
    if sharesNodes, old.root == new.root { return [] }
    var (oldExtent, newExtent) = (TreeExtent(), TreeExtent())
    var oldNodes = try roots(old)
    var newNodes = try roots(new)
    while true {
      let (oldLevel, newLevel) = (oldNodes.first?.view.level ?? 0, newNodes.first?.view.level ?? 0)
      let level = max(oldLevel, newLevel)
      if level == 0 { break }
      // Children of both are compared at once if they are on one level.
      let oldPointers = oldLevel == level ? try pointers(oldNodes) : nil
      let newPointers = newLevel == level ? try pointers(newNodes) : nil
      var shared: Set<FileOffset> = []
      if sharesNodes, let oldPointers, let newPointers {
        shared = Set(oldPointers.map(\.offset)).intersection(newPointers.map(\.offset))
      }
      if let oldPointers { oldNodes = try read(oldPointers, except: shared, old.file, below: level, &oldExtent) }
      if let newPointers { newNodes = try read(newPointers, except: shared, new.file, below: level, &newExtent) }
    }
    return try match(oldNodes, newNodes)
  }

  private func roots(_ tree: DifferenceCursor.Side) throws(StorageError) -> [Node] {
    try TreeRoot(pointer: tree.root ?? .none).node(in: tree.file).map { [$0] } ?? []
  }

  private func pointers(_ nodes: [Node]) throws(StorageError) -> [NodePointer] {
    var pointers: [NodePointer] = []
    for node in nodes {
      for index in 0..<node.view.count { pointers.append(try node.view.pointer(index)) }
    }
    return pointers
  }

  private func read(
    _ pointers: [NodePointer], except shared: Set<FileOffset>, _ file: DataFile, below level: UInt8,
    _ extent: inout TreeExtent
  ) throws(StorageError) -> [Node] {
    var nodes: [Node] = []
    for pointer in pointers where !shared.contains(pointer.offset) {
      let node = try file.node(at: pointer, below: level)
      try extent.add(node, of: file)
      nodes.append(node)
    }
    return nodes
  }

  private func match(_ oldLeaves: [Node], _ newLeaves: [Node]) throws(StorageError) -> [Difference] {
    var before: [Bytes: Entry] = [:]
    var order: [Bytes] = []
    for leaf in oldLeaves {
      for index in 0..<leaf.view.count {
        let entry = try leaf.view.entry(index)
        before[entry.key] = entry
        order.append(entry.key)
      }
    }
    var differences: [Difference] = []
    for leaf in newLeaves {
      for index in 0..<leaf.view.count {
        let entry = try leaf.view.entry(index)
        let old = before.removeValue(forKey: entry.key)
        let differs = try old.map { old throws(StorageError) in
          try self.old.file.differs(old, from: entry, in: new.file)
        }
        if differs ?? true { differences.append(Difference(key: entry.key, old: old, new: entry)) }
      }
    }
    for key in order {
      if let old = before[key] { differences.append(Difference(key: key, old: old, new: nil)) }
    }
    return differences
  }
}

extension DataFile {
  /// Whether an entry differs from one of the same key in another file. In one file, equal payloads are equal contents. After a compaction
  /// the same record lies elsewhere, and is read.
  func differs(_ entry: Entry, from other: Entry, in file: DataFile) throws(StorageError) -> Bool {
    guard self !== file, let record = entry.payload.entry, let otherRecord = other.payload.entry else {
      return entry.payload != other.payload
    }
    return try !holdsSame(record, as: otherRecord, in: file)
  }

  func holdsSame(
    _ record: EntryReference, as other: EntryReference, in file: DataFile
  ) throws(StorageError) -> Bool {
    let (left, leftBytes) = try entry(record)
    let (right, rightBytes) = try file.entry(other)
    guard left.kind == right.kind else { return false }
    let value = try rawValue(of: left, leftBytes, at: record.offset)
    return try value == file.rawValue(of: right, rightBytes, at: other.offset)
  }
}
