import StrataEngine

extension EngineStore {
  package func preview(_ changes: ChangeSet, options: EditOptions) throws(ModelError) -> ChangePreview {
    var work = PreviewWork(view: view(engine.head), options: options)
    return try work.preview(changes)
  }
}

private struct PreviewWork {
  let view: EngineView
  let options: EditOptions
  var preview = ChangePreview()
  /// The new contents of records, if references are declared.
  var becoming: [RecordPlace: RecordContent?] = [:]
  var asksReferences = false

  mutating func preview(_ changes: ChangeSet) throws(ModelError) -> ChangePreview {
    if options.detailLimit > 0, changes.count <= Self.mostAsked { asksReferences = try view.hasReferences() }
    for key in Set(changes.changes.map(\.datastore)).sorted() {
      guard let datastore = try view.ownDatastore(key) else {
        let reason = ModelError.noSuchDatastore(key, known: try view.datastoreKeys).description
        preview.refusals.append(EditRefusal(datastore: key, index: nil, reason: reason, canBeMarkedStale: false))
        continue
      }
      try preview(changes.changes.filter { $0.datastore == key }, in: datastore)
    }
    if !becoming.isEmpty {
      preview.dangling = try view.danglingReferences(after: becoming, limit: Self.mostDangling)
    }
    return preview
  }

  private static let mostDangling = 20
  /// With more changed records than this, references are not checked.
  private static let mostAsked = 10_000

  private mutating func preview(_ edits: [RecordEdit], in datastore: EngineDatastore) throws(ModelError) {
    var indexing = try RecordIndexing(datastore, progress: options.proofProgress)
    let marked = options.bringsBackContents ? (try? indexing.indexes(refusing: edits)) ?? [] : []
    indexing = indexing.marking(stale: marked)
    preview.marked += marked.map { "\(datastore.descriptor.key) \($0)" }
    preview.refusals += indexing.refusals
    indexing = indexing.marking(stale: indexing.refusals.compactMap(\.index))
    var entries = EntryBalance(datastore: datastore, indexes: indexing.descriptor.indexes)
    for (position, edit) in edits.enumerated() {
      if position % 256 == 0, let progress = options.progress, !progress(position, edits.count) { throw .cancelled }
      try preview(edit, in: datastore, indexing, &entries)
    }
    preview.addedEntries += entries.addedCount
    preview.removedEntries += entries.removedCount
    preview.uniqueness += try entries.conflicts()
    preview.byteCount += entries.nodeBytes + datastore.tree.nodeBytes(touchedBy: edits.count)
  }

  private mutating func preview(
    _ edit: RecordEdit, in datastore: EngineDatastore, _ indexing: RecordIndexing, _ entries: inout EntryBalance
  ) throws(ModelError) {
    let theirs = try datastore.replaceable(edit.identifier)?.stored
    let outcome = edit.outcome(over: theirs, indexing.descriptor)
    var edit = edit
    switch outcome {
    case .mine: break
    case .theirs: return
    case .merged(let content) where options.mergesFields: edit.new = content
    case .merged, .conflict:
      preview.conflicts.append(outcome.conflict(of: edit, theirs: theirs))
      return
    }
    let old = theirs.flatMap { try? indexing.values(of: $0) }
    var values: [[[UInt8]]] = []
    if let new = edit.new, new != .damaged {
      do {
        values = try indexing.values(
          of: new, under: edit.identifier, insteadOf: theirs, isBroughtBack: options.bringsBackContents)
      } catch .refused(let reason) {
        let reason = "\(edit.datastore) \(edit.identifier): \(reason)"
        preview.refusals.append(
          EditRefusal(datastore: edit.datastore, index: nil, reason: reason, canBeMarkedStale: false))
        // The other indexes still show which values it would share.
        guard let refused = try? indexing.indexes(refusing: [edit]),
          let others = try? indexing.marking(stale: refused).values(of: new)
        else { return }
        _ = entries.count(old ?? [], others, of: edit.identifier)
        return
      }
    }
    preview.byteCount += UInt64(edit.new?.bytes.count ?? 0) + Self.changeEntryBytes
    if asksReferences { becoming.updateValue(edit.new, forKey: edit.place) }
    let changed = entries.count(old ?? [], values, of: edit.identifier)
    if preview.records.count < options.detailLimit {
      preview.records.append(RecordPreview(place: edit.place, entries: changed))
    }
  }

