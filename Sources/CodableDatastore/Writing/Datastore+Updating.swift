extension Datastore where AccessMode == ReadWrite {
  /// Changes the instance of an identifier, in one transaction. If the closure throws, nothing is changed. On a server the closure runs
  /// again, on the newest instance, if another process has changed the instance meanwhile.
  ///
  /// ```swift
  /// try await cities.update(2643743) { $0.population += 1 }
  /// ```
  ///
  /// - Returns: The instance before and after the change.
  /// - Throws: ``DatastoreInterfaceError/instanceNotFound`` if there was none; ``InvalidKeyError`` if the closure changes the identifier.
  @discardableResult
  public nonisolated func update(
    _ identifier: IdentifierType, _ change: (inout InstanceType) async throws -> Void
  ) async throws -> (old: InstanceType, new: InstanceType) {
    try await core.readyForWriting()
    return try await Transactions.run(
      store: core.store, actionName: "update \(core.key)", options: .retriesConflicts
    ) { scope, _ in
      if scope.isReading { throw DiskPersistenceError.cannotWrite }
      guard let old = try await core.load(identifier) else { throw DatastoreInterfaceError.instanceNotFound }
      var new = old
      try await change(&new)
      try core.requireSameIdentifier(of: new, as: old)
      _ = try await core.persist(new, identifier: identifier)
      return (old, new)
    }
  }
}

extension Datastore where AccessMode == ReadWrite, InstanceType: Identifiable, IdentifierType == InstanceType.ID {
  /// Inserts or replaces instances, in one transaction: all of them or, if one fails, none.
  ///
  /// - Throws: Any error from persisting one of them, and `CancellationError`; then none is stored.
  public nonisolated func persist(contentsOf instances: some Sequence<InstanceType>) async throws {
    try await core.readyForWriting()
    // Other sequences may give their instances only once.
    let options: UnsafeTransactionOptions = instances is any Collection ? .retriesConflicts : []
    try await Transactions.run(store: core.store, actionName: "persist \(core.key)", options: options) { scope, _ in
      if scope.isReading { throw DiskPersistenceError.cannotWrite }
      for instance in instances {
        try Task.checkCancellation()
        _ = try await core.persist(instance, identifier: instance.id)
      }
    }
  }
}

extension DatastoreCore {
  /// Throws if an update has changed the identifier that an instance holds itself.
  func requireSameIdentifier(of new: Instance, as old: Instance) throws {
    guard let own = ownIdentifier, new[keyPath: own] != old[keyPath: own] else { return }
    throw InvalidKeyError(
      datastore: key, index: nil,
      reason: "an update must not change the identifier \(old[keyPath: own]) to \(new[keyPath: own])")
  }
}
