#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// How an instance is meant that may be there already.
public struct InstanceMatch<Format: DatastoreFormat>: Sendable {
  let find: @Sendable (DatastoreCore<Format>) async throws -> Format.Instance?

  /// By its identifier.
  public static func identifier(_ identifier: Format.Identifier) -> Self {
    Self { core in try await core.load(identifier) }
  }

  /// By a value of an index; of several instances the one of the lowest identifier.
  public static func matching<Value: Indexable, Index: RetrievableIndexRepresentation<Format.Instance, Value>>(
    _ index: KeyPath<Format, Index>, _ value: Value
  ) -> Self {
    // A key path between `Sendable` types is immutable and may be sent, see `Indexable.swift`.
    let path = index as any KeyPath<Format, Index> & Sendable
    return Self { core in try await core.first(value, from: path) }
  }

  /// By a condition; of several instances the first that the query gives: in the order that `sorted` says, or by identifier.
  ///
  /// ```swift
  /// try await cities.resolve(.matching(#Predicate { $0.name == "Bern" && $0.countrycode == "CH" }))
  /// ```
  ///
  /// - Parameters:
  ///   - condition: The condition; one that no index serves makes the call throw ``UnindexedQueryError``.
  ///   - sorted: Puts those that meet it in an order.
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

/// An instance that was asked for by what is known of it.
public struct Resolved<Instance: Sendable>: Sendable {
  /// The instance.
  public var instance: Instance
  /// Whether it had to be made.
  public var isCreated: Bool
}

extension Datastore {
  /// The instance that is meant, or nil: the first that one of the matches finds, tried in their order.
  ///
  /// ```swift
  /// let lem = try await authors.resolve(.identifier(id), .matching(\.name, "Lem"))
  /// ```
  ///
  /// Each match costs one look where an index serves it, and a scan where none does.
  ///
  /// - Throws: ``StoreError`` where the store cannot be read, and what decoding an instance throws.
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
  /// The instance that is meant, made and kept where there is none; in one transaction.
  ///
  /// ```swift
  /// let lem = try await authors.resolve(.matching(\.name, "Lem"), orCreate: { Author(name: "Lem") })
  /// ```
  ///
  /// - Parameters:
  ///   - matches: How it may be known; tried in their order.
  ///   - create: Makes one.
  /// - Throws: What the closure throws, and as ``persist(_:)``; then nothing is kept.
  public nonisolated func resolve(
    _ matches: InstanceMatch<Format>..., orCreate create: @Sendable () async throws -> InstanceType
  ) async throws -> Resolved<InstanceType> {
    try await resolve(matches, orCreate: create)
  }

  nonisolated func resolve(
    _ matches: [InstanceMatch<Format>], orCreate create: @Sendable () async throws -> InstanceType
  ) async throws -> Resolved<InstanceType> {
    try await Transactions.run(
      isolation: nil, store: core.store, actionName: "resolve \(core.key)", options: []
    ) { _, _ in
      if let found = try await resolve(matches) { return found }
      let instance = try await create()
      try await persist(instance)
      return Resolved(instance: instance, isCreated: true)
    }
  }

  /// The instances that are meant, in the order of what is asked for, each made where there is none; in one transaction. What
  /// one item made, the next ones find.
  ///
  /// - Parameters:
  ///   - items: What is asked for.
  ///   - matches: How an item may be known; tried in their order.
  ///   - create: Makes the instance of an item.
  /// - Throws: What the closures throw, and as ``persist(_:)``; then nothing is kept.
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
          try await persist(instance)
          resolved.append(Resolved(instance: instance, isCreated: true))
        }
      }
      return resolved
    }
  }
}

extension Resolved: Equatable where Instance: Equatable {}
extension Resolved: Hashable where Instance: Hashable {}
