import DatastoreModel
import StorageEngine

extension DatastoreCore {
  /// Inserts or replaces an instance; answers what was there.
  func persist(_ instance: Instance, identifier: Identifier) async throws -> Instance? {
    let prepared = try await prepare(instance, identifier: identifier)
    try await readyForWriting()
    return try await Transactions.write(to: store, actionName: "persist \(key)") { scope in
      try await self.persist(prepared, in: scope)
    }
  }

  /// Deletes an instance; answers what was there, or nil.
  func delete(_ identifier: Identifier) async throws -> Instance? {
    let key = try key(of: identifier)
    try await readyForWriting()
    return try await Transactions.write(to: store, actionName: "delete \(self.key)") { scope in
      try await self.delete(identifier, key: key, in: scope)
    }
  }

  /// Encodes an instance and its keys. Nothing is locked meanwhile, and a failure changes nothing.
  func prepare(_ instance: Instance, identifier: Identifier) async throws -> PreparedRecord<Identifier> {
    let key = try key(of: identifier)
    let values = try values(of: instance, identifier: key)
    guard let record = try await coder.record(of: instance) else {
      throw EmptyContentError(datastore: DatastoreKey(self.key))
    }
    return PreparedRecord(identifier: identifier, key: key, record: record, values: values)
  }

  /// Writes a prepared record. The caller has the turn of the scope.
  func persist(_ prepared: PreparedRecord<Identifier>, in scope: TransactionScope) async throws -> Instance? {
    let place = try identifiers.order.place(of: prepared.key)
    let old = try await storedRecord(at: place, key: prepared.key, in: scope)
    try scope.change { transaction in
      try prepareTrees(for: prepared, in: transaction)
      if let old, try isUnchanged(old, prepared, in: transaction) { return }
      try put(prepared, at: place, in: transaction)
      try replaceEntries(of: prepared.key, old: old?.values, new: prepared.values, in: transaction)
    }
    checkUniqueness(of: prepared.values, in: scope)
    note(prepared.identifier, key: prepared.key, old: old?.record, new: prepared.record, in: scope)
    return old?.instance
  }

  /// Deletes a record. The caller has the turn of the scope.
  func delete(_ identifier: Identifier?, key: [UInt8], in scope: TransactionScope) async throws -> Instance? {
    let place = try identifiers.order.place(of: key)
    guard let old = try await storedRecord(at: place, key: key, in: scope) else { return nil }
    try scope.change { transaction in
      try prepareTrees(for: nil, in: transaction)
      _ = try place.withProbe { probe in
        try throwingStoreErrors { () throws(StorageError) in
          try transaction.delete(key, in: recordsTree, place: identifiers.order.isBytes ? nil : probe)
        }
      }
      try replaceEntries(of: key, old: old.values, new: nil, in: transaction)
    }
    note(identifier, key: key, old: old.record, new: nil, in: scope)
    return old.instance
  }

  /// What is there under an identifier, decoded. Where somebody changed the store between the look at it and this
  /// transaction (a restore, another process), it is warmed up first.
  private func storedRecord(
    at place: SoughtPlace, key: [UInt8], in scope: TransactionScope
  ) async throws -> StoredRecord<Instance>? {
    func tree() throws -> Tree? {
      try scope.step { transaction in
        try throwingStoreErrors { () throws(StorageError) in try transaction.tree(recordsTree) }
      }
    }
    var records = try tree()
    if let found = records, try !fits(found) {
      try await WarmUp(core: self, scope: scope, forced: WarmUpPlan()).run()
      records = try tree()
    }
    let record = try records?.record(at: place)
    guard let record else { return nil }
    let instance = try await coder.decode(record).instance
    return StoredRecord(record: record, instance: instance, values: try values(of: instance, identifier: key))
  }

  private func put(
    _ prepared: PreparedRecord<Identifier>, at place: SoughtPlace, in transaction: WriteTransaction
  ) throws {
    let replaced = try ordered(index: nil) {
      try place.withProbe { probe in
        try transaction.put(
          prepared.key, prepared.record, in: recordsTree, place: identifiers.order.isBytes ? nil : probe)
      }
    }
    guard replaced == nil, case .compare = place else { return }
    try requireOrder(at: place, index: nil, in: transaction) { stored in
      try identifiers.order.place(of: stored.array)
    }
  }

  /// Whether nothing needs to be written: same version, same document, and every index holds exactly its entries.
  private func isUnchanged(
    _ old: StoredRecord<Instance>, _ prepared: PreparedRecord<Identifier>, in transaction: WriteTransaction
  ) throws -> Bool {
    guard coder.isEqual(old.record, prepared.record) else { return false }
    for (place, index) in indexes.enumerated() {
      guard Set(old.values[place]) == Set(prepared.values[place]) else { return false }
      let tree = try throwingStoreErrors { () throws(StorageError) in try transaction.tree(index.tree) }
      guard let tree else { return false }
      for value in prepared.values[place] {
        let entry = try index.order.place(value: value, identifier: prepared.key).withProbe { probe in
          try throwingStoreErrors { () throws(StorageError) in try tree.find(probe) }
        }
        guard entry != nil else { return false }
      }
    }
    return true
  }

  /// Notes a change for observers, if there are any.
  private func note(
    _ identifier: Identifier?, key storedKey: [UInt8], old: Bytes?, new: [UInt8]?, in scope: TransactionScope
  ) {
    guard store.connection.publication.hasObservers(of: key) else { return }
    scope.note(
      StoredChange(datastore: key, key: storedKey, identifier: identifier, old: old, new: new.map { Bytes($0) }))
  }
}
