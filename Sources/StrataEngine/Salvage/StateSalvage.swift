/// Brings a transaction of the new store to the state of one commit of the old, as far as that can be read.
struct StateSalvage {
  let salvage: Salvage
  let transaction: FileTransaction
  let record: CommitRecord
  let frame: FrameSurvey.Frame
  /// The old commit whose state the transaction begins with, if it is exactly that state: then only the differences are read.
  let oldParent: CommitRecord?
  /// The commit that this one restored by roots, and its copy in the new store.
  let restored: (old: CommitRecord, new: View)?
  /// The frame's own changes, for changes that its nodes do not show; read at their first use.
  var looseChanges: FrameChangeReader?

  private var source: DataFile { salvage.source }

  private func lose(_ kind: SalvageLoss.Kind, tree: TreeName? = nil, key: [UInt8]? = nil) {
    salvage.lose(kind, commit: record.number, tree: tree, key: key)
  }

  mutating func run() throws(StorageError) {
    let (trees, isWhole) = catalog()
    if !isWhole { lose(.catalog) }
    for (name, entry) in trees { salvage.treeNames[entry.identifier] = name }
    if isWhole {
      let kept = Set(trees.map(\.0))
      for name in try transaction.trees() where !kept.contains(name) { try transaction.dropTree(name) }
    }
    // Records first: entries may refer to them.
    for (name, entry) in trees where entry.kind == .records { try save(name, entry) }
    for (name, entry) in trees where entry.kind == .entries { try save(name, entry) }
    if !isWhole { try applyLooseChanges(except: Set(trees.map(\.1.identifier))) }
  }

  /// The readable part of the catalog, and whether that is all of it.
  private func catalog() -> ([(TreeName, CatalogEntry)], Bool) {
    let walk = TolerantWalk(record.links.catalog, in: source)
    var isWhole = true
    let trees = walk.items.compactMap { item -> (TreeName, CatalogEntry)? in
      guard case .entry(let key, let payload) = item,
        let entry = try? CatalogEntry(payload, catalogAt: record.links.catalog.offset)
      else {
        isWhole = false
        return nil
      }
      return (TreeName(key), entry)
    }
    return (trees, isWhole)
  }

  // MARK: One tree

  private mutating func save(_ name: TreeName, _ entry: CatalogEntry) throws(StorageError) {
    if let (old, new) = restored, (try? View(commit: old, file: source).catalogEntry(name))?.root == entry.root,
      try new.tree(name) != nil
    {
      return try transaction.restore([name], from: new)
    }
    let oldEntry = oldParent.flatMap { try? View(commit: $0, file: source).catalogEntry(name) }
    let isSameTree = oldEntry?.identifier == entry.identifier
    let found = try transaction.tree(name)
    // Makes sure that a tree of the right kind and order exists.
    if found?.kind != entry.kind || found?.order != entry.order || !(isSameTree || oldParent == nil) {
      if found != nil { try transaction.dropTree(name) }
      try transaction.createTree(name, kind: entry.kind, order: entry.order, attributes: [])
    }
    if entry.attributes != .none, oldEntry?.attributes != entry.attributes {
      if let bytes = try? RecordSource(file: source).value(entry.attributes) {
        try transaction.setAttributes(bytes.array, of: name)
      } else if salvage.lostRecords.insert(entry.attributes.offset).inserted {
        lose(.attributes, tree: name)
      }
    }
    if isSameTree, entry.order == .bytes, let oldParent, let oldEntry, oldEntry.kind == entry.kind {
      if oldEntry.root == entry.root { return }
      if try saveDifference(name, entry, from: oldParent) { return }
    }
    try saveAll(name, entry)
  }

  /// Saves only the commit's changes. Returns false if they cannot all be read.
  private mutating func saveDifference(
    _ name: TreeName, _ entry: CatalogEntry, from parent: CommitRecord
  ) throws(StorageError) -> Bool {
    var changed: [(key: [UInt8], payload: Payload?)] = []
    do {
      var cursor = try difference(View(commit: parent, file: source), View(commit: record, file: source), tree: name)
      while let next = try cursor.next() { changed.append((next.key.array, next.new?.payload)) }
    } catch {
      return false
    }
    for (key, payload) in changed {
      if let payload {
        try put(key, payload, name, entry, probe: nil, isChange: true)
      } else {
        try remove(key, name, entry, probe: nil)
      }
    }
    return true
  }