  /// The size of a change entry: its key, references and checks.
  private static let changeEntryBytes: UInt64 = 64
}

/// The index entries that are added and removed, and the records that would then share a value.
private struct EntryBalance {
  let datastore: EngineDatastore
  let indexes: [IndexDescriptor]
  private(set) var addedCount = 0
  private(set) var removedCount = 0
  /// Per index: value → records that get it.
  private var added: [[[UInt8]: [[UInt8]]]]
  /// Per index: value → records that lose it.
  private var removed: [[[UInt8]: Set<[UInt8]>]]
  private var touched: [Int]

  init(datastore: EngineDatastore, indexes: [IndexDescriptor]) {
    self.datastore = datastore
    self.indexes = indexes
    added = Array(repeating: [:], count: indexes.count)
    removed = Array(repeating: [:], count: indexes.count)
    touched = Array(repeating: 0, count: indexes.count)
  }

  mutating func count(_ old: [[[UInt8]]], _ new: [[[UInt8]]], of identifier: StoredKey) -> [EntryChange] {
    var changes: [EntryChange] = []
    for (position, index) in indexes.enumerated() {
      let before = position < old.count ? old[position] : []
      let after = position < new.count ? new[position] : []
      for value in before where !after.contains(value) {
        removed[position][value, default: []].insert(identifier.bytes)
        removedCount += 1
        touched[position] += 1
        changes.append(EntryChange(index: index.name, value: index.shownValue(value), isAdded: false))
      }
      for value in after where !before.contains(value) {
        if index.kind.meansOneRecord || index.isUnique { added[position][value, default: []].append(identifier.bytes) }
        addedCount += 1
        touched[position] += 1
        changes.append(EntryChange(index: index.name, value: index.shownValue(value), isAdded: true))
      }
    }
    return changes
  }

  func conflicts() throws(ModelError) -> [UniquenessConflict] {
    var conflicts: [UniquenessConflict] = []
    for (position, index) in indexes.enumerated() {
      let stored = EngineIndex(datastore: datastore, descriptor: index)
      guard let tree = try stored.tree() else { continue }
      for (value, newcomers) in added[position].sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
        let leaving = removed[position][value] ?? []
        let present = try onStorage { try tree.identifiers(of: value, stored.order, limit: 16 + leaving.count) }
        let owners = Set(present).subtracting(leaving).union(newcomers)
        guard owners.count > 1, let shown = index.soleValue(value) else { continue }
        conflicts.append(
          UniquenessConflict(
            datastore: datastore.descriptor.key, index: index.name, value: shown,
            identifiers: owners.sorted { $0.lexicographicallyPrecedes($1) }.map { datastore.descriptor.storedKey($0) },
            isEnforced: index.isUnique))
      }
    }
    return conflicts
  }

  /// The approximate number of bytes of new nodes for the entries.
  var nodeBytes: UInt64 {
    var bytes: UInt64 = 0
    for (position, index) in indexes.enumerated() where touched[position] > 0 {
      guard let tree = try? EngineIndex(datastore: datastore, descriptor: index).tree() else { continue }
      bytes += tree.nodeBytes(touchedBy: touched[position])
    }
    return bytes
  }
}

extension Tree {
  /// The approximate number of bytes of nodes that a commit rewrites if it touches `keys` keys: a path of nodes for each touched
  /// leaf, upper nodes shared. A node takes about 1 KiB, or a sixth of that if its changes are stored and few.
  func nodeBytes(touchedBy keys: Int) -> UInt64 {
    // A server has no nodes.
    guard keys > 0, !isServed, let count = try? count else { return 0 }
    let entriesPerNode: UInt64 = 24
    var nodes = max(1, count / entriesPerNode)
    var total: UInt64 = 0
    while true {
      let areFew = writesDeltas && UInt64(keys) <= 2 * nodes
      total += min(nodes, UInt64(keys)) * (areFew ? 160 : 1024)
      if nodes <= 1 { break }
      nodes = max(1, nodes / entriesPerNode)
    }
    return total
  }
}
