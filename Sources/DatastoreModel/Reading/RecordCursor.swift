package import Documents
package import Expressions
package import StorageEngine

/// Goes through records in the order of their identifiers, and copies nothing of those that are only looked at.
package protocol RecordCursor {
  /// Goes to the next record; false behind the last one.
  mutating func next() throws(ModelError) -> Bool
  /// The identifier of the record that the cursor stands at.
  var identifier: StoredKey { get throws(ModelError) }
  /// The content of the record that the cursor stands at, or nil where there is none although there should be.
  func rawRecord() throws(ModelError) -> RawRecord?
}

extension RecordCursor {
  /// A copy of the record that the cursor stands at.
  package func record() throws(ModelError) -> Record? {
    guard let content = try rawRecord() else { return nil }
    return Record(
      identifier: try identifier, version: content.version, content: content.bytes.array, coding: content.coding)
  }
}

/// What a record holds, as it lies in the store.
package struct RawRecord: Sendable {
  /// The app's version under which it was written.
  package let version: String
  /// As the app's coder made them.
  package let bytes: Bytes
  package let coding: RecordCoding

  /// Its document; opaque content gives `.data`.
  package func document() throws(ModelError) -> Document { try document(at: .all) }

  /// The parts of its document that are selected.
  package func document(at selection: DocumentSelection) throws(ModelError) -> Document {
    try withBytes { bytes throws(DocumentError) in try coding.document(of: bytes, at: selection) }
  }

  /// Whether its document meets a condition.
  package func meets(_ filter: Filter) throws(ModelError) -> Bool {
    try withBytes { bytes throws(DocumentError) in try filter.matches(bytes, coding: coding) }
  }

  private func withBytes<Value>(
    _ body: (UnsafeRawBufferPointer) throws(DocumentError) -> Value
  ) throws(ModelError) -> Value {
    do {
      return try bytes.withUnsafeBytes(body)
    } catch {
      throw ModelError(error)
    }
  }
}

extension ReadableDatastore {
  /// The records of a range of ranks, one after the other; ranks beyond the end are left out.
  package func records(at ranks: Range<Int>) throws(ModelError) -> any RecordCursor {
    RecordWindows(datastore: self, ranks: ranks)
  }

  /// All records.
  package func records() throws(ModelError) -> any RecordCursor { try records(at: 0..<count) }
}

/// Records of any datastore: some identifiers at a time, and each record looked up.
private struct RecordWindows<Datastore: ReadableDatastore>: RecordCursor {
  private let datastore: Datastore
  private var ranks: Range<Int>
  private var window: ArraySlice<IndexEntry> = []
  private var current: StoredKey?

  private static var windowSize: Int { 256 }

  init(datastore: Datastore, ranks: Range<Int>) {
    self.datastore = datastore
    self.ranks = ranks
  }

  mutating func next() throws(ModelError) -> Bool {
    while window.isEmpty, !ranks.isEmpty {
      let next = ranks.prefix(Self.windowSize)
      window = try datastore.primary.entries(at: next.startIndex..<next.endIndex)[...]
      ranks = next.endIndex..<ranks.upperBound
    }
    current = window.popFirst()?.identifier
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
struct OwnRecordCursor: RecordCursor {
  private let datastore: OwnDatastore
  private let ranks: Range<Int>
  private var cursor: Cursor
  private var passed: Int?

  init(_ datastore: OwnDatastore, at ranks: Range<Int>) {
    self.datastore = datastore
    // Ranks beyond the end are found to be none.
    self.ranks = max(0, ranks.lowerBound)..<max(0, ranks.upperBound)
    cursor = datastore.tree.cursor()
  }

  mutating func next() throws(ModelError) -> Bool {
    let rank = passed.map { $0 + 1 } ?? ranks.lowerBound
    guard rank < ranks.upperBound else { return false }
    let isFirst = passed == nil
    passed = rank
    try onStorage { () throws(StorageError) in
      if isFirst { try cursor.seek(rank: UInt64(rank)) } else { try cursor.next() }
    }
    return cursor.currentPayload != nil
  }

  var identifier: StoredKey {
    get throws(ModelError) {
      var key: [UInt8] = []
      try copyKey(into: &key)
      return datastore.descriptor.storedKey(key)
    }
  }

  /// Replaces what an array holds by the bytes of the identifier.
  func copyKey(into key: inout [UInt8]) throws(ModelError) {
    try onStorage { () throws(StorageError) in try cursor.copyKey(into: &key) }
  }

  func rawRecord() throws(ModelError) -> RawRecord? {
    guard let reference = cursor.currentPayload?.record else { return nil }
    let bytes = try onStorage { () throws(StorageError) in try datastore.tree.value(of: reference) }
    return try datastore.descriptor.content(bytes)
  }
}
