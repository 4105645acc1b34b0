public import CodableDatastore
import StrataFoundation

/// Records without a Swift type, in a datastore of a store.
///
/// ```swift
/// let entities = EntityStore(persistence)
/// try await entities.add(Entity("person-3", type: "person", properties: ["name": "Frank"]))
/// for try await book in entities.load(type: "book") { print(book.label) }
/// ```
///
/// All calls are those of ``datastore``, which may be used beside them for queries, history, observation and views of the past. Calls that
/// write are transactions of their own, or part of the transaction in which they are made.
public struct EntityStore<AccessMode: _AccessMode>: Sendable {
  /// The store of the entities.
  public let persistence: any Persistence
  /// The datastore that keeps the entities.
  public let datastore: Datastore<EntityFormat, AccessMode>

  /// The entities as of a commit, with the same calls for reading.
  ///
  /// - Throws: `StoreError` of kind `noSuchCommit` if there is no such commit, or it was removed from the history.
  public func view(at commit: Commit.Number) async throws -> EntityStore<ReadOnly> {
    EntityStore<ReadOnly>(persistence: persistence, datastore: try await datastore.view(at: commit))
  }

  /// The entity of an identifier, or nil.
  ///
  /// - Throws: ``StoreError`` if the store cannot be read.
  public func load(_ id: String) async throws -> Entity? { try await datastore.load(id) }

  /// All entities, by their identifiers.
  public func load(_ range: UnboundedRange) -> some AsyncInstances<Entity> { datastore.load(range) }

  /// The entities of one type, and of the types that conform to it, by their identifiers within each type.
  ///
  /// - Parameters:
  ///   - type: The type.
  ///   - conforming: Whether to include those of conforming types.
  /// - Throws: ``StoreError`` if the store cannot be read.
  public func load(type: String, conforming: Bool = true) async throws -> [Entity] {
    var found: [Entity] = []
    for type in conforming ? try await types(conformingTo: type).sorted() : [type] {
      for try await entity in datastore.load(type, from: \.type) { found.append(entity) }
    }
    return found
  }

  /// The entities that have a value in a property, alone or in a list, by their identifiers.
  ///
  /// An index finds texts, numbers and truths, another one references, and the index of dates moments. Data is searched for in all
  /// entities.
  ///
  /// - Throws: ``StoreError`` if the store cannot be read.
  public func load(where key: EntityKey, is value: EntityValue) async throws -> [Entity] {
    var found: [Entity] = []
    func keep(_ candidates: some AsyncInstances<Entity>) async throws {
      for try await entity in candidates where entity[key]?.value.has(value) == true { found.append(entity) }
    }
    switch value {
    case .entity(let id): try await keep(datastore.load(id, from: \.target))
    case .date(let date) where date.timeIntervalSinceReferenceDate.isNaN: break
    case .date(let date): try await keep(datastore.load(date...date, from: \.date))
    case .double(0):
      // Both zeros are equal, and are spelt differently.
      for zero in ["0.0", "-0.0"] { try await keep(datastore.load(Entity.searchable(key, zero), from: \.property)) }
      let each = Dictionary(found.map { ($0.id, $0) }, uniquingKeysWith: { $1 })
      found = each.values.sorted { $0.id.utf8.lexicographicallyPrecedes($1.id.utf8) }
    default:
      if let text = value.searchText {
        try await keep(datastore.load(Entity.searchable(key, text), from: \.property))
      } else {
        try await keep(datastore.load(...))
      }
    }
    return found
  }

  /// The entities that refer to one, by any property, by their identifiers.
  public func load(referringTo id: String) -> some AsyncInstances<Entity> { datastore.load(id, from: \.target) }

  /// The entities that an entity refers to by a property, in the order of its references; nil for one that does not exist.
  ///
  /// - Throws: ``StoreError`` if the store cannot be read.
  public func follow(_ key: EntityKey, from entity: Entity) async throws -> [Entity?] {
    var targets: [String] = []
    entity[key]?.value.forEachLeaf { if case .entity(let id) = $0 { targets.append(id) } }
    return try await datastore.load(ids: targets)
  }

  /// The references to entities that do not exist: the entity and the identifier that it names, in the order of the names, then of the
  /// entities. One merge of the index of references with the identifiers; no entity is read.
  ///
  /// - Throws: ``StoreError`` if the store cannot be read.
  public func dangling() async throws -> [(entity: String, target: String)] {
    try await datastore.dangling(\.target, in: datastore).map { ($0.id, $0.target) }
  }

  /// The earlier values of a property, newest first: those in the versions of the store, then those that were imported with it.
  ///
  /// The cost is that of the versions of this one entity.
  ///
  /// - Throws: ``StoreError`` if the store cannot be read.
  public func past(of id: String, _ key: EntityKey) async throws -> [EntityPast] {
    try await pasts(of: id)[key] ?? []
  }

  /// The earlier values of each property. A property that the entity lacks now begins with its removal: a restored or newly added entity
  /// does not record that.
  func pasts(of id: String) async throws -> [EntityKey: [EntityPast]] {
    var told: [EntityKey: [EntityPast]] = [:]
    var newest: Entity?
    var next: Commit?
    for try await version in datastore.history(of: id) {
      defer { next = version.commit }
      guard let entity = version.instance else { continue }
      if newest == nil { newest = entity }
      for (key, property) in entity.properties {
        let removal = newest?[key] == nil ? next.map { [EntityPast(removed: $0.date)] } : nil
        told[key, default: removal ?? []].append(EntityPast(property))
      }
      for (key, past) in entity.past { told[key, default: []] += past }
    }
    for (key, all) in told {
      var seen: Set<EntityPast> = []
      if let now = newest?[key] { seen.insert(EntityPast(now)) }
      let past = all.filter { seen.insert($0).inserted }
      told[key] = past.isEmpty ? nil : past
    }
    return told
  }
}

extension EntityStore where AccessMode == ReadWrite {
  /// The entities of a store.
  ///
  /// - Parameters:
  ///   - persistence: The store.
  ///   - key: The datastore that keeps them.
  public init(_ persistence: some Persistence<ReadWrite>, key: DatastoreKey = EntityFormat.defaultKey) {
    self.persistence = persistence
    datastore = persistence.datastore(EntityFormat.self, key: key)
  }
}

extension EntityStore where AccessMode == ReadOnly {
  /// The entities of a store that is only read.
  ///
  /// - Parameters:
  ///   - persistence: The store.
  ///   - key: The datastore that keeps them.
  public init(reading persistence: some Persistence<ReadOnly>, key: DatastoreKey = EntityFormat.defaultKey) {
    self.persistence = persistence
    datastore = persistence.datastore(EntityFormat.self, key: key)
  }
}