  /// Saves all entries that can be reached; in the gaps between them the entries of before, with the frame's changes.
  private mutating func saveAll(_ name: TreeName, _ entry: CatalogEntry) throws(StorageError) {
    let walk = TolerantWalk(entry.root, in: source)
    var before: [[UInt8]] = []
    var cursor = try transaction.tree(name)?.cursor()
    try cursor?.seekToStart()
    while let entry = cursor?.current {
      before.append(entry.key.array)
      try cursor?.next()
    }
    let plan = MergePlan(walk.items, before: before)
    if walk.gapCount > 0 {
      lose(.entries(count: walk.gapCount), tree: name)
    }
    for key in plan.removed { try remove(key, name, entry, probe: plan.probe(key, entry.order)) }
    for (key, payload) in plan.kept { try put(key, payload, name, entry, probe: plan.probe(key, entry.order)) }
    guard walk.gapCount > 0, entry.kind == .records, entry.order == .bytes else { return }
    try applyLooseChanges(to: name, entry.identifier) { plan.isInGap($0) }
  }

  // MARK: One entry

  private mutating func put(
    _ key: [UInt8], _ payload: Payload, _ name: TreeName, _ entry: CatalogEntry, probe: KeyProbe?,
    isChange: Bool = false
  ) throws(StorageError) {
    guard entry.kind == .records else { return try putEntry(key, payload, name, probe: probe) }
    guard let reference = payload.entry else { return }
    let probe = probe ?? .bytes(key)
    let tree = try transaction.tree(name)
    let existing = try tree?.find(probe)?.payload.record
    guard let value = try? source.value(reference) else {
      if salvage.lostRecords.insert(reference.offset).inserted {
        lose(.record(keptOlder: existing != nil), tree: name, key: key)
      }
      return
    }
    // If only the state is known, an equal entry is not a change; a commit may have written the same value once more.
    if !isChange, let existing, try tree?.value(of: existing) == value { return }
    try transaction.put(key, value.array, in: name, probe: probe)
  }

  /// Saves an entry of a plain tree. A reference to a record of the old store becomes one to that record in the new store.
  private mutating func putEntry(
    _ key: [UInt8], _ payload: Payload, _ name: TreeName, probe: KeyProbe?
  ) throws(StorageError) {
    var new = payload
    if let reference = payload.entry {
      guard let target = try newReference(for: reference) else {
        lose(.indexEntry, tree: name, key: key)
        if try transaction.tree(name)?.find(probe ?? .bytes(key)) != nil {
          try transaction.remove(key, in: name, probe: probe)
        }
        return
      }
      new = .record(target)
    }
    if try transaction.tree(name)?.find(probe ?? .bytes(key))?.payload == new { return }
    try transaction.insert(key, new, in: name, probe: probe)
  }

  private func newReference(for old: EntryReference) throws(StorageError) -> RecordReference? {
    guard let (entry, bytes) = try? source.entry(old), let name = salvage.treeNames[entry.tree],
      let tree = try transaction.tree(name), tree.order == .bytes
    else { return nil }
    return try transaction.currentReference(of: bytes[entry.keyRange].array, in: name)
  }

  private func remove(
    _ key: [UInt8], _ name: TreeName, _ entry: CatalogEntry, probe: KeyProbe?
  ) throws(StorageError) {
    switch entry.kind {
    case .records: try transaction.delete(key, in: name, probe: probe)
    case .entries: try transaction.remove(key, in: name, probe: probe)
    }
  }

  // MARK: The frame's changes

  private mutating func changes() throws(StorageError) -> FrameChangeReader {
    if let looseChanges { return looseChanges }
    let read = try FrameChangeReader(
      in: source, frame: frame.offset, limit: frame.nodesStart, end: frame.end, isWhole: frame.isWhole)
    looseChanges = read
    return read
  }

