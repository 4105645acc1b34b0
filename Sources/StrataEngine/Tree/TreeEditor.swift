/// A tree being changed by a transaction: copies the path to each change once, and then changes it in place.
struct TreeEditor: Sendable {
  var root: TreeRoot
  let order: TreeOrder
  /// Whether all leaves have the form of references. If false, the payloads decide.
  let isReferences: Bool
  /// Bytes of stored nodes that the changes replaced.
  var replacedNodeBytes: UInt64 = 0
  /// About how much memory the fresh nodes take, in bytes.
  var freshBytes = 0

  var isChanged: Bool { root.fresh != nil || replacedNodeBytes > 0 }

  /// Sets the payload of a key to the result of `payload`, which gets the old one. Returns whether the key is new.
  mutating func set(
    _ key: UnsafeRawBufferPointer, at probe: Probe, in file: DataFile,
    payload: (Payload?) throws(StorageError) -> Payload
  ) throws(StorageError) -> Bool {
    guard root.count > 0 else {
      let new = try payload(nil)
      let leaf = FreshNode(form: form(for: new), level: 0)
      try insert(new, key, into: leaf, at: 0)
      try dropStoredRoot(in: file)
      root = TreeRoot(pointer: .fresh(count: 1), fresh: leaf)
      return true
    }
    var change = Insertion(key: key, probe: probe)
    try changeLeaf(in: file) { view throws(StorageError) in
      try view.childIndex(probe)
    } change: { editor, leaf, view throws(StorageError) in
      (try editor.set(&change, inLeaf: leaf, view, payload: payload), change.isNew ? 1 : 0)
    }
    return change.isNew
  }

  /// Sets the payload of a key, or removes the key if the payload is nil.
  mutating func change(_ key: [UInt8], to payload: Payload?, in file: DataFile) throws(StorageError) {
    try key.withBytes { key throws(StorageError) in
      if let payload {
        _ = try set(key, at: .bytes(key), in: file) { _ throws(StorageError) in payload }
      } else {
        _ = try remove(at: .bytes(key), in: file)
      }
    }
  }

  /// Has fresh nodes written, and releases them: the largest subtrees of at most `limit` bytes each. The few nodes above them stay fresh,
  /// if there are any.
  ///
  /// - Parameter write: Writes a node and all fresh ones below it, `length` bytes of them, with `count` entries.
  mutating func flush(
    limit: Int, in file: DataFile,
    write: (_ node: FreshNode, _ count: UInt64, _ length: Int) throws(StorageError) -> NodePointer
  ) throws(StorageError) {
    freshBytes = 0
    guard root.fresh != nil else { return }
    try makeRootFresh(in: file)
    guard let top = root.fresh else { return }
    let length = top.freshLength
    if length <= limit {
      root = TreeRoot(pointer: try write(top, root.count, length))
    } else {
      try flush(below: top, limit: limit, write: write)
    }
  }

  private func flush(
    below node: FreshNode, limit: Int, write: (FreshNode, UInt64, Int) throws(StorageError) -> NodePointer
  ) throws(StorageError) {
    var next = 0
    while let (index, child) = node.children.first(from: next) {
      next = index + 1
      let length = child.freshLength
      if length <= limit {
        node.setChild(nil, try write(child, try node.view.childCount(index), length), at: index)
      } else if let child = node.children.own(at: index)?.takeUnretainedValue() {
        try flush(below: child, limit: limit, write: write)
      }
    }
  }

  // MARK: Setting

  private struct Insertion {
    let key: UnsafeRawBufferPointer
    let probe: Probe
    var isNew = false
  }

  /// A node that was split: its right part, the first key there, and the number of entries there.
  struct Split {
    var key: [UInt8]
    var right: FreshNode
    var count: UInt64
  }

  /// An inner node on the way to a leaf, and the cell that the way goes on from.
  private struct Step {
    let node: Unmanaged<FreshNode>
    let cell: Int
    /// How many entries lie below the cell.
    let count: UInt64
  }

