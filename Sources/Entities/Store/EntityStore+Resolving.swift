public import CodableDatastore

/// How an entity is meant that may be there already.
public enum EntityMatch: Hashable, Sendable {
  /// By its identifier.
  case identifier(String)
  /// By its property `name`.
  case name(String)
  /// By any property.
  case property(EntityKey, EntityValue)
}

/// An entity that was asked for by what is known of it.
public struct ResolvedEntity: Hashable, Sendable {
  /// The entity.
  public var entity: Entity
  /// Whether it had to be made.
  public var isCreated: Bool
}

extension EntityStore {
  /// The entity that is meant; nil where there is none. Of several the one of the lowest identifier.
  ///
  /// - Parameters:
  ///   - matches: How it may be known; tried in their order.
  ///   - type: What it must be, or conform to; nil for anything.
  /// - Throws: ``StoreError`` where the store cannot be read.
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
        // What conforms to the type is looked up only where something else than the type itself was found.
        let conforming = if let types { types } else { try await self.types(conformingTo: type) }
        types = conforming
        if conforming.contains(candidate.type) { return candidate }
      }
    }
    return nil
  }
}

extension EntityStore where AccessMode == ReadWrite {
  /// The entity that is meant, made where there is none; in one transaction.
  ///
  /// - Parameters:
  ///   - matches: How it may be known; tried in their order.
  ///   - type: What it must be, or conform to, and what a new one is.
  ///   - properties: What is said of a new one, beside what it was looked for by.
  /// - Throws: ``StoreError`` where the store cannot be written, ``EntityError`` where the properties cannot be kept;
  ///   then nothing is.
  public func resolve(
    _ matches: EntityMatch..., type: String, orCreate properties: [EntityKey: EntityValue]
  ) async throws -> ResolvedEntity {
    try await resolve(matches, type: type, orCreate: properties)
  }

  /// The entities that are meant, in the order of what is asked for, each made where there is none; in one transaction. What
  /// one item made, the next ones find.
  ///
  /// - Parameters:
  ///   - items: What is asked for.
  ///   - type: What each must be, or conform to, and what a new one is.
  ///   - matches: How an item may be known; tried in their order.
  ///   - properties: What is said of a new one, beside what it was looked for by.
  /// - Throws: ``StoreError`` where the store cannot be written, ``EntityError`` where the properties of one cannot be kept;
  ///   then nothing is.
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
    try await persistence.perform(actionName: "resolve \(type)") {
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

  /// Has one entity refer to another by a property, both made where they are not there; in one transaction. It is one-way:
  /// the other is left as it is, and finds who refers to it by ``load(referringTo:)``.
  ///
  /// - Parameters:
  ///   - subject: Who refers.
  ///   - key: The property.
  ///   - object: Who is referred to.
  ///   - label: What the reference means; nil for the name of the property.
  /// - Returns: Both.
  /// - Throws: ``StoreError`` where the store cannot be written; then nothing is.
  @discardableResult
  public func relate(
    _ subject: (match: EntityMatch, type: String), _ key: EntityKey, to object: (match: EntityMatch, type: String),
    label: String? = nil
  ) async throws -> (subject: ResolvedEntity, object: ResolvedEntity) {
    try await persistence.perform(actionName: "relate \(key)") {
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
