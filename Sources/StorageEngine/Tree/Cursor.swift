/// A place in a tree that moves from entry to entry in order. It reads only the nodes that it passes.
///
/// A cursor is a value: a copy goes its own way. It stays on the snapshot that it was made for.
package struct Cursor: Sendable {
  private let file: DataFile
  private let root: TreeRoot
  /// Where the entries come from in place of the file.
  private var served: ServedCursor?
  /// The inner nodes above the leaf, from the root down, each with the cell that was gone down through.
  private var path: [Step] = []
  /// The leaf that the cursor stands in; nil before the first seek, and beyond either end.
  private var leaf: Node?
  private var index = 0
  /// Beyond which end the cursor stands, where it has no current entry.
  private var edge: Edge?

  private enum Edge { case beforeStart, afterEnd }

  private struct Step {
    var node: Node
    var index: Int
  }

  /// What the entry at the cursor holds beside its key; nil before the first seek, and beyond either end.
  package private(set) var currentPayload: Payload?

  /// Whether the cursor stands at an entry.
  package var hasEntry: Bool { leaf != nil || served?.current != nil }

  /// The entry at the cursor; nil before the first seek, and beyond either end. Each time it is asked for, the key is copied.
  package var current: Entry? {
    guard let leaf, let payload = currentPayload, let key = try? leaf.view.keyBytes(index) else {
      return served?.current
    }
    return Entry(key: key, payload: payload)
  }

  /// Replaces what an array holds by the key of the entry at the cursor, in the memory that the array has; by nothing beyond either end.
  package func copyKey(into key: inout [UInt8]) throws(StorageError) {
    key.removeAll(keepingCapacity: true)
    try leaf?.view.appendKey(index, to: &key)
    if let entry = served?.current { entry.key.withUnsafeBytes { key.append(contentsOf: $0) } }
  }

  /// The keys that are there without asking anybody: of the current entry, and of those behind it that came with it from a server.
  package var keysAtHand: [Bytes] {
    if let served { return served.rest.map(\.key) }
    return current.map { [$0.key] } ?? []
  }

  /// The keys before the current one that came with it from a server, in order.
  package var keysBefore: [Bytes] { served?.before.map(\.key) ?? [] }

  init(file: DataFile, root: TreeRoot) {
    self.file = file
    self.root = root
  }

  init(_ served: ServedCursor) {
    file = .none
    root = .empty
    self.served = served
  }

  /// Moves where the entries come from a server.
  private mutating func moveServed(
    _ move: (inout ServedCursor) throws(StorageError) -> Void
  ) throws(StorageError) {
    guard var moving = served else { return }
    // So that the page has one owner while it is walked along.
    served = nil
    currentPayload = nil
    defer { served = moving }
    try move(&moving)
    currentPayload = moving.current?.payload
  }

  /// Goes to the first entry that is not less than the probe. Reads one node a level (two where the entry lies in the
  /// next leaf).
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
    try settle(in: node, at: try node.view.lowerBound(probe).index)
  }

  /// Goes to the entry with `rank` entries before it; beyond the end where there are not so many.
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

  /// Goes to the entry behind; from before the start to the first one. Beyond the last there is none.
  package mutating func next() throws(StorageError) {
    guard let count = leaf?.view.count else {
      if served != nil { return try moveServed { served throws(StorageError) in try served.next() } }
      if edge == .beforeStart { try seekToStart() }
      return
    }
    index += 1
    if index < count { try load() } else { try goToNextLeaf() }
  }

  /// Goes to the entry before; from behind the end to the last one. Before the first there is none.
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
    while let step = path.popLast() {
      guard step.index > 0 else { continue }
      let node = try leafBelow(step.node, through: step.index - 1, toEnd: true)
      return try stand(in: node, at: node.view.count - 1)
    }
    leave(.beforeStart)
  }

  private mutating func goToNextLeaf() throws(StorageError) {
    while let step = path.popLast() {
      guard step.index + 1 < step.node.view.count else { continue }
      return try stand(in: try leafBelow(step.node, through: step.index + 1, toEnd: false), at: 0)
    }
    leave(.afterEnd)
  }

  /// The first or the last leaf below a cell of an inner node.
  private mutating func leafBelow(_ inner: Node, through index: Int, toEnd: Bool) throws(StorageError) -> Node {
    var node = try descend(from: inner, through: index)
    while node.view.form == .inner { node = try descend(from: node, through: toEnd ? node.view.count - 1 : 0) }
    return node
  }

  private mutating func descend(from node: Node, through index: Int) throws(StorageError) -> Node {
    path.append(Step(node: node, index: index))
    return try node.child(index, in: file)
  }

  /// Stands at a cell of a leaf, or, behind its last one, at the first of the next leaf.
  private mutating func settle(in node: Node, at index: Int) throws(StorageError) {
    if index < node.view.count { try stand(in: node, at: index) } else { try goToNextLeaf() }
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
