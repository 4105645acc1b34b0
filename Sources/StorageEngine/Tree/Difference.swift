/// An entry that two views of a tree do not share.
package struct Difference: Sendable {
  package var key: Bytes
  /// Nil where only the newer view has the key.
  package var old: Entry?
  /// Nil where only the older view has the key.
  package var new: Entry?

  package init(key: Bytes, old: Entry?, new: Entry?) {
    self.key = key
    self.old = old
    self.new = new
  }
}

/// What differs between two views in one tree; a tree that one of them lacks counts as empty.
///
/// Subtrees that both share are skipped without being read, so the cost is that of the differences. In trees of byte order
/// the differences come in that order and memory stays bounded; in trees of the caller's order they come in no order.
package func difference(_ old: View, _ new: View, tree: TreeName) throws(StorageError) -> DifferenceCursor {
  if let older = old.servedView, let newer = new.servedView {
    return DifferenceCursor(ServedDifferences(older: older, newer: newer, name: tree))
  }
  let oldEntry = try old.catalogEntry(tree)
  let newEntry = try new.catalogEntry(tree)
  return DifferenceCursor(
    old: (old.file, TreeRoot(pointer: oldEntry?.root ?? .none)),
    new: (new.file, TreeRoot(pointer: newEntry?.root ?? .none)),
    order: newEntry?.order ?? oldEntry?.order ?? .bytes, isSameFile: old.file === new.file)
}

/// Goes through the differences of two trees.
package struct DifferenceCursor: Sendable {
  private var walk: Walk

  private enum Walk: Sendable {
    case ordered(OrderedDifference)
    case unordered(UnorderedDifference)
    case served(ServedDifferences)
  }

  init(_ served: ServedDifferences) { walk = .served(served) }

  init(old: (DataFile, TreeRoot), new: (DataFile, TreeRoot), order: TreeOrder, isSameFile: Bool) {
    walk =
      order == .bytes
      ? .ordered(OrderedDifference(old: old, new: new, sharesNodes: isSameFile))
      : .unordered(UnorderedDifference(old: old, new: new, sharesNodes: isSameFile))
  }

  /// The next difference, or nil at the end.
  package mutating func next() throws(StorageError) -> Difference? {
    switch walk {
    case .ordered(var ordered):
      walk = .ordered(.empty(ordered))
      defer { walk = .ordered(ordered) }
      return try ordered.next()
    case .unordered(var unordered):
      defer { walk = .unordered(unordered) }
      return try unordered.next()
    case .served(var served):
      defer { walk = .served(served) }
      return try served.next()
    }
  }
}

/// Walks two trees of byte order side by side, opening subtrees only where the two do not stand at the same one.
struct OrderedDifference: Sendable {
  private var old: SubtreeWalk
  private var new: SubtreeWalk
  private let sharesNodes: Bool

  init(old: (DataFile, TreeRoot), new: (DataFile, TreeRoot), sharesNodes: Bool) {
    self.old = SubtreeWalk(file: old.0, root: old.1)
    self.new = SubtreeWalk(file: new.0, root: new.1)
    self.sharesNodes = sharesNodes
  }

  private init(_ other: OrderedDifference) {
    old = SubtreeWalk(file: other.old.file, root: .empty)
    new = old
    sharesNodes = other.sharesNodes
  }

  /// Stands in the place of a walk while it is changed, so that nothing is copied.
  static func empty(_ other: OrderedDifference) -> OrderedDifference { OrderedDifference(other) }

  mutating func next() throws(StorageError) -> Difference? {
    while true {
      switch (try old.head(), try new.head()) {
      case (nil, nil): return nil
      case (.subtree(let left, _)?, .subtree(let right, _)?) where sharesNodes && left == right:
        old.skip()
        new.skip()
      case (.subtree(_, let left)?, .subtree(_, let right)?):
        // The higher one first: its children may stand beside the other.
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
        if try EntryComparison(old: old.file, new: new.file).differs(left, right) {
          return Difference(key: left.key, old: left, new: right)
        }
      }
    }
  }
}

/// A place in a tree that can be a whole subtree, not read yet.
struct SubtreeWalk: Sendable {
  let file: DataFile
  private var path: [(node: Node, index: Int)] = []
  private var extent = TreeExtent()
  /// The root while it has not been read.
  private var unread: NodePointer?
  /// Its level, where it is known; an unread root counts as higher than all.
  enum Head {
    case subtree(offset: FileOffset, level: Int)
    case entry(Entry)
  }

  init(file: DataFile, root: TreeRoot) {
    self.file = file
    unread = root.pointer.isNone ? nil : root.pointer
  }

  func head() throws(StorageError) -> Head? {
    if let unread { return .subtree(offset: unread.offset, level: Int(UInt8.max) + 1) }
    guard let (node, index) = path.last else { return nil }
    if node.view.form == .inner {
      return .subtree(offset: try node.view.pointer(index).offset, level: Int(node.view.level) - 1)
    }
    return .entry(Entry(key: try node.view.keyBytes(index), payload: try node.view.payload(index)))
  }

