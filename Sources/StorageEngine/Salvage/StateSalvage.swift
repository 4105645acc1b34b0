/// Brings a transaction of the new store to the state of one commit of the old, as far as that can be read.
struct StateSalvage {
  let source: DataFile
  let transaction: FileTransaction
  let record: CommitRecord
  let frame: FrameSurvey.Frame
  /// The old commit whose state the transaction begins with, where it begins with exactly that: then only what differs
  /// is looked at.
  let oldParent: CommitRecord?
  /// The commit that this one restored by roots, and what became of it.
  private let restored: (old: CommitRecord, new: View)?
  private(set) var losses: [SalvageLoss] = []
  private(set) var lostRecords: Set<FileOffset>
  private(set) var treeNames: [UInt32: TreeName]
  /// The frame's own changes, for what its nodes do not tell; read where they are wanted.
  private var looseChanges: LooseChanges?

  init(
    salvage: Salvage, transaction: FileTransaction, record: CommitRecord, frame: FrameSurvey.Frame, base: UInt64,
    oldParent: CommitRecord?
  ) throws(StorageError) {
    source = salvage.source
    self.transaction = transaction
    self.record = record
    self.frame = frame
    self.oldParent = oldParent
    lostRecords = salvage.lostRecords
    treeNames = salvage.treeNames
    if let number = record.restores, let old = salvage.records[number], let place = salvage.places[number] {
      restored = (old, try salvage.target.view(at: place))
    } else {
      restored = nil
    }
  }

  mutating func run() throws(StorageError) {
    let (trees, isWhole) = catalog()
    if !isWhole { losses.append(SalvageLoss(.catalog, commit: record.number)) }
    for (name, entry) in trees { treeNames[entry.identifier] = name }
    if isWhole {
      let kept = Set(trees.map(\.0))
      for name in try transaction.trees() where !kept.contains(name) { try transaction.dropTree(name) }
    }
    // Records first: entries may refer to them.
    for (name, entry) in trees where entry.kind == .records { try save(name, entry) }
    for (name, entry) in trees where entry.kind == .entries { try save(name, entry) }
    if !isWhole { try applyLooseChanges(except: Set(trees.map(\.1.identifier))) }
  }

