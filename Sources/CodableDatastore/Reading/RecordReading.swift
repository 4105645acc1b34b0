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

  /// The next record and its key, of a tree that holds records; nil at the end.
  mutating func next() throws -> (key: Bytes, record: Bytes)? {
    guard let entry = try nextEntry() else { return nil }
    guard let reference = entry.payload.record else { throw StoreError(.damaged, "A record leads nowhere.") }
    return (entry.key, try throwingStoreErrors { try tree.value(of: reference) })
  }

  mutating func nextEntry() throws -> Entry? {
    try throwingStoreErrors {
      if isPlaced { try cursor.next() } else { try cursor.seekToStart() }
      isPlaced = true
      return cursor.current
    }
  }
}
