extension BlockingDatastore where AccessMode == ReadWrite {
  /// Inserts an instance, or replaces the one of the same identifier.
  ///
  /// - Returns: The instance that was stored before, or nil if there was none.
  @available(*, noasync)
  @discardableResult
  public func persist(_ instance: InstanceType, to identifier: IdentifierType) throws -> InstanceType? {
    try call { try await datastore.persist(instance, to: identifier) }
  }

  /// Inserts an instance, or replaces the one of the identifier that a property holds.
  ///
  /// - Returns: The instance that was stored before, or nil if there was none.
  @available(*, noasync)
  @discardableResult
  public func persist(_ instance: InstanceType, id keypath: KeyPath<InstanceType, IdentifierType>) throws
    -> InstanceType?
  {
    try call { try await datastore.persist(instance, id: keypath) }
  }

  /// Changes the instance of an identifier, in one transaction. Blocking calls in the closure join it.
  ///
  /// - Returns: The instance before and after the change.
  @available(*, noasync)
  @discardableResult
  public func update(
    _ identifier: IdentifierType, _ change: (inout InstanceType) throws -> Void
  ) throws -> (old: InstanceType, new: InstanceType) {
    try call {
      try await datastore.update(identifier) { instance in try Blocking.joining { try change(&instance) } }
    }
  }

  /// Deletes the instance of an identifier.
  ///
  /// - Returns: The deleted instance.
  @available(*, noasync)
  @discardableResult
  public func delete(_ identifier: IdentifierType) throws -> InstanceType {
    try call { try await datastore.delete(id: identifier) }
  }

  /// Deletes the instance of an identifier, if there is one.
  ///
  /// - Returns: The instance that was stored before, or nil if there was none.
  @available(*, noasync)
  @discardableResult
  public func deleteIfPresent(_ identifier: IdentifierType) throws -> InstanceType? {
    try call { try await datastore.deleteIfPresent(id: identifier) }
  }

  /// Deletes the instances of a range of identifiers, all that meet a condition, in one transaction.
  ///
  /// - Returns: The number of deleted instances.
  @available(*, noasync)
  @discardableResult
  public func delete(
    _ range: some IndexRangeExpression<IdentifierType>, where condition: (InstanceType) throws -> Bool = { _ in true }
  ) throws -> Int where IdentifierType: RangedIndexable {
    try call {
      try await datastore.delete(range) { instance in try Blocking.joining { try condition(instance) } }
    }
  }

  /// Deletes all instances that meet a condition, in one transaction.
  ///
  /// - Returns: The number of deleted instances.
  @available(*, noasync)
  @discardableResult
  public func delete(
    _ range: Swift.UnboundedRange, where condition: (InstanceType) throws -> Bool = { _ in true }
  ) throws -> Int {
    try call {
      try await datastore.delete(range: range) { instance in try Blocking.joining { try condition(instance) } }
    }
  }

  /// Deletes the instances of a range of an index, all that meet a condition, in one transaction.
  ///
  /// - Returns: The number of deleted instances.
  @available(*, noasync)
  @discardableResult
  public func delete<Value: RangedIndexable, Index: RetrievableIndexRepresentation<InstanceType, Value>>(
    _ range: some IndexRangeExpression<Value>, from index: KeyPath<Format, Index>,
    where condition: (InstanceType) throws -> Bool = { _ in true }
  ) throws -> Int {
    try call {
      try await datastore.delete(range: range, of: index) { instance in try Blocking.joining { try condition(instance) }
      }
    }
  }

  /// Deletes the instances of one value of an index, all that meet a condition, in one transaction.
  ///
  /// - Returns: The number of deleted instances.
  @available(*, noasync)
  @discardableResult
  public func delete<Value: DiscreteIndexable, Index: RetrievableIndexRepresentation<InstanceType, Value>>(
    _ value: Value, from index: KeyPath<Format, Index>,
    where condition: (InstanceType) throws -> Bool = { _ in true }
  ) throws -> Int {
    try call {
      try await datastore.delete(value: value, of: index) { instance in try Blocking.joining { try condition(instance) }
      }
    }
  }
}

extension BlockingDatastore
where AccessMode == ReadWrite, InstanceType: Identifiable, IdentifierType == InstanceType.ID {
  /// Inserts an instance, or replaces the one of the same identifier.
  ///
  /// - Returns: The instance that was stored before, or nil if there was none.
  @available(*, noasync)
  @discardableResult
  public func persist(_ instance: InstanceType) throws -> InstanceType? {
    try call { try await datastore.persist(instance) }
  }

  /// Inserts or replaces instances, in one transaction.
  @available(*, noasync)
  public func persist(contentsOf instances: some Sequence<InstanceType>) throws {
    try call { try await datastore.persist(contentsOf: instances) }
  }

  /// Deletes the stored instance with the identifier of this one.
  ///
  /// - Returns: The deleted instance.
  @available(*, noasync)
  @discardableResult
  @_disfavoredOverload
  public func delete(_ instance: InstanceType) throws -> InstanceType { try delete(instance.id) }

  /// Deletes the stored instance with the identifier of this one, if there is one.
  ///
  /// - Returns: The instance that was stored before, or nil if there was none.
  @available(*, noasync)
  @discardableResult
  @_disfavoredOverload
  public func deleteIfPresent(_ instance: InstanceType) throws -> InstanceType? { try deleteIfPresent(instance.id) }
}
