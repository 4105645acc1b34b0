import StrataDocuments

/// A place between two records of a query's order, from which the query can continue while others edit.
package struct QueryPosition: Hashable, Sendable {
  /// The query's fingerprint, so that the position of another query is not used for it.
  package var query: String
  package var sortKey: [UInt8]
  package var identifier: [UInt8]

  package init(query: String, sortKey: [UInt8], identifier: [UInt8]) {
    self.query = query
    self.sortKey = sortKey
    self.identifier = identifier
  }

  /// One word, for command lines and for apps to keep.
  package var text: String {
    let hash = query.utf8.reduce(into: 0xCBF2_9CE4_8422_2325 as UInt64) { hash, byte in
      hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3
    }
    return ["\(String(hash, radix: 16))", Base64.text(of: sortKey), Base64.text(of: identifier)].joined(separator: ".")
  }

  /// Reads a `text`, which must be one of this query.
  package init(_ text: String, query: String) throws(ModelError) {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3, let sortKey = Base64.bytes(of: parts[1]), let identifier = Base64.bytes(of: parts[2]) else {
      throw .invalid(text: text, column: nil, reason: "“\(text)” is not a cursor")
    }
    self.init(query: query, sortKey: sortKey, identifier: identifier)
    guard self.text == text else { throw .refused(reason: "the cursor is one of another query") }
  }
}

