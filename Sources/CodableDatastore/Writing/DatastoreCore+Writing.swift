import StrataModel
import StrataDocuments
import StrataLocks
import StrataEngine

extension DatastoreCore {
  /// Inserts or replaces an instance and returns the previous one. If `touch` is true, an equal instance is written again as a new version.
  ///
  /// - Parameter isNew: Whether to throw if there is one, which need not decode.
  func persist(
    _ instance: Instance, identifier: Identifier, touch: Bool = false, isNew: Bool = false
  ) async throws -> Instance? {
    let prepared = try await prepare(instance, identifier: identifier)
    try await readyForWriting()
    return try await Transactions.write(
      to: store, actionName: "persist \(key)", prefetching: prefetchKeys(prepared.key, prepared.values),
      // A commit checks an index that enforces uniqueness for duplicates.
      presumption: indexes.contains { $0.isUnique } ? .thatAsks : .thatAsksNobody
    ) { scope in
      try await self.persist(prepared, touch: touch, isNew: isNew, in: scope)
    }
  }

  /// The keys that a server is asked for as a write begins: that of the record, and those of its entries of some values.
  private func prefetchKeys(_ identifier: [UInt8], _ values: [[[UInt8]]] = []) -> [PrefetchKey] {
    guard store.connection.isServed else { return [] }
    var keys = [PrefetchKey(tree: recordsTree, key: identifier)]
    for position in values.indices {
      for value in values[position] {
        let key = EntryKey.make(value: value, identifier: identifier)
        keys.append(PrefetchKey(tree: indexes[position].tree, key: key))
      }
    }
    return keys
  }

  /// Deletes the instance of an identifier, and returns its record; returns nil if there was none.
  ///
  /// - Parameter needsInstance: Whether an instance that does not decode is not deleted, but its error is thrown.
  func delete(_ identifier: Identifier, needsInstance: Bool) async throws -> StoredRecord<Instance>? {
    let key = try key(of: identifier)
    try await readyForWriting()
    return try await Transactions.write(
      to: store, actionName: "delete \(self.key)", prefetching: prefetchKeys(key)
    ) { scope in
      try await self.delete(identifier, key: key, needsInstance: needsInstance, in: scope)
    }
  }

  /// Encodes an instance and its keys. No lock is held meanwhile, and a failure changes nothing.
  func prepare(_ instance: Instance, identifier: Identifier) async throws -> PreparedRecord<Identifier> {
    let key = try key(of: identifier)
    let encoded: (bytes: [UInt8], decoded: Instance?)?
    do {
      encoded = try await coder.record(of: instance, decodes: !indexes.isEmpty)
    } catch {
      // A value that has no place in an index is reported as that, even if the encoder refuses it too.
      _ = try values(of: instance, in: indexes, identifier: key)
      throw error
    }
    guard let (record, decoded) = encoded else { throw EmptyContentError(datastore: DatastoreKey(self.key)) }
    findUnorderedProperties(of: instance)
    let stored = if let decoded { decoded } else { try await stored(instance, as: record) }
    return PreparedRecord(
      identifier: identifier, key: key, record: record, values: try values(of: stored, in: indexes, identifier: key),
      isForeign: ownIdentifier.map { stored[keyPath: $0] != identifier } ?? false)
  }

  /// Returns the instance as a reader decodes it from its record: a value that the coder rounds or changes is indexed as it is loaded.
  ///
  /// If the record does not decode, returns the instance that it was made of, whose values are indexed instead.
  private func stored(_ instance: Instance, as record: [UInt8]) async throws -> Instance {
    guard !indexes.isEmpty else { return instance }
    do {
      return try await coder.decode(Bytes(record)).instance
    } catch {
      try Task.checkCancellation()
      return instance
    }
  }

  /// Finds out once which properties are written in any order, so that the next write notes them in the descriptor.
  private func findUnorderedProperties(of instance: Instance) {
    guard unordered.withLock({ $0 == nil }) else { return }
    let found =
      coder.userInfo.map { UnorderedProperties(of: instance, userInfo: $0) } ?? UnorderedProperties(ofStored: instance)
    unordered.withLock { $0 = found }
    written.withLock { $0 = nil }
  }

  /// Writes a prepared record. The caller must hold the scope's turn.
  func persist(
    _ prepared: PreparedRecord<Identifier>, touch: Bool = false, isNew: Bool = false, in scope: TransactionScope
  ) async throws -> Instance? {
    try await prepareTrees(for: prepared, in: scope)
    let writer = try writer(in: scope)
    let found = try scope.change { _ in
      try writer.insertIfNew(prepared.key, prepared.record, values: prepared.values)
    }
    guard let found else {
      recordChange(prepared.identifier, key: prepared.key, old: nil, new: prepared.record, in: scope)
      return nil
    }
    if isNew { throw DatastoreInterfaceError.instanceAlreadyExists }
    let old = try await decoded(found.bytes, key: prepared.key, in: scope)
    _ = try scope.change { _ in
      try writer.put(
        prepared.key, prepared.record, values: prepared.values, replacing: found, oldValues: old.values,
        touch: touch)
    }
    recordChange(prepared.identifier, key: prepared.key, old: old.record, new: prepared.record, in: scope)
    return try? old.instance.get()
  }

