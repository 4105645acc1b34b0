import StrataModel
import StrataEngine

/// The entries of a tree of the typed library, as a run of a query walks over them.
struct TypedEntries: QueryEntries {
  let tree: Tree
  /// Nil if the tree holds the records themselves.
  let order: EntryOrder?
  let identifiers: KeyOrder
  /// The records that entries of an index refer to: on a server they are requested along with the entries.
  var records: Tree? = nil
  /// The first request to a server, if the entries are those of a range whose entries are not counted.
  var page: PageRequest?

  var hasBytesAsOrder: Bool { order.map { $0.treeOrder == .bytes } ?? identifiers.isBytes }

  var count: Int {
    get throws(ModelError) { Int(clamping: try onStorage { try tree.count }) }
  }

  func cursor(at ranks: Range<Int>, isBackward: Bool) -> any EntryCursor {
    if let page { return ServedRangeCursor(tree, page) }
    return walk(at: ranks, isBackward: isBackward)
  }

  func walk(at ranks: Range<Int>, isBackward: Bool) -> TypedCursor {
    TypedCursor(
      tree: tree, records: tree.isServed && order != nil ? records : nil, isIndex: order != nil, ranks: ranks,
      isBackward: isBackward)
  }

  func ranks(sharingValueAt rank: Int) throws(ModelError) -> Range<Int> {
    guard let order else { return rank..<rank + 1 }
    let value = try onStorage { () -> [UInt8]? in
      var cursor = tree.cursor()
      try cursor.seek(rank: UInt64(rank))
      return cursor.current.map { $0.key.withUnsafeBytes { EntryKey.value($0) ?? [] } }
    }
    guard let value else { return rank..<rank + 1 }
    return try place { try order.bound(of: value, after: false) }..<place { try order.bound(of: value, after: true) }
  }

  /// Goes through the distinct values of a run of entries, in order. A value of many entries costs a search, others a step for each.
  ///
  /// - Parameter body: Called with a value and the number of its entries; returns false to end the walk.
  func forEachValue(in ranks: Range<Int>, _ body: (UnsafeRawBufferPointer, Int) -> Bool) throws(ModelError) {
    guard let order else { return }
    var (cursor, isPlaced) = (tree.cursor(), false)
    // Two buffers that change places, so that no entry takes memory of its own.
    var (entry, last): ([UInt8], [UInt8]) = ([], [])
    var (rank, start, length) = (ranks.lowerBound, ranks.lowerBound, 0)
    while rank < ranks.upperBound {
      try onStorage {
        if isPlaced { try cursor.next() } else { try cursor.seek(rank: UInt64(rank)) }
        try cursor.copyKey(into: &entry)
      }
      isPlaced = true
      guard let value = entry.withUnsafeBytes({ EntryKey.identifierRange($0) })?.lowerBound else {
        throw .unreadable(what: "an entry of an index", where: "its key cannot be taken apart")
      }
      if rank == start || !Self.areEqual(entry, value, last, length) {
        if rank > start, !last.withUnsafeBytes({ body(.init(rebasing: $0[..<length]), rank - start) }) { return }
        swap(&entry, &last)
        (length, start) = (value, rank)
      }
      rank += 1
      guard rank - start == Self.steps, rank < ranks.upperBound else { continue }
      let end = try place { try order.bound(of: Array(last[..<length]), after: true) }
      if end > rank { (rank, isPlaced) = (min(end, ranks.upperBound), false) }
    }
    if rank > start { _ = last.withUnsafeBytes { body(.init(rebasing: $0[..<length]), rank - start) } }
  }

  private static func areEqual(_ left: [UInt8], _ leftCount: Int, _ right: [UInt8], _ rightCount: Int) -> Bool {
    leftCount == rightCount
      && left.withUnsafeBytes { left in
        right.withUnsafeBytes { compareKeys(.init(rebasing: left[..<leftCount]), .init(rebasing: $0[..<rightCount])) }
      } == 0
  }

  /// Entries of one value that are stepped over before its end is searched.
  private static let steps = 16

  func place(of identifier: StoredKey) throws(ModelError) -> Int? {
    try place { try identifiers.place(of: identifier.bytes) }
  }

  func rank(after identifier: StoredKey) throws(ModelError) -> Int {
    try place { try identifiers.bound(of: identifier.bytes, after: true) }
  }

