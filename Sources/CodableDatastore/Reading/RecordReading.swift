import StrataModel
import StrataEngine

extension Tree {
  func record(at place: SoughtPlace) throws -> Bytes? {
    try place.withProbe { probe in
      try throwingStoreErrors {
        guard let reference = try payload(probe)?.record else { return nil }
        return try value(of: reference)
      }
    }
  }

  func rank(of place: SoughtPlace) throws -> UInt64 {
    try throwingStoreErrors { try place.withProbe { try rank(of: $0) } }
  }

  /// `count`, with the errors of this library.
  var entryCount: UInt64 {
    get throws { try throwingStoreErrors { try count } }
  }

  /// `isEmpty`, with the errors of this library.
  var isWithoutEntries: Bool {
    get throws { try throwingStoreErrors { try isEmpty } }
  }
}

/// A walk along all entries of a tree, for code that reads the trees themselves: warm-ups and rehearsals.
struct TreeWalk {
  private let tree: Tree
  private var cursor: Cursor
  private var isPlaced = false

  init(_ tree: Tree) {
    self.tree = tree
    cursor = tree.cursor()
  }

  /// The next record, of a tree that holds records; nil at the end.
  mutating func nextRecord() throws -> Bytes? {
    guard let reference = try nextReference() else { return nil }
    return try throwingStoreErrors { try tree.value(of: reference) }
  }

  /// The reference to the next record, of a tree that holds records; nil at the end.
  mutating func nextReference() throws -> RecordReference? {
    try throwingStoreErrors { try step() }
    guard cursor.hasEntry else { return nil }
    guard let reference = cursor.currentPayload?.record else { throw StoreError(.damaged, "A record leads nowhere.") }
    return reference
  }

  mutating func nextEntry() throws -> Entry? {
    try throwingStoreErrors { try step() }
    return cursor.current
  }

  /// The key of the entry or the record that came last.
  mutating func key() throws -> [UInt8] {
    var key: [UInt8] = []
    key.reserveCapacity(32)
    try throwingStoreErrors { try cursor.copyKey(into: &key) }
    return key
  }

  private mutating func step() throws(StorageError) {
    if isPlaced { try cursor.next() } else { try cursor.seekToStart() }
    isPlaced = true
  }
}
