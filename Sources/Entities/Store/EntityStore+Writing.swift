public import CodableDatastore
#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

extension EntityStore where AccessMode == ReadWrite {
  /// Adds an entity.
  ///
  /// - Returns: The entity.
  /// - Throws: ``EntityError/exists(_:)`` where there is one of its identifier, ``EntityError/reservedKey(_:)`` and
  ///   ``EntityError/notFinite(path:)`` where it cannot be written.
  @discardableResult
  public func add(_ entity: Entity) async throws -> Entity {
    try entity.requireSound()
    try await persistence.perform(actionName: "add \(entity.type)") {
      guard try await datastore.load(entity.id) == nil else { throw EntityError.exists(entity.id) }
      try await datastore.persist(entity)
    }
    return entity
  }

  /// Makes what is said of an entity what is given, where it differs; all else stays.
  ///
  /// - Parameters:
  ///   - id: The entity.
  ///   - properties: What is to be said of it.
  ///   - date: When it is said; now, where nothing else is.
  /// - Returns: The properties that changed. Where none did, nothing is written.
  /// - Throws: ``EntityError/notFound(_:)`` where there is no such entity.
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

  /// Takes a property away from an entity. Nothing is erased: its values stay in the history.
  ///
  /// - Returns: Whether there was one.
  /// - Throws: ``EntityError/notFound(_:)`` where there is no such entity.
  @discardableResult
  public func remove(_ key: EntityKey, from id: String, date: Date = .now) async throws -> Bool {
    try await !change(id, action: "remove \(key)") { $0.remove(key, date: date) ? [key] : [] }.isEmpty
  }

  /// Deletes an entity. References to it stay, and lead nowhere until one of its identifier comes back.
  ///
  /// - Returns: What was there.
  /// - Throws: ``EntityError/notFound(_:)`` where nothing was.
  @discardableResult
  public func delete(_ id: String) async throws -> Entity {
    guard let entity = try await datastore.deleteIfPresent(id) else { throw EntityError.notFound("“\(id)”") }
    return entity
  }

  /// Changes an entity in one transaction; writes nothing where the closure tells of no change.
  private func change(
    _ id: String, action: String, _ body: (inout Entity) throws -> Set<EntityKey>
  ) async throws -> Set<EntityKey> {
    try await persistence.perform(actionName: "\(action) \(id)") {
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
  /// The label that a new value takes over: what was said on purpose stays, the name of a kind follows the kind.
  fileprivate func label(for new: EntityValue) -> String { label == value.kind ? new.kind : label }
}

extension Entity {
  /// Fails where the entity cannot be written in full and be read back.
  func requireSound() throws(EntityError) {
    guard created.timeIntervalSinceReferenceDate.isFinite else { throw .notFinite(path: "\(id).datestamp") }
    for (key, property) in properties {
      if key.isReserved { throw .reservedKey(key.rawValue) }
      try property.requireSound(path: "\(id).\(key)")
    }
    for (key, past) in past {
      for (position, past) in past.enumerated() {
        try past.property?.requireSound(path: "\(id).\(key).history[\(position)]")
      }
    }
  }
}

extension EntityProperty {
  /// How deep lists may lie in lists: far below what the readers of records allow.
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
