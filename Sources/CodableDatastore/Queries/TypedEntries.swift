import DatastoreModel
import StorageEngine

/// The entries of a tree of the typed library, as a run of a query walks over them.
struct TypedEntries: QueryEntries {
  let tree: Tree
  /// Nil where the tree holds the records themselves.
  let order: EntryOrder?
  let identifiers: KeyOrder

  var hasBytesAsOrder: Bool { order.map { $0.treeOrder == .bytes } ?? identifiers.isBytes }

  var count: Int { Int(clamping: tree.count) }

  func cursor(at ranks: Range<Int>, isBackward: Bool) -> any EntryCursor {
    TypedCursor(tree: tree, isIndex: order != nil, ranks: ranks, isBackward: isBackward)
  }

  func ranks(sharingValueAt rank: Int) throws(ModelError) -> Range<Int> {
    guard let order else { return rank..<rank + 1 }
    let value = try onStorage { () throws(StorageError) -> [UInt8]? in
      var cursor = tree.cursor()
      try cursor.seek(rank: UInt64(rank))
      return cursor.current.map { parts(of: $0.key).value }
    }
    guard let value else { return rank..<rank + 1 }
    return try place { try order.bound(of: value, after: false) }..<place { try order.bound(of: value, after: true) }
  }

  func place(of identifier: StoredKey) throws(ModelError) -> Int? {
    try place { try identifiers.place(of: identifier.bytes) }
  }

  func rank(after identifier: StoredKey) throws(ModelError) -> Int {
    try place { try identifiers.bound(of: identifier.bytes, after: true) }
  }

  /// How many entries lie before a bound.
  func rank(of bound: KeyBound, encoding: KeyEncoding) throws(ModelError) -> Int {
    switch bound {
    case .start: 0
    case .end: count
    case .before(let value): try rank(of: value, encoding, after: false)
    case .after(let value): try rank(of: value, encoding, after: true)
    }
  }

  private func rank(of value: KeyValue, _ encoding: KeyEncoding, after: Bool) throws(ModelError) -> Int {
    if encoding.isByteOrdered, order?.treeOrder == .bytes {
      let bytes = after ? try encoding.bound(after: value) : try encoding.bound(before: value)
      return try place { .bytes(bytes) }
    }
    let bytes = try encoding.encode(value)
    return try place { try order?.bound(of: bytes, after: after) ?? identifiers.bound(of: bytes, after: after) }
  }

  private func place(_ place: () throws -> SoughtPlace) throws(ModelError) -> Int {
    do {
      return Int(clamping: try tree.rank(of: place()))
    } catch {
      throw error as? ModelError ?? .storage("\(error)", kind: .failed)
    }
  }

  private func parts(of key: Bytes) -> (value: [UInt8], identifier: [UInt8]) {
    guard order != nil else { return ([], key.array) }
    return key.withUnsafeBytes { EntryKey.split($0) } ?? ([], [])
  }
}

/// Goes along the entries of a tree: one walk, which reads each node once.
private struct TypedCursor: EntryCursor {
  private let isIndex: Bool
  private let isBackward: Bool
  private let ranks: Range<Int>
  private var cursor: Cursor
  private var passed = 0
  private var entry: [UInt8] = []

  init(tree: Tree, isIndex: Bool, ranks: Range<Int>, isBackward: Bool) {
    self.isIndex = isIndex
    self.ranks = ranks
    self.isBackward = isBackward
    cursor = tree.cursor()
  }

  mutating func next() throws(ModelError) -> QueryCandidate? {
    guard passed < ranks.count else { return nil }
    try onStorage { () throws(StorageError) in
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
    guard let payload = cursor.currentPayload else {
      throw .unreadable(what: "an index", where: "it is shorter than it says")
    }
    guard isIndex else { return QueryCandidate(key: StoredKey(bytes: entry, value: .null), record: payload.record) }
    guard let identifier = entry.withUnsafeBytes({ EntryKey.identifierRange($0) }) else {
      throw .unreadable(what: "an entry of an index", where: "its key cannot be taken apart")
    }
    return QueryCandidate(key: StoredKey(bytes: Array(entry[identifier]), value: .null), record: payload.record)
  }
}