  /// Goes down to a leaf, below the cells that `cell` chooses, has it changed, and goes up again as far as nodes above must change.
  ///
  /// A loop over unmanaged nodes: the tree holds them all the while. Counting references on every level, as a recursion would do, costs a
  /// twentieth of an insertion.
  ///
  /// - Parameter change: Changes the leaf. Returns its right part if it was split, and how many entries the leaf has got.
  @inline(__always)
  mutating func changeLeaf(
    in file: DataFile, below cell: (NodeView) throws(StorageError) -> Int,
    change: (inout TreeEditor, FreshNode, NodeView) throws(StorageError) -> (split: Split?, added: UInt64)
  ) throws(StorageError) {
    try makeRootFresh(in: file)
    guard let top = root.fresh else { throw .damaged(what: "tree", offset: 0) }
    var view = try top.view
    let level = view.level
    let split = try withUnsafeTemporaryAllocation(of: Step.self, capacity: Int(level)) { path throws(StorageError) in
      var depth = 0
      var node = Unmanaged.passUnretained(top)
      while view.form == .inner {
        guard depth < path.count else { throw view.damage }
        let cell = try cell(view)
        path[depth] = Step(node: node, cell: cell, count: try view.childCount(cell))
        depth += 1
        node = try ownChild(cell, of: node, file: file)
        view = try NodeView(node._withUnsafeGuaranteedRef { $0.bytes }, offset: 0)
      }
      let (split, added) = try change(&self, node.takeUnretainedValue(), view)
      root.pointer.count += added
      return try raise(split, added, along: UnsafeMutableBufferPointer(rebasing: path[..<depth]))
    }
    if let split { try setTop(over: top, level, split) }
  }

  /// Counts entries that a leaf has got in the nodes above it, and inserts the right parts of nodes that were split. Returns that of the
  /// root, if it was split.
  private mutating func raise(
    _ split: Split?, _ added: UInt64, along path: UnsafeMutableBufferPointer<Step>
  ) throws(StorageError) -> Split? {
    var split = split
    var depth = path.count
    while depth > 0, added > 0 || split != nil {
      depth -= 1
      let step = path[depth]
      let count = step.count + added
      if let lower = split {
        split = try insert(lower, count, into: step.node.takeUnretainedValue(), after: step.cell)
      } else {
        step.node._withUnsafeGuaranteedRef { $0.setChildCount(at: step.cell, count) }
      }
    }
    return split
  }

  private mutating func setTop(over left: FreshNode, _ level: UInt8, _ split: Split) throws(StorageError) {
    guard level < UInt8.max, root.count > split.count else { throw .damaged(what: "tree", offset: 0) }
    let top = FreshNode(form: .inner, level: level + 1)
    try top.insertChild(left, count: root.count - split.count, key: [], at: 0)
    try top.insertChild(split.right, count: split.count, key: split.key, at: 1)
    root.fresh = top
  }

  /// Inserts the right part of a split child beside it; `count` entries lie in both.
  private mutating func insert(
    _ split: Split, _ count: UInt64, into node: FreshNode, after cell: Int
  ) throws(StorageError) -> Split? {
    guard count > split.count else { throw try node.view.damage }
    node.setChildCount(at: cell, count - split.count)
    try node.insertChild(split.right, count: split.count, key: split.key, at: cell + 1)
    return try self.split(node, insertedAt: cell + 1)
  }

  private mutating func set(
    _ change: inout Insertion, inLeaf node: FreshNode, _ view: NodeView,
    payload: (Payload?) throws(StorageError) -> Payload
  ) throws(StorageError) -> Split? {
    let position = try view.lowerBound(change.probe)
    if position.isEqual {
      let new = try payload(try view.payload(position.index))
      if try replace(position.index, of: node, view, by: new) { return nil }
      let key = try view.key(position.index)
      try prepare(node, view.form, for: new)
      try node.removeCell(at: position.index)
      try key.withBytes { key throws(StorageError) in try insert(new, key, into: node, at: position.index) }
    } else {
      let new = try payload(nil)
      try prepare(node, view.form, for: new)
      try insert(new, change.key, into: node, at: position.index)
      change.isNew = true
      freshBytes += change.key.count + FreshNode.bytesBesideKey
    }
    return try split(node, insertedAt: position.index)
  }

  private func form(for payload: Payload) -> NodeForm {
    if isReferences { return .references }
    switch payload {
    case .none, .record(.served): return .bare
    case .record(.entry): return .references
    case .bytes: return .mixed
    }
  }

  /// Gives a leaf a form that can hold the payload beside its present contents.
  func prepare(_ node: FreshNode, _ form: NodeForm, for payload: Payload) throws(StorageError) {
    guard form != .mixed, form != self.form(for: payload) else { return }
    try node.makeMixed()
  }

  func insert(
    _ payload: Payload, _ key: UnsafeRawBufferPointer, into node: FreshNode, at index: Int
  ) throws(StorageError) {
    let isMixed = NodeForm(rawValue: node.bytes[0]) == .mixed
    try payload.withFixedPart(isMixed: isMixed) { fixed throws(StorageError) in
      try node.insertCell(at: index, fixed: fixed, key: key)
    }
  }

