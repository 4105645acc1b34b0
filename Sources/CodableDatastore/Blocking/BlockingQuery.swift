public import StrataFoundation

/// A query for code that is not async. Making one reads nothing; see ``Query``.
///
/// ```swift
/// let big = cities.blocking.load(where: #Predicate { $0.population > 1_000_000 }).sorted(by: \.name)
/// for city in try big.all { print(city.name) }
/// ```
public struct BlockingQuery<Format: DatastoreFormat, AccessMode: _AccessMode>: Sendable {
  /// The query behind it.
  public let query: Query<Format, AccessMode>

  private func call<Value>(_ body: () async throws -> Value) throws -> Value {
    try Blocking.call(query.core.store, body)
  }

  /// Makes any async calls of the query, and returns when they are done: sums, groups, selected properties, deletions.
  ///
  /// - Throws: The errors of the calls; ``StoreError`` of kind `refused` within a transaction whose closure is async.
  @available(*, noasync)
  public func callAsFunction<Value>(_ calls: (Query<Format, AccessMode>) async throws -> Value) throws -> Value {
    try call { try await calls(query) }
  }

  /// Leaves only instances that also meet this condition.
  public func `where`(_ predicate: Predicate<Format.Instance>) -> Self { Self(query: query.where(predicate)) }

  /// Orders the instances by a property; further calls order those that are equal in the properties before.
  public func sorted<Value: Indexable>(
    by property: KeyPath<Format.Instance, Value>, _ order: RangeOrder = .ascending
  ) -> Self {
    Self(query: query.sorted(by: property, order))
  }

  /// Orders the instances by a Boolean, false first.
  public func sorted(by property: KeyPath<Format.Instance, Bool>, _ order: RangeOrder = .ascending) -> Self {
    Self(query: query.sorted(by: property, order))
  }

  /// At most `count` instances, after leaving out the first `offset`.
  public func limit(_ count: Int, offset: Int = 0) -> Self { Self(query: query.limit(count, offset: offset)) }

  /// Only the instances behind a place of this same query.
  public func after(_ cursor: QueryCursor) -> Self { Self(query: query.after(cursor)) }

  /// Reads every instance if no index serves the query.
  public func scanning() -> Self { Self(query: query.scanning()) }

  /// The whole result.
  @available(*, noasync)
  public var all: [Format.Instance] {
    get throws { try call { try await query.collectInstances(upTo: .infinity) } }
  }

  /// The result, each instance when it is asked for.
  @available(*, noasync)
  public func walk() -> BlockingWalk<Format.Instance> { BlockingWalk(query.core.store, query) }

  /// The whole result, and again after each commit that changes it; each step of the walk waits for the next.
  @available(*, noasync)
  public func live(
    bufferingPolicy policy: ObservationBufferingPolicy = .bufferingNewest(1)
  ) -> BlockingWalk<[Format.Instance]> {
    BlockingWalk(query.core.store, query.live(bufferingPolicy: policy))
  }

  /// The number of instances that meet the condition, whatever the limit.
  @available(*, noasync)
  public var count: Int { get throws { try call { try await query.count } } }

  /// The first instance of the result, or nil.
  @available(*, noasync)
  public var first: Format.Instance? { get throws { try call { try await query.first } } }

  /// Whether any instance meets the condition.
  @available(*, noasync)
  public var exists: Bool { get throws { try call { try await query.exists } } }

  /// The least value of a property among the instances that meet the condition.
  @available(*, noasync)
  public func min<Value: Indexable>(of property: KeyPath<Format.Instance, Value>) throws -> Value? {
    try call { try await query.min(of: property) }
  }

  /// The least value of a property that may be nil, nil left out.
  @available(*, noasync)
  public func min<Value: Indexable>(of property: KeyPath<Format.Instance, Value?>) throws -> Value? {
    try call { try await query.min(of: property) }
  }

  /// The greatest value of a property that may be nil, nil left out.
  @available(*, noasync)
  public func max<Value: Indexable>(of property: KeyPath<Format.Instance, Value?>) throws -> Value? {
    try call { try await query.max(of: property) }
  }

  /// The greatest value of a property among the instances that meet the condition.
  @available(*, noasync)
  public func max<Value: Indexable>(of property: KeyPath<Format.Instance, Value>) throws -> Value? {
    try call { try await query.max(of: property) }
  }

  /// Explains in one line how the query is executed.
  @available(*, noasync)
  public func explain() throws -> String { try call { try await query.explain() } }
}

extension BlockingQuery where Format.Instance: Identifiable, Format.Instance.ID == Format.Identifier {
  /// The place behind an instance of the result.
  public func cursor(after instance: Format.Instance) throws -> QueryCursor { try query.cursor(after: instance) }
}

extension BlockingQuery where AccessMode == ReadWrite {
  /// Deletes the instances of the result, in one transaction.
  ///
  /// - Returns: The number of deleted instances.
  @available(*, noasync)
  @discardableResult
  public func delete() throws -> Int { try call { try await query.delete() } }

  /// Changes the instances of the result, in one transaction. Blocking calls in the closure join it.
  ///
  /// - Returns: The number of changed instances.
  @available(*, noasync)
  @discardableResult
  public func update(_ change: (inout Format.Instance) throws -> Void) throws -> Int {
    try call {
      try await query.update { instance in try Blocking.joining { try change(&instance) } }
    }
  }
}