  /// Deletes a record, and returns it; returns nil if there was none. The caller must hold the scope's turn.
  func delete(
    _ identifier: Identifier?, key: [UInt8], needsInstance: Bool = false, in scope: TransactionScope
  ) async throws -> StoredRecord<Instance>? {
    try await makeFit(in: scope)
    let writer = try writer(in: scope)
    guard let found = try scope.step({ _ in try writer.current(key) }) else { return nil }
    let old = try await decoded(found.bytes, key: key, in: scope)
    if needsInstance { _ = try old.instance.get() }
    try await prepareTrees(for: nil, in: scope)
    _ = try scope.change { _ in try writer.delete(key, oldValues: old.values) }
    recordChange(identifier, key: key, old: old.record, new: nil, in: scope)
    return old
  }

  /// Makes the writer of this datastore's records and entries in a transaction. The caller must hold the scope's step.
  ///
  /// - Parameter behind: the names of indexes that are left behind.
  func makeWriter(in transaction: any WriteTransaction, leaving behind: Set<String> = []) -> DatastoreWriter {
    var descriptor = descriptor(coding: coder.coding ?? .opaque)
    descriptor.markStale(behind)
    return DatastoreWriter(descriptor, in: transaction, format: self)
  }

  private func writer(in scope: TransactionScope) throws -> DatastoreWriter {
    guard let work = scope.work else { throw DiskPersistenceError.cannotWrite }
    let known = work.known(number)
    if let writer = known.writer { return writer }
    let writer = makeWriter(in: work.transaction, leaving: known.behind)
    work.updateKnown(number) { $0.writer = writer }
    return writer
  }

  /// Ensures once per transaction that the trees exist as the declaration says, and that the descriptor names the version that writes.
  private func prepareTrees(for prepared: PreparedRecord<Identifier>?, in scope: TransactionScope) async throws {
    guard let work = scope.work else { throw DiskPersistenceError.cannotWrite }
    let known = work.known(number)
    if known.isPrepared, known.hasForeign || prepared?.isForeign != true { return }
    try await makeFit(in: scope)
    try scope.change { transaction in try prepareTrees(for: prepared, in: transaction) }
    work.updateKnown(number) { known in
      known.isPrepared = true
      if prepared?.isForeign == true { known.hasForeign = true }
    }
  }

  /// Warms up if the store was changed between the first check and this transaction (by a restore or another process), or if the
  /// transaction is the first to use it.
  private func makeFit(in scope: TransactionScope) async throws {
    if scope.work?.known(number).isPrepared == true { return }
    let isFit = try scope.step { transaction in
      let tree = try transaction.tree(recordsTree)
      return try tree.map { try fits($0) } ?? true
    }
    if isFit { return }
    do {
      _ = try await WarmUp(core: self, scope: scope, forced: WarmUpPlan()).run()
    } catch let error as UnreadableInstanceError {
      try leaveIndexesBehind(in: scope, because: error)
    }
  }

  /// Decodes a record that is replaced or deleted: one that does not decode, too, whose index entries are then searched.
  private func decoded(
    _ record: Bytes, key: [UInt8], in scope: TransactionScope
  ) async throws -> StoredRecord<Instance> {
    if record.isEmpty {
      let damage = StoreError(.damaged, "\(shown(key)) of \(self.key) is damaged.")
      return StoredRecord(record: record, instance: .failure(damage), values: nil)
    }
    do {
      let instance = try await scope.converting(datastore: self.key) {
        try await self.instance(of: record, key: key, wrapsAll: true)
      }
      let values = try values(of: instance, in: indexes, identifier: key)
      return StoredRecord(record: record, instance: .success(instance), values: values)
    } catch {
      let thrown = (error as? UnreadableInstanceError)?.thrown ?? error
      // A record without its migration may be replaced once the app or a user has marked it as left out.
      let writer = try writer(in: scope)
      guard
        try error is UnreadableInstanceError && !(thrown is DatastoreError)
          || scope.step({ _ in try writer.isLeftOut(key) })
      else { throw thrown }
      return StoredRecord(record: record, instance: .failure(thrown), values: nil)
    }
  }

  /// Notes a change for observers; if there are none, only that there was one.
  private func recordChange(
    _ identifier: Identifier?, key storedKey: [UInt8], old: Bytes?, new: [UInt8]?, in scope: TransactionScope
  ) {
    guard store.connection.publication.hasObservers(of: key) else {
      scope.work?.unheard.withLock { _ = $0.insert(key) }
      return
    }
    scope.recordChange(
      StoredChange(datastore: key, key: storedKey, identifier: identifier, old: old, new: new.map { Bytes($0) }))
  }
}
