extension Datastore where AccessMode == ReadWrite {
  /// Changes the instance of an identifier, in one transaction. Where the closure throws, nothing is changed.
  ///
  /// ```swift
  /// try await cities.update(2643743) { $0.population += 1 }
  /// ```
  ///
  /// - Returns: What was there, and what is there now.
  /// - Throws: ``DatastoreInterfaceError/instanceNotFound`` where nothing was.
  @discardableResult
  public nonisolated func update(
    _ identifier: IdentifierType, _ change: (inout InstanceType) async throws -> Void
  ) async throws -> (old: InstanceType, new: InstanceType) {
    try await core.readyForWriting()
    return try await Transactions.run(store: core.store, actionName: "update \(core.key)", options: []) { scope, _ in
      if scope.isReading { throw DiskPersistenceError.cannotWrite }
      guard let old = try await core.load(identifier) else { throw DatastoreInterfaceError.instanceNotFound }
      var new = old
      try await change(&new)
      _ = try await core.persist(new, identifier: identifier)
      return (old, new)
    }
  }
}

extension Datastore where AccessMode == ReadWrite, InstanceType: Identifiable, IdentifierType == InstanceType.ID {
  /// Inserts or replaces instances, in one transaction: all of them or, where one fails, none.
  ///
  /// - Throws: What persisting one of them throws, and `CancellationError`; then none is kept.
  public nonisolated func persist(contentsOf instances: some Sequence<InstanceType>) async throws {
    try await core.readyForWriting()
    try await Transactions.run(store: core.store, actionName: "persist \(core.key)", options: []) { scope, _ in
      if scope.isReading { throw DiskPersistenceError.cannotWrite }
      for instance in instances {
        try Task.checkCancellation()
        _ = try await core.persist(instance, identifier: instance.id)
      }
    }
  }
}
