import StrataModel
import StrataEngine

/// Finds records of identifiers that mostly come in their order: it goes some steps along the records from the last one, and searches
/// from the root only if those steps do not reach the record.
struct RecordSeeker {
  let tree: Tree
  private let order: KeyOrder
  private var cursor: Cursor
  /// The key that the cursor stands at.
  private var key: [UInt8] = []
  /// How many steps are worth trying: few if identifiers come in another order, or far apart.
  private var reach = 1

  private static let farthest = 16

  init(_ tree: Tree, order: KeyOrder) {
    self.tree = tree
    self.order = order
    cursor = tree.cursor()
  }

  mutating func record(of candidate: QueryCandidate) throws -> Bytes? {
    if let reference = candidate.record { return try value(of: reference) }
    let identifier = candidate.key.bytes
    guard order.isBytes, !tree.isServed else { return try tree.record(at: order.place(of: identifier)) }
    let isThere = try throwingStoreErrors {
      if try steps(to: identifier) { return true }
      try cursor.seek(to: .bytes(identifier))
      try cursor.copyKey(into: &key)
      return cursor.hasEntry && key == identifier
    }
    return isThere ? try cursor.currentPayload?.record.map { try value(of: $0) } : nil
  }

  private mutating func steps(to identifier: [UInt8]) throws(StorageError) -> Bool {
    var left = reach
    while cursor.hasEntry {
      let place = key.withUnsafeBytes { key in identifier.withUnsafeBytes { compareKeys(key, $0) } }
      if place == 0 {
        reach = Self.farthest
        return true
      }
      guard place < 0, left > 0 else { break }
      left -= 1
      try cursor.next()
      try cursor.copyKey(into: &key)
    }
    reach = max(1, reach / 2)
    return false
  }

  private func value(of reference: RecordReference) throws -> Bytes {
    try throwingStoreErrors { try tree.value(of: reference) }
  }
}
