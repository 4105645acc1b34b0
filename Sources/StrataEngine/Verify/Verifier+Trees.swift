/// The tree that a walk is in, and the required contents of its leaves.
private struct WalkedTree {
  enum Role { case catalog, names, records, tombstones, entries }

  var role: Role
  var order: TreeOrder
  var commit: UInt64
  var name: TreeName?
  var identifier: UInt32 = 0
  var nextTree: UInt32 = 0
}

extension Verifier {
  /// Walks every tree of every commit. Nodes that two commits share are walked once.
  mutating func checkTrees(_ progress: (VerifyProgress) -> Bool) throws(StorageError) {
    let total = UInt64(survey.frames.count)
    for (index, frame) in survey.frames.enumerated() {
      if index % 64 == 0, !progress((UInt64(index), total)) { return }
      guard let record = commits[frame.header.number] else { continue }
      let catalog = WalkedTree(
        role: .catalog, order: .bytes, commit: record.number, nextTree: record.links.nextTree)
      // A state must consist of as many bytes as its commit counts.
      if let root = walk(record.links.catalog, catalog), !root.isDamaged, root.liveBytes != record.liveBytes {
        damage(record, frame, "it counts \(record.liveBytes) live bytes, and its trees have \(root.liveBytes)")
      }
      walk(record.links.names, WalkedTree(role: .names, order: .bytes, commit: record.number))
      try checkCounts(of: record)
    }
    _ = progress((total, total))
  }

  /// Checks that each tree has as many entries as follow from its parent's and the changes.
  private mutating func checkCounts(of record: CommitRecord) throws(StorageError) {
    guard !record.bringsBack, !record.flags.contains(.undo), let parent = record.parents.first,
      let before = commits[parent]
    else { return }
    let view = View(commit: record, file: file)
    let parentView = View(commit: before, file: file)
    for count in record.counts {
      // Unreadable trees were reported when they were walked.
      guard let new = try? view.catalogEntry(count.tree), new.identifier == count.identifier else { continue }
      guard let old = try? parentView.catalogEntry(count.tree) else { continue }
      let expected = old.identifier == new.identifier ? old.root.count : 0
      if new.root.count != expected &+ count.inserted &- count.deleted {
        damage(
          "catalog", record.links.catalog.offset, commit: record.number, tree: count.tree,
          "the tree has \(new.root.count) entries, and by its changes it has \(expected &+ count.inserted &- count.deleted)"
        )
      }
    }
  }

  // MARK: Nodes

  /// Walks a tree. Returns nil if it has no root.
  @discardableResult
  private mutating func walk(_ pointer: NodePointer, _ tree: WalkedTree) -> NodeFact? {
    guard pointer.isNone else { return walk(pointer, level: nil, from: nil, to: nil, tree) }
    // A pointer that leads to no node must be all zero.
    if pointer != .none { tell(pointer, tree, "a pointer to no node counts \(pointer.count) entries") }
    return nil
  }

  /// Walks a node and all nodes below it. Its keys must not be less than `first` and must be less than `last`.
  @discardableResult
  private mutating func walk(
    _ pointer: NodePointer, level: UInt8?, from first: [UInt8]?, to last: [UInt8]?, _ tree: WalkedTree
  ) -> NodeFact? {
    if let known = nodes[pointer.offset] {
      guard known.length == pointer.length, known.check == pointer.check, known.count == pointer.count,
        level.map({ $0 == known.level }) ?? true
      else {
        tell(pointer, tree, "two pointers disagree about the node")
        return nil
      }
      if known.tree != tree.identifier { tell(pointer, tree, "it is part of another tree") }
      if !known.isDamaged, let node = try? file.node(at: pointer) { checkEnds(node.view, first, last, pointer, tree) }
      return known
    }
    report.nodes += 1
    var fact = NodeFact(
      length: pointer.length, check: pointer.check, level: level ?? 0, count: pointer.count, tree: tree.identifier,
      nodeBytes: UInt64(pointer.length), entryBytes: 0, isDamaged: false)
    do {
      let node = try file.node(at: pointer)
      fact.level = node.view.level
      fact.nodeBytes = try file.liveBytes(of: pointer)
      if let level, node.view.level != level { throw node.view.damage }
      try walk(node.view, pointer, from: first, to: last, tree, &fact)
    } catch {
      fact.isDamaged = true
      let range = "\(pointer.count) entries from \(key(first)) to \(key(last))"
      tell(pointer, tree, problem(of: pointer), saved: tree.role.whatIsSaved(range))
    }
    nodes[pointer.offset] = fact
    return fact
  }