/// A walk over the result of a query, by its plan.
///
/// Records come in the order of the sort, and equal ones in the order of their identifiers; without a sort by identifier alone. Nothing is
/// read before the first call.
package struct QueryRun {
  /// The number of records read between two checks for cancellation.
  private static let window = 128
  /// The bytes of records in a small part. A greater one gets its memory from the system: touching that takes longer than a short query.
  private static let smallPart = 1 << 15

  package let plan: QueryPlan
  private let query: RecordQuery
  private let datastore: any ReadableDatastore
  private let goOn: (Int) throws -> Void
  private var test: RecordTest?
  private var offset: Int
  private var remaining: Int
  private let after: QueryPosition?
  private var isOpened = false
  // One of these is set while records may follow. They are changed in place, because a copy costs as much as the step.
  private var candidates: QueryCandidates?
  private var scan: (any RecordWalk)?
  private var sorted: (walk: SortedKeyWalk, tie: SortTie)?
  /// The number of records read, and of those that met the condition.
  package private(set) var readCount = 0
  package private(set) var keptCount = 0

  /// - Parameter query: the query whose paths are those of the records.
  init(
    _ plan: QueryPlan, _ query: RecordQuery, in datastore: any ReadableDatastore, limit: Int?, offset: Int,
    after: QueryPosition?, goOn: @escaping (Int) throws -> Void
  ) {
    self.plan = plan
    self.query = query
    self.datastore = datastore
    self.goOn = goOn
    test = query.filter.map { RecordTest($0) }
    self.offset = max(0, offset)
    remaining = limit ?? .max
    self.after = after
  }

  /// Returns the next record of the result, or nil at its end.
  package mutating func next() throws -> Record? {
    if !isOpened { try open() }
    if let scan { return try nextOfScan(scan) }
    while remaining > 0 {
      guard let (key, isTested) = try nextKey() else { break }
      guard let record = try datastore.record(key) else { continue }
      try countRead(1)
      if isTested, !record.meets(&test) { continue }
      if offset > 0 {
        offset -= 1
        continue
      }
      remaining -= 1
      keptCount += 1
      return record
    }
    close()
    return nil
  }

  private mutating func close() { (candidates, scan, sorted) = (nil, nil, nil) }

  private mutating func nextKey() throws -> (StoredKey, isTested: Bool)? {
    if let next = try candidates?.next() { return (next.key, plan.isTested) }
    guard let key = try sorted?.walk.next(), let tie = sorted?.tie else { return nil }
    return (datastore.descriptor.storedKey(tie.identifier(of: key)), false)
  }

  private mutating func nextOfScan(_ walk: any RecordWalk) throws -> Record? {
    while remaining > 0, try walk.advance({ try countRead($0) }) {
      if offset > 0 {
        offset -= 1
        continue
      }
      guard let record = try walk.rawRecord()?.record(of: walk.identifier()) else { continue }
      remaining -= 1
      keptCount += 1
      return record
    }
    close()
    return nil
  }

  private mutating func countRead(_ count: Int) throws {
    let windows = readCount / Self.window
    readCount += count
    if readCount / Self.window > windows { try goOn(readCount) }
  }

  /// Returns the number of records that meet the condition, whatever the limit. Reads no record if the indexes give the number.
  package mutating func count() throws -> Int {
    if !plan.isTested { return try candidates(plan).recordCount() }
    var count = 0
    if let walk = try wholeWalk() {
      while try walk.advance({ try countRead($0) }) { count += 1 }
      return count
    }
    try forEachCandidate { _, _ in count += 1 }
    return count
  }

  // MARK: Parts

  /// Works on the rest of the result in parts, on all processors if it can, and passes on the result of each part, in order.
  ///
  /// - Parameters:
  ///   - read: Called with a cursor over the records of a part.
  ///   - size: The number of bytes of a result.
  ///   - body: Called with the result; throws to end the work.
  package mutating func forEachPart<Made: Sendable>(
    _ read: @Sendable (inout any RecordCursor) throws(ModelError) -> Made, size: (Made) -> Int,
    body: (Made) throws -> Void
  ) throws {
    let (datastore, test) = (datastore, plan.isTested ? test : nil)
    guard canWalk, remaining == .max, offset == 0, after == nil else { return try forEachSmallPart(read, body) }
    if plan.way == .scan, plan.order.isByIdentifier {
      return try (0..<plan.rows).forEachPart { ranks throws(ModelError) in
        var records = try datastore.records(at: ranks)
        if test != nil { records = KeptRecords(records: records, test: test) }
        return try read(&records)
      } size: {
        size($0)
      } body: { made, count in
        try goOn(count)
        try body(made)
      }
    }
    if !isOpened { try open() }
    // A server is asked by one thread, which knows what it will read next. Threads cost more than they save for some thousand records.
    guard (datastore as? EngineDatastore)?.isDistant != true, let keys = try candidates?.gatheredRest(ifAtLeast: 4_096)
    else { return try forEachSmallPart(read, body) }
    try keys.indices.forEachPart { part throws(ModelError) in
      var (rest, test) = (keys[part], test)
      var records: any RecordCursor = FoundRecords { () throws(ModelError) in
        while let key = rest.popFirst() {
          if let record = try datastore.record(key), record.meets(&test) { return record }
        }
        return nil
      }
      return try read(&records)
    } size: {
      size($0)
    } body: { made, count in
      try goOn(count)
      try body(made)
    }
  }

  /// Works on the rest of the result on this thread, some records at a time. An error comes after the records before it.
  private mutating func forEachSmallPart<Made>(
    _ read: (inout any RecordCursor) throws(ModelError) -> Made, _ body: (Made) throws -> Void
  ) throws {
    while true {
      var (part, size) = ([Record](), 0)
      let failure = Result {
        while size < Self.smallPart, let record = try next() {
          part.append(record)
          size += record.content.count
        }
      }
      if !part.isEmpty {
        var rest = part[...]
        var records: any RecordCursor = FoundRecords { () throws(ModelError) in rest.popFirst() }
        try body(read(&records))
      }
      try failure.get()
      if part.isEmpty { return }
    }
  }

  // MARK: Opening

  /// The entries of an index by its name, or of the primary tree by an empty name.
  private static func entries(
    of name: String, in datastore: any ReadableDatastore
  ) throws(ModelError) -> ReadableEntries {
    ReadableEntries(index: try datastore.index(name.isEmpty ? nil : name), isPrimary: name.isEmpty)
  }

  private func candidates(_ plan: QueryPlan, after: QueryPosition? = nil) -> QueryCandidates {
    let (datastore, goOn, readCount) = (datastore, goOn, readCount)
    return QueryCandidates(
      plan, after: after.map { StoredKey(bytes: $0.identifier, value: .null) }, goOn: { try goOn(readCount) },
      source: { try Self.entries(of: $0, in: datastore) })
  }

  private mutating func open() throws {
    isOpened = true
    if plan.order == .sort {
      let tie = SortTie(try Self.entries(of: "", in: datastore))
      var kept = try sortedKeys(tie)
      sorted = (try kept.walk(), tie)
      return
    }
    if plan.way == .scan, plan.order.isByIdentifier, let walk = try walkFromStart() {
      scan = walk
      return
    }
    var candidates = candidates(plan, after: after)
    if let after, !plan.order.isByIdentifier { try goBehind(after, in: &candidates) }
    if !plan.isTested, offset > 0 {
      try candidates.skip(offset)
      offset = 0
    }
    self.candidates = candidates
  }

  /// A walk is by ranks, and a rest of a datastore may have no record at some of them.
  private var canWalk: Bool { !(datastore is ReadableRest) }

  /// A walk over all records, if that is the way.
  private func wholeWalk() throws -> (any RecordWalk)? {
    canWalk && plan.way == .scan ? try query.walk(datastore, at: 0..<plan.rows) : nil
  }

  /// All records from the start of the result on.
  private mutating func walkFromStart() throws -> (any RecordWalk)? {
    guard canWalk else { return nil }
    let entries = try Self.entries(of: "", in: datastore)
    let count = try entries.count
    var start = 0
    if let after {
      start = min(count, try entries.rank(after: StoredKey(bytes: after.identifier, value: .null)))
    }
    if !plan.isTested {
      start += min(offset, count - start)
      offset = 0
    }
    return try query.walk(datastore, at: start..<count)
  }

  /// Finds the place of a position by binary search.
  private func goBehind(_ position: QueryPosition, in candidates: inout QueryCandidates) throws {
    var (low, high) = (0, try candidates.count())
    while low < high {
      let middle = (low + high) / 2
      guard let key = try candidates.candidate(at: middle)?.key, let record = try datastore.record(key) else { break }
      let item = SortedKey(key: query.sortKey(of: record), identifier: key.bytes)
      if SortedKey(position) < item { high = middle } else { low = middle + 1 }
    }
    try candidates.skip(low)
  }

  // MARK: All that meet the condition

  /// Reads each candidate once, in the cheapest order, and passes on those that meet the condition.
  private mutating func forEachCandidate(_ body: (StoredKey, Record) throws -> Void) throws {
    var unordered = plan
    unordered.order = .sort
    var candidates = candidates(unordered)
    while let key = try candidates.next()?.key {
      guard let record = try datastore.record(key) else { continue }
      try countRead(1)
      if plan.isTested, !record.meets(&test) { continue }
      try body(key, record)
    }
  }

  private mutating func sortedKeys(_ tie: SortTie) throws -> SortedKeys {
    var kept = SortedKeys(limit: remaining, offset: offset, after: try after.map { try tie.key(behind: $0) })
    if let walk = try wholeWalk() {
      let selection = DocumentSelection(query.sort.map(\.path))
      while try walk.advance({ try countRead($0) }) {
        let key = query.sortKey(of: (try? walk.rawRecord()?.document(at: selection)) ?? .null)
        guard kept.accepts(key) else { continue }
        try kept.add(SortedKey(key: key, identifier: tie.bytes(of: walk.identifier(), at: walk.rank)))
      }
      return kept
    }
    let query = query
    try forEachCandidate { key, record in
      let sortKey = query.sortKey(of: record)
      guard kept.accepts(sortKey) else { return }
      try kept.add(SortedKey(key: sortKey, identifier: tie.bytes(of: key)))
    }
    return kept
  }
}