  /// Replaces a payload by another one. Returns false unless the leaf's form allows it and it takes as many bytes.
  private func replace(
    _ index: Int, of node: FreshNode, _ view: NodeView, by payload: Payload
  ) throws(StorageError) -> Bool {
    let isMixed = view.form == .mixed
    guard isMixed || view.form == form(for: payload) else { return false }
    let size = try view.fixed(index).count
    return payload.withFixedPart(isMixed: isMixed) { fixed in
      guard fixed.count == size else { return false }
      node.replaceFixed(at: index, fixed)
      return true
    }
  }

  /// Cuts a node that has grown too long in two. If the last change came at an end, the cut lies there, so that keys that come in order
  /// fill their nodes.
  mutating func split(_ node: FreshNode, insertedAt index: Int) throws(StorageError) -> Split? {
    guard node.length > NodeView.targetSize else { return nil }
    let view = try node.view
    let isInner = view.form == .inner
    guard view.count >= (isInner ? 4 : 2) else { return nil }
    let least = isInner ? 2 : 1
    var cut: Int
    if index == view.count - 1 {
      cut = view.count - least
    } else if index == 0 {
      cut = least
    } else {
      let half = (view.length - view.heap) / 2
      cut = least
      while cut < view.count - least, view.end(cut - 1) < half { cut += 1 }
    }
    cut = max(least, min(cut, view.count - least))
    let key = try separator(view, cut)
    let right = try FreshNode.build(from: view, range: cut..<view.count)
    let left = try FreshNode.build(from: view, range: 0..<cut)
    var count = UInt64(view.count - cut)
    if isInner {
      count = 0
      for index in cut..<view.count { count += try view.childCount(index) }
      right.children = node.children.part(cut..<view.count)
      left.children = node.children.part(0..<cut)
    }
    node.replaceContents(with: left)
    node.base = .none
    freshBytes += FreshNode.usualCapacity / 2
    return Split(key: key, right: right, count: count)
  }

  /// A key that is greater than all before the cut and not greater than any after it.
  private func separator(_ view: NodeView, _ cut: Int) throws(StorageError) -> [UInt8] {
    let key = try view.key(cut)
    guard order == .bytes, view.form != .inner else { return key }
    // The shortest key that separates both sides: one byte more than they share.
    let shared = commonPrefixLength(try view.suffix(cut - 1), try view.suffix(cut))
    return Array(key.prefix(view.prefixLength + shared + 1))
  }

  // MARK: Copying paths

  mutating func makeRootFresh(in file: DataFile) throws(StorageError) {
    if root.fresh == nil {
      root.fresh = try file.freshNode(at: root.pointer)
      freshBytes += FreshNode.usualCapacity
      try dropStoredRoot(in: file)
    } else if !isKnownUniquelyReferenced(&root.fresh) {
      root.fresh = root.fresh.map { FreshNode(copying: $0) }
    }
  }

  private mutating func dropStoredRoot(in file: DataFile) throws(StorageError) {
    guard !root.pointer.isNone else { return }
    replacedNodeBytes += try file.liveBytes(of: root.pointer)
    root.pointer = .fresh(count: root.pointer.count)
  }

  /// The child below a cell, to be changed. If it is a stored one, or something else holds it, too, a copy replaces it. The node holds it.
  @inline(__always)
  mutating func ownChild(
    _ index: Int, of node: Unmanaged<FreshNode>, file: DataFile
  ) throws(StorageError) -> Unmanaged<FreshNode> {
    if let child = node._withUnsafeGuaranteedRef({ $0.children.own(at: index) }) { return child }
    return .passUnretained(try freshChild(index, of: node.takeUnretainedValue(), file: file))
  }

  /// Replaces the stored child below a cell by a copy, and returns the copy.
  private mutating func freshChild(_ index: Int, of node: FreshNode, file: DataFile) throws(StorageError) -> FreshNode {
    let view = try node.view
    let pointer = try view.pointer(index)
    let copy = try file.freshNode(at: pointer)
    // Levels fall by one, so that no damage makes a walk endless.
    guard Int(try copy.view.level) + 1 == Int(view.level) else { throw view.damage }
    replacedNodeBytes += try file.liveBytes(of: pointer)
    freshBytes += copy.capacity
    node.setChild(copy, .fresh(count: pointer.count), at: index)
    return copy
  }
}
