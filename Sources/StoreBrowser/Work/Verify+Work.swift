import StrataDocuments
package import StrataModel

/// Compares an index with the records.
package struct VerifyRequest: Question, Hashable {
  package var datastore: String
  /// Nil verifies every index of the datastore, and that every record can be read.
  package var index: String?
  package var commit: CommitNumber

  package func reply(in context: WorkContext) throws(ModelError) -> VerifyAnswer {
    let datastore = try context.datastore(datastore, at: commit)
    var answer = VerifyAnswer(request: self)
    let indexes = datastore.indexes.filter { index == nil || $0.descriptor.name == index }
    answer.staleIndexes = indexes.filter(\.descriptor.isStale).map(\.descriptor.name)
    var total = try datastore.count
    for index in indexes { total += try index.count }
    for index in indexes { try context.verifyEntries(of: index, in: datastore, total: total, answer: &answer) }
    try context.verifyRecords(of: datastore, indexes: indexes, total: total, answer: &answer)
    return answer
  }
}

package struct VerifyAnswer: WordedReply, Equatable {
  package var request: VerifyRequest
  package var entriesRead = 0
  package var recordsRead = 0
  /// Entries whose record is missing, or has another value.
  package var orphans: [IndexEntry] = []
  /// Records with a value that has no entry.
  package var missing: [StoredKey] = []
  package var unreadable: [StoredKey] = []
  /// Whether values could be compared: only if the index's document path is known.
  package var comparedValues = true
  package var orphanCount = 0
  package var missingCount = 0
  package var unreadableCount = 0
  /// Indexes that the app will rebuild, and how many of their entries disagree with the records, which is not an error.
  package var staleIndexes: [String] = []
  package var staleCount = 0

  var sentence: String {
    let read = "\(NumberFormat.count(entriesRead)) entries, \(NumberFormat.count(recordsRead)) records"
    return isClean
      ? "verify ✓ \(read)" + (staleness.map { "; \($0)" } ?? ": 0 orphans, 0 missing")
      : "verify ✗ \(read): \(orphanCount) orphans, \(missingCount) missing, \(unreadableCount) unreadable"
  }

  package var isClean: Bool { orphanCount == 0 && missingCount == 0 && unreadableCount == 0 }

  /// The number of findings kept for showing; all are counted.
  private static let findingLimit = 100

  /// A sentence about stale indexes, or nil if there are none.
  var staleness: String? {
    guard !staleIndexes.isEmpty else { return nil }
    let names = "stale: " + staleIndexes.joined(separator: ", ")
    switch staleCount {
    case 0: return names
    case 1: return names + " (1 entry disagrees)"
    default: return names + " (\(NumberFormat.count(staleCount)) entries disagree)"
    }
  }

  fileprivate mutating func add(orphan entry: IndexEntry, of index: IndexDescriptor) {
    if index.isStale { return staleCount += 1 }
    orphanCount += 1
    if orphans.count < Self.findingLimit { orphans.append(entry) }
  }

  fileprivate mutating func add(missing identifier: StoredKey, in index: IndexDescriptor) {
    if index.isStale { return staleCount += 1 }
    missingCount += 1
    if missing.count < Self.findingLimit { missing.append(identifier) }
  }

  fileprivate mutating func add(unreadable identifier: StoredKey) {
    unreadableCount += 1
    if unreadable.count < Self.findingLimit { unreadable.append(identifier) }
  }
}

extension WorkContext {
  /// Checks that every entry has its record, with the entry's value.
  fileprivate func verifyEntries(
    of index: any ReadableIndex, in datastore: any ReadableDatastore, total: Int, answer: inout VerifyAnswer
  ) throws(ModelError) {
    let path = index.descriptor.documentPath
    if path == nil { answer.comparedValues = false }
    let count = try index.count
    for start in stride(from: 0, to: count, by: 128) {
      try goOn()
      for entry in try index.entries(at: start..<min(count, start + 128)) {
        answer.entriesRead += 1
        if try isRight(entry, path: path, index: index, in: datastore) { continue }
        answer.add(orphan: entry, of: index.descriptor)
      }
      report(Progress(done: answer.entriesRead + answer.recordsRead, total: total))
    }
  }

  fileprivate func isRight(
    _ entry: IndexEntry, path: DocumentPath?, index: any ReadableIndex, in datastore: any ReadableDatastore
  ) throws(ModelError) -> Bool {
    guard let record = try datastore.record(entry.identifier) else { return false }
    guard let path, let document = try? record.document() else { return true }
    let encoding = index.descriptor.encoding
    let due = try? encoding.encode(entry.value)
    return Self.values(of: document[path], kind: index.descriptor.kind).contains { (try? encoding.encode($0)) == due }
  }

  /// Checks that every record can be read, and has an entry for each of its values.
  fileprivate func verifyRecords(
    of datastore: any ReadableDatastore, indexes: [any ReadableIndex], total: Int, answer: inout VerifyAnswer
  ) throws(ModelError) {
    let count = try datastore.count
    for start in stride(from: 0, to: count, by: 128) {
      try goOn()
      for entry in try datastore.primary.entries(at: start..<min(count, start + 128)) {
        answer.recordsRead += 1
        guard let record = try? datastore.record(entry.identifier), let document = try? record.document() else {
          answer.add(unreadable: entry.identifier)
          continue
        }
        for index in indexes {
          guard let path = index.descriptor.documentPath else { continue }
          for value in Self.values(of: document[path], kind: index.descriptor.kind) {
            guard (try? index.rank(of: entry.identifier, value: value)) == .some(nil) else { continue }
            answer.add(missing: entry.identifier, in: index.descriptor)
          }
        }
      }
      report(Progress(done: answer.entriesRead + answer.recordsRead, total: total))
    }
  }

  /// Returns the index values of a document's value: the elements of a list in an index of many values.
  static func values(of document: Document?, kind: IndexKind) -> [KeyValue] {
    guard let document else { return kind.hasManyValues ? [] : [.null] }
    if kind.hasManyValues, case .array(let elements) = document {
      var known: Set<KeyValue> = []
      return elements.map(\.keyValue).filter { known.insert($0).inserted }
    }
    return [document.keyValue]
  }
}

extension Document {
  var keyValue: KeyValue {
    switch self {
    case .null: .null
    case .bool(let flag): .bool(flag)
    case .number(let number):
      if let integer = number.integer {
        .integer(integer)
      } else if let unsigned = number.unsigned {
        .unsigned(unsigned)
      } else {
        .double(number.double)
      }
    case .string(let text): .string(text)
    case .date(let seconds): .date(seconds)
    case .data(let bytes): .data(bytes)
    case .array, .object: .document(self)
    }
  }
}

extension KeyEncoding {
  /// Whether keys are texts, so that a search may seek by a prefix.
  var isText: Bool {
    switch self {
    case .string: true
    case .optional(let inner): inner.isText
    default: false
    }
  }
}
