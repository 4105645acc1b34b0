public import CodableDatastore
public import StrataFoundation

extension EntityStore where AccessMode == ReadWrite {
  /// Adds an entity.
  ///
  /// - Returns: The entity.
  /// - Throws: ``EntityError/exists(_:)`` if there is one with its identifier, ``EntityError/empty(_:)``, ``EntityError/reservedKey(_:)``
  ///   and ``EntityError/notFinite(path:)`` if it cannot be written.
  @discardableResult
  public func add(_ entity: Entity) async throws -> Entity {
    try entity.requireSound()
    try await persistence.perform(actionName: "add \(entity.type)", options: .retriesConflicts) {
      guard try await datastore.load(entity.id) == nil else { throw EntityError.exists(entity.id) }
      try await datastore.persist(entity)
    }
    return entity
  }

  /// Sets properties of an entity where they differ; all other properties stay.
  ///
  /// - Parameters:
  ///   - id: The entity.
  ///   - properties: The properties to set.
  ///   - date: The date of the new values; now by default.
  /// - Returns: The properties that changed. If none did, nothing is written.
  /// - Throws: ``EntityError/notFound(_:)`` if there is no such entity.
  @discardableResult
  public func update(
    _ id: String, _ properties: [EntityKey: EntityValue], date: Date = .now
  ) async throws -> Set<EntityKey> {
    try await change(id, action: "edit") { entity in
      var changed: Set<EntityKey> = []
      for (key, value) in properties where entity.set(key, value, label: entity[key]?.label(for: value), date: date) {
        changed.insert(key)
      }
      return changed
    }
  }

  /// Removes a property from an entity. Nothing is erased: its values stay in the history.
  ///
  /// - Returns: Whether there was one.
  /// - Throws: ``EntityError/notFound(_:)`` if there is no such entity.
  @discardableResult
  public func remove(_ key: EntityKey, from id: String, date: Date = .now) async throws -> Bool {
    try await !change(id, action: "remove \(key)") { $0.remove(key, date: date) ? [key] : [] }.isEmpty
  }

  /// Deletes an entity. References to it stay, and name no entity until one with its identifier is added again.
  ///
  /// - Returns: The deleted entity.
  /// - Throws: ``EntityError/notFound(_:)`` if there is no such entity.
  @discardableResult
  public func delete(_ id: String) async throws -> Entity {
    do { return try await datastore.delete(id) } catch DatastoreInterfaceError.instanceNotFound {
      throw EntityError.notFound("“\(id)”")
    }
  }

  /// Changes an entity in one transaction; writes nothing if the closure returns no changed property.
  private func change(
    _ id: String, action: String, _ body: (inout Entity) throws -> Set<EntityKey>
  ) async throws -> Set<EntityKey> {
    try await persistence.perform(actionName: "\(action) \(id)", options: .retriesConflicts) {
      guard var entity = try await datastore.load(id) else { throw EntityError.notFound("“\(id)”") }
      let changed = try body(&entity)
      guard !changed.isEmpty else { return [] }
      try entity.requireSound()
      try await datastore.persist(entity)
      return changed
    }
  }
}

extension EntityProperty {
  /// The label for a new value: a label of its own stays, the name of a kind follows the kind.
  fileprivate func label(for new: EntityValue) -> String { label == value.kind ? new.kind : label }

  /// The depth of lists within lists: far below what the readers of records allow.
  private static var depthLimit: Int { 64 }

  fileprivate func requireSound(path: String, depth: Int = 0) throws(EntityError) {
    guard depth <= Self.depthLimit else { throw .tooDeep(path: path, limit: Self.depthLimit) }
    guard date.timeIntervalSinceReferenceDate.isFinite else { throw .notFinite(path: "\(path).datestamp") }
    switch value {
    case .double(let number) where !number.isFinite: throw .notFinite(path: path)
    case .date(let date) where !date.timeIntervalSinceReferenceDate.isFinite: throw .notFinite(path: path)
    case .list(let elements):
      for (position, element) in elements.enumerated() {
        try element.requireSound(path: "\(path)[\(position)]", depth: depth + 1)
      }
    default: break
    }
  }
}

extension Entity {
  /// Throws if the entity cannot be written in full and read back.
  func requireSound() throws(EntityError) {
    if id.isEmpty { throw .empty("identifier") }
    if type.isEmpty { throw .empty("type") }
    guard created.timeIntervalSinceReferenceDate.isFinite else { throw .notFinite(path: "\(id).datestamp") }
    for (key, property) in properties {
      if key.isReserved { throw .reservedKey(key.rawValue) }
      try property.requireSound(path: "\(id).\(key)")
    }
    for (key, past) in past {
      for (position, past) in past.enumerated() {
        let path = "\(id).\(key).history[\(position)]"
        guard past.date.timeIntervalSinceReferenceDate.isFinite else { throw .notFinite(path: "\(path).datestamp") }
        try past.property?.requireSound(path: path)
      }
    }
  }
}
