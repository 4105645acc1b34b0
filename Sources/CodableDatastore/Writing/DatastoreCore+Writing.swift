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
    try await prepareTrees(for: prepared, in: scope)
    guard let found = try scope.change({ transaction in try insertIfNew(prepared, in: transaction) }) else {
      checkUniqueness(of: prepared.values, in: scope)
      note(prepared.identifier, key: prepared.key, old: nil, new: prepared.record, in: scope)
      return nil
    }
    let old = try await decoded(found, key: prepared.key, in: scope)
    try scope.change { transaction in
      if try isUnchanged(old, prepared, in: transaction) { return }
      try put(prepared, in: transaction)
      try replaceEntries(of: prepared.key, old: old, new: prepared.values, in: transaction)
      if let work = scope.work { try takeFromLeftOut(prepared.key, in: work) }
    }
    checkUniqueness(of: prepared.values, in: scope)
    note(prepared.identifier, key: prepared.key, old: old.record, new: prepared.record, in: scope)
    return try? old.instance.get()
  }

  /// Deletes a record. The caller has the turn of the scope.
  func delete(_ identifier: Identifier?, key: [UInt8], in scope: TransactionScope) async throws -> Instance? {
    try await makeFit(in: scope)
    let found = try scope.step { transaction in
      let tree = try throwingStoreErrors { () throws(StorageError) in try transaction.tree(recordsTree) }
      return try tree == nil ? nil : record(of: key, in: transaction)
    }
    guard let found else { return nil }
    let old = try await decoded(found, key: key, in: scope)
    let instance = try old.instance.get()
    try await prepareTrees(for: nil, in: scope)
    try scope.change { transaction in
      _ = try identifiers.order.place(of: key).withProbe { probe in
        try throwingStoreErrors { () throws(StorageError) in
          try transaction.delete(key, in: recordsTree, place: identifiers.order.isBytes ? nil : probe)
        }
      }
      try replaceEntries(of: key, old: old, new: nil, in: transaction)
    }
    note(identifier, key: key, old: old.record, new: nil, in: scope)
    return instance
  }

  /// Sees once a transaction that the trees are there, as the declaration says, and that the descriptor says which
  /// version writes.
  private func prepareTrees(for prepared: PreparedRecord<Identifier>?, in scope: TransactionScope) async throws {
    guard let work = scope.work else { throw DiskPersistenceError.cannotWrite }
    if work.known(number).isPrepared { return }
    try await makeFit(in: scope)
    try scope.change { transaction in try prepareTrees(for: prepared, in: transaction) }
    work.note(number) { $0.isPrepared = true }
  }

  /// Warms up where somebody changed the store between the look at it and this transaction (a restore, another process),
  /// or where the transaction is the first to use it.
  private func makeFit(in scope: TransactionScope) async throws {
    if scope.work?.known(number).isPrepared == true { return }
    let isFit = try scope.step { transaction in
      let tree = try throwingStoreErrors { () throws(StorageError) in try transaction.tree(recordsTree) }
      return try tree.map { try fits($0) } ?? true
    }
    if !isFit { try await WarmUp(core: self, scope: scope, forced: WarmUpPlan()).run() }
  }

  /// Writes a record that is new, with its entries; answers the one that is there already, where there is one.
  private func insertIfNew(
    _ prepared: PreparedRecord<Identifier>, in transaction: WriteTransaction
  ) throws -> Bytes? {
    if identifiers.order.isBytes {
      let found = try throwingStoreErrors { () throws(StorageError) -> Bytes? in
        let reference = try transaction.putIfNew(prepared.key, prepared.record, in: recordsTree)
        guard let reference else { return nil }
        return try transaction.tree(recordsTree)?.value(of: reference)
      }
      if let found { return found }
    } else {
      if let found = try record(of: prepared.key, in: transaction) { return found }
      try put(prepared, in: transaction)
    }
    try replaceEntries(of: prepared.key, old: nil, new: prepared.values, in: transaction)
    return nil
  }

  /// The record of an identifier as a transaction has it.
  private func record(of key: [UInt8], in transaction: WriteTransaction) throws -> Bytes? {
    guard let reference = try reference(of: key, in: transaction) else { return nil }
    return try throwingStoreErrors { () throws(StorageError) in
      try transaction.tree(recordsTree)?.value(of: reference)
    }
  }

  /// What is there under an identifier, decoded.
  private func decoded(
    _ record: Bytes, key: [UInt8], in scope: TransactionScope
  ) async throws -> StoredRecord<Instance> {
    do {
      let instance = try await scope.converting(datastore: self.key) { try await coder.decode(record).instance }
      let values = try values(of: instance, identifier: key)
      return StoredRecord(record: record, instance: .success(instance), values: values)
    } catch {
      // What no program can read any more may be replaced, once somebody has said that it is to be left out.
      let isLeftOut = try scope.step { _ in try scope.work.map { try hasLeftOut(key, in: $0) } ?? false }
      guard isLeftOut else { throw error }
      return StoredRecord(record: record, instance: .failure(error), values: nil)
    }
  }

  private func put(_ prepared: PreparedRecord<Identifier>, in transaction: WriteTransaction) throws {
    if identifiers.order.isBytes {
      return try throwingStoreErrors { () throws(StorageError) in
        _ = try transaction.put(prepared.key, prepared.record, in: recordsTree)
      }
    }
    let place = try identifiers.order.place(of: prepared.key)
    let replaced = try ordered(index: nil) {
      try place.withProbe { probe in try transaction.put(prepared.key, prepared.record, in: recordsTree, place: probe) }
    }
    guard replaced == nil else { return }
    try requireOrder(at: place, index: nil, in: transaction) { stored in
      try identifiers.order.place(of: stored.array)
    }
  }

  /// Whether nothing needs to be written: same version, same document, and every index holds exactly its entries.
  private func isUnchanged(
    _ old: StoredRecord<Instance>, _ prepared: PreparedRecord<Identifier>, in transaction: WriteTransaction
  ) throws -> Bool {
    guard let oldValues = old.values, coder.isEqual(old.record, prepared.record) else { return false }
    for (place, index) in indexes.enumerated() {
      guard Set(oldValues[place]) == Set(prepared.values[place]) else { return false }
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
