package import StrataEngine

/// Index entries in one run of bytes: a warm-up collects hundreds of thousands of them, and an array for each would cost more than
/// all else.
package struct EntryRun: Sendable {
  fileprivate struct Place: Sendable {
    /// The key's first eight bytes, which are usually enough to compare two keys.
    var beginning: UInt64
    var start: UInt32
    var count: UInt32
    var reference: RecordReference
  }

  private var bytes: [UInt8] = []
  private var places: [Place] = []
  private var isSorted = true

  package init() {}

  package var count: Int { places.count }

  /// Bytes of memory that the entries take, without what the arrays keep ready.
  var size: Int { bytes.count + places.count * MemoryLayout<Place>.stride }

  /// Adds an entry of a record that lies at `reference`; a removal takes an earlier entry of the same key out.
  package mutating func append(
    value: [UInt8], identifier: [UInt8], reference: RecordReference, isRemoval: Bool = false
  ) {
    let start = bytes.count
    EntryKey.append(value: value, identifier: identifier, to: &bytes)
    add(start, isRemoval ? .ofRemoval : reference)
  }

  mutating func append(_ key: UnsafeRawBufferPointer, _ reference: RecordReference) {
    let start = bytes.count
    bytes.append(contentsOf: key)
    add(start, reference)
  }

  private mutating func add(_ start: Int, _ reference: RecordReference) {
    places.append(
      Place(
        beginning: bytes.withUnsafeBytes { UnsafeRawBufferPointer(rebasing: $0[start...]).beginning },
        start: UInt32(start), count: UInt32(bytes.count - start), reference: reference))
    isSorted = false
  }

  /// Adds all entries of another run. `moved` has the new references of records that have been rewritten since, by their old
  /// offsets.
  mutating func append(_ others: EntryRun, moved: [UInt64: RecordReference]) {
    let offset = UInt32(bytes.count)
    bytes += others.bytes
    places += others.places.lazy.map { place in
      var place = place
      place.start += offset
      if !moved.isEmpty, let reference = moved[place.reference.place] { place.reference = reference }
      return place
    }
    isSorted = false
  }

  mutating func removeAll() {
    bytes.removeAll(keepingCapacity: true)
    places.removeAll(keepingCapacity: true)
    isSorted = true
  }

  /// Puts the entries in the order of their bytes, equal ones in the order in which they came.
  mutating func sort() {
    guard !isSorted else { return }
    isSorted = true
    let bytes = bytes
    bytes.withUnsafeBytes { bytes in
      places.sort { left, right in
        if left.beginning != right.beginning { return left.beginning < right.beginning }
        let order = compareKeys(Self.key(of: left, in: bytes), Self.key(of: right, in: bytes))
        return order != 0 ? order < 0 : left.start < right.start
      }
    }
  }

  func forEach(_ body: (SortedEntry) throws -> Void) rethrows {
    try bytes.withUnsafeBytes { bytes in
      for place in places { try body(Self.entry(place, in: bytes)) }
    }
  }

  func withEntry<Result>(at position: Int, _ body: (SortedEntry) -> Result) -> Result {
    bytes.withUnsafeBytes { body(Self.entry(places[position], in: $0)) }
  }

  /// Drops all but the first entries, which must be sorted.
  mutating func keep(first count: Int) {
    guard count < places.count else { return }
    var kept = EntryRun()
    bytes.withUnsafeBytes { bytes in
      for place in places.prefix(count) { kept.append(Self.key(of: place, in: bytes), place.reference) }
    }
    kept.isSorted = true
    self = kept
  }

  /// Walks sorted entries: returns the last entry of each key, unless it is a removal.
  package struct Walk {
    fileprivate let bytes: UnsafeRawBufferPointer
    fileprivate let places: [Place]
    private var position = 0

    fileprivate init(_ places: [Place], in bytes: UnsafeRawBufferPointer) {
      self.places = places
      self.bytes = bytes
    }

    package mutating func next() -> SortedEntry? {
      while position < places.count {
        let place = places[position]
        position += 1
        let entry = EntryRun.entry(place, in: bytes)
        if !entry.isRemoval, position == places.count || !isReplaced(place, by: places[position]) { return entry }
      }
      return nil
    }

    private func isReplaced(_ place: Place, by later: Place) -> Bool {
      place.beginning == later.beginning && place.count == later.count
        && compareKeys(EntryRun.key(of: place, in: bytes), EntryRun.key(of: later, in: bytes)) == 0
    }
  }

  /// Gives `body` a walk over the entries, which must be sorted.
  func withWalk(_ body: (inout Walk) throws -> Void) rethrows {
    try bytes.withUnsafeBytes { bytes in
      var walk = Walk(places, in: bytes)
      try body(&walk)
    }
  }

  fileprivate static func entry(_ place: Place, in bytes: UnsafeRawBufferPointer) -> SortedEntry {
    SortedEntry(key: key(of: place, in: bytes), reference: place.reference)
  }

  fileprivate static func key(of place: Place, in bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: bytes[Int(place.start)..<Int(place.start) + Int(place.count)])
  }
}

extension UnsafeRawBufferPointer {
  /// The first eight bytes of a key as a number in their order; a shorter key is filled up with zeros.
  var beginning: UInt64 {
    if count >= 8 { return UInt64(bigEndian: loadUnaligned(as: UInt64.self)) }
    var number: UInt64 = 0
    for byte in self { number = number << 8 | UInt64(byte) }
    return number << UInt64(8 * (8 - count))
  }
}

/// An entry as a sorter hands it out; the key is valid for the call.
package struct SortedEntry {
  package var key: UnsafeRawBufferPointer
  /// Where its record lay when it was added.
  package var reference: RecordReference
  var isRemoval: Bool { reference.place == RecordReference.ofRemoval.place }
}

extension RecordReference {
  /// Stands in an entry that takes an earlier one of the same key out.
  fileprivate static let ofRemoval = RecordReference(place: .max, length: 0, check: 0)
}
