import DatastoreModel
import StorageEngine

/// Which way from an index entry to its record.
enum RecordSource: Sendable {
  /// The tree holds the records themselves, or its entries lead straight to them.
  case itself
  /// Entries hold identifiers, which are looked up in this tree of records.
  case records(Tree, KeyOrder)
}

extension Tree {
  /// The record of an identifier.
  func record(at place: SoughtPlace) throws -> Bytes? {
    try place.withProbe { probe in
      try throwingStoreErrors { () throws(StorageError) in
        guard let reference = try payload(probe)?.record else { return nil }
        return try value(of: reference)
      }
    }
  }

  /// How many entries lie before a place.
  func rank(of place: SoughtPlace) throws -> UInt64 {
    try place.withProbe { probe in
      try throwingStoreErrors { () throws(StorageError) in try rank(of: probe) }
    }
  }
}

/// A walk over a run of entries and their records.
struct RecordWalk {
  private let tree: Tree
  private let source: RecordSource
  private let isDescending: Bool
  private var cursor: Cursor
  private var isPlaced = false
  private let ranks: Range<UInt64>
  /// How many entries are left.
  private(set) var remaining: UInt64

  init(tree: Tree, source: RecordSource, ranks: Range<UInt64>, isDescending: Bool) {
    self.tree = tree
    self.source = source
    self.ranks = ranks
    self.isDescending = isDescending
    remaining = UInt64(ranks.count)
    cursor = tree.cursor()
  }

  /// The next entry's key and record; nil at the end.
  mutating func next() throws -> (key: Bytes, record: Bytes)? {
    guard let entry = try nextEntry() else { return nil }
    return (entry.key, try record(of: entry))
  }

  /// The next entry; nil at the end.
  mutating func nextEntry() throws -> Entry? {
    guard remaining > 0 else { return nil }
    remaining -= 1
    let entry = try throwingStoreErrors { () throws(StorageError) in
      if !isPlaced {
        isPlaced = true
        try cursor.seek(rank: isDescending ? ranks.upperBound - 1 : ranks.lowerBound)
      } else if isDescending {
        try cursor.previous()
      } else {
        try cursor.next()
      }
      return cursor.current
    }
    guard let entry else { throw StoreError(.damaged, "An index is shorter than it says.") }
    return entry
  }

  private func record(of entry: Entry) throws -> Bytes {
    if let reference = entry.payload.record {
      return try throwingStoreErrors { () throws(StorageError) in try tree.value(of: reference) }
    }
    guard case .records(let records, let order) = source else {
      throw StoreError(.damaged, "An entry of the index leads nowhere.")
    }
    let identifier = entry.key.withUnsafeBytes { key in EntryKey.identifierRange(key).map { Array(key[$0]) } }
    guard let identifier, let record = try records.record(at: order.place(of: identifier)) else {
      throw StoreError(.damaged, "An entry of the index leads to no record.")
    }
    return record
  }
}
