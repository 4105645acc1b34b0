extension Datastore where AccessMode == ReadWrite {
  /// Changes the instance of an identifier, in one transaction. If the closure throws, nothing is changed.
  ///
  /// ```swift
  /// try await cities.update(2643743) { $0.population += 1 }
  /// ```
  ///
  /// - Returns: The instance before and after the change.
  /// - Throws: ``DatastoreInterfaceError/instanceNotFound`` if there was none.
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
  /// Inserts or replaces instances, in one transaction: all of them or, if one fails, none.
  ///
  /// - Throws: Any error from persisting one of them, and `CancellationError`; then none is stored.
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