  /// What can be read of the catalog, and whether that is all of it.
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
    if let restored, try restore(name, entry, restored.old, restored.new) { return }
    let oldEntry = oldParent.flatMap { try? View(commit: $0, file: source).catalogEntry(name) }
    let isSameTree = oldEntry?.identifier == entry.identifier
    try prepare(name, entry, isSameTree: isSameTree)
    if oldEntry == nil || oldEntry?.attributes != entry.attributes { try saveAttributes(name, entry) }
    if isSameTree, entry.order == .bytes, let oldParent, let oldEntry, oldEntry.kind == entry.kind {
      if oldEntry.root == entry.root { return }
      if try saveDifference(name, entry, from: oldParent) { return }
    }
    try saveAll(name, entry)
  }

  /// A tree of the right kind and order is there.
  private func prepare(_ name: TreeName, _ entry: CatalogEntry, isSameTree: Bool) throws(StorageError) {
    if let found = try transaction.tree(name) {
      if found.kind == entry.kind, found.order == entry.order, isSameTree || oldParent == nil { return }
      try transaction.dropTree(name)
    }
    try transaction.createTree(name, kind: entry.kind, order: entry.order, attributes: [])
  }

  private func restore(
    _ name: TreeName, _ entry: CatalogEntry, _ old: CommitRecord, _ new: View
  ) throws(StorageError) -> Bool {
    guard let oldEntry = try? View(commit: old, file: source).catalogEntry(name), oldEntry.root == entry.root,
      try new.tree(name) != nil
    else { return false }
    try transaction.restore([name], from: new)
    return true
  }

  private mutating func saveAttributes(_ name: TreeName, _ entry: CatalogEntry) throws(StorageError) {
    guard entry.attributes != .none else { return }
    guard let bytes = try? RecordSource(file: source).value(entry.attributes) else {
      if lostRecords.insert(entry.attributes.offset).inserted {
        losses.append(SalvageLoss(.attributes, commit: record.number, tree: name))
      }
      return
    }
    try transaction.setAttributes(bytes.array, of: name)
  }

  /// Only what the commit changed, where all of that can be read; false where it cannot.
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

  /// All entries that can be reached; in the gaps between them those that were there before, with the frame's changes.
  private mutating func saveAll(_ name: TreeName, _ entry: CatalogEntry) throws(StorageError) {
    let walk = TolerantWalk(entry.root, in: source)
    let before = try existingKeys(name)
    let plan = MergePlan(walk.items, before: before)
    if walk.gapCount > 0 {
      losses.append(SalvageLoss(.entries(count: walk.gapCount), commit: record.number, tree: name))
    }
    for key in plan.removed { try remove(key, name, entry, probe: plan.probe(key, entry.order)) }
    for (key, payload) in plan.kept { try put(key, payload, name, entry, probe: plan.probe(key, entry.order)) }
    guard walk.gapCount > 0, entry.kind == .records, entry.order == .bytes else { return }
    try applyLooseChanges(to: name, entry.identifier) { plan.isInGap($0) }
  }

  private func existingKeys(_ name: TreeName) throws(StorageError) -> [[UInt8]] {
    guard let tree = try transaction.tree(name) else { return [] }
    var keys: [[UInt8]] = []
    var cursor = tree.cursor()
    try cursor.seekToStart()
    while let entry = cursor.current {
      keys.append(entry.key.array)
      try cursor.next()
    }
    return keys
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
      if lostRecords.insert(reference.offset).inserted {
        losses.append(SalvageLoss(.record(keptOlder: existing != nil), commit: record.number, tree: name, key: key))
      }
      return
    }
    // Where only the state is known, what is there already is no change; a commit may have written the same value once more.
    if !isChange, let existing, try tree?.value(of: existing) == value { return }
    try transaction.put(key, value.array, in: name, probe: probe)
  }

  /// An entry of a plain tree; what refers to a record of the old store comes to refer to that record in the new one.
  private mutating func putEntry(
    _ key: [UInt8], _ payload: Payload, _ name: TreeName, probe: KeyProbe?
  ) throws(StorageError) {
    var new = payload
    if let reference = payload.entry {
      guard let target = try newReference(for: reference) else {
        losses.append(SalvageLoss(.indexEntry, commit: record.number, tree: name, key: key))
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
    guard let (entry, bytes) = try? source.entry(old), let name = treeNames[entry.tree],
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

  private mutating func changes() throws(StorageError) -> LooseChanges {
    if let looseChanges { return looseChanges }
    let read = try LooseChanges(
      in: source, frame: frame.offset, limit: frame.nodesStart, end: frame.end, isWhole: frame.isWhole)
    looseChanges = read
    return read
  }

  private mutating func applyLooseChanges(
    to name: TreeName, _ identifier: UInt32, where isWanted: ([UInt8]) -> Bool
  ) throws(StorageError) {
    let changes = try changes()
    for change in changes.unproven where change.tree == identifier && isWanted(change.key) {
      losses.append(SalvageLoss(.unproven, commit: record.number, tree: name, key: change.key))
    }
    for change in changes.proven where change.tree == identifier && isWanted(change.key) {
      switch change.kind {
      case .put: try transaction.put(change.key, change.value.array, in: name)
      case .delete: try transaction.delete(change.key, in: name)
      case .attributes: break
      }
    }
  }

  /// Changes of trees that the catalog does not list any more, because a part of it cannot be read.
  private mutating func applyLooseChanges(except known: Set<UInt32>) throws(StorageError) {
    let identifiers = Set(try changes().found.map(\.tree)).subtracting(known)
    for identifier in identifiers.sorted() {
      guard let name = treeNames[identifier] else { continue }
      if try transaction.tree(name) == nil {
        try transaction.createTree(name, kind: .records, attributes: [])
      }
      guard let tree = try transaction.tree(name), tree.kind == .records, tree.order == .bytes else { continue }
      try applyLooseChanges(to: name, identifier) { _ in true }
    }
  }
}

/// What a tree with gaps becomes, given the keys that were there before.
///
/// Between two keys that can be read, and that were neighbours of a gap, the keys from before stay.
struct MergePlan {
  /// Entries that can be read, in order.
  private(set) var kept: [(key: [UInt8], payload: Payload)] = []
  /// Keys from before that are gone now.
  private(set) var removed: [[UInt8]] = []
  /// The order of all keys: those from before, and those that can be read.
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
    let staying = Set(before.filter { !readable.contains($0) && isBetweenGapEnds($0, oldPosition) })
    removed = before.filter { !readable.contains($0) && !staying.contains($0) }
    // One order of all keys: the readable ones as they lie, the staying ones behind the last one before them.
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

  private func isBetweenGapEnds(_ key: [UInt8], _ oldPosition: [[UInt8]: Int]) -> Bool {
    guard let position = oldPosition[key] else { return false }
    return gaps.contains { gap in
      let isAfter = gap.after.map { oldPosition[$0].map { $0 < position } ?? $0.lexicographicallyPrecedes(key) } ?? true
      let isBefore =
        gap.before.map { oldPosition[$0].map { position < $0 } ?? key.lexicographicallyPrecedes($0) } ?? true
      return isAfter && isBefore
    }
  }

  /// Whether a key, in byte order, lies in a gap.
  func isInGap(_ key: [UInt8]) -> Bool {
    gaps.contains { gap in
      (gap.after.map { $0.lexicographicallyPrecedes(key) } ?? true)
        && (gap.before.map { key.lexicographicallyPrecedes($0) } ?? true)
    }
  }

  /// A place in the caller's order, by where the keys lay; nil in byte order.
  func probe(_ key: [UInt8], _ order: TreeOrder) -> KeyProbe? {
    guard order == .caller, let own = positions[key] else { return nil }
    let positions = positions
    return .compare { other in (positions[Array(other)] ?? 0) - own }
  }
}
