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

  func identifiers(at ranks: Range<Int>) throws(ModelError) -> [StoredKey] {
    try onStorage { () throws(StorageError) in
      var keys: [StoredKey] = []
      keys.reserveCapacity(ranks.count)
      var cursor = tree.cursor()
      if !ranks.isEmpty { try cursor.seek(rank: UInt64(ranks.lowerBound)) }
      while keys.count < ranks.count, let entry = cursor.current {
        keys.append(StoredKey(bytes: parts(of: entry.key).identifier, value: .null))
        try cursor.next()
      }
      return keys
    }
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
