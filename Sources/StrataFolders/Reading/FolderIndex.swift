package import StrataModel
import StrataLocks

/// One index of a folder: its entries in stored order.
///
/// If the type of the values is known, entries are found by binary search. For other types only the entries themselves show their order,
/// and a search reads all of them.
package final class FolderIndex: ReadableIndex {
  package let descriptor: IndexDescriptor
  package let layout: Entry.Layout
  package let values: ValueType
  package let identifiers: ValueType
  /// The entries, or the reason that there are none.
  let source: Result<EntryList, FolderError>
  /// The count that the folder keeps of its records; nil for secondary indexes.
  private let recordedCount: Int?
  private let positions = Mutex<[[UInt8]: Int]?>(nil)
  private let orderIsRight = Mutex<Bool?>(nil)
  /// The keys of entries that searches met first on a page, so that a second search reads few pages again.
  private let firstKeys = Mutex<[Int: RawKeys]>([:])

  init(
    descriptor: IndexDescriptor, layout: Entry.Layout, values: ValueType, identifiers: ValueType,
    source: Result<EntryList, FolderError>, recordedCount: Int?
  ) {
    self.descriptor = descriptor
    self.layout = layout
    self.values = values
    self.identifiers = identifiers
    self.source = source
    self.recordedCount = recordedCount
  }

  /// The folder's own count, until the pages have been counted; reads all pages if that count cannot be right.
  package var count: Int {
    get throws(ModelError) {
      let entries = try entries
      // Sums of the greatest number that a file can name would trap.
      if let recordedCount, recordedCount > 0, !entries.isCounted { return min(recordedCount, .max / 1_024) }
      return entries.rowCount
    }
  }

  var entries: EntryList {
    get throws(ModelError) { try reading { () throws(FolderError) in try source.get() } }
  }

  package func entries(at ranks: Range<Int>) throws(ModelError) -> [IndexEntry] {
    var rows: [IndexEntry] = []
    try walk(ranks) { rows.append(IndexEntry(value: $0.value.value, identifier: $0.identifier)) }
    return rows
  }

  /// Decodes the entries of a range of ranks, one after the other.
  func walk(_ ranks: Range<Int>, _ body: (FolderEntry) -> Void) throws(ModelError) {
    let entries = try entries
    guard let place = entries.place(ofRow: max(0, ranks.lowerBound)) else { return }
    for row in entries.rows(from: place).prefix(ranks.count) {
      body(try reading { () throws(FolderError) in try entry(at: row, in: entries) })
    }
  }

  func entry(at place: EntryList.Place, in entries: EntryList) throws(FolderError) -> FolderEntry {
    try FolderEntry(at: place, of: entries, layout: layout, values: values, identifiers: identifiers)
  }

  package func rank(of bound: KeyBound) throws(ModelError) -> Int {
    let entries = try entries
    switch bound {
    case .start: return 0
    case .end: return entries.rowCount
    case .before(let value):
      let probe = try values.encoding.encode(value)
      guard values.isKnown else { return try ranks(of: probe, in: entries, for: value).lowerBound }
      return entries.rank(of: entries.firstRow { self.keys(at: $0, in: entries).map { !$0.value.precedes(probe) } })
    case .after(let value):
      let probe = try values.encoding.encode(value)
      guard values.isKnown else { return try ranks(of: probe, in: entries, for: value).upperBound }
      return entries.rank(of: entries.firstRow { self.keys(at: $0, in: entries).map { probe.precedes($0.value) } })
    }
  }

  package func rank(of identifier: StoredKey, value: KeyValue?) throws(ModelError) -> Int? {
    guard let place = try place(of: identifier, value: value) else { return nil }
    return try entries.rank(of: place)
  }

  func place(of identifier: StoredKey, value: KeyValue?) throws(ModelError) -> EntryList.Place? {
    let entries = try entries
    guard layout == .primary || value != nil else {
      return firstPlace(in: entries) { $0.identifier == identifier.bytes }
    }
    let probe = try value.map { value throws(ModelError) in try values.encoding.encode(value) } ?? identifier.bytes
    let matches = { (keys: RawKeys) in
      keys.identifier == identifier.bytes && (self.layout == .primary || keys.value == probe)
    }
    guard values.isKnown, identifiers.isKnown else {
      if layout == .primary { return storedPosition(of: identifier.bytes, in: entries) }
      return firstPlace(in: entries, where: matches)
    }
    let found = entries.firstRow { place in
      self.keys(at: place, in: entries).map { keys in
        keys.value == probe ? !keys.identifier.precedes(identifier.bytes) : !keys.value.precedes(probe)
      }
    }
    for place in entries.rows(from: found) {
      if let keys = keys(at: place, in: entries) { return matches(keys) ? place : nil }
    }
    return nil
  }

  /// The place of a record in the primary index, even if the entries are not in the order of their type: that is checked when a search
  /// finds nothing.
  func placeInAnyOrder(of identifier: StoredKey) throws(ModelError) -> EntryList.Place? {
    if let place = try place(of: identifier, value: nil) { return place }
    let entries = try entries
    guard identifiers.isKnown, !isInOrder(entries) else { return nil }
    return storedPosition(of: identifier.bytes, in: entries)
  }

  /// The ranks of the entries that have a value whose order is not known.
  private func ranks(
    of probe: [UInt8], in entries: EntryList, for value: KeyValue
  ) throws(ModelError) -> Range<Int> {
    var range: Range<Int>?
    for (rank, place) in entries.rows().enumerated() where keys(at: place, in: entries)?.value == probe {
      range = (range?.lowerBound ?? rank)..<(rank + 1)
    }
    guard let range else {
      throw .refused(
        reason: "the order of \(values.name) is known only to the app, and no entry of \(descriptor.name) is \(value)")
    }
    return range
  }

  private func firstPlace(in entries: EntryList, where matches: (RawKeys) -> Bool) -> EntryList.Place? {
    entries.rows().first { keys(at: $0, in: entries).map(matches) ?? false }
  }

  /// The place of an identifier of unknown order: all are read once, and their ranks kept.
  private func storedPosition(of identifier: [UInt8], in entries: EntryList) -> EntryList.Place? {
    if let known = positions.withLock({ $0 }) { return known[identifier].flatMap { entries.place(ofRow: $0) } }
    var ranks: [[UInt8]: Int] = [:]
    for (rank, place) in entries.rows().enumerated() {
      if let keys = keys(at: place, in: entries), ranks[keys.identifier] == nil { ranks[keys.identifier] = rank }
    }
    let found = ranks
    positions.withLock { $0 = found }
    return found[identifier].flatMap { entries.place(ofRow: $0) }
  }

  /// Whether the identifiers really are in the order of their type, on which every search relies.
  private func isInOrder(_ entries: EntryList) -> Bool {
    if let known = orderIsRight.withLock({ $0 }) { return known }
    var last: [UInt8]?
    let isRight = entries.rows().allSatisfy { place in
      guard let identifier = keys(at: place, in: entries)?.identifier else { return true }
      defer { last = identifier }
      return last?.precedes(identifier) ?? true
    }
    orderIsRight.withLock { $0 = isRight }
    return isRight
  }

  /// The key bytes of an entry's value and identifier.
  struct RawKeys: Sendable {
    var value: [UInt8]
    var identifier: [UInt8]
  }

  /// The bytes that contain most headers, so that a record of any size need not be read for its key.
  private static let headerGlance = 1024

  /// The keys of an entry; nil if it cannot be read.
  func keys(at place: EntryList.Place, in entries: EntryList) -> RawKeys? {
    guard place.row == 0 else { return readKeys(at: place, in: entries) }
    if let known = firstKeys.withLock({ $0[place.page] }) { return known }
    guard let keys = readKeys(at: place, in: entries) else { return nil }
    firstKeys.withLock { $0[place.page] = keys }
    return keys
  }

  private func readKeys(at place: EntryList.Place, in entries: EntryList) -> RawKeys? {
    let limit = layout == .reference ? Int.max : Self.headerGlance
    guard let glance = try? entries.read(place, limit: limit) else { return nil }
    if let keys = keys(of: glance.bytes) { return keys }
    guard glance.bytes.count >= limit, let whole = try? entries.read(place) else { return nil }
    return keys(of: whole.bytes)
  }

  private func keys(of bytes: [UInt8]) -> RawKeys? {
    guard let entry = try? Entry(parsing: bytes, as: layout),
      let identifier = try? identifiers.key(parsing: entry.identifier)
    else { return nil }
    guard layout != .primary else { return RawKeys(value: identifier.bytes, identifier: identifier.bytes) }
    guard let value = try? values.key(parsing: entry.value) else { return nil }
    return RawKeys(value: value.bytes, identifier: identifier.bytes)
  }
}
