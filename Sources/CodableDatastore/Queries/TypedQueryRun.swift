import DatastoreModel
#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import StorageEngine

/// What a read of one state needs: how it is answered, and the trees of that state.
struct PlannedQuery: Sendable {
  var plan: QueryPlan
  var records: Tree
  /// By the index's name; those of the records with an empty one.
  var trees: [String: TypedEntries]
}

/// A walk over the answer of a typed query, by its plan: the one way in which the library reads instances, be it for a query or for a
/// load of a range. Instances are decoded on the caller's executor.
struct TypedQueryRun<Format: DatastoreFormat> {
  typealias Instance = Format.Instance

  struct Found {
    var key: [UInt8]
    var instance: Instance
  }

  /// Which part of the answer is asked for.
  struct Page {
    var most = Int.max
    var offset = 0
    var after: QueryPlace?
  }

  let plan: QueryPlan
  private let core: DatastoreCore<Format>
  private let slices: TimeSlices
  private var records: RecordFinger
  private let tests: [PredicateTest<Instance>]
  private let order: QueryOrder<Instance>
  private let cursor: QueryPlace?
  private var candidates: QueryCandidates
  private var offset: Int
  private var remaining: Int
  private var isOpened = false
  /// The answer's keys, where they had to be sorted.
  private var sorted: (walk: SortedKeyWalk, tie: SortTie)?
  /// Instances that were read, and those of them that were answered.
  private(set) var readCount = 0
  private(set) var keptCount = 0

  init(
    _ core: DatastoreCore<Format>, _ planned: PlannedQuery, predicates: [Predicate<Instance>] = [],
    sorts: [QuerySortKey<Instance>] = [], page: Page = Page()
  ) {
    plan = planned.plan
    self.core = core
    slices = core.store.connection.slices
    records = RecordFinger(planned.records, order: core.identifiers.order)
    tests = predicates.map { PredicateTest($0) }
    order = QueryOrder(sorts: sorts, identifiers: core.identifiers.order)
    (offset, remaining, cursor) = (page.offset, page.most, page.after)
    let trees = planned.trees
    candidates = QueryCandidates(
      plan, after: page.after.map { StoredKey(bytes: $0.identifier, value: .null) }
    ) { name in
      guard let entries = trees[name] else { throw DatastoreError.missingIndex }
      return entries
    }
  }

  mutating func next() async throws -> Found? {
    if !isOpened {
      isOpened = true
      try await open()
    }
    while remaining > 0, let candidate = try nextCandidate() {
      // Without a call that may suspend: each costs a look at the caller's actor.
      if slices.isUsedUp() { await slices.giveWay() }
      let record = try record(of: candidate)
      let instance: Instance
      if let decoded = try core.coder.decodedNow(record) {
        instance = decoded.instance
      } else {
        instance = try await core.coder.decode(record).instance
      }
      if sorted == nil, plan.isTested, try !matches(instance) { continue }
      if offset > 0 {
        offset -= 1
        continue
      }
      remaining -= 1
      keptCount += 1
      return Found(key: candidate.key.bytes, instance: instance)
    }
    return nil
  }

  /// Whether the next candidate is here already, so that no server need be asked for it.
  var isAtHand: Bool { candidates.isAtHand }

  /// How many instances meet the condition; decodes none of them where the indexes tell.
  mutating func count() async throws -> Int {
    if !plan.isTested { return try throwingEntryErrors { try candidates.recordCount() } }
    var count = 0
    while let candidate = try nextCandidate() {
      try Task.checkCancellation()
      if try matches(await instance(of: candidate)) { count += 1 }
    }
    return count
  }

  private mutating func nextCandidate() throws -> QueryCandidate? {
    guard let tie = sorted?.tie else { return try throwingEntryErrors { try candidates.next() } }
    return try throwingModelErrors { () throws(ModelError) in try sorted?.walk.next() }
      .map { QueryCandidate(key: StoredKey(bytes: tie.identifier(of: $0), value: .null)) }
  }

  private mutating func open() async throws {
    if plan.order == .sort { return try await sort() }
    if let cursor, !plan.order.isByIdentifier { try await goBehind(cursor) }
    if !plan.isTested, offset > 0 {
      try throwingEntryErrors { try candidates.skip(offset) }
      offset = 0
    }
  }

  /// Looks for the place of a cursor by halves.
  private mutating func goBehind(_ cursor: QueryPlace) async throws {
    var (low, high) = (0, try throwingEntryErrors { try candidates.count() })
    while low < high {
      let middle = (low + high) / 2
      guard let candidate = try throwingEntryErrors({ try candidates.candidate(at: middle) }) else { break }
      let place = try core.place(of: try await instance(of: candidate), key: candidate.key.bytes, in: order)
      if try order.isBefore(cursor, place) { high = middle } else { low = middle + 1 }
    }
    try throwingEntryErrors { try candidates.skip(low) }
  }

  private mutating func sort() async throws {
    let tie = SortTie(TypedEntries(tree: records.tree, order: nil, identifiers: core.identifiers.order))
    let behind = try throwingModelErrors { () throws(ModelError) -> SortedKey? in
      guard let cursor else { return nil }
      return try tie.key(
        behind: QueryPosition(query: "", sortKey: order.sortBytes(of: cursor), identifier: cursor.identifier))
    }
    var kept = SortedKeys(limit: remaining, offset: offset, after: behind)
    while let candidate = try nextCandidate() {
      try Task.checkCancellation()
      let instance = try await instance(of: candidate)
      if plan.isTested, try !matches(instance) { continue }
      let bytes = order.sortBytes(of: try core.place(of: instance, key: candidate.key.bytes, in: order))
      guard kept.takes(bytes) else { continue }
      try throwingModelErrors { () throws(ModelError) in
        try kept.add(SortedKey(key: bytes, identifier: try tie.bytes(of: candidate.key)))
      }
    }
    sorted = (try throwingModelErrors { () throws(ModelError) in try kept.walk() }, tie)
  }

  private mutating func instance(of candidate: QueryCandidate) async throws -> Instance {
    if slices.isUsedUp() { await slices.giveWay() }
    return try await core.coder.decode(record(of: candidate)).instance
  }

  /// Along the entry where that leads straight to the record, else by its identifier.
  private mutating func record(of candidate: QueryCandidate) throws -> Bytes {
    readCount += 1
    guard let record = try records.record(of: candidate) else {
      throw StoreError(.damaged, "An entry of an index leads to no record.")
    }
    return record
  }

  private func matches(_ instance: Instance) throws -> Bool {
    for test in tests where try !test.holds(instance) { return false }
    return true
  }
}

/// Runs a walk along entries; what goes wrong in the store comes out as an error of this library.
private func throwingEntryErrors<Value>(_ body: () throws -> Value) throws -> Value {
  do {
    return try body()
  } catch let error as ModelError {
    throw StoreError(error)
  }
}

extension DatastoreCore {
  /// Where an instance stands in an order.
  func place(of instance: Instance, key: [UInt8], in order: QueryOrder<Instance>) throws -> QueryPlace {
    QueryPlace(
      sortKeys: try order.sorts.map { sort in
        do {
          return try sort.key(instance)
        } catch let error as NotOrdered {
          throw InvalidQueryError(
            reason:
              "The property \(sort.name) of an instance of \(self.key) has no place in an order: \(error.description).")
        }
      }, identifier: key)
  }
}
