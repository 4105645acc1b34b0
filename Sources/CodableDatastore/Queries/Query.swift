public import StrataFoundation
import StrataLocks
import StrataModel

/// Which instances are asked for, in which order, and how many of them: each `load` of several instances returns one.
///
/// ```swift
/// let big = cities.load(where: #Predicate { $0.countrycode == "CH" && $0.population > 100_000 })
///   .sorted(by: \.population, .descending).limit(20, offset: 40)
/// for try await city in big { print(city.name) }
/// ```
///
/// Each iteration and each call shows the state at its beginning. Only a load of a range that is iterated as it is shows the state at its
/// making. Instances that are equal in the sort come by identifier, and so do all without a sort; those of an index's range come in the
/// order of the index. A query that no index serves throws ``UnindexedQueryError`` before it reads, unless ``scanning()`` allows it.
public struct Query<Format: DatastoreFormat, AccessMode: _AccessMode>: AsyncInstances {
  /// The type of the instances that the query returns.
  public typealias Element = Format.Instance

  let core: DatastoreCore<Format>
  /// The range that was loaded; nil for all instances.
  var range: StoredRange<Format>?
  var predicates: [Predicate<Format.Instance>] = []
  var sorts: [QuerySortKey<Format.Instance>] = []
  /// Whether the sorts are the order of the range that was loaded, which a sort replaces.
  var isSortedAsRange = false
  var most: Int?
  var offset = 0
  var cursor: QueryCursor?
  var mayScan = false
  /// Called with the error of each instance that is left out because it does not decode; nil if such an instance is an error.
  var unreadable: (@Sendable (UnreadableInstanceError) -> Void)?
  /// Whether of instances that are equal in the sort any may come first.
  var takesAnyTie = false
  /// The properties that are read of each instance; empty if instances are. Of indexes that serve alike, one that has them is chosen.
  var properties: [(any PartialKeyPath<Format.Instance> & Sendable)?] = []

  /// Only instances that meet this condition too. Say it again rather than write one long predicate, which the compiler
  /// may give up on.
  public func `where`(_ predicate: Predicate<Format.Instance>) -> Self {
    changed {
      $0.leaveWholeRange(sortedAlike: true)
      $0.predicates.append(predicate)
    }
  }

  /// Sorts by a property. A further call sorts instances that are equal in the first property by another.
  ///
  /// Free if an index that serves the query has that order; otherwise keys are gathered and sorted. A type that only its
  /// own `<` can order needs an index with the property as its first or only tier, which tells the rank of each value: the first read
  /// throws ``InvalidQueryError`` if there is none.
  public func sorted<Value: Indexable>(
    by property: KeyPath<Format.Instance, Value>, _ order: RangeOrder = .ascending
  ) -> Self {
    let property = property as any KeyPath<Format.Instance, Value> & Sendable
    return sorted(by: QuerySortKey(property, isDescending: order == .descending, in: core.key))
  }

  /// Sorts by a Boolean, false first.
  public func sorted(by property: KeyPath<Format.Instance, Bool>, _ order: RangeOrder = .ascending) -> Self {
    let property = property as any KeyPath<Format.Instance, Bool> & Sendable
    return sorted(
      by: QuerySortKey(property, isDescending: order == .descending, in: core.key) { IndexedBool($0) })
  }

  private func sorted(by sort: QuerySortKey<Format.Instance>) -> Self {
    changed {
      $0.leaveWholeRange()
      if $0.isSortedAsRange { ($0.sorts, $0.isSortedAsRange) = ([], false) }
      // A second sort by the same property changes nothing: instances that are equal in it stay equal.
      guard !$0.sorts.contains(where: { ($0.path as AnyKeyPath) == (sort.path as AnyKeyPath) }) else { return }
      $0.sorts.append(sort)
    }
  }

  /// Takes all instances for a range that has them all, so that any index may serve.
  mutating func leaveWholeRange(sortedAlike: Bool = false) {
    guard let whole = range?.whole else { return }
    range = nil
    if sortedAlike { (sorts, isSortedAsRange) = (whole, true) }
  }

  /// Limits the answer to `count` instances, after skipping `offset`. If an index covers the query, skipped instances are not read, unless
  /// those that do not decode are left out.
  ///
  /// - Parameters:
  ///   - count: 1 or more.
  ///   - offset: 0 or more.
  public func limit(_ count: Int, offset: Int = 0) -> Self {
    changed {
      $0.most = count
      $0.offset = offset
    }
  }

  /// Only what comes after a place of this same query: see ``cursor(after:)``.
  public func after(_ cursor: QueryCursor) -> Self {
    changed {
      $0.leaveWholeRange(sortedAlike: true)
      $0.cursor = cursor
    }
  }

  /// Reads every instance if no index serves the query.
  public func scanning() -> Self { changed { $0.mayScan = true } }

  /// Leaves out instances that do not decode, instead of throwing the error of the first one.
  ///
  /// A count, a group or a sum that is read from an index or from stored texts includes them.
  ///
  /// - Parameter report: Is called with the error of each such instance, on any thread; perhaps more than once for an instance.
  public func skippingUnreadable(
    _ report: @escaping @Sendable (UnreadableInstanceError) -> Void = { _ in }
  ) -> Self {
    changed { $0.unreadable = report }
  }

  private func changed(_ change: (inout Self) -> Void) -> Self {
    var copy = self
    change(&copy)
    return copy
  }

  /// Whether it is a range as it was loaded.
  private var isPlainRange: Bool {
    range != nil && predicates.isEmpty && sorts.isEmpty && most == nil && offset == 0 && cursor == nil
      && unreadable == nil
  }

