/// A position in a tree that moves from entry to entry in order. It reads only the nodes that it passes.
///
/// A cursor is a value: a copy moves independently. It stays on the snapshot that it was made for.
package struct Cursor: Sendable {
  private let file: DataFile
  private let root: TreeRoot
  /// The cursor on a server that supplies the entries; nil for a tree of a file.
  private var served: ServedCursor?
  /// The inner nodes above the leaf, from the root down, each with the cell through which the cursor went down.
  private var path: [Step] = []
  /// The leaf of the current entry; nil before the first seek, and beyond either end.
  private var leaf: Node?
  private var index = 0
  /// The end beyond which the cursor is, if it has no current entry.
  private var edge: Edge?

  enum Edge { case beforeStart, afterEnd }

  private struct Step {
    var node: Node
    var index: Int
  }

  /// The payload of the entry at the cursor; nil before the first seek, and beyond either end.
  package private(set) var currentPayload: Payload?

  /// Whether the cursor is at an entry.
  package var hasEntry: Bool { leaf != nil || served?.current != nil }

  /// The entry at the cursor; nil before the first seek, and beyond either end. Each access copies the key.
  package var current: Entry? {
    guard let leaf, let payload = currentPayload, let key = try? leaf.view.keyBytes(index) else {
      return served?.current
    }
    return Entry(key: key, payload: payload)
  }

  /// Replaces the contents of an array by the key of the entry at the cursor, in the array's memory. Empties it beyond either end.
  ///
  /// It changes nothing. A call that could not change the cursor would copy the cursor first, with a count of references for each member.
  package mutating func copyKey(into key: inout [UInt8]) throws(StorageError) {
    key.removeAll(keepingCapacity: true)
    try leaf?.view.appendKey(index, to: &key)
    if let entry = served?.current { entry.key.withUnsafeBytes { key.append(contentsOf: $0) } }
  }

  /// The keys that need no further read, in order: that of the current entry, and those behind it, or before it, that came with it from a
  /// server.
  package func keysAtHand(before: Bool) -> [Bytes] {
    served?.atHand(before: before).map(\.key) ?? current.map { [$0.key] } ?? []
  }

  init(file: DataFile, root: TreeRoot) {
    self.file = file
    self.root = root
  }

  init(_ served: ServedCursor) {
    file = .none
    root = .empty
    self.served = served
  }

  /// Moves a cursor whose entries come from a server.
  private mutating func moveServed(
    _ move: (inout ServedCursor) throws(StorageError) -> Void
  ) throws(StorageError) {
    guard var moving = served else { return }
    // So that the page has one owner during the move.
    served = nil
    currentPayload = nil
    defer { served = moving }
    try move(&moving)
    currentPayload = moving.current?.payload
  }

  /// Goes to the first entry that is not less than the probe. Reads one node a level (two if the entry lies in the next leaf).
  package mutating func seek(to probe: KeyProbe) throws(StorageError) {
    if served != nil {
      let key = try probe.served()
      return try moveServed { served throws(StorageError) in try served.seek(to: key) }
    }
    try probe.withProbe { probe throws(StorageError) in try self.seek(to: probe) }
  }

  private mutating func seek(to probe: Probe) throws(StorageError) {
    leave(.afterEnd)
    guard var node = try root.node(in: file) else { return }
    while node.view.form == .inner { node = try descend(from: node, through: try node.view.childIndex(probe)) }
    let index = try node.view.lowerBound(probe).index
    // Behind the leaf's last cell it is the first of the next leaf.
    if index < node.view.count { try stand(in: node, at: index) } else { try goToLeaf(before: false) }
  }

  /// Goes to the entry with `rank` entries before it; beyond the end if there are not enough entries.
  package mutating func seek(rank: UInt64) throws(StorageError) {
    if served != nil { return try moveServed { served throws(StorageError) in try served.seek(rank: rank) } }
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
      node = try descend(from: node, through: index)
    }
    guard rest < UInt64(node.view.count) else { throw node.view.damage }
    try stand(in: node, at: Int(rest))
  }

  /// Goes to the first entry.
  package mutating func seekToStart() throws(StorageError) { try seek(rank: 0) }

  /// Goes to the last entry.
  package mutating func seekToEnd() throws(StorageError) {
    if served != nil { return try moveServed { served throws(StorageError) in try served.seekToEnd() } }
    try seek(rank: root.count &- 1)
  }

  /// Goes to the entry behind; from before the start to the first one. Behind the last one, it has no current entry.
  package mutating func next() throws(StorageError) {
    guard let count = leaf?.view.count else {
      if served != nil { return try moveServed { served throws(StorageError) in try served.next() } }
      if edge == .beforeStart { try seekToStart() }
      return
    }
    index += 1
    if index < count { try load() } else { try goToLeaf(before: false) }
  }

  /// Goes to the entry before; from behind the end to the last one. Before the first one, it has no current entry.
  package mutating func previous() throws(StorageError) {
    guard leaf != nil else {
      if served != nil { return try moveServed { served throws(StorageError) in try served.previous() } }
      if edge == .afterEnd { try seekToEnd() }
      return
    }
    guard index == 0 else {
      index -= 1
      return try load()
    }
    try goToLeaf(before: true)
  }

  /// Goes to the last entry of the leaf before, or to the first one of the leaf behind.
  private mutating func goToLeaf(before isBefore: Bool) throws(StorageError) {
    while let step = path.popLast() {
      let index = isBefore ? step.index - 1 : step.index + 1
      guard index >= 0, index < step.node.view.count else { continue }
      var node = try descend(from: step.node, through: index)
      while node.view.form == .inner { node = try descend(from: node, through: isBefore ? node.view.count - 1 : 0) }
      return try stand(in: node, at: isBefore ? node.view.count - 1 : 0)
    }
    leave(isBefore ? .beforeStart : .afterEnd)
  }

  private mutating func descend(from node: Node, through index: Int) throws(StorageError) -> Node {
    path.append(Step(node: node, index: index))
    return try node.child(index, in: file)
  }

  private mutating func stand(in node: Node, at index: Int) throws(StorageError) {
    leaf = node
    self.index = index
    edge = nil
    try load()
  }

  private mutating func leave(_ newEdge: Edge) {
    path.removeAll(keepingCapacity: true)
    leaf = nil
    currentPayload = nil
    edge = newEdge
  }

  /// Reads and checks the cell at the cursor.
  private mutating func load() throws(StorageError) { currentPayload = try leaf?.view.payload(index) }
}
