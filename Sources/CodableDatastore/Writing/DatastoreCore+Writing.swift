import DatastoreModel
import Documents
import Locks
import StorageEngine

extension DatastoreCore {
  /// Inserts or replaces an instance; answers what was there. With `touch` one that is there just so is written again.
  func persist(_ instance: Instance, identifier: Identifier, touch: Bool = false) async throws -> Instance? {
    let prepared = try await prepare(instance, identifier: identifier)
    try await readyForWriting()
    return try await Transactions.write(
      to: store, actionName: "persist \(key)", foreseeing: foreseen(prepared.key, prepared.values),
      presumption: hasUniqueIndex ? .thatAsks : .thatAsksNobody
    ) { scope in
      try await self.persist(prepared, touch: touch, in: scope)
    }
  }

  /// Whether a commit must look for other records with the same values.
  private var hasUniqueIndex: Bool { indexes.contains { $0.isUnique } }

  /// What a server is asked for as a write begins: the record, and its entries of some values.
  private func foreseen(_ identifier: [UInt8], _ values: [[[UInt8]]] = []) -> [ForeseenKey] {
    guard store.connection.isServed else { return [] }
    var keys = [ForeseenKey(tree: recordsTree, key: identifier)]
    for (index, values) in zip(indexes, values) {
      keys += values.map { ForeseenKey(tree: index.tree, key: EntryKey.make(value: $0, identifier: identifier)) }
    }
    return keys
  }

  /// Deletes an instance; answers what was there, or nil.
  func delete(_ identifier: Identifier) async throws -> Instance? {
    let key = try key(of: identifier)
    try await readyForWriting()
    return try await Transactions.write(
      to: store, actionName: "delete \(self.key)", foreseeing: foreseen(key)
    ) { scope in
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
    noteUnorderedProperties(of: instance)
    return PreparedRecord(
      identifier: identifier, key: key, record: record, values: values,
      isForeign: ownIdentifier.map { instance[keyPath: $0] != identifier } ?? false)
  }

  /// Finds out once which properties are written in any order, so that the next write tells it to the descriptor.
  private func noteUnorderedProperties(of instance: Instance) {
    guard unordered.withLock({ $0 == nil }) else { return }
    let found = UnorderedProperties(of: instance)
    unordered.withLock { $0 = found }
    written.withLock { $0 = nil }
  }

  /// Writes a prepared record. The caller has the turn of the scope.
  func persist(
    _ prepared: PreparedRecord<Identifier>, touch: Bool = false, in scope: TransactionScope
  ) async throws -> Instance? {
    try await prepareTrees(for: prepared, in: scope)
    let writer = try writer(in: scope)
    let found = try scope.change { _ in
      try throwingWriterErrors {
        try writer.insertIfNew(prepared.key, prepared.record, values: prepared.values)
      }
    }
    guard let found else {
      note(prepared.identifier, key: prepared.key, old: nil, new: prepared.record, in: scope)
      return nil
    }
    let old = try await decoded(found.bytes, key: prepared.key, in: scope)
    _ = try scope.change { _ in
      try throwingWriterErrors {
        try writer.put(
          prepared.key, prepared.record, values: prepared.values, replacing: found, oldValues: old.values,
          touch: touch)
      }
    }
    note(prepared.identifier, key: prepared.key, old: old.record, new: prepared.record, in: scope)
    return try? old.instance.get()
  }

  /// Deletes a record. The caller has the turn of the scope.
  func delete(_ identifier: Identifier?, key: [UInt8], in scope: TransactionScope) async throws -> Instance? {
    try await makeFit(in: scope)
    let writer = try writer(in: scope)
    guard let found = try scope.step({ _ in try throwingWriterErrors { try writer.current(key) } }) else { return nil }
    let old = try await decoded(found.bytes, key: key, in: scope)
    let instance = try old.instance.get()
    try await prepareTrees(for: nil, in: scope)
    _ = try scope.change { _ in try throwingWriterErrors { try writer.delete(key, oldValues: old.values) } }
    note(identifier, key: key, old: old.record, new: nil, in: scope)
    return instance
  }

  /// Who writes this datastore's records and entries in a transaction; with the scope's step held.
  func makeWriter(in transaction: any WriteTransaction) -> DatastoreWriter {
    DatastoreWriter(descriptor(coding: coder.coding ?? .opaque), in: transaction, format: self)
  }

  private func writer(in scope: TransactionScope) throws -> DatastoreWriter {
    guard let work = scope.work else { throw DiskPersistenceError.cannotWrite }
    if let writer = work.known(number).writer { return writer }
    let writer = makeWriter(in: work.transaction)
    work.note(number) { $0.writer = writer }
    return writer
  }

  /// Sees once a transaction that the trees are there, as the declaration says, and that the descriptor says which
  /// version writes.
  private func prepareTrees(for prepared: PreparedRecord<Identifier>?, in scope: TransactionScope) async throws {
    guard let work = scope.work else { throw DiskPersistenceError.cannotWrite }
    let known = work.known(number)
    if known.isPrepared, known.hasForeign || prepared?.isForeign != true { return }
    try await makeFit(in: scope)
    try scope.change { transaction in try prepareTrees(for: prepared, in: transaction) }
    work.note(number) { known in
      known.isPrepared = true
      if prepared?.isForeign == true { known.hasForeign = true }
    }
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
      let writer = try writer(in: scope)
      let isLeftOut = try scope.step { _ in try throwingWriterErrors { try writer.isLeftOut(key) } }
      guard isLeftOut else { throw error }
      return StoredRecord(record: record, instance: .failure(error), values: nil)
    }
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
