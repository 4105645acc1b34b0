import StrataEngine
package import StrataDocuments

/// The whole store as of one commit; immutable, cheap to take, safe from any thread.
package protocol ReadableView: Sendable {
  var commit: CommitNumber { get }
  /// The keys of all datastores, in order.
  var datastoreKeys: [String] { get throws(ModelError) }
  /// Returns one datastore, or nil if this view has none of that key.
  func datastore(_ key: String) throws(ModelError) -> (any ReadableDatastore)?
}

extension ReadableView {
  /// All datastores, by key. The cost does not depend on the number of their records.
  package var datastores: [any ReadableDatastore] {
    get throws(ModelError) {
      try datastoreKeys.map { key throws(ModelError) in try datastore(key) }.compactMap(\.self)
    }
  }

  /// All datastores that can be read, by key.
  ///
  /// - Parameter tell: receives the error of each other one, which names it.
  package func readableDatastores(_ tell: (ModelError) -> Void) throws(ModelError) -> [any ReadableDatastore] {
    var found: [any ReadableDatastore] = []
    for key in try datastoreKeys {
      do throws(ModelError) {
        if let datastore = try datastore(key) { found.append(datastore) }
      } catch {
        guard error.exitStatus == 3 else { throw error }
        tell(error)
      }
    }
    return found
  }
}

/// One datastore as of one commit.
package protocol ReadableDatastore: Sendable {
  var descriptor: DatastoreDescriptor { get }
  /// The number of records.
  var count: Int { get throws(ModelError) }
  /// All records by identifier.
  var primary: any ReadableIndex { get }
  /// The secondary indexes, in the order of their names.
  var indexes: [any ReadableIndex] { get }
  /// Returns the record of an identifier, or nil.
  func record(_ key: StoredKey) throws(ModelError) -> Record?
  /// Returns the record as an edit replaces it, or nil if there is none. One that cannot be read has `Record.damage`.
  func replaceable(_ key: StoredKey) throws(ModelError) -> Record?
  /// Returns the records of a range of ranks in the order of their identifiers; ranks beyond the end are left out.
  func records(at ranks: Range<Int>) throws(ModelError) -> any RecordCursor
  /// Returns the stored key for an identifier that a user typed (`2643743`, `"Ca"`, `Ca`), by the identifier's type; throws if the text
  /// does not fit it. For composite types the text is a JSON literal.
  func identifier(parsing text: String) throws(ModelError) -> StoredKey
  /// Checks that every record can be read, and that indexes agree with the records both ways, as far as their rules are known. Reads
  /// every record and every entry once.
  ///
  /// - Parameters:
  ///   - index: the only index to verify; nil for all.
  ///   - progress: receives the number of records and entries read and to read, and returns whether to continue.
  func verify(index: String?, progress: WorkProgress?) throws(ModelError) -> DatastoreVerification
  /// The number of records that a warm-up left out because they did not decode. They keep their bytes, and are in no rebuilt index until
  /// they are mended.
  var leftOutCount: Int { get throws(ModelError) }
  /// The share of their length that the values take in the file, from a sample of them; nil if they are not compressed, or damaged.
  var compressedShare: Double? { get }
  /// Returns up to `limit` of them, by identifier.
  func leftOut(limit: Int) throws(ModelError) -> [LeftOutRecord]
}

extension ReadableDatastore {
  package var leftOutCount: Int { get throws(ModelError) { 0 } }
  package var compressedShare: Double? { nil }
  package func leftOut(limit: Int) throws(ModelError) -> [LeftOutRecord] { [] }
}

extension ReadableDatastore {
  package func replaceable(_ key: StoredKey) throws(ModelError) -> Record? {
    try Record.evenDamaged(key) { () throws(ModelError) in try record(key) }
  }
}

/// A record that a warm-up left out, and why.
package struct LeftOutRecord: Hashable, Sendable {
  package var identifier: StoredKey
  package var reason: String
}

/// An ordered run of entries: the primary order by identifier, or one secondary index.
///
/// Rows are addressed by rank (0 is the first entry). In our own stores rank and select are O(log n) at any size; a
/// folder of the original library counts pages up to the rank once.
package protocol ReadableIndex: Sendable {
  var descriptor: IndexDescriptor { get }
  /// The number of entries.
  var count: Int { get throws(ModelError) }
  /// Returns the entries of a range of ranks in ascending order; ranks beyond the end are left out.
  func entries(at ranks: Range<Int>) throws(ModelError) -> [IndexEntry]
  /// Returns the same for several ranges, in their order. Over a line this takes one round trip.
  func entries(at ranges: [Range<Int>]) throws(ModelError) -> [[IndexEntry]]
  /// Returns the number of entries before a bound; two calls give the exact number of entries in a range without reading any.
  func rank(of bound: KeyBound) throws(ModelError) -> Int
  /// Returns the rank of a record's entry (the one with `value`, in an index with several per record), or nil.
  func rank(of identifier: StoredKey, value: KeyValue?) throws(ModelError) -> Int?
  /// Returns the ranks of some records' entries, in the order of the records. Over a line this takes one round trip.
  func ranks(of identifiers: [StoredKey]) throws(ModelError) -> [Int?]
}

extension ReadableIndex {
  /// Returns the value that a user typed (`1000000`, `"Ca"`, `null`), by the index's value type; throws with the column.
  package func value(parsing text: String) throws(ModelError) -> KeyValue { try descriptor.encoding.parse(text) }

