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
  private(set) var faults: Faults
  /// Entries too long for a key of a store.
  private var longKeys = Sample()
  private(set) var unreadable: [FolderError] = []
  private(set) var source = ValueSource.unknown

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
    faults = Faults(datastore: datastore.descriptor.key, index: index.name)
    primary = datastore.primaryIndex
    coding = datastore.descriptor.coding
    let records = try primary.source.get()
    var tally = Tally(fields: FieldCandidates(index), seen: [Bool](repeating: false, count: records.rowCount))
    try walk(records, &tally)
    if !index.kind.hasManyValues {
      for rank in tally.seen.indices where !tally.seen[rank] {
        guard let place = records.place(ofRow: rank), let keys = primary.keys(at: place, in: records) else { continue }
        faults.add(.missingEntry, datastore.descriptor.storedKey(keys.identifier))
      }
    }
    source = tally.fields.verdict
    if index.kind.hasManyValues, case .field(let path) = source { try checkCompleteness(of: path, records) }
  }

  /// The reason not to trust the index, as half a sentence; nil if there is none.
  package var disagreement: String? {
    if !unreadable.isEmpty { return "\(unreadable.count) of its entries cannot be read" }
    if !longKeys.isEmpty { return "values too long for a key: \(longKeys.text)" }
    return findings.first { $0.kind.isDisagreement }?.message
  }

  private struct Tally {
    var fields: FieldCandidates
    /// Whether the record at each rank has an entry.
    var seen: [Bool]
    var previous: FolderEntry?
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
      if entry.longestHeader > Entry.readableHeaderLimit { faults.add(.stuckByLength, entry.identifier) }
      if entry.key.count > StoreBuilder.keyLimit { longKeys.add(entry.identifier) }
      try compare(entry, records, &tally)
    }
  }

  private mutating func checkOrder(_ entry: FolderEntry, _ tally: inout Tally) {
    defer { tally.previous = entry }
    guard let previous = tally.previous else { return }
    if index.kind.meansOneRecord, previous.value.bytes == entry.value.bytes {
      faults.add(.sharedValue, entry.identifier)
    }
    if previous.key == entry.key {
      faults.add(.repeatedEntry, entry.identifier)
    } else if secondary.values.isKnown, secondary.identifiers.isKnown, !previous.key.precedes(entry.key),
      !isWithinMillisecond(entry.value.value, previous.value.value)
    {
      faults.add(.disorder, entry.identifier)
    }
  }

  /// Dates are in the order of all their digits, of which the entries keep the milliseconds.
  private func isWithinMillisecond(_ value: KeyValue, _ previous: KeyValue) -> Bool {
    guard case .date(let date) = value, case .date(let before) = previous else { return false }
    return before - date < 0.0015
  }

  private mutating func compare(_ entry: FolderEntry, _ records: EntryList, _ tally: inout Tally) throws(FolderError) {
    guard let place = (try? primary.placeInAnyOrder(of: entry.identifier)) ?? nil else {
      faults.add(.danglingEntry, entry.identifier)
      return
    }
    let rank = records.rank(of: place)
    // A page may be another one by now.
    guard tally.seen.indices.contains(rank) else { return }
    if tally.seen[rank], !index.kind.hasManyValues { faults.add(.repeatedEntry, entry.identifier) }
    tally.seen[rank] = true
    guard let record = try? primary.entry(at: place, in: records) else { return }
    if differs(entry, from: record) { faults.add(.differingCopy, entry.identifier) }
    if tally.documents[rank] == nil { tally.documents[rank] = try? Record(record, like: coding).document() }
    guard let document = tally.documents[rank] else { return }
    let isInexact = tally.fields.test(
      entry.value, of: document, version: record.version?.text ?? "", identifier: entry.identifier)
    if isInexact { faults.add(.stuckByDate, entry.identifier) }
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
    var incomplete = Sample()
    for row in records.rows() {
      guard let entry = try? primary.entry(at: row, in: records),
        let document = try? Record(entry, like: coding).document()
      else { continue }
      let hasAll = FieldCandidates.values(of: index, at: path, in: document).allSatisfy { value in
        let value = (try? index.encoding.decode(value)) ?? .null
        return ((try? secondary.place(of: entry.identifier, value: value)) ?? nil) != nil
      }
      if !hasAll { incomplete.add(entry.identifier) }
    }
    if !incomplete.isEmpty { source = .incomplete(path, incomplete) }
  }
}
