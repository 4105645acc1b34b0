import DatastoreModel
import StorageEngine

extension WarmUp {
  /// Writes what was worked out, index by index.
  func write(
    _ plan: WarmUpPlan, _ gathered: GatheredEntries, stored: DatastoreDescriptor, _ report: inout WarmUpReport<Format>
  ) async throws {
    var descriptor = stored
    let movesRecords = plan.rekeys || !gathered.records.isEmpty
    var hasChanged = movesRecords || !plan.rebuilt.isEmpty
    try Task.checkCancellation()
    try scope.change { transaction in
      for name in plan.dropped { try drop(.index(name, of: core.key), in: transaction) }
      if plan.rekeys { try rekey(gathered, in: transaction) } else { try rewrite(gathered, in: transaction) }
    }
    for name in plan.dropped { descriptor.setIndex(name, to: nil) }
    for (place, index) in core.indexes.enumerated() {
      let entries = gathered.entries[place]
      let isEvaluated = plan.evaluated.contains(place)
      let isKept =
        isEvaluated && !movesRecords
        ? try scope.step { try holds(index, entries, isEvaluated: gathered.isDecoded, in: $0) }
        : !plan.rebuilt.contains(place) && !movesRecords
      if isKept, !isEvaluated {
        if plan.redescribes { descriptor.setIndex(index.name, to: kept(index, descriptor)) }
        continue
      }
      if !isKept {
        try Task.checkCancellation()
        await report.begin("write index \(index.name)", total: entries.count)
        try scope.change { try build(index, entries, areMoved: movesRecords, in: $0) }
        await report.finishStep()
        hasChanged = true
      }
      descriptor.setIndex(index.name, to: core.descriptor(of: index))
    }
    try scope.change { transaction in
      try describe(descriptor, hasChanged: hasChanged, in: transaction)
      try requireUniqueness(plan, in: transaction)
    }
  }

  /// Says in the store what it is now.
  private func describe(
    _ stored: DatastoreDescriptor, hasChanged: Bool, in transaction: WriteTransaction
  ) throws {
    var descriptor = stored
    if hasChanged {
      descriptor.version = core.coder.tag
      descriptor.versionIsString = VersionTag<Format>.isString
      descriptor.instanceType = core.declaration.instanceType
    }
    descriptor.identifierEncoding = core.identifiers.encoding
    descriptor.identifierType = core.declaration.identifierType
    let attributes = try descriptor.bytes
    try throwingStoreErrors { () throws(StorageError) in
      try transaction.setAttributes(attributes, of: core.recordsTree)
    }
  }

  /// The descriptor of an index that only changes in what costs nothing.
  private func kept(_ index: IndexPlan<Format.Instance>, _ descriptor: DatastoreDescriptor) -> IndexDescriptor? {
    var existing = descriptor.index(index.name)
    existing?.isUnique = index.isUnique
    existing?.keyPathName = index.descriptor.keyPathName
    existing?.tiers = index.descriptor.tiers
    return existing
  }

  private func drop(_ name: TreeName, in transaction: WriteTransaction) throws {
    try throwingStoreErrors { () throws(StorageError) in
      if try transaction.tree(name) != nil { try transaction.dropTree(name) }
    }
  }

  /// Moves all records to their new keys.
  private func rekey(_ gathered: GatheredEntries, in transaction: WriteTransaction) throws {
    let order = core.identifiers.order
    try throwingStoreErrors { () throws(StorageError) in
      let attributes = try transaction.tree(core.recordsTree)?.attributes.array ?? []
      try transaction.dropTree(core.recordsTree)
      try transaction.createTree(core.recordsTree, kind: .records, order: order.treeOrder, attributes: attributes)
    }
    try rewrite(gathered, in: transaction)
  }

  /// Writes records anew.
  private func rewrite(_ gathered: GatheredEntries, in transaction: WriteTransaction) throws {
    let order = core.identifiers.order
    for (key, record) in gathered.records {
      _ = try core.ordered(index: nil) {
        try order.place(of: key).withProbe { probe in
          try transaction.put(key, record, in: core.recordsTree, place: order.isBytes ? nil : probe)
        }
      }
    }
  }

  /// Builds an index from nothing.
  private func build(
    _ index: IndexPlan<Format.Instance>, _ entries: [GatheredEntry], areMoved: Bool, in transaction: WriteTransaction
  ) throws {
    try drop(index.tree, in: transaction)
    try throwingStoreErrors { () throws(StorageError) in
      try transaction.createTree(index.tree, kind: .entries, order: index.order.treeOrder, attributes: [])
    }
    for entry in sorted(entries, index) {
      let reference: RecordReference? =
        !index.isDirect
        ? nil : areMoved ? try core.reference(of: entry.identifier, in: transaction) : entry.reference
      try core.insert(entry.value, reference, of: entry.identifier, into: index, in: transaction)
    }
  }

  /// In byte order, where that is the index's: neighbours then go to the same nodes.
  private func sorted(_ entries: [GatheredEntry], _ index: IndexPlan<Format.Instance>) -> [GatheredEntry] {
    guard index.order.treeOrder == .bytes else { return entries }
    return entries.sorted { left, right in
      let order = left.value.withUnsafeBytes { left in right.value.withUnsafeBytes { compareKeys(left, $0) } }
      if order != 0 { return order < 0 }
      return left.identifier.withUnsafeBytes { left in right.identifier.withUnsafeBytes { compareKeys(left, $0) < 0 } }
    }
  }

  /// Whether an index holds exactly these entries. Where no record had to be decoded it does.
  private func holds(
    _ index: IndexPlan<Format.Instance>, _ entries: [GatheredEntry], isEvaluated: Bool, in transaction: WriteTransaction
  ) throws -> Bool {
    let tree = try throwingStoreErrors { () throws(StorageError) in try transaction.tree(index.tree) }
    guard let tree else { return false }
    if !isEvaluated { return true }
    guard tree.count == UInt64(entries.count) else { return false }
    let wanted = Set(entries.map { EntryKey.make(value: $0.value, identifier: $0.identifier) })
    var walk = RecordWalk(tree: tree, source: .itself, ranks: 0..<tree.count, isDescending: false)
    while let entry = try walk.nextEntry() {
      guard wanted.contains(entry.key.array) else { return false }
    }
    return true
  }

  /// Fails where an index that is to be unique holds a value twice, and lists the values.
  private func requireUniqueness(_ plan: WarmUpPlan, in transaction: WriteTransaction) throws {
    for (place, index) in core.indexes.enumerated()
    where index.isUnique && (plan.rebuilt.contains(place) || plan.evaluated.contains(place)) {
      let tree = try throwingStoreErrors { () throws(StorageError) in try transaction.tree(index.tree) }
      guard let tree else { continue }
      var values: [String] = []
      var last: [UInt8]?
      var walk = RecordWalk(tree: tree, source: .itself, ranks: 0..<tree.count, isDescending: false)
      while let entry = try walk.nextEntry(), values.count < 100 {
        let value = entry.key.withUnsafeBytes { EntryKey.split($0)?.value }
        if let value, value == last {
          let shown = (try? index.descriptor.encoding.decode(value).description) ?? "a value"
          if values.last != shown { values.append(shown) }
        }
        last = value
      }
      guard values.isEmpty else {
        throw UniquenessError(datastore: DatastoreKey(core.key), index: IndexName(index.name), values: values)
      }
    }
  }
}