  /// The instances, one after the other.
  public func makeAsyncIterator() -> Iterator { Iterator(query: self) }

  /// Reads a query's answer.
  public struct Iterator: AsyncIteratorProtocol {
    private let query: Query
    /// If the query is a range as it was loaded.
    private let range: StoredRange<Format>?
    private var run: TypedQueryRun<Format>?
    /// In its place for a range on a server.
    private var served: ServedRun<Format>?
    private var isOpened = false

    init(query: Query) { (self.query, range) = (query, query.isPlainRange ? query.range : nil) }

    /// The next instance. On the caller's own executor: a change of threads takes longer than to read and decode an instance.
    ///
    /// - Throws: ``UnindexedQueryError`` before the first, if no index serves the condition and ``Query/scanning()`` was not
    ///   called; the error of decoding an instance or evaluating the predicate; `CancellationError`.
    public mutating func next(isolation actor: isolated (any Actor)?) async throws(any Error) -> Format.Instance? {
      try Task.checkCancellation()
      if !isOpened { try await open() }
      range?.scope?.work?.uses.add(1, ordering: .relaxed)
      do {
        if let served { return try await served.next()?.instance }
        var instance: Format.Instance?
        if try run?.takeNext(&instance) == true { return instance }
        return try await run?.next()?.instance
      } catch {
        (run, served) = (nil, nil)
        throw error
      }
    }

    private mutating func open() async throws {
      isOpened = true
      guard let range else { return run = try await query.run() }
      if query.core.store.connection.isServed {
        served = try await range.runServed()
      } else {
        run = try await range.run()
      }
    }

    /// How the query is answered, as ``Query/explain()`` returns it, and how many instances were read and kept so far; nil
    /// before the first is read.
    public var explanation: String? {
      run.map { "\($0.plan.text) · READ \($0.readCount) · KEPT \($0.keptCount)" }
    }

    /// The next instance; throws as ``next(isolation:)``.
    public mutating func next() async throws -> Format.Instance? { try await next(isolation: nil) }
  }

  /// A text that identifies the query, so that a cursor of another query is refused.
  var fingerprint: String {
    ([core.key] + predicates.map { PredicateText.text(of: $0) }
      + sorts.map { "\($0.name)\($0.isDescending ? " descending" : "")" })
      .joined(separator: "\n")
  }

  var order: QueryOrder<Format.Instance> { QueryOrder(sorts: sorts, identifiers: core.identifiers.order) }
}

/// The type of each `load` of several instances: see ``Query``.
public typealias Selection<Format: DatastoreFormat, AccessMode: _AccessMode> = Query<Format, AccessMode>

extension Datastore {
  /// The instances that meet a condition.
  ///
  /// ```swift
  /// for try await city in cities.load(where: #Predicate { $0.population > 1_000_000 }) { print(city.name) }
  /// ```
  ///
  /// Indexes serve `==`, `!=`, `<`, `<=`, `>`, `>=`, ranges, `contains` of a list's element and of a captured list,
  /// `starts(with:)`, nil, `&&`, `||` and `!`; anything else is evaluated on each instance that they lead to.
  public nonisolated func load(where predicate: Predicate<InstanceType>) -> Query<Format, AccessMode> {
    Query(core: core, predicates: [predicate])
  }
}

/// A place in the answer of a query, to go on from.
///
/// ```swift
/// let page = try await query.limit(20).collectInstances(upTo: .infinity)
/// let next = query.after(try query.cursor(after: page.last!)).limit(20)
/// ```
///
/// While others edit, no instance comes twice and none is left out that was there all the time.
public struct QueryCursor: Codable, Hashable, Sendable {
  let query: String
  let place: QueryPlace
}

extension Query where Format.Instance: Identifiable, Format.Instance.ID == Format.Identifier {
  /// The place behind an instance of the answer. Reads nothing.
  ///
  /// - Throws: ``InvalidKeyError`` if the identifier, or a property that is sorted by, cannot be ordered.
  public func cursor(after instance: Format.Instance) throws -> QueryCursor {
    var query = self
    query.leaveWholeRange(sortedAlike: true)
    return QueryCursor(
      query: query.fingerprint, place: try query.order.place(of: instance, key: try core.key(of: instance.id)))
  }
}

/// A query that no index serves; nothing was read.
public struct UnindexedQueryError: LocalizedError, Hashable, Sendable {
  /// The datastore.
  public var datastore: DatastoreKey
  /// The condition of the query.
  public var condition: String
  /// The properties that the query compares or sorts by.
  public var properties: [String]

  /// The declarations that would serve the query.
  var advice: [String]
  /// Whether it uses a property that is computed, or that generic code names by a protocol.
  var hasUnknownProperty: Bool

  /// One sentence for a person, with the declaration that would serve the query.
  public var errorDescription: String? {
    let scan = "scanning() allows reading everything."
    let refusal = "No index of \(datastore) can serve “\(condition)”"
    if !advice.isEmpty { return "\(refusal): declare \(advice.joined(separator: " or ")) in its format; \(scan)" }
    guard hasUnknownProperty else { return "\(refusal); \(scan)" }
    return "\(refusal): an index serves a stored property that is named by its own type, not by a protocol; \(scan)"
  }
}

/// A query that makes no sense; nothing was read.
public struct InvalidQueryError: LocalizedError, Hashable, Sendable {
  /// The reason, as a sentence.
  public var reason: String

  /// One sentence for a person.
  public var errorDescription: String? { reason }
}