  private mutating func walk(
    _ view: NodeView, _ pointer: NodePointer, from first: [UInt8]?, to last: [UInt8]?, _ tree: WalkedTree,
    _ fact: inout NodeFact
  ) throws(StorageError) {
    checkEnds(view, first, last, pointer, tree)
    if try !view.isInOrder(tree.order) { tell(pointer, tree, "its keys are out of order") }
    guard view.form == .inner else {
      if pointer.count != UInt64(view.count) {
        tell(pointer, tree, "its parent counts \(pointer.count) entries, it has \(view.count)")
      }
      for index in 0..<view.count {
        fact.entryBytes &+= try checkLeaf(view, index, try view.payload(index), pointer, tree)
      }
      return
    }
    var keys: [[UInt8]] = []
    keys.reserveCapacity(view.count)
    for index in 0..<view.count { keys.append(try view.key(index)) }
    var count: UInt64 = 0
    for index in 0..<view.count {
      let child = try view.pointer(index)
      count = count &+ child.count
      let next = index + 1 < keys.count ? keys[index + 1] : last
      let below = walk(child, level: view.level &- 1, from: index == 0 ? first : keys[index], to: next, tree)
      fact.nodeBytes &+= below?.nodeBytes ?? 0
      fact.entryBytes &+= below?.entryBytes ?? 0
      if below?.isDamaged ?? true { fact.isDamaged = true }
    }
    if count != pointer.count {
      tell(pointer, tree, "its parent counts \(pointer.count) entries, its children \(count)")
    }
  }

  /// Checks that the first and the last key of a node lie within the limits that its parents give.
  private mutating func checkEnds(
    _ view: NodeView, _ first: [UInt8]?, _ last: [UInt8]?, _ pointer: NodePointer, _ tree: WalkedTree
  ) {
    guard tree.order == .bytes else { return }
    let lowest = view.form == .inner ? 1 : 0
    guard lowest < view.count, let low = try? view.key(lowest), let high = try? view.key(view.count - 1) else { return }
    let isBelow = first.map { low.lexicographicallyPrecedes($0) } ?? false
    let isAbove = last.map { !high.lexicographicallyPrecedes($0) } ?? false
    if isBelow || isAbove { tell(pointer, tree, "its keys belong elsewhere in the tree") }
  }

  private mutating func tell(_ pointer: NodePointer, _ tree: WalkedTree, _ problem: String, saved: String = "") {
    damage("tree node", pointer.offset, commit: tree.commit, tree: tree.name, problem, saved: saved)
  }

  /// Why a node cannot be read: because of its own bytes, or because of those of its base.
  private func problem(of pointer: NodePointer) -> String {
    guard let base = try? file.base(of: pointer), (try? file.node(at: base)) == nil else {
      return "it is not what was written"
    }
    return "it has patches of the tree node at byte \(base.offset), which is not what was written"
  }

  private func key(_ key: [UInt8]?) -> String {
    guard let key, !key.isEmpty else { return "the end" }
    return key.prefix(24).map { $0 < 16 ? "0" + String($0, radix: 16) : String($0, radix: 16) }.joined()
  }

  // MARK: Entries

  /// Checks the record that an entry refers to. Returns the bytes of that record.
  private mutating func checkLeaf(
    _ view: NodeView, _ index: Int, _ payload: Payload, _ pointer: NodePointer, _ tree: WalkedTree
  ) throws(StorageError) -> UInt64 {
    switch tree.role {
    case .catalog: return checkCatalog(try view.key(index), payload, pointer, tree)
    case .names:
      checkName(try view.key(index), payload, pointer, tree)
      return 0
    case .records, .tombstones: return try checkRecord(view, index, payload, pointer, tree)
    case .entries:
      guard let reference = payload.entry else { return 0 }
      _ = try fact(reference, view, index, tree)
      return UInt64(reference.length)
    }
  }

  private mutating func checkRecord(
    _ view: NodeView, _ index: Int, _ payload: Payload, _ pointer: NodePointer, _ tree: WalkedTree
  ) throws(StorageError) -> UInt64 {
    guard let reference = payload.entry else {
      tell(pointer, tree, "an entry refers to no record")
      return 0
    }
    if let fact = try fact(reference, view, index, tree) {
      let isRight =
        try fact.keyCheck == view.keyCheck(index) && fact.kind == (tree.role == .tombstones ? .delete : .put)
        && isTree(fact.tree, at: reference.offset, sameAs: tree.identifier, in: tree.commit)
      if !isRight {
        tell(pointer, tree, "an entry refers to a change of another key, tree or kind at byte \(reference.offset)")
      }
    }
    return UInt64(reference.length)
  }

