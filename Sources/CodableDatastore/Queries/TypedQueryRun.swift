import StrataEngine
import StrataFoundation
import StrataLocks
import StrataModel

struct PlannedQuery: Sendable {
  var plan: QueryPlan
  var records: Tree
  /// By the index's name; those of the records with an empty one.
  var trees: [String: TypedEntries]
  /// Of each sort, if an index ranks what only the app orders.
  var ranks: [SortRank?] = []
}

/// A walk over the answer of a typed query, by its plan: the one way in which the library reads instances, for a query and for a
/// load of a range. Instances are decoded on the caller's executor.
struct TypedQueryRun<Format: DatastoreFormat> {
  typealias Instance = Format.Instance

  struct Found {
    var key: [UInt8]
    var instance: Instance
  }

  struct Page {
    var most = Int.max
    var offset = 0
    var after: QueryPlace?
  }

  let core: DatastoreCore<Format>
  let planned: PlannedQuery
  let predicates: [Predicate<Instance>]
  private let order: QueryOrder<Instance>
  let page: Page
  /// Called with the error of each instance that is left out because it does not decode; nil if such an instance is an error.
  let unreadable: (@Sendable (UnreadableInstanceError) -> Void)?
  let slices: TimeSlices
  /// The transaction whose state is read; nil outside of one.
  let scope: TransactionScope?
  private var records: RecordSeeker
  private let tests: [PredicateTest<Instance>]
  private var candidates: QueryCandidates
  private var offset: Int
  private var remaining: Int
  private var isOpened = false
  /// Whether each entry leads to the next instance of the answer: there is no condition, and nothing is sorted or skipped.
  private var isPlain = false
  /// Whether `takeNext` found that others should run.
  private var isToPause = false
  /// A record that `takeNext` left to `next`.
  private var held: (candidate: QueryCandidate, record: Bytes)?
  private var bytes: StoredReading<Instance>
  /// The answer's keys, if they had to be sorted.
  private var sorted: (walk: SortedKeyWalk, tie: SortTie)?
  /// Instances that were read, and those of them that were answered.
  private(set) var readCount = 0
  private(set) var keptCount = 0
  private var lastKey: [UInt8]?

  var plan: QueryPlan { planned.plan }

  /// - Parameter expectsMany: Whether many records are tested.
  init(
    _ core: DatastoreCore<Format>, _ planned: PlannedQuery, predicates: [Predicate<Instance>] = [],
    sorts: [QuerySortKey<Instance>] = [], page: Page = Page(), expectsMany: Bool = false,
    unreadable: (@Sendable (UnreadableInstanceError) -> Void)? = nil, scope: TransactionScope? = nil
  ) {
    self.scope = scope
    (self.core, self.planned, self.predicates, self.page) = (core, planned, predicates, page)
    self.unreadable = unreadable
    slices = core.store.connection.slices
    records = RecordSeeker(planned.records, order: core.identifiers.order)
    tests = predicates.map { PredicateTest($0) }
    order = QueryOrder(sorts: sorts, identifiers: core.identifiers.order, ranks: planned.ranks)
    (offset, remaining) = (page.offset, page.most)
    bytes = StoredReading(planned.plan.isTested ? predicates : [], expectsMany: expectsMany)
    let trees = planned.trees
    candidates = QueryCandidates(
      planned.plan, after: page.after.map { StoredKey(bytes: $0.identifier, value: .null) },
      goOn: { scope?.work?.uses.add(1, ordering: .relaxed) }
    ) { name in
      guard let entries = trees[name] else { throw DatastoreError.missingIndex }
      return entries
    }
  }

  /// Takes the next instance if that needs no suspension, or nil at the end. Returns false if only `next` can tell.
  ///
  /// An asynchronous call, and each function that returns a value whose type depends on the instance's, has to look up types. For a small
  /// instance that takes half as long as its decoding.
  mutating func takeNext(_ instance: inout Instance?) throws -> Bool {
    guard isPlain, held == nil, remaining > 0 else { return false }
    if slices.isUsedUp() {
      isToPause = true
      return false
    }
    guard let candidate = try nextCandidate() else { return true }
    let record = try record(of: candidate)
    guard core.coder.decodeNow(record, into: &instance) else {
      held = (candidate, record)
      return false
    }
    readCount += 1
    remaining -= 1
    keptCount += 1
    return true
  }

  mutating func next() async throws -> Found? {
    guard let match = try await nextMatch(needsInstance: true), let instance = match.instance else { return nil }
    return Found(key: match.key, instance: instance)
  }

  /// The key of the next instance of the answer; nil at the end. Decodes each on which a condition is tested, and no other.
  mutating func nextKey() async throws -> [UInt8]? { try await nextMatch(needsInstance: isTested)?.key }

