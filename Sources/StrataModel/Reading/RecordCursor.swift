package import StrataDocuments
package import StrataEngine

/// Walks records in the order of their identifiers, and copies only the requested ones.
package protocol RecordCursor {
  /// Goes to the next record. Returns false after the last one.
  mutating func next() throws(ModelError) -> Bool
  /// The identifier of the current record.
  var identifier: StoredKey { get throws(ModelError) }
  /// Returns the content of the current record, or nil if it is missing although it should exist.
  func rawRecord() throws(ModelError) -> RawRecord?
  /// Returns a copy of the current record.
  func record() throws(ModelError) -> Record?
}

extension RecordCursor {
  package func record() throws(ModelError) -> Record? {
    try rawRecord()?.record(of: identifier)
  }
}

/// The contents of a record, as they are stored.
package struct RawRecord: Sendable {
  /// The app's version that wrote it.
  package let version: String
  /// The bytes as the app's coder produced them.
  package let bytes: Bytes
  package let coding: RecordCoding

  /// A copy, as the record of an identifier.
  func record(of identifier: StoredKey) -> Record {
    Record(identifier: identifier, version: version, content: bytes.array, coding: coding)
  }

  /// Its document; opaque content gives `.data`.
  package func document() throws(ModelError) -> Document { try document(at: .all) }

  /// The selected parts of its document.
  package func document(at selection: DocumentSelection) throws(ModelError) -> Document {
    try onDocument(
      bytes.withUnsafeBytes { bytes throws(DocumentError) in try coding.document(of: bytes, at: selection) })
  }
}

extension ReadableDatastore {
  /// Returns the records of a range of ranks, one after the other; ranks beyond the end are left out.
  package func records(at ranks: Range<Int>) throws(ModelError) -> any RecordCursor {
    RecordWindows(datastore: self, entries: WindowedEntries(index: primary, ranks: ranks, isBackward: false))
  }

  /// All records.
  package func records() throws(ModelError) -> any RecordCursor { try records(at: 0..<count) }
}

/// Records of any datastore: identifiers are read in batches, and each record is looked up.
private struct RecordWindows<Datastore: ReadableDatastore>: RecordCursor {
  let datastore: Datastore
  var entries: WindowedEntries
  var current: StoredKey?

  mutating func next() throws(ModelError) -> Bool {
    current = try entries.next()?.key
    return current != nil
  }

  var identifier: StoredKey {
    get throws(ModelError) {
      guard let current else { throw .unreadable(what: "a record", where: "the cursor stands at none") }
      return current
    }
  }

  func rawRecord() throws(ModelError) -> RawRecord? {
    guard let record = try datastore.record(try identifier) else { return nil }
    return RawRecord(version: record.version, bytes: Bytes(record.content), coding: record.coding)
  }
}

/// Records of one of our own stores: one walk over the leaves of their tree.
struct EngineRecordCursor: RecordCursor {
  private let datastore: EngineDatastore
  private let ranks: Range<Int>
  private var cursor: Cursor
  private var passed: Int?

  init(_ datastore: EngineDatastore, at ranks: Range<Int>) {
    self.datastore = datastore
    // Ranks beyond the end turn out to have no record.
    self.ranks = max(0, ranks.lowerBound)..<max(0, ranks.upperBound)
    cursor = datastore.tree.cursor()
  }

  mutating func next() throws(ModelError) -> Bool {
    let rank = passed.map { $0 + 1 } ?? ranks.lowerBound
    guard rank < ranks.upperBound else { return false }
    let isFirst = passed == nil
    passed = rank
    beginReading(from: rank)
    defer { datastore.view.store.endReading() }
    try onStorage { if isFirst { try cursor.seek(rank: UInt64(rank)) } else { try cursor.next() } }
    return cursor.currentPayload != nil
  }

  var identifier: StoredKey {
    get throws(ModelError) {
      var (cursor, key) = (cursor, [UInt8]())
      try onStorage { try cursor.copyKey(into: &key) }
      return datastore.descriptor.storedKey(key)
    }
  }

  /// Replaces the contents of an array with the bytes of the identifier.
  mutating func copyKey(into key: inout [UInt8]) throws(ModelError) {
    try onStorage { try cursor.copyKey(into: &key) }
  }

  private func beginReading(from rank: Int) {
    datastore.view.store.beginReading(
      .entries([rank..<ranks.upperBound], in: .records(of: datastore.descriptor.key), at: datastore.view.commit))
  }

  func rawRecord() throws(ModelError) -> RawRecord? {
    if let passed { beginReading(from: passed) }
    defer { if passed != nil { datastore.view.store.endReading() } }
    guard let reference = cursor.currentPayload?.record else { return nil }
    let bytes = try onStorage { try datastore.tree.value(of: reference) }
    return try datastore.descriptor.content(bytes)
  }
}