  /// The change entry at a reference. If there is none, reports that once, and returns nil.
  private mutating func fact(
    _ reference: EntryReference, _ view: NodeView, _ index: Int, _ tree: WalkedTree
  ) throws(StorageError) -> ChangeFact? {
    if let fact = resolve(reference) { return fact }
    if wrongReferences.insert(reference.offset).inserted {
      damage(
        "record", reference.offset, commit: tree.commit, tree: tree.name, key: try view.key(index),
        "it is not what was written",
        saved: "this version of the record is lost; its other versions can be read")
    }
    return nil
  }

  /// Checks a tree that the catalog lists. Returns the bytes that it consists of by the catalog's count.
  private mutating func checkCatalog(_ key: [UInt8], _ payload: Payload, _ pointer: NodePointer, _ catalog: WalkedTree)
    -> UInt64
  {
    guard let entry = try? CatalogEntry(payload, catalogAt: pointer.offset), entry.identifier > 0,
      entry.identifier < catalog.nextTree
    else {
      tell(pointer, catalog, "what it says of a tree makes no sense")
      return 0
    }
    var tree = WalkedTree(
      role: entry.kind == .records ? .records : .entries, order: entry.order, commit: catalog.commit,
      name: TreeName(key), identifier: entry.identifier)
    let root = walk(entry.root, tree)
    tree.role = .tombstones
    let gone = walk(entry.tombstones, tree)
    if entry.attributes != .none, resolve(entry.attributes) == nil,
      wrongReferences.insert(entry.attributes.offset).inserted
    {
      damage(
        "attributes", entry.attributes.offset, commit: catalog.commit, tree: tree.name, "they are not what was written",
        saved: "older attributes of the tree can be read")
    }
    guard !(root?.isDamaged ?? false), !(gone?.isDamaged ?? false) else { return entry.liveBytes }
    let nodeBytes = (root?.nodeBytes ?? 0) &+ (gone?.nodeBytes ?? 0)
    let entryBytes = (root?.entryBytes ?? 0) &+ (gone?.entryBytes ?? 0) &+ UInt64(entry.attributes.length)
    if nodeBytes != entry.nodeBytes || (entry.kind == .records && entryBytes != entry.entryBytes) {
      tell(
        pointer, tree,
        "the catalog counts \(entry.nodeBytes) and \(entry.entryBytes) bytes, the tree has \(nodeBytes) and \(entryBytes)"
      )
    }
    return entry.liveBytes
  }

  private mutating func checkName(_ key: [UInt8], _ payload: Payload, _ pointer: NodePointer, _ tree: WalkedTree) {
    guard let named = try? NamedCommit(payload, at: pointer.offset) else {
      return tell(pointer, tree, "a name leads nowhere")
    }
    let isLost = survey.gaps.contains { $0.contains(named.offset) }
    if !isLost, survey.frame(number: named.number)?.offset != named.offset {
      tell(pointer, tree, "the name \(String(decoding: key, as: UTF8.self)) leads to no commit")
    }
  }
}

extension NodeView {
  /// Whether each key comes before the next, if the order is that of bytes. Throws if a cell makes no sense.
  fileprivate func isInOrder(_ order: TreeOrder) throws(StorageError) -> Bool {
    // The first cell of an inner node stands for no key: all keys less than the second one's lie below it.
    var isInOrder = true
    var before = try suffix(0)
    for index in 1..<max(1, count) {
      let next = try suffix(index)
      let isAfter =
        form == .inner && index == 1 ? prefixLength + next.count > 0 : compareBytes(before, next) < 0
      if !isAfter { isInOrder = false }
      before = next
    }
    return isInOrder || order != .bytes
  }

  /// The check of a cell's whole key, computed from its prefix and its suffix.
  fileprivate func keyCheck(_ index: Int) throws(StorageError) -> UInt32 {
    checksum(checksum(0, prefix), try suffix(index))
  }
}

extension WalkedTree.Role {
  /// Describes how far the entries below a lost node can be read or saved.
  fileprivate func whatIsSaved(_ range: String) -> String {
    switch self {
    case .records: "\(range) cannot be reached here; their changes lie in the commits and can be saved from there"
    case .tombstones: "the past of deleted records is cut short: \(range)"
    case .entries: "\(range) of an index cannot be read; it can be rebuilt from its records"
    case .catalog: "the trees of this commit cannot be reached; those of other commits, and all changes, can"
    case .names: "names are lost; the commits they named are not"
    }
  }
}