  private mutating func applyLooseChanges(
    to name: TreeName, _ identifier: UInt32, where isWanted: ([UInt8]) -> Bool
  ) throws(StorageError) {
    let changes = try changes()
    for change in changes.unproven where change.tree == identifier && isWanted(change.key) {
      lose(.unproven, tree: name, key: change.key)
    }
    for change in changes.proven
    where change.tree == identifier && change.kind != .attributes && isWanted(change.key) {
      try salvage.apply(change, to: name, transaction)
    }
  }

  /// Applies changes of trees that the catalog does not list any more, because a part of it cannot be read.
  private mutating func applyLooseChanges(except known: Set<UInt32>) throws(StorageError) {
    let identifiers = Set(try changes().found.map(\.tree)).subtracting(known)
    for identifier in identifiers.sorted() {
      guard let name = salvage.treeNames[identifier], try salvage.acceptsChanges(name, transaction) else { continue }
      try applyLooseChanges(to: name, identifier) { _ in true }
    }
  }
}

/// The new contents of a tree with gaps, given the keys that were there before.
///
/// Between two readable keys that were neighbours of a gap, the keys from before stay.
struct MergePlan {
  /// The readable entries, in order.
  private(set) var kept: [(key: [UInt8], payload: Payload)] = []
  /// Keys from before that are gone now.
  private(set) var removed: [[UInt8]] = []
  /// The order of all keys: those from before, and the readable ones.
  private var positions: [[UInt8]: Int] = [:]
  /// The keys around each gap; nil is the end of the tree.
  private var gaps: [(after: [UInt8]?, before: [UInt8]?)] = []

  init(_ items: [TolerantWalk.Item], before: [[UInt8]]) {
    var lastKey: [UInt8]?
    var gapAfter: [UInt8]??
    for item in items {
      switch item {
      case .gap: if gapAfter == nil { gapAfter = .some(lastKey) }
      case .entry(let key, let payload):
        if let after = gapAfter { gaps.append((after, key)) }
        gapAfter = nil
        lastKey = key
        kept.append((key, payload))
      }
    }
    if let after = gapAfter { gaps.append((after, nil)) }
    place(before)
  }

  private mutating func place(_ before: [[UInt8]]) {
    let readable = Set(kept.map(\.key))
    let oldPosition = Dictionary(before.enumerated().map { ($1, $0) }) { first, _ in first }
    let staying = Set(before.filter { !readable.contains($0) && isInGap($0, oldPosition) })
    removed = before.filter { !readable.contains($0) && !staying.contains($0) }
    // One order of all keys: the readable ones as they lie, the staying ones behind their last predecessor.
    var order: [[UInt8]] = []
    var waiting = before[...]
    for (key, _) in kept {
      if let position = oldPosition[key] {
        while let next = waiting.first, let place = oldPosition[next], place < position {
          order.append(next)
          waiting.removeFirst()
        }
        if waiting.first == key { waiting.removeFirst() }
      }
      order.append(key)
    }
    order += waiting
    var seen: Set<[UInt8]> = []
    for key in order where seen.insert(key).inserted { positions[key] = positions.count }
  }

  /// Whether a key lies in a gap: by a known order of keys, and in byte order if that order lacks a key.
  func isInGap(_ key: [UInt8], _ order: [[UInt8]: Int] = [:]) -> Bool {
    func precedes(_ left: [UInt8], _ right: [UInt8]) -> Bool {
      guard let first = order[left], let second = order[right] else { return left.lexicographicallyPrecedes(right) }
      return first < second
    }
    return gaps.contains { gap in
      (gap.after.map { precedes($0, key) } ?? true) && (gap.before.map { precedes(key, $0) } ?? true)
    }
  }

  /// A place in the caller's order, by the positions of the keys; nil in byte order.
  func probe(_ key: [UInt8], _ order: TreeOrder) -> KeyProbe? {
    guard order == .caller, let own = positions[key] else { return nil }
    let positions = positions
    return .compare { other in (positions[Array(other)] ?? 0) - own }
  }
}
