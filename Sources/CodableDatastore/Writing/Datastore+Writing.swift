extension Datastore where AccessMode == ReadWrite {
  /// Inserts an instance, or replaces the one of the same identifier.
  ///
  /// A call is a transaction of its own, durable when it returns, or a part of the one that it is made in. An instance that equals the
  /// stored one is not written again.
  ///
  /// - Parameters:
  ///   - instance: The instance to store.
  ///   - identifier: Its identifier, which need not be a part of it.
  ///   - touch: Whether an instance that equals the stored one is written again, as a new version with its own date and action.
  /// - Returns: The instance that was stored before, converted if it was of an older version; nil if there was none.
  /// - Throws: ``StoreError`` if the store cannot be written; any error of the encoder, or of the decoder of the replaced instance;
  ///   ``InvalidKeyError``; ``UniquenessError``. Then nothing is written.
  @discardableResult
  public nonisolated func persist(
    _ instance: InstanceType, to identifier: IdentifierType, touch: Bool = false
  ) async throws -> InstanceType? {
    try await core.persist(instance, identifier: identifier, touch: touch)
  }

  /// Inserts an instance, or replaces the one of the same identifier, which a property of the instance holds.
  ///
  /// - Parameters:
  ///   - instance: The instance to store.
  ///   - keypath: The property.
  ///   - touch: Whether an instance that equals the stored one is written again, as a new version with its own date and action.
  /// - Throws: ``StoreError`` if the store cannot be written; any error of the encoder, or of the decoder of the replaced instance;
  ///   ``InvalidKeyError``; ``UniquenessError``. Then nothing is written.
  @discardableResult
  public nonisolated func persist(
    _ instance: InstanceType, id keypath: KeyPath<InstanceType, IdentifierType>, touch: Bool = false
  ) async throws -> InstanceType? {
    try await core.persist(instance, identifier: instance[keyPath: keypath], touch: touch)
  }

  /// Deletes the instance of an identifier.
  ///
  /// - Returns: The deleted instance, converted if it was of an older version.
  /// - Throws: ``DatastoreInterfaceError/instanceNotFound`` if there was none; ``UnreadableInstanceError`` if it does not decode, which
  ///   `deleteIfPresent` deletes all the same.
  @discardableResult
  public nonisolated func delete(id identifier: IdentifierType) async throws -> InstanceType {
    try await deleteExisting(identifier)
  }

  /// Deletes the instance of an identifier.
  ///
  /// - Returns: The deleted instance, converted if it was of an older version.
  /// - Throws: ``DatastoreInterfaceError/instanceNotFound`` if there was none; ``UnreadableInstanceError`` if it does not decode, which
  ///   `deleteIfPresent` deletes all the same.
  @discardableResult
  public nonisolated func delete(_ identifier: IdentifierType) async throws -> InstanceType {
    try await deleteExisting(identifier)
  }

  /// Deletes the instance of an identifier, if there is one.
  ///
  /// - Returns: The instance that was stored before; nil if there was none, or if it did not decode any more.
  /// - Throws: ``StoreError`` if the store cannot be written, and the error of a migration. Then nothing is deleted.
  @discardableResult
  public nonisolated func deleteIfPresent(id identifier: IdentifierType) async throws -> InstanceType? {
    try await deletePresent(identifier)
  }

  /// Deletes the instance of an identifier, if there is one.
  ///
  /// - Returns: The instance that was stored before; nil if there was none, or if it did not decode any more.
  /// - Throws: ``StoreError`` if the store cannot be written, and the error of a migration. Then nothing is deleted.
  @discardableResult
  public nonisolated func deleteIfPresent(_ identifier: IdentifierType) async throws -> InstanceType? {
    try await deletePresent(identifier)
  }

  private nonisolated func deleteExisting(_ identifier: IdentifierType) async throws -> InstanceType {
    guard let deleted = try await core.delete(identifier, needsInstance: true) else {
      throw DatastoreInterfaceError.instanceNotFound
    }
    return try deleted.instance.get()
  }

  private nonisolated func deletePresent(_ identifier: IdentifierType) async throws -> InstanceType? {
    let deleted = try await core.delete(identifier, needsInstance: false)
    return try? deleted?.instance.get()
  }
}

extension Datastore where InstanceType: Identifiable, IdentifierType == InstanceType.ID {
  /// Inserts an instance, or replaces the one of the same identifier.
  ///
  /// - Parameters:
  ///   - instance: The instance to store.
  ///   - touch: Whether an instance that equals the stored one is written again, as a new version with its own date and action.
  /// - Returns: The instance that was stored before, converted if it was of an older version; nil if there was none.
  /// - Throws: ``StoreError`` if the store cannot be written; any error of the encoder, or of the decoder of the replaced instance;
  ///   ``InvalidKeyError``; ``UniquenessError``. Then nothing is written.
  @discardableResult
  public nonisolated func persist(_ instance: InstanceType, touch: Bool = false) async throws -> InstanceType?
  where AccessMode == ReadWrite {
    try await core.persist(instance, identifier: instance.id, touch: touch)
  }

  /// Deletes the stored instance with the identifier of this one.
  ///
  /// - Returns: The instance that was stored, not the one that was passed.
  /// - Throws: ``DatastoreInterfaceError/instanceNotFound`` if there was none; ``UnreadableInstanceError`` if it does not decode, which
  ///   `deleteIfPresent` deletes all the same.
  @discardableResult
  public nonisolated func delete(instance: InstanceType) async throws -> InstanceType
  where AccessMode == ReadWrite {
    try await deleteExisting(instance.id)
  }

  /// Deletes the stored instance with the identifier of this one.
  ///
  /// - Returns: The instance that was stored, not the one that was passed.
  /// - Throws: ``DatastoreInterfaceError/instanceNotFound`` if there was none; ``UnreadableInstanceError`` if it does not decode, which
  ///   `deleteIfPresent` deletes all the same.
  @_disfavoredOverload
  @discardableResult
  public nonisolated func delete(_ instance: InstanceType) async throws -> InstanceType
  where AccessMode == ReadWrite {
    try await deleteExisting(instance.id)
  }

  /// Deletes the stored instance with the identifier of this one, if there is one.
  ///
  /// - Returns: The instance that was stored before; nil if there was none, or if it did not decode any more.
  /// - Throws: ``StoreError`` if the store cannot be written, and the error of a migration. Then nothing is deleted.
  @discardableResult
  public nonisolated func deleteIfPresent(instance: InstanceType) async throws -> InstanceType?
  where AccessMode == ReadWrite {
    try await deletePresent(instance.id)
  }

  /// Deletes the stored instance with the identifier of this one, if there is one.
  ///
  /// - Returns: The instance that was stored before; nil if there was none, or if it did not decode any more.
  /// - Throws: ``StoreError`` if the store cannot be written, and the error of a migration. Then nothing is deleted.
  @_disfavoredOverload
  @discardableResult
  public nonisolated func deleteIfPresent(_ instance: InstanceType) async throws -> InstanceType?
  where AccessMode == ReadWrite {
    try await deletePresent(instance.id)
  }
}
