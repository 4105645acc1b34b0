import DatastoreModel
import StorageEngine

/// The entries that one index is to have, in one run of bytes: a warm-up collects hundreds of thousands of them, and an
/// array for each would cost more than all else.
struct GatheredEntries: Sendable {
  /// Where the key of an entry lies.
  private struct Place: Sendable {
    /// The key's first eight bytes, which mostly tell two keys apart.
    var beginning: UInt64
    var start: Int
    var count: Int
    var reference: RecordReference
  }

  private var bytes: [UInt8] = []
  private var places: [Place] = []
  private var isSorted = true

  var count: Int { places.count }

  /// Adds an entry of a record that lies at `reference`.
  mutating func append(value: [UInt8], identifier: [UInt8], reference: RecordReference) {
    let start = bytes.count
    EntryKey.append(value: value, identifier: identifier, to: &bytes)
    places.append(
      Place(
        beginning: Self.beginning(of: bytes[start...]), start: start, count: bytes.count - start, reference: reference))
    isSorted = false
  }

  /// Adds all entries of another part of the work.
  mutating func append(_ others: GatheredEntries) {
    let offset = bytes.count
    bytes += others.bytes
    places += others.places.lazy.map { place in
      var place = place
      place.start += offset
      return place
    }
    isSorted = false
  }

  /// Puts the entries in the order of their bytes: neighbours then go to the same nodes.
  mutating func sort() {
    guard !isSorted else { return }
    isSorted = true
    let bytes = bytes
    bytes.withUnsafeBytes { bytes in
      places.sort { left, right in
        if left.beginning != right.beginning { return left.beginning < right.beginning }
        return compareKeys(Self.key(of: left, in: bytes), Self.key(of: right, in: bytes)) < 0
      }
    }
  }

  /// Calls `body` with each entry's key, and where its record lay when it was gathered.
  func forEach(_ body: (_ key: UnsafeRawBufferPointer, _ reference: RecordReference) throws -> Void) throws {
    try bytes.withUnsafeBytes { bytes in
      for place in places { try body(Self.key(of: place, in: bytes), place.reference) }
    }
  }

  /// Whether a tree holds exactly these entries. The entries must be sorted.
  func areHeld(by tree: Tree) throws -> Bool {
    guard tree.count == UInt64(count) else { return false }
    var walk = RecordWalk(tree: tree, source: .itself, ranks: 0..<tree.count, isDescending: false)
    let isInOrder = tree.order == .bytes
    return try bytes.withUnsafeBytes { bytes in
      var position = 0
      while let entry = try walk.nextEntry() {
        let isHere = entry.key.withUnsafeBytes { key in
          isInOrder
            ? compareKeys(key, Self.key(of: places[position], in: bytes)) == 0 : contains(key, in: bytes)
        }
        guard isHere else { return false }
        position += 1
      }
      return true
    }
  }

  private func contains(_ key: UnsafeRawBufferPointer, in bytes: UnsafeRawBufferPointer) -> Bool {
    var low = 0
    var high = places.count
    while low < high {
      let middle = (low + high) / 2
      if compareKeys(Self.key(of: places[middle], in: bytes), key) < 0 { low = middle + 1 } else { high = middle }
    }
    return low < places.count && compareKeys(Self.key(of: places[low], in: bytes), key) == 0
  }

  private static func key(of place: Place, in bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: bytes[place.start..<place.start + place.count])
  }

  /// Eight bytes as a number in their order; a shorter key is filled up with zeros.
  private static func beginning(of key: ArraySlice<UInt8>) -> UInt64 {
    var number: UInt64 = 0
    for byte in key.prefix(8) { number = number << 8 | UInt64(byte) }
    return number << UInt64(8 * (8 - min(key.count, 8)))
  }
}
