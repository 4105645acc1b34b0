public import CodableDatastore

/// A change of an entity, as its observers get it.
public enum EntityChange: Hashable, Sendable {
  /// It was added.
  case added(Entity)
  /// Properties were added, changed or removed.
  case changed(Entity, keys: Set<EntityKey>)
  /// It was deleted.
  case deleted(Entity)

  init(_ event: ObservedEvent<String, Entity>) {
    switch event {
    case .created(_, let entity): self = .added(entity)
    case .deleted(_, let entity): self = .deleted(entity)
    case .updated(_, let old, let new):
      let keys = Set(old.properties.keys).union(new.properties.keys)
      self = .changed(new, keys: keys.filter { old[$0] != new[$0] })
    }
  }
}

extension EntityStore {
  /// The changes of all entities, from now on: after their commit, in the order of the commits.
  ///
  /// - Throws: ``StoreError`` if the store cannot be opened; the sequence throws it if a change cannot be read.
  public func observe() async throws -> some AsyncInstances<EntityChange> {
    try await datastore.observe().map { EntityChange($0) }
  }
}
