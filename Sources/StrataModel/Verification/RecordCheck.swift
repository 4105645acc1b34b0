import StrataDocuments

/// Verifies a run of a datastore's records, each read once: its order, its identifier, its content, and the entries that it should have.
struct RecordCheck: Sendable {
  /// The number of records that could be read.
  private(set) var records = 0
  /// The number of findings, also of those that are not kept.
  private(set) var faults = 0
  private(set) var findings: [Finding] = []
  /// The indexes, with the entries that these records should have.
  private(set) var subjects: [IndexSubject]

  private let datastore: EngineDatastore
  private let descriptor: DatastoreDescriptor
  private let format: (any CompiledFormat)?
  private let leftOut: Set<StoredKey>

  static let findingLimit = DatastoreVerifier.listLimit * 5

  init(
    _ datastore: EngineDatastore, format: (any CompiledFormat)?, leftOut: Set<StoredKey>, subjects: [IndexSubject]
  ) {
    self.datastore = datastore
    self.format = format
    self.leftOut = leftOut
    self.subjects = subjects
    descriptor = datastore.descriptor
  }

  /// Verifies the records at these ranks, the first also against the one before it.
  mutating func run(_ ranks: Range<Int>) throws(ModelError) {
    let selection = DocumentSelection(subjects.flatMap(\.paths))
    var cursor = EngineRecordCursor(datastore, at: max(ranks.lowerBound - 1, 0)..<ranks.upperBound)
    var (key, last, entry): ([UInt8], [UInt8], [UInt8]) = ([], [], [])
    if ranks.lowerBound > 0, try cursor.next() { try cursor.copyKey(into: &last) }
    while try cursor.next() {
      try cursor.copyKey(into: &key)
      checkOrder(of: key, after: ranks.lowerBound + records == 0 ? nil : last)
      swap(&key, &last)
      if let values = values(of: last, cursor, selection) {
        for position in subjects.indices { subjects[position].expect(values[position], of: last, &entry) }
      }
      records += 1
    }
  }

  private mutating func checkOrder(of key: [UInt8], after last: [UInt8]?) {
    guard descriptor.identifierEncoding.isByteOrdered, let last, !last.precedes(key) else { return }
    wrong(descriptor.storedKey(key), "its identifier does not come after the one before it", nil)
  }

  /// Returns the encoded values that a record should have for each subject, or nil if it is in no index.
  private mutating func values(
    of identifier: [UInt8], _ cursor: EngineRecordCursor, _ selection: DocumentSelection
  ) -> [[[UInt8]]]? {
    guard let value = try? descriptor.identifierEncoding.decode(identifier) else {
      let key = descriptor.storedKey(identifier)
      wrong(key, "its identifier cannot be read as \(descriptor.identifierType)", nil)
      return nil
    }
    let key = StoredKey(bytes: identifier, value: value)
    let document: Document
    let isOlder: Bool
    do {
      guard let content = try cursor.rawRecord() else {
        wrong(key, "it is listed and cannot be found", "rebuild the store by salvage")
        return nil
      }
      document = try content.document(at: selection)
      isOlder = content.version != descriptor.version
    } catch {
      wrong(key, "it cannot be read: \(error)", "restore the record from the history")
      return nil
    }
    if leftOut.contains(key) { return nil }
    var given: [String: [[UInt8]]]?
    if let format {
      do {
        given = try cursor.record().map { record throws(ModelError) in try format.keys(of: record.stored).values }
      } catch {
        wrong(key, "\(error)", "mend the record")
      }
    }
    return subjects.indices.map { subjects[$0].values(of: document, given, isOlder: isOlder, expectedOf: key) }
  }

  private mutating func wrong(_ record: StoredKey, _ text: String, _ advice: String?) {
    faults += 1
    guard faults <= Self.findingLimit else { return }
    findings.append(Finding(severity: .wrong, datastore: descriptor.key, record: record, text: text, advice: advice))
  }
}
