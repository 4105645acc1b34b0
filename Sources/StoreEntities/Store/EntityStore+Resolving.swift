public import CodableDatastore

/// The ways to find an entity that may exist already.
public enum EntityMatch: Hashable, Sendable {
  /// By its identifier.
  case identifier(String)
  /// By its property `name`.
  case name(String)
  /// By any property.
  case property(EntityKey, EntityValue)
}

/// An entity that was searched for by known facts.
public struct ResolvedEntity: Hashable, Sendable {
  /// The entity.
  public var entity: Entity
  /// Whether it was created.
  public var isCreated: Bool
}

extension EntityStore {
  /// The entity that matches; nil if there is none. Of several matches it is the one with the lowest identifier.
  ///
  /// - Parameters:
  ///   - matches: The ways to find it; tried in their order.
  ///   - type: The type that it must have, or conform to; nil for any.
  /// - Throws: ``StoreError`` if the store cannot be read.
  public func find(_ matches: EntityMatch..., type: String? = nil) async throws -> Entity? {
    try await find(matches, type: type)
  }

  func find(_ matches: [EntityMatch], type: String?) async throws -> Entity? {
    var types: Set<String>?
    for match in matches {
      let candidates: [Entity] =
        switch match {
        case .identifier(let id): try await load(id).map { [$0] } ?? []
        case .name(let name): try await load(where: "name", is: .string(name))
        case .property(let key, let value): try await load(where: key, is: value)
        }
      for candidate in candidates {
        guard let type, candidate.type != type else { return candidate }
        // The conforming types are looked up only if an entity of another type was found.
        let conforming = if let types { types } else { try await self.types(conformingTo: type) }
        types = conforming
        if conforming.contains(candidate.type) { return candidate }
      }
    }
    return nil
  }
}

extension EntityStore where AccessMode == ReadWrite {
  /// The entity that matches, created if there is none; in one transaction.
  ///
  /// - Parameters:
  ///   - matches: The ways to find it; tried in their order.
  ///   - type: The type that it must have, or conform to, and that a new one gets.
  ///   - properties: The properties of a new one, beside those that it was searched by.
  /// - Throws: ``StoreError`` if the store cannot be written, ``EntityError`` if the properties cannot be kept; then nothing is written.
  public func resolve(
    _ matches: EntityMatch..., type: String, orCreate properties: [EntityKey: EntityValue]
  ) async throws -> ResolvedEntity {
    try await resolve(matches, type: type, orCreate: properties)
  }

  /// The entities that match the items, in the items' order, each created if there is none; in one transaction. An entity that one item
  /// created is found by the next ones.
  ///
  /// - Parameters:
  ///   - items: The items to find entities for.
  ///   - type: The type that each must have, or conform to, and that a new one gets.
  ///   - matches: Returns the ways to find an item's entity; tried in their order.
  ///   - properties: Returns the properties of a new one, beside those that it was searched by.
  /// - Throws: ``StoreError`` if the store cannot be written, ``EntityError`` if the properties of one cannot be kept; then nothing is
  ///   written.
  public func resolve<Item>(
    _ items: [Item], type: String, by matches: (Item) -> [EntityMatch],
    orCreate properties: (Item) -> [EntityKey: EntityValue]
  ) async throws -> [ResolvedEntity] {
    try await persistence.perform(actionName: "resolve \(type)") {
      var resolved: [ResolvedEntity] = []
      for item in items {
        resolved.append(try await resolve(matches(item), type: type, orCreate: properties(item)))
      }
      return resolved
    }
  }

  func resolve(
    _ matches: [EntityMatch], type: String, orCreate properties: [EntityKey: EntityValue]
  ) async throws -> ResolvedEntity {
    try await persistence.perform(actionName: "resolve \(type)", options: .retriesConflicts) {
      if let found = try await find(matches, type: type) { return ResolvedEntity(entity: found, isCreated: false) }
      var entity = Entity(type: type, properties: properties)
      for match in matches.reversed() {
        switch match {
        case .identifier(let id): entity.id = id
        case .name(let name): entity.set("name", .string(name), date: entity.created)
        case .property(let key, let value): entity.set(key, value, date: entity.created)
        }
      }
      return ResolvedEntity(entity: try await add(entity), isCreated: true)
    }
  }

  /// Makes one entity refer to another by a property, and creates either if it does not exist; in one transaction. The reference is
  /// one-way: the other entity does not change, and ``load(referringTo:)`` finds the entities that refer to it.
  ///
  /// - Parameters:
  ///   - subject: The entity that refers.
  ///   - key: The property.
  ///   - object: The entity that it refers to.
  ///   - label: The meaning of the reference; nil for the name of the property.
  /// - Returns: Both.
  /// - Throws: ``StoreError`` if the store cannot be written; then nothing is written.
  @discardableResult
  public func relate(
    _ subject: (match: EntityMatch, type: String), _ key: EntityKey, to object: (match: EntityMatch, type: String),
    label: String? = nil
  ) async throws -> (subject: ResolvedEntity, object: ResolvedEntity) {
    try await persistence.perform(actionName: "relate \(key)", options: .retriesConflicts) {
      let object = try await resolve([object.match], type: object.type, orCreate: [:])
      var subject = try await resolve([subject.match], type: subject.type, orCreate: [:])
      if subject.entity.set(key, .entity(object.entity.id), label: label ?? key.rawValue) {
        try subject.entity.requireSound()
        try await datastore.persist(subject.entity)
      }
      return (subject, object)
    }
  }
}
