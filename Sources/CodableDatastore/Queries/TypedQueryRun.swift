import DatastoreModel
#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import StorageEngine

/// A walk over the answer of a typed query, by its plan. Instances are decoded on the caller's executor.
struct TypedQueryRun<Format: DatastoreFormat> {
  typealias Instance = Format.Instance

  struct Found {
    var key: [UInt8]
    var instance: Instance
  }

  let plan: QueryPlan
  private let core: DatastoreCore<Format>
  private let records: Tree
  private let predicates: [Predicate<Instance>]
  private let order: QueryOrder<Instance>
  private let place: (Instance, [UInt8]) throws -> QueryPlace
  private let cursor: QueryPlace?
  private let tie: SortTie
  private var candidates: QueryRun<Bytes>
  private var offset: Int
  private var remaining: Int
  private var isOpened = false
  /// The answer's keys, where they had to be sorted.
  private var sorted: SortedKeyWalk?
  private(set) var readCount = 0

  init<AccessMode>(_ query: Query<Format, AccessMode>, _ planned: Query<Format, AccessMode>.Planned) {
    plan = planned.plan
    core = query.core
    records = planned.records
    predicates = query.predicates
    order = query.order
    place = { try query.place(of: $0, key: $1) }
    offset = query.offset
    remaining = query.most ?? .max
    cursor = query.cursor?.place
    tie = SortTie(TypedEntries(tree: planned.records, order: nil, identifiers: query.core.identifiers.order))
    let trees = planned.trees
    var walked = planned.plan
    if walked.order == .sort {
      walked.order = walked.way == .scan ? .along(index: "", isDescending: false) : .identifiers
    }
    let isSorted = planned.plan.order == .sort
    var isAlongIndex = false
    if case .along(let index, let isDescending) = planned.plan.order { isAlongIndex = !index.isEmpty || isDescending }
    candidates = QueryRun(
      walked,
      QuerySource(
        entries: { name in
          guard let entries = trees[name] else { throw DatastoreError.missingIndex }
          return entries
        }, element: { _ in nil }, matches: { _ in true }, sortKey: { _ in [] }),
      after: isSorted || isAlongIndex
        ? nil : cursor.map { QueryPosition(query: "", sortKey: [], identifier: $0.identifier) })
  }

  mutating func next() async throws -> Found? {
    if !isOpened {
      isOpened = true
      try await open()
    }
    while remaining > 0, let key = try nextKey() {
      guard let instance = try await instance(of: key) else { continue }
      if sorted == nil, plan.isTested, try !matches(instance) { continue }
      if offset > 0 {
        offset -= 1
        continue
      }
      remaining -= 1
      return Found(key: key.bytes, instance: instance)
    }
    return nil
  }

  /// How many instances meet the condition; decodes none of them where the indexes tell.
  mutating func count() async throws -> Int {
    if !plan.isTested { return try candidates.count() }
    var count = 0
    while let key = try candidates.nextCandidate() {
      try Task.checkCancellation()
      if let instance = try await instance(of: key), try matches(instance) { count += 1 }
    }
    return count
  }

  private mutating func nextKey() throws -> StoredKey? {
    guard sorted == nil else {
      return try throwingModelErrors { () throws(ModelError) in try sorted?.next() }
        .map { StoredKey(bytes: tie.identifier(of: $0), value: .null) }
    }
    return try candidates.nextCandidate()
  }

  private mutating func open() async throws {
    if plan.order == .sort { return try await sort() }
    if let cursor, case .along(let index, let isDescending) = plan.order, !index.isEmpty || isDescending {
      try await goBehind(cursor)
    }
    if !plan.isTested, offset > 0 {
      try candidates.skipCandidates(offset)
      offset = 0
    }
  }

  /// Looks for the place of a cursor by halves.
  private mutating func goBehind(_ cursor: QueryPlace) async throws {
    var (low, high) = (0, try candidates.candidateCount())
    while low < high {
      let middle = (low + high) / 2
      guard let key = try candidates.candidate(at: middle), let instance = try await instance(of: key) else { break }
      if try order.isBefore(cursor, place(instance, key.bytes)) { high = middle } else { low = middle + 1 }
    }
    try candidates.skipCandidates(low)
  }

  private mutating func sort() async throws {
    let behind = try throwingModelErrors { () throws(ModelError) -> SortedKey? in
      guard let cursor else { return nil }
      return try tie.key(
        behind: QueryPosition(query: "", sortKey: order.sortBytes(of: cursor), identifier: cursor.identifier))
    }
    var kept = SortedKeys(limit: remaining, offset: offset, after: behind)
    while let key = try candidates.nextCandidate() {
      try Task.checkCancellation()
      guard let instance = try await instance(of: key) else { continue }
      if plan.isTested, try !matches(instance) { continue }
      let place = try place(instance, key.bytes)
      let bytes = order.sortBytes(of: place)
      guard kept.takes(bytes) else { continue }
      try throwingModelErrors { () throws(ModelError) in
        try kept.add(SortedKey(key: bytes, identifier: try tie.bytes(of: key)))
      }
    }
    sorted = try throwingModelErrors { () throws(ModelError) in try kept.walk() }
  }

  private mutating func instance(of key: StoredKey) async throws -> Instance? {
    await core.store.giveWay()
    guard let record = try records.record(at: core.identifiers.order.place(of: key.bytes)) else { return nil }
    readCount += 1
    return try await core.coder.decode(record).instance
  }

  private func matches(_ instance: Instance) throws -> Bool {
    for predicate in predicates where try !predicate.evaluate(instance) { return false }
    return true
  }
}