  /// How many entries lie before a bound.
  ///
  /// - Parameter tiers: the order of the first tiers, of an index that has several or a descending one.
  func rank(of bound: KeyBound, encoding: KeyEncoding, tiers: TierOrder? = nil) throws(ModelError) -> Int {
    guard let (value, after) = bound.sought else { return bound == .start ? 0 : try count }
    return try place {
      try order?.place(of: bound, encoding, tiers) ?? identifiers.bound(of: encoding.encode(value), after: after)
    }
  }

  private func place(_ place: () throws -> SoughtPlace) throws(ModelError) -> Int {
    try onFailures { Int(clamping: try tree.rank(of: place())) }
  }
}

extension EntryOrder {
  /// The place of a bound among the entries of an index; nil at their start and end.
  func place(of bound: KeyBound, _ encoding: KeyEncoding, _ tiers: TierOrder?) throws -> SoughtPlace? {
    guard let (value, after) = bound.sought else { return nil }
    if encoding.isByteOrdered, treeOrder == .bytes {
      return .bytes(after ? try encoding.bound(after: value) : try encoding.bound(before: value))
    }
    guard let tiers else { return try self.bound(of: encoding.encode(value), after: after) }
    let keys = if case .compound(let keys) = value { keys } else { [value] }
    return Self.bound(of: try tiers.comparison(keys), after: after)
  }
}

extension KeyBound {
  fileprivate var sought: (value: KeyValue, after: Bool)? {
    switch self {
    case .start, .end: nil
    case .before(let value): (value, false)
    case .after(let value): (value, true)
    }
  }
}

/// Goes along the entries of a tree: one walk, which reads each node once.
struct TypedCursor: EntryCursor {
  private let isIndex: Bool
  private let isBackward: Bool
  private let ranks: Range<Int>
  private var cursor: Cursor
  private var passed = 0
  /// The key of the entry that was read last.
  private(set) var entry: [UInt8] = []
  /// Where entries bring their records along.
  private let records: Tree?
  /// Those that were asked for together, by identifier.
  private var fetched: [[UInt8]: RecordReference] = [:]

  fileprivate init(tree: Tree, records: Tree?, isIndex: Bool, ranks: Range<Int>, isBackward: Bool) {
    self.isIndex = isIndex
    self.ranks = ranks
    self.isBackward = isBackward
    self.records = records
    cursor = tree.cursor()
  }

  /// The record of an identifier: those of all entries that came together are asked for at once.
  private mutating func record(of identifier: [UInt8]) throws(ModelError) -> RecordReference? {
    guard let records else { return nil }
    if let known = fetched[identifier] { return known }
    let keys = cursor.keysAtHand(before: isBackward)
    // Not beyond the end of the range.
    let left = ranks.count - passed + 1
    let near = isBackward ? keys.suffix(left) : keys.prefix(left)
    let wanted = near.compactMap { $0.withUnsafeBytes { EntryKey.identifier($0) } }
    let found = try onStorage { try records.find(wanted) }
    fetched.removeAll(keepingCapacity: true)
    for (identifier, entry) in zip(wanted, found) { fetched[identifier] = entry?.payload.record }
    return fetched[identifier]
  }

  /// Reads the key of the next entry; false after the last one.
  mutating func advance() throws(ModelError) -> Bool {
    guard passed < ranks.count else { return false }
    try onStorage {
      if passed == 0 {
        try cursor.seek(rank: UInt64(isBackward ? ranks.upperBound - 1 : ranks.lowerBound))
      } else if isBackward {
        try cursor.previous()
      } else {
        try cursor.next()
      }
      try cursor.copyKey(into: &entry)
    }
    passed += 1
    return true
  }

  mutating func next() throws(ModelError) -> QueryCandidate? {
    guard try advance() else { return nil }
    guard let payload = cursor.currentPayload else {
      throw .unreadable(what: "an index", where: "it is shorter than it says")
    }
    guard isIndex else { return QueryCandidate(key: StoredKey(bytes: entry, value: .null), record: payload.record) }
    guard let identifier = entry.withUnsafeBytes({ EntryKey.identifierRange($0) }) else {
      throw .unreadable(what: "an entry of an index", where: "its key cannot be taken apart")
    }
    let key = Array(entry[identifier])
    var record = payload.record
    if record == nil { record = try self.record(of: key) }
    return QueryCandidate(key: StoredKey(bytes: key, value: .null), record: record)
  }
}
