public import StrataFoundation

/// A way to find an instance that may exist already.
public struct InstanceMatch<Format: DatastoreFormat>: Sendable {
  let find: @Sendable (DatastoreCore<Format>) async throws -> Format.Instance?

  /// By its identifier.
  public static func identifier(_ identifier: Format.Identifier) -> Self {
    Self { core in try await core.load(identifier) }
  }

  /// By a value of an index; of several instances, the one with the lowest identifier.
  public static func matching<Value: Indexable, Index: RetrievableIndexRepresentation<Format.Instance, Value>>(
    _ index: KeyPath<Format, Index>, _ value: Value
  ) -> Self {
    // A key path between `Sendable` types is immutable and may be sent, see `Indexable.swift`.
    let path = index as any KeyPath<Format, Index> & Sendable
    return Self { core in try await core.first(value, from: path) }
  }

  /// By a condition; of several instances, the first that the query gives: in the order that `sorted` sets, or by identifier.
  ///
  /// ```swift
  /// try await cities.resolve(.matching(#Predicate { $0.name == "Bern" && $0.countrycode == "CH" }))
  /// ```
  ///
  /// - Parameters:
  ///   - condition: The condition. If no index serves it, the call throws ``UnindexedQueryError``.
  ///   - sorted: Orders the instances that meet it.
  public static func matching(
    _ condition: Predicate<Format.Instance>,
    sorted: (@Sendable (Query<Format, ReadOnly>) -> Query<Format, ReadOnly>)? = nil
  ) -> Self {
    Self { core in
      let query = Query<Format, ReadOnly>(core: core, predicates: [condition])
      return try await (sorted?(query) ?? query).first
    }
  }
}

/// The result of resolving an instance.
public struct Resolved<Instance: Sendable>: Sendable {
  /// The instance.
  public var instance: Instance
  /// Whether it was created.
  public var isCreated: Bool
}

extension Datastore {
  /// The instance that the first successful match finds, tried in their order, or nil.
  ///
  /// ```swift
  /// let lem = try await authors.resolve(.identifier(id), .matching(\.name, "Lem"))
  /// ```
  ///
  /// Each match costs one look-up if an index serves it, and a scan otherwise.
  ///
  /// - Throws: ``StoreError`` if the store cannot be read, and any error from decoding an instance.
  public nonisolated func resolve(_ matches: InstanceMatch<Format>...) async throws -> Resolved<InstanceType>? {
    try await resolve(matches)
  }

  nonisolated func resolve(_ matches: [InstanceMatch<Format>]) async throws -> Resolved<InstanceType>? {
    for match in matches {
      if let found = try await match.find(core) { return Resolved(instance: found, isCreated: false) }
    }
    return nil
  }
}

extension Datastore where AccessMode == ReadWrite, InstanceType: Identifiable, IdentifierType == InstanceType.ID {
  /// Finds an instance, or creates and stores it if there is none; in one transaction.
  ///
  /// ```swift
  /// let lem = try await authors.resolve(.matching(\.name, "Lem"), orCreate: { Author(name: "Lem") })
  /// ```
  ///
  /// - Parameters:
  ///   - matches: The ways to find it; tried in their order.
  ///   - create: Makes one.
  /// - Throws: The errors of the closure, and those of ``persist(_:)``; ``DatastoreInterfaceError/instanceAlreadyExists`` if no match
  ///   finds the instance whose identifier the new one has. Then nothing is stored.
  public nonisolated func resolve(
    _ matches: InstanceMatch<Format>..., orCreate create: @Sendable () async throws -> InstanceType
  ) async throws -> Resolved<InstanceType> {
    try await resolve(matches, orCreate: create)
  }

  nonisolated func resolve(
    _ matches: [InstanceMatch<Format>], orCreate create: @Sendable () async throws -> InstanceType
  ) async throws -> Resolved<InstanceType> {
    try await resolve([matches], by: \.self) { _ in try await create() }[0]
  }

  /// Finds the instance of each item, in the order of the items, or creates and stores it if there is none; in one transaction. An instance
  /// that was created for one item is found for later ones.
  ///
  /// - Parameters:
  ///   - items: The items.
  ///   - matches: The ways to find an item's instance; tried in their order.
  ///   - create: Makes the instance of an item.
  /// - Throws: The errors of the closures, and those of ``persist(_:)``; ``DatastoreInterfaceError/instanceAlreadyExists`` if no match
  ///   finds an instance whose identifier a new one has. Then nothing is stored.
  public nonisolated func resolve<Item: Sendable>(
    _ items: [Item], by matches: @Sendable (Item) -> [InstanceMatch<Format>],
    orCreate create: @Sendable (Item) async throws -> InstanceType
  ) async throws -> [Resolved<InstanceType>] {
    try await Transactions.run(
      isolation: nil, store: core.store, actionName: "resolve \(core.key)", options: []
    ) { _, _ in
      var resolved: [Resolved<InstanceType>] = []
      for item in items {
        if let found = try await resolve(matches(item)) {
          resolved.append(found)
        } else {
          let instance = try await create(item)
          _ = try await core.persist(instance, identifier: instance.id, isNew: true)
          resolved.append(Resolved(instance: instance, isCreated: true))
        }
      }
      return resolved
    }
  }
}

extension Resolved: Equatable where Instance: Equatable {}
extension Resolved: Hashable where Instance: Hashable {}