  /// Goes behind what stands at the head.
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

  /// Reads the subtree at the head and stands before its first part.
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

/// How many bytes the nodes of a tree have that a walk came to. A tree has no more than its file, but forged pointers can lead to
/// the same nodes so many times that a walk would never end.
struct TreeExtent: Sendable {
  private var bytes: UInt64 = 0

  /// Throws where the tree is larger than its file.
  mutating func add(_ node: Node, of file: DataFile) throws(StorageError) {
    bytes += UInt64(node.view.length)
    if bytes > file.end.bytes { throw node.view.damage }
  }
}

/// Compares two trees whose order only the caller knows: level by level, leaving out the nodes that both have, and matching
/// the entries of the other leaves by their keys.
struct UnorderedDifference: Sendable {
  private let old: (file: DataFile, root: TreeRoot)
  private let new: (file: DataFile, root: TreeRoot)
  private let sharesNodes: Bool
  private var found: [Difference]?
  private var position = 0

  init(old: (DataFile, TreeRoot), new: (DataFile, TreeRoot), sharesNodes: Bool) {
    self.old = old
    self.new = new
    self.sharesNodes = sharesNodes
  }

  mutating func next() throws(StorageError) -> Difference? {
    if found == nil { found = try compare() }
    let all = found ?? []
    guard position < all.count else { return nil }
    defer { position += 1 }
    return all[position]
  }

  private func compare() throws(StorageError) -> [Difference] {
    var (oldExtent, newExtent) = (TreeExtent(), TreeExtent())
    var oldNodes = try roots(old)
    var newNodes = try roots(new)
    if sharesNodes, let left = oldNodes.first, let right = newNodes.first,
      old.root.pointer.offset == new.root.pointer.offset,
      left.view.level == right.view.level
    {
      return []
    }
    while true {
      let oldLevel = oldNodes.first?.view.level ?? 0
      let newLevel = newNodes.first?.view.level ?? 0
      if oldLevel == 0, newLevel == 0 { break }
      // Children of both are compared at once where they are on one level.
      let opensOld = oldLevel >= newLevel && oldLevel > 0
      let opensNew = newLevel >= oldLevel && newLevel > 0
      let oldPointers = opensOld ? try pointers(oldNodes) : []
      let newPointers = opensNew ? try pointers(newNodes) : []
      var shared: Set<FileOffset> = []
      if sharesNodes, opensOld, opensNew {
        shared = Set(oldPointers.map(\.offset)).intersection(newPointers.map(\.offset))
      }
      if opensOld { oldNodes = try read(oldPointers, except: shared, old.file, below: oldLevel, &oldExtent) }
      if opensNew { newNodes = try read(newPointers, except: shared, new.file, below: newLevel, &newExtent) }
    }
    return try match(oldNodes, newNodes)
  }

  private func roots(_ tree: (file: DataFile, root: TreeRoot)) throws(StorageError) -> [Node] {
    guard let node = try tree.root.node(in: tree.file) else { return [] }
    return [node]
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
      let node = try file.node(at: pointer)
      guard Int(node.view.level) + 1 == Int(level) else { throw node.view.damage }
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
        let entry = Entry(key: try leaf.view.keyBytes(index), payload: try leaf.view.payload(index))
        before[entry.key] = entry
        order.append(entry.key)
      }
    }
    var differences: [Difference] = []
    for leaf in newLeaves {
      for index in 0..<leaf.view.count {
        let entry = Entry(key: try leaf.view.keyBytes(index), payload: try leaf.view.payload(index))
        let old = before.removeValue(forKey: entry.key)
        let isSame = try old.map { old throws(StorageError) in
          try !EntryComparison(old: self.old.file, new: new.file).differs(old, entry)
        }
        if isSame != true { differences.append(Difference(key: entry.key, old: old, new: entry)) }
      }
    }
    for key in order {
      if let old = before[key] { differences.append(Difference(key: key, old: old, new: nil)) }
    }
    return differences
  }
}

/// Compares entries of two trees with one key.
struct EntryComparison {
  let old: DataFile
  let new: DataFile

  /// In one file, equal payloads are equal contents. After a compaction the same record lies elsewhere, and is read.
  func differs(_ left: Entry, _ right: Entry) throws(StorageError) -> Bool {
    guard old !== new, let leftRecord = left.payload.entry, let rightRecord = right.payload.entry else {
      return left.payload != right.payload
    }
    return try !isSame(leftRecord, rightRecord)
  }

  /// Whether two records hold the same.
  func isSame(_ left: EntryReference, _ right: EntryReference) throws(StorageError) -> Bool {
    let (leftEntry, leftBytes) = try old.entry(left)
    let (rightEntry, rightBytes) = try new.entry(right)
    guard leftEntry.kind == rightEntry.kind, leftEntry.valueLength == rightEntry.valueLength else { return false }
    let length = Int(leftEntry.valueLength)
    return leftBytes[leftEntry.valueStart..<(leftEntry.valueStart + length)]
      == rightBytes[rightEntry.valueStart..<(rightEntry.valueStart + length)]
  }
}
