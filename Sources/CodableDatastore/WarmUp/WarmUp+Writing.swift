import DatastoreModel
import StorageEngine

extension WarmUp {
  /// Writes what was worked out, index by index.
  func write(
    _ plan: WarmUpPlan, _ gathered: Gathered, stored: DatastoreDescriptor, _ report: inout WarmUpReport<Format>
  ) async throws {
    var descriptor = stored
    scope.work?.forgetDatastores()
    let movesRecords = plan.rekeys || !gathered.records.isEmpty
    var hasChanged = movesRecords || !plan.rebuilt.isEmpty || !plan.moved.isEmpty
    try Task.checkCancellation()
    try scope.change { transaction in
      for name in plan.dropped { try drop(.index(name, of: core.key), in: transaction) }
      if plan.rekeys { try rekey(gathered, in: transaction) } else { try rewrite(gathered, in: transaction) }
    }
    for name in plan.dropped { descriptor.setIndex(name, to: nil) }
    try moveRenamed(plan, &descriptor)
    for (place, index) in core.indexes.enumerated() where plan.moved[place] == nil {
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
      try noteLeftOut(gathered, in: transaction)
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
  private func rekey(_ gathered: Gathered, in transaction: WriteTransaction) throws {
    let order = core.identifiers.order
    try throwingStoreErrors { () throws(StorageError) in
      let attributes = try transaction.tree(core.recordsTree)?.attributes.array ?? []
      try transaction.dropTree(core.recordsTree)
      try transaction.createTree(core.recordsTree, kind: .records, order: order.treeOrder, attributes: attributes)
    }
    try rewrite(gathered, in: transaction)
  }

  /// Writes records anew.
  private func rewrite(_ gathered: Gathered, in transaction: WriteTransaction) throws {
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
    _ index: IndexPlan<Format.Instance>, _ entries: GatheredEntries, areMoved: Bool, in transaction: WriteTransaction
  ) throws {
    try drop(index.tree, in: transaction)
    try throwingStoreErrors { () throws(StorageError) in
      try transaction.createTree(index.tree, kind: .entries, order: index.order.treeOrder, attributes: [])
    }
    try entries.forEach { key, reference in
      if index.isInByteOrder, !index.isDirect || !areMoved {
        try throwingStoreErrors { () throws(StorageError) in
          _ = try transaction.insert(key, index.isDirect ? .record(reference) : .none, in: index.tree)
        }
        return
      }
      guard let (value, identifier) = EntryKey.split(key) else { return }
      let reference = index.isDirect && areMoved ? try core.reference(of: identifier, in: transaction) : reference
      try core.insert(value, index.isDirect ? reference : nil, of: identifier, into: index, in: transaction)
    }
  }

  /// Whether an index holds exactly these entries. Where no record had to be decoded it does.
  private func holds(
    _ index: IndexPlan<Format.Instance>, _ entries: GatheredEntries, isEvaluated: Bool, in transaction: WriteTransaction
  ) throws -> Bool {
    let tree = try throwingStoreErrors { () throws(StorageError) in try transaction.tree(index.tree) }
    guard let tree else { return false }
    return try !isEvaluated || entries.areHeld(by: tree)
  }

  /// Says in the store which records are in no rebuilt index. Where all were looked at, that takes the place of what an
  /// earlier warm-up said.
  private func noteLeftOut(_ gathered: Gathered, in transaction: WriteTransaction) throws {
    guard gathered.isDecoded else { return }
    let name = TreeName.leftOut(of: core.key)
    try drop(name, in: transaction)
    if gathered.leftOut.isEmpty { return }
    let order = core.identifiers.order
    try throwingStoreErrors { () throws(StorageError) in
      try transaction.createTree(name, kind: .entries, order: order.treeOrder, attributes: [])
    }
    for (key, reason) in gathered.leftOut {
      let reason = Bytes(Array(reason.utf8.prefix(Limits.payload)))
      _ = try order.place(of: key).withProbe { probe in
        try throwingStoreErrors { () throws(StorageError) in
          try transaction.insert(key, .bytes(reason), in: name, place: order.isBytes ? nil : probe)
        }
      }
    }
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
