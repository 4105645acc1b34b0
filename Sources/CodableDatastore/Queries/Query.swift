import DatastoreModel
#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// Which instances are asked for, in which order, and how many of them: one value that every call below reads by.
///
/// ```swift
/// let big = cities.load(where: #Predicate { $0.countrycode == "CH" && $0.population > 100_000 })
///   .sorted(by: \.population, .descending).limit(20, offset: 40)
/// for try await city in big { print(city.name) }
/// ```
///
/// Making one reads nothing. Each iteration and each call shows the state at its beginning. Instances that are equal in
/// the sort come by identifier, and so do all without a sort. A query that no index serves throws
/// ``UnindexedQueryError`` before it reads, unless ``scanning()`` allows it.
public struct Query<Format: DatastoreFormat, AccessMode: _AccessMode>: AsyncInstances {
  /// What comes.
  public typealias Element = Format.Instance

  let core: DatastoreCore<Format>
  var predicates: [Predicate<Format.Instance>]
  var sorts: [QuerySortKey<Format.Instance>] = []
  var most: Int?
  var offset = 0
  var cursor: QueryCursor?
  var mayScan = false
  /// Whether of instances that are equal in the sort any may come first.
  var takesAnyTie = false

  /// Only instances that meet this condition too. Say it again rather than write one long predicate, which the compiler
  /// may give up on.
  public func `where`(_ predicate: Predicate<Format.Instance>) -> Self { changed { $0.predicates.append(predicate) } }

  /// In the order of a property; said again, of the next one where the first is equal.
  ///
  /// Free where an index that serves the query has that order; else keys are gathered and sorted. A type that only its
  /// own `<` can order is sorted by an index alone: the first read throws ``InvalidQueryError`` where there is none.
  public func sorted<Value: Indexable>(
    by property: KeyPath<Format.Instance, Value>, _ order: RangeOrder = .ascending
  ) -> Self {
    let property = property as any KeyPath<Format.Instance, Value> & Sendable
    // What is equal in a property stays equal in it.
    guard !sorts.contains(where: { ($0.path as AnyKeyPath) == (property as AnyKeyPath) }) else { return self }
    return changed { $0.sorts.append(QuerySortKey(property, isDescending: order == .descending)) }
  }

  /// At most so many instances, after leaving out some. Where an index covers the query, what is left out is not read.
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
  public func after(_ cursor: QueryCursor) -> Self { changed { $0.cursor = cursor } }

  /// Reads every instance where no index serves the query.
  public func scanning() -> Self { changed { $0.mayScan = true } }

  private func changed(_ change: (inout Self) -> Void) -> Self {
    var copy = self
    change(&copy)
    return copy
  }

  /// The instances, one after the other.
  public func makeAsyncIterator() -> Iterator { Iterator(query: self) }

  /// Reads a query's answer.
  public struct Iterator: AsyncIteratorProtocol {
    private let query: Query
    private var run: TypedQueryRun<Format>?
    private var isOpened = false

    init(query: Query) { self.query = query }

    /// The next instance. On the caller's own executor.
    ///
    /// - Throws: ``UnindexedQueryError`` before the first, where no index serves the condition and ``Query/scanning()`` was not
    ///   called; what decoding an instance or evaluating the predicate throws; `CancellationError`.
    public mutating func next(isolation actor: isolated (any Actor)?) async throws(any Error) -> Format.Instance? {
      try Task.checkCancellation()
      if !isOpened {
        isOpened = true
        run = try await query.run()
      }
      do {
        return try await run?.next()?.instance
      } catch {
        run = nil
        throw error
      }
    }

    /// How the query is answered, as ``Query/explain()`` tells it, and how many instances were read and kept so far; nil before
    /// the first is asked for.
    public var explanation: String? {
      run.map { "\($0.plan.text) · READ \($0.readCount) · KEPT \($0.keptCount)" }
    }

    /// The next instance; throws as ``next(isolation:)``.
    public mutating func next() async throws -> Format.Instance? { try await next(isolation: nil) }
  }
}

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
  /// - Throws: ``InvalidKeyError`` where the identifier, or a property that is sorted by, cannot be ordered.
  public func cursor(after instance: Format.Instance) throws -> QueryCursor {
    QueryCursor(query: fingerprint, place: try place(of: instance, key: try core.key(of: instance.id)))
  }
}

extension Query {
  /// What tells the query from others whose places are none of its own.
  var fingerprint: String {
    ([core.key] + predicates.map { "\($0)" } + sorts.map { "\($0.name)\($0.isDescending ? " descending" : "")" })
      .joined(separator: "\n")
  }

  /// The order of the answer.
  var order: QueryOrder<Format.Instance> { QueryOrder(sorts: sorts, identifiers: core.identifiers.order) }

  /// Where an instance stands in the order of the answer.
  func place(of instance: Format.Instance, key: [UInt8]) throws -> QueryPlace {
    try core.place(of: instance, key: key, in: order)
  }
}

/// A query that no index serves; nothing was read.
public struct UnindexedQueryError: LocalizedError, Hashable, Sendable {
  /// The datastore.
  public var datastore: DatastoreKey
  /// What was asked for.
  public var condition: String
  /// The properties that the query compares or sorts by.
  public var properties: [String]

  /// One sentence for a person, with the declaration that would serve the query.
  public var errorDescription: String? {
    let declarations = properties.map { "let \($0.split(separator: ".").last ?? "index") = Index(\\.\($0))" }
    let help = declarations.isEmpty ? "" : "; declare \(declarations.joined(separator: " or ")) in its format"
    return "No index of \(datastore) serves “\(condition)”\(help), or allow reading everything by scanning()."
  }
}

/// A query that makes no sense; nothing was read.
public struct InvalidQueryError: LocalizedError, Hashable, Sendable {
  /// What is wrong, as a sentence.
  public var reason: String

  /// One sentence for a person.
  public var errorDescription: String? { reason }
}