  /// The next row of the answer; nil at the end. Decodes few instances if the texts have what the conditions and the row need.
  ///
  /// - Throws: ``DecodedOtherwise`` if an `init(from:)` makes something else of a value that earlier rows have from texts.
  mutating func next<Row>(_ reading: inout RowReading<Instance, Row>) async throws -> Row? {
    // One that does not decode must not take the place of another within the limit, as it takes none of those that are skipped.
    while let match = try await nextMatch(needsInstance: unreadable != nil && page.most < .max) {
      do {
        return try await row(of: match, key: match.key, &reading)
      } catch let error as UnreadableInstanceError {
        try leaveOut(error)
        remaining += 1
      }
    }
    return nil
  }

  private mutating func nextMatch(needsInstance: Bool) async throws -> Match? {
    if !isOpened {
      isOpened = true
      try await open()
    }
    while remaining > 0 {
      let held = held.take()
      guard let candidate = try held?.candidate ?? nextCandidate() else { return nil }
      if sorted != nil, offset > 0 {
        offset -= 1
        continue
      }
      do {
        let (key, record) = (candidate.key.bytes, try held?.record ?? record(of: candidate))
        if held != nil { readCount += 1 } else if isTimeToYield() { await slices.yieldTask() }
        // An instance that is left out is none of those that are skipped.
        let needsInstance = needsInstance || offset > 0 && unreadable != nil
        let told = told(by: record)
        guard var match = try await match(record, told: told, key: key, needsInstance: needsInstance) else { continue }
        if offset > 0 {
          offset -= 1
          continue
        }
        remaining -= 1
        keptCount += 1
        lastKey = key
        match.key = key
        return match
      } catch is DecodedOtherwise {
        try await beginAgain()
      } catch let error as UnreadableInstanceError {
        try leaveOut(error)
      }
    }
    return nil
  }

  /// Reports an instance that does not decode; throws the error if such instances are not left out.
  func leaveOut(_ error: UnreadableInstanceError) throws {
    guard let unreadable else { throw error }
    unreadable(error)
  }

  /// A record that meets the conditions, with its instance if that was decoded.
  struct Match {
    /// Its key; empty if it is not asked for.
    var key: [UInt8] = []
    var record: Bytes
    var instance: Instance?
  }

  /// Counts a record that is read next, and returns whether others should run before that. Not a call that may suspend: each of these
  /// costs a look at the caller's actor. A record of which only the text is read takes little.
  @inline(__always)
  mutating func isTimeToYield() -> Bool {
    readCount += 1
    if isToPause {
      isToPause = false
      return true
    }
    return (!bytes.isUsed || readCount & 15 == 0) && slices.isUsedUp()
  }

  private var isTested: Bool { planned.plan.isTested && sorted == nil }

  /// Whether a record meets the conditions; nil if only its instance tells.
  @inline(__always)
  mutating func told(by record: Bytes) -> Bool? { isTested ? bytes.meetsConditions(record, of: core) : true }

  /// Tests a record; nil if it does not meet the conditions.
  ///
  /// - Parameter told: Whether it meets them by its text; nil if only its instance tells.
  /// - Throws: ``DecodedOtherwise`` if its text has other values than its instance.
  @inline(__always)
  mutating func match(
    _ record: Bytes, told: Bool?, key: @autoclosure () -> [UInt8], needsInstance: Bool = false
  ) async throws -> Match? {
    if told == false { return nil }
    // An instance that is wanted anyway is tested as well.
    guard told == nil || needsInstance else { return Match(record: record) }
    let instance = try await instance(of: record, key: key())
    guard isTested else { return Match(record: record, instance: instance) }
    if bytes.differs(instance, from: record, of: core) { throw DecodedOtherwise(datastore: core.key) }
    for test in tests where try !test.holds(instance) { return nil }
    return Match(record: record, instance: instance)
  }

  @inline(__always)
  private func instance(of record: Bytes, key: @autoclosure () -> [UInt8]) async throws -> Instance {
    var decoded: Instance?
    if core.coder.decodeNow(record, into: &decoded), let decoded { return decoded }
    return try await core.instance(of: record, key: key(), wrapsAll: unreadable != nil)
  }

  /// The row of a record: of its text, or else of its instance.
  @inline(__always)
  mutating func row<Row>(
    of match: Match, key: @autoclosure () -> [UInt8], _ reading: inout RowReading<Instance, Row>
  ) async throws -> Row {
    if let own = match.instance { return try reading.row(of: own, match.record, in: core) }
    if let row = reading.row(of: match.record, in: core) { return row }
    let instance = try await instance(of: match.record, key: key())
    // Only the text has told that it meets the conditions.
    if isTested, bytes.differs(instance, from: match.record, of: core) { throw DecodedOtherwise(datastore: core.key) }
    return try reading.row(of: instance, match.record, in: core)
  }

