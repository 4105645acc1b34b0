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
  private let sortKey: (Instance) throws -> [UInt8]
  private let cursor: QueryPosition?
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
    sortKey = { try query.sortKey(of: $0) }
    offset = query.offset
    remaining = query.most ?? .max
    cursor = query.cursor.map { QueryPosition(query: $0.query, sortKey: $0.sortKey, identifier: $0.identifier) }
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
      after: isSorted || isAlongIndex ? nil : cursor)
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
        .map { StoredKey(bytes: $0, value: .null) }
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
  private mutating func goBehind(_ cursor: QueryPosition) async throws {
    var (low, high) = (0, try candidates.candidateCount())
    while low < high {
      let middle = (low + high) / 2
      guard let key = try candidates.candidate(at: middle), let instance = try await instance(of: key) else { break }
      let item = SortedKey(key: try sortKey(instance), identifier: key.bytes)
      if SortedKey(cursor) < item { high = middle } else { low = middle + 1 }
    }
    try candidates.skipCandidates(low)
  }

  private mutating func sort() async throws {
    var kept = SortedKeys(limit: remaining, offset: offset, after: cursor.map { SortedKey($0) })
    while let key = try candidates.nextCandidate() {
      try Task.checkCancellation()
      guard let instance = try await instance(of: key) else { continue }
      if plan.isTested, try !matches(instance) { continue }
      let item = SortedKey(key: try sortKey(instance), identifier: key.bytes)
      try throwingModelErrors { () throws(ModelError) in try kept.add(item) }
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
