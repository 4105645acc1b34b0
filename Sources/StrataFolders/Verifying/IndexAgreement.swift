package import StrataDocuments
package import StrataModel

/// The agreement of an index's entries with the records.
///
/// The folder does not say where an index's values come from: that is code. The check can tell whether each entry has its record, each
/// record of an index of one its one entry, and copies equal the records. Beyond that it compares the values with the fields of the
/// records: if all others follow one field, an entry that does not is wrong.
package struct IndexAgreement: Sendable {
  package let index: IndexDescriptor
  package private(set) var entryCount = 0
  /// Entries of records that do not exist.
  package private(set) var dangling = Sample()
  /// Records that have more than one entry in an index of one value each, or one entry twice.
  package private(set) var repeated = Sample()
  /// Records that have no entry in an index of one value each.
  package private(set) var missing = Sample()
  /// Entries that are not in the order of their types.
  package private(set) var disordered = Sample()
  /// Copies of a direct index that differ from the record of the same version.
  package private(set) var differingCopies = Sample()
  /// Records whose date differs from the date that the entry keeps.
  package private(set) var inexactDates = Sample()
  /// Entries with a header too long for the original library to read back, and for a key of a store.
  package private(set) var longHeaders = Sample()
  package private(set) var longKeys = Sample()
  /// Records that share a value in an index that allows one record for each value.
  package private(set) var sharedValues = Sample()
  package private(set) var unreadable: [FolderError] = []
  /// The source of the values.
  package private(set) var source = ValueSource.unknown

  package enum ValueSource: Hashable, Sendable {
    /// No field gives them: they are computed, or there are too few entries to decide.
    case unknown
    case field(DocumentPath)
    /// Each version's records follow a field of their own, and these are not the same.
    case fieldsByVersion([String: DocumentPath])
    /// Most follow a field; these do not.
    case contradicted(DocumentPath, Sample)
    /// All entries follow a list; these records have elements without an entry.
    case incomplete(DocumentPath, Sample)
  }

  private let secondary: FolderIndex
  private let primary: FolderIndex
  private let coding: RecordCoding

  /// Compares every entry with its record: one search of the primary index per entry.
  init(_ secondary: FolderIndex, of datastore: FolderDatastore) throws(FolderError) {
    self.secondary = secondary
    index = secondary.descriptor
    primary = datastore.primaryIndex
    coding = datastore.descriptor.coding
    let records = try primary.source.get()
    var tally = Tally(fields: FieldCandidates(index), seen: Bitmap(count: records.rowCount))
    try walk(records, &tally)
    if !index.kind.hasManyValues {
      for rank in tally.seen.absent {
        guard let place = records.place(ofRow: rank), let keys = primary.keys(at: place, in: records) else { continue }
        missing.add(primary.storedKey(keys.identifier))
      }
    }
    source = tally.fields.verdict
    if index.kind.hasManyValues, case .field(let path) = source { try checkCompleteness(of: path, records) }
  }

  /// The reason not to trust the index, as half a sentence; nil if there is none.
  package var disagreement: String? {
    if !unreadable.isEmpty { return "\(unreadable.count) of its entries cannot be read" }
    if !dangling.isEmpty { return "entries of records that are not there: \(dangling.text)" }
    if !missing.isEmpty { return "records without an entry: \(missing.text)" }
    if !repeated.isEmpty { return "records with more than one entry: \(repeated.text)" }
    if !disordered.isEmpty { return "entries out of order: \(disordered.text)" }
    if !differingCopies.isEmpty { return "copies that differ from their records: \(differingCopies.text)" }
    if !longKeys.isEmpty { return "values too long for a key: \(longKeys.text)" }
    switch source {
    case .unknown, .field: return nil
    case .fieldsByVersion(let paths):
      let each = paths.sorted { $0.key < $1.key }.map { "\($0.value) in records of version \($0.key)" }
      return "its values are \(each.joined(separator: ", "))"
    case .contradicted(let path, let records): return "entries that are not what \(path) is: \(records.text)"
    case .incomplete(let path, let records): return "elements of \(path) without an entry: \(records.text)"
    }
  }

  private struct Tally {
    var fields: FieldCandidates
    var seen: Bitmap
    var previous: [UInt8]?
    var previousValue: [UInt8]?
    var previousDate: KeyValue?
    var documents = BoundedCache<Int, Document>(half: 256)
  }

  private mutating func walk(_ records: EntryList, _ tally: inout Tally) throws(FolderError) {
    let entries = try secondary.source.get()
    for row in entries.rows() {
      let entry: FolderEntry
      do throws(FolderError) {
        entry = try secondary.entry(at: row, in: entries)
      } catch {
        unreadable.append(error)
        continue
      }
      entryCount += 1
      checkOrder(entry, &tally)
      if entry.longestHeader > Entry.readableHeaderLimit { longHeaders.add(entry.identifier) }
      if entry.key.count > StoreBuilder.keyLimit { longKeys.add(entry.identifier) }
      try compare(entry, records, &tally)
    }
  }

  private mutating func checkOrder(_ entry: FolderEntry, _ tally: inout Tally) {
    if index.kind.meansOneRecord, tally.previousValue == entry.value.bytes { sharedValues.add(entry.identifier) }
    tally.previousValue = entry.value.bytes
    if let previous = tally.previous {
      if previous == entry.key {
        repeated.add(entry.identifier)
      } else if secondary.values.isKnown, secondary.identifiers.isKnown, !previous.precedes(entry.key),
        !isWithinMillisecond(entry.value.value, tally.previousDate)
      {
        disordered.add(entry.identifier)
      }
    }
    tally.previous = entry.key
    tally.previousDate = entry.value.value
  }

  /// Dates are in the order of all their digits, of which the entries keep the milliseconds.
  private func isWithinMillisecond(_ value: KeyValue, _ previous: KeyValue?) -> Bool {
    guard case .date(let date) = value, case .date(let before)? = previous else { return false }
    return before - date < 0.0015
  }

  private mutating func compare(_ entry: FolderEntry, _ records: EntryList, _ tally: inout Tally) throws(FolderError) {
    guard let place = (try? primary.placeInAnyOrder(of: entry.identifier)) ?? nil else {
      dangling.add(entry.identifier)
      return
    }
    let rank = records.rank(of: place)
    if tally.seen.insert(rank), !index.kind.hasManyValues, tally.previous != nil { repeated.add(entry.identifier) }
    guard let record = try? primary.entry(at: place, in: records) else { return }
    if differs(entry, from: record) { differingCopies.add(entry.identifier) }
    if tally.documents[rank] == nil { tally.documents[rank] = try? Record(record, like: coding).document() }
    guard let document = tally.documents[rank] else { return }
    let outcome = tally.fields.test(
      entry.value, of: document, version: record.version?.text ?? "", identifier: entry.identifier)
    if outcome == .inexactDate { inexactDates.add(entry.identifier) }
  }

  /// Whether a copy of the same version has another content: the original library may have encoded it a second time, with its members in
  /// another order.
  private func differs(_ entry: FolderEntry, from record: FolderEntry) -> Bool {
    guard let copy = entry.record, copy != record.record, entry.version == record.version else { return false }
    guard let mine = try? Record(entry, like: coding).document(),
      let theirs = try? Record(record, like: coding).document()
    else { return true }
    return mine != theirs
  }

  /// Whether the lists of all records have no more elements than there are entries.
  private mutating func checkCompleteness(of path: DocumentPath, _ records: EntryList) throws(FolderError) {
    let encoding = secondary.values.encoding
    var incomplete = Sample()
    for row in records.rows() {
      guard let entry = try? primary.entry(at: row, in: records),
        let document = try? Record(entry, like: coding).document()
      else { continue }
      let values = FieldCandidates.values(at: path, of: document, encoding: encoding, hasMany: true)
      let hasAll = values.allSatisfy { value in
        let key = StoredKey(bytes: value, value: (try? encoding.decode(value)) ?? .null)
        return ((try? secondary.place(of: entry.identifier, value: key.value)) ?? nil) != nil
      }
      if !hasAll { incomplete.add(entry.identifier) }
    }
    if !incomplete.isEmpty { source = .incomplete(path, incomplete) }
  }
}

// MARK: - Walking

extension FolderIndex {
  func storedKey(_ identifier: [UInt8]) -> StoredKey {
    StoredKey(bytes: identifier, value: (try? identifiers.encoding.decode(identifier)) ?? .null)
  }
}

/// One bit for each row of a list.
struct Bitmap: Sendable {
  private var words: [UInt64]
  private let count: Int

  init(count: Int) {
    self.count = count
    words = [UInt64](repeating: 0, count: (count + 63) / 64)
  }

  /// Sets a bit; returns whether it was set before.
  mutating func insert(_ place: Int) -> Bool {
    guard place >= 0, place < count else { return false }
    let mask: UInt64 = 1 << UInt64(place % 64)
    defer { words[place / 64] |= mask }
    return words[place / 64] & mask != 0
  }

  var absent: [Int] { (0..<count).filter { words[$0 / 64] & 1 << UInt64($0 % 64) == 0 } }
}