  /// Starts over after the text of a record had other values than its instance, and continues behind the last instance that was returned.
  private mutating func beginAgain() async throws {
    var again = TypedQueryRun(
      core, planned, predicates: predicates, sorts: order.sorts, page: page, unreadable: unreadable, scope: scope)
    var last: Found?
    for _ in 0..<keptCount { last = try await again.next() }
    // An instance that comes before it now should have been answered before it.
    guard last?.key == lastKey else { throw DecodedOtherwise(datastore: core.key) }
    self = again
    guard !isOpened else { return }
    isOpened = true
    try await open()
  }

  /// Whether the next candidate is here already, so that no server need be asked for it.
  var isAtHand: Bool { candidates.isAtHand }

  /// The number of instances that meet the condition; decodes few of them if the indexes or the texts of the records suffice.
  mutating func count() async throws -> Int {
    if !plan.isTested { return try throwingStoreErrors { try candidates.recordCount() } }
    return try await folded(Rows(Column(constant: ())), into: _CountFigure()).output
  }

  mutating func nextCandidate() throws -> QueryCandidate? {
    try scope?.requireReadable()
    // A long search is not silence.
    scope?.work?.uses.add(1, ordering: .relaxed)
    guard let tie = sorted?.tie else { return try throwingStoreErrors { try candidates.next() } }
    return try throwingStoreErrors { try sorted?.walk.next() }
      .map { QueryCandidate(key: StoredKey(bytes: tie.identifier(of: $0), value: .null)) }
  }

  private mutating func open() async throws {
    if plan.order == .sort { return try await sort() }
    if let cursor = page.after, !plan.order.isByIdentifier { try await goBehind(cursor) }
    if !plan.isTested, unreadable == nil, offset > 0 {
      try throwingStoreErrors { try candidates.skip(offset) }
      offset = 0
    }
    isPlain = !plan.isTested && offset == 0
  }

  /// Looks for the place of a cursor by halves.
  private mutating func goBehind(_ cursor: QueryPlace) async throws {
    var (low, high) = (0, try throwingStoreErrors { try candidates.count() })
    while low < high {
      let middle = (low + high) / 2
      // The first from there on that is not left out.
      var (rank, isBehind) = (middle, true)
      while rank < high, let candidate = try throwingStoreErrors({ try candidates.candidate(at: rank) }) {
        if slices.isUsedUp() { await slices.yieldTask() }
        do {
          let place = try order.place(
            of: try await instance(of: record(of: candidate), key: candidate.key.bytes), key: candidate.key.bytes)
          isBehind = try order.isBefore(cursor, place)
          break
        } catch let error as UnreadableInstanceError {
          try leaveOut(error)
          rank += 1
        }
      }
      if isBehind { high = middle } else { low = rank + 1 }
    }
    try throwingStoreErrors { try candidates.skip(low) }
  }

  private mutating func sort() async throws {
    let tie = SortTie(TypedEntries(tree: records.tree, order: nil, identifiers: core.identifiers.order))
    let behind = try throwingStoreErrors { () -> SortedKey? in
      guard let cursor = page.after else { return nil }
      return try tie.key(
        behind: QueryPosition(
          query: "", sortKey: try order.sortBytes(of: cursor.sortKeys), identifier: cursor.identifier))
    }
    var kept = SortedKeys(limit: remaining, offset: offset, after: behind)
    var reading = RowReading(Rows(keys: order.sorts.map(\.column)))
    do {
      while let candidate = try nextCandidate() {
        try Task.checkCancellation()
        let (identifier, record) = (candidate.key.bytes, try record(of: candidate))
        do {
          if isTimeToYield() { await slices.yieldTask() }
          // One that does not decode must not take the place of another within the limit.
          let match = try await match(
            record, told: told(by: record), key: identifier, needsInstance: unreadable != nil && page.most < .max)
          guard let match else { continue }
          let key = try order.sortBytes(of: try await row(of: match, key: identifier, &reading))
          guard kept.accepts(key) else { continue }
          try throwingStoreErrors { try kept.add(SortedKey(key: key, identifier: try tie.bytes(of: candidate.key))) }
        } catch let error as UnreadableInstanceError {
          try leaveOut(error)
        }
      }
    } catch is DecodedOtherwise {
      return try await beginAgain()
    }
    sorted = (try throwingStoreErrors { try kept.walk() }, tie)
  }

  /// By the entry if that refers directly to the record, otherwise by its identifier.
  mutating func record(of candidate: QueryCandidate) throws -> Bytes {
    guard let record = try records.record(of: candidate) else {
      throw StoreError(.damaged, "An entry of an index leads to no record.")
    }
    return record
  }
}