  package func entries(at ranges: [Range<Int>]) throws(ModelError) -> [[IndexEntry]] {
    try ranges.map { range throws(ModelError) in try entries(at: range) }
  }

  package func ranks(of identifiers: [StoredKey]) throws(ModelError) -> [Int?] {
    try identifiers.map { identifier throws(ModelError) in try rank(of: identifier, value: nil) }
  }
}

/// A place between entries of an index.
package enum KeyBound: Hashable, Sendable {
  /// Before the first entry whose value is not less.
  case before(KeyValue)
  /// After the last entry whose value is not greater.
  case after(KeyValue)
  case start
  case end
}

/// One row of an index.
package struct IndexEntry: Hashable, Sendable {
  /// The indexed value; in the primary order the identifier itself.
  package var value: KeyValue
  /// The identifier of its record.
  package var identifier: StoredKey

  package init(value: KeyValue, identifier: StoredKey) {
    self.value = value
    self.identifier = identifier
  }
}

/// An identifier as its store keeps it, with its value for showing.
///
/// `bytes` decides identity (within one datastore, two keys are the same record if their bytes are equal). `value` is shown to the user.
package struct StoredKey: Sendable, CustomStringConvertible, Hashable {
  package var bytes: [UInt8]
  package var value: KeyValue

  package init(bytes: [UInt8], value: KeyValue) {
    self.bytes = bytes
    self.value = value
  }

  /// The identifier as a user types it: a text without quotes, unless it would be read as something else.
  package var description: String {
    guard case .string(let text) = value, !["", "null", "nil"].contains(text), text.first != "\"",
      text == text.trimmingSpaces, !text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
    else { return value.description }
    return text
  }

  package static func == (left: Self, right: Self) -> Bool { left.bytes == right.bytes }
  package func hash(into hasher: inout Hasher) { hasher.combine(bytes) }
}

/// One record as it is stored.
package struct Record: Sendable, Equatable {
  package var identifier: StoredKey
  /// The app's version that wrote it, as the text of its JSON raw value without quotes: `2024-04-09`, `1`.
  package var version: String
  /// The bytes as the app's coder produced them.
  package var content: [UInt8]
  package var coding: RecordCoding
  /// The lists that are stored unordered.
  var rules = MergeRules()
  /// Why the stored bytes cannot be read; nil if they can. The content is then `RecordContent.damaged`.
  package private(set) var damage: ModelError?

  package init(identifier: StoredKey, version: String, content: [UInt8], coding: RecordCoding) {
    self.identifier = identifier
    self.version = version
    self.content = content
    self.coding = coding
  }

  /// Reads a record, or returns one with its damage if it cannot be read.
  ///
  /// - Throws: other errors of `read`.
  static func evenDamaged(
    _ identifier: StoredKey, _ read: () throws(ModelError) -> Record?
  ) throws(ModelError) -> Record? {
    do { return try read() } catch {
      guard case .storage(_, kind: .damaged) = error else { throw error }
      let content = RecordContent.damaged
      var record = Record(identifier: identifier, version: content.version, content: content.bytes, coding: .opaque)
      record.damage = error
      return record
    }
  }

  /// Returns the content as a document, with unordered lists sorted; opaque content gives `.data`. Costs a parse each time.
  ///
  /// - Throws: the damage of a record that cannot be read.
  package func document() throws(ModelError) -> Document {
    if let damage { throw damage }
    return rules.normalized(try onDocument(coding.document(of: content)))
  }

  /// Whether another state of the record is unchanged: the same bytes, or the same value with unordered lists in another order.
  func isSame(as other: Record) -> Bool {
    if stored == other.stored { return damage == other.damage }
    guard rules.hasUnordered, version == other.version, let document = try? document() else { return false }
    return document == (try? other.document())
  }

  /// Returns the selected parts of the document.
  package func document(at selection: DocumentSelection) throws(ModelError) -> Document {
    if let damage { throw damage }
    return try RawRecord(version: version, bytes: Bytes(content), coding: coding).document(at: selection)
  }
}

/// A state of a record at a commit.
package struct RecordVersion: CommittedVersion {
  package var commit: CommitDetails
  /// Nil if the commit deleted it.
  package var record: Record?

  package init(commit: CommitDetails, record: Record?) {
    self.commit = commit
    self.record = record
  }

  package var isDeletion: Bool { record == nil }

  /// Whether a field has a value, or is missing. Returns false if the version cannot be read.
  package func has(_ value: Document?, at path: DocumentPath) -> Bool {
    do { return try record?.document()[path] == value } catch { return false }
  }
}

/// A record that differs between two commits.
package typealias RecordChange = ChangedRecord<Record>

extension RecordChange {
  /// Why one of its contents cannot be read; nil if both can.
  package var damage: ModelError? { old?.damage ?? new?.damage }

  /// The edit that makes the same change.
  package var edit: RecordEdit {
    RecordEdit(datastore: datastore, identifier: identifier, old: old?.stored, new: new?.stored)
  }
}

/// A stream of changes, read in pieces so that a difference of any size takes bounded memory.
package protocol ChangeReader: AnyObject, Sendable {
  /// Returns the next changes, up to `limit`; an empty array is the end.
  func next(_ limit: Int) throws(ModelError) -> [RecordChange]
}
