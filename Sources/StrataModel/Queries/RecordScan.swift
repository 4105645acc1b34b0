import Dispatch
import StrataEngine
import StrataExpressions
import StrataFoundation
import StrataLocks

// Walks over records in their stored order, which read no more of them than a query needs.

extension RecordQuery {
  func walk(_ datastore: any ReadableDatastore, at ranks: Range<Int>) throws(ModelError) -> any RecordWalk {
    if let filter, ranks.count >= ParallelWalk.least { return ParallelWalk(datastore, ranks, filter) }
    return SerialWalk(try datastore.records(at: ranks), at: ranks.lowerBound, filter)
  }

  /// Finds the rows of a table that meet the filter, and reads each of their records: rows are the entries of an index, or the records
  /// themselves. The sort, and the parts that indexes could serve, make no difference.
  ///
  /// - Parameters:
  ///   - index: The index whose entries are the rows; nil for the records in their stored order.
  ///   - ranks: The ranks of the rows.
  ///   - read: Called with the number of further rows read; throws to end the work.
  ///   - keep: Called with the ranks of the matching rows, ascending.
  package func forEachRow(
    of index: (any ReadableIndex)?, at ranks: Range<Int>, in datastore: any ReadableDatastore,
    read: (Int) throws -> Void, _ keep: (Int) throws -> Void
  ) throws {
    let query = named(in: datastore)
    guard let index else {
      let walk = try query.walk(datastore, at: ranks)
      while try walk.advance(read) { try keep(walk.rank) }
      return
    }
    var test = query.filter.map { RecordTest($0) }
    for start in stride(from: ranks.lowerBound, to: ranks.upperBound, by: 128) {
      let end = min(ranks.upperBound, start + 128)
      for (offset, entry) in try index.entries(at: start..<end).enumerated() {
        if let record = try datastore.record(entry.identifier), record.meets(&test) { try keep(start + offset) }
      }
      try read(end - start)
    }
  }
}

/// The processors that a scan uses.
private let scanningProcessors = min(max(ProcessInfo.processInfo.activeProcessorCount, 1), 16)

extension Range<Int> {
  /// Works on parts of the range, one on each processor, and returns the result of each part, in order.
  package func concurrently<Found: Sendable>(
    size: Int, _ work: @Sendable (Range<Int>) throws(ModelError) -> Found
  ) throws(ModelError) -> [Found] {
    let parts = stride(from: lowerBound, to: upperBound, by: size).map { $0..<Swift.min(upperBound, $0 + size) }
    let found = Mutex([Result<Found, ModelError>?](repeating: nil, count: parts.count))
    let hasNoPatience = ReadPatience.isNone
    DispatchQueue.concurrentPerform(iterations: parts.count) { place in
      let part = ReadPatience.$isNone.withValue(hasNoPatience) {
        Result { () throws(ModelError) in try work(parts[place]) }
      }
      found.withLock { $0[place] = part }
    }
    var results: [Found] = []
    for part in found.withLock({ $0 }) { if let part { results.append(try part.get()) } }
    return results
  }

  /// Works on all processors, on some thousand of the range at a time, and passes on the result of each part, in order. The first parts are
  /// small, and parts stay small if their results need much memory.
  ///
  /// - Parameters:
  ///   - size: The number of bytes of a result.
  ///   - body: Called with the number of the range that is done; throws to end the work.
  func forEachPart<Found: Sendable>(
    _ work: @Sendable (Range<Int>) throws(ModelError) -> Found, size: (Found) -> Int = { _ in 0 },
    body: (Found, _ done: Int) throws -> Void
  ) throws {
    var (start, part) = (lowerBound, 16)
    while start < upperBound {
      // Four parts for each processor, so that none waits long for another.
      let end = Swift.min(upperBound, start + 4 * part * scanningProcessors)
      var bytes = 0
      for found in try (start..<end).concurrently(size: part, work) {
        bytes += size(found)
        try body(found, end - lowerBound)
      }
      let fitting = (end - start) * (8_000_000 / scanningProcessors) / Swift.max(1, bytes)
      part = Swift.max(1, Swift.min(2_048, 4 * part, fitting))
      start = end
    }
  }
}

/// A walk over the records that meet a filter, in their stored order.
protocol RecordWalk: AnyObject {
  /// Goes to the next matching record, and reports how many records were read for that. Returns false after the last one.
  func advance(_ read: (Int) throws -> Void) throws -> Bool
  var rank: Int { get }
  func identifier() throws -> StoredKey
  func rawRecord() throws -> RawRecord?
}

extension Record {
  /// Whether the record meets a filter, if there is one. A record that cannot be read as a document meets no condition.
  func meets(_ test: inout RecordTest?) -> Bool {
    if case nil = test { return true }
    return (try? test?.keeps(self)) ?? false
  }
}

extension RecordCursor {
  /// Whether the record meets a filter, if there is one. A record that cannot be read as a document meets no condition.
  fileprivate func isKept(by test: inout RecordTest?) throws(ModelError) -> Bool {
    if case nil = test { return true }
    guard let record = try rawRecord() else { return false }
    return (try? test?.keeps(record)) ?? false
  }
}

/// The records of a cursor that meet a test.
struct KeptRecords: RecordCursor {
  private(set) var records: any RecordCursor
  private(set) var test: RecordTest?

  mutating func next() throws(ModelError) -> Bool {
    while try records.next() { if try records.isKept(by: &test) { return true } }
    return false
  }

  var identifier: StoredKey { get throws(ModelError) { try records.identifier } }
  func rawRecord() throws(ModelError) -> RawRecord? { try records.rawRecord() }
}

/// Records that a closure finds, one after the other.
struct FoundRecords: RecordCursor {
  private let find: () throws(ModelError) -> Record?
  private var current: Record?

  init(_ find: @escaping () throws(ModelError) -> Record?) { self.find = find }

  mutating func next() throws(ModelError) -> Bool {
    current = try find()
    return current != nil
  }

  var identifier: StoredKey {
    get throws(ModelError) {
      guard let current else { throw .unreadable(what: "a record", where: "the cursor stands at none") }
      return current.identifier
    }
  }

  func record() throws(ModelError) -> Record? { current }

  func rawRecord() throws(ModelError) -> RawRecord? {
    current.map { RawRecord(version: $0.version, bytes: Bytes($0.content), coding: $0.coding) }
  }
}

private final class SerialWalk: RecordWalk {
  private var records: any RecordCursor
  private var test: RecordTest?
  private(set) var rank: Int

  init(_ records: any RecordCursor, at start: Int, _ filter: Filter?) {
    self.records = records
    test = filter.map { RecordTest($0) }
    rank = start - 1
  }

  func advance(_ read: (Int) throws -> Void) throws -> Bool {
    while try records.next() {
      rank += 1
      try read(1)
      if try records.isKept(by: &test) { return true }
    }
    return false
  }

  func identifier() throws -> StoredKey { try records.identifier }
  func rawRecord() throws -> RawRecord? { try records.rawRecord() }
}

/// A walk over many records: each processor searches a part of the next ones for matching records.
///
/// The parts begin small, so that a caller that needs only the first few records need not wait for more, and grow to some thousand records.
private final class ParallelWalk: RecordWalk {
  /// With fewer records than this it is not worth the effort.
  static let least = 8192
  private static let largestPart = 8192

  private let datastore: any ReadableDatastore
  private let test: RecordTest
  private var unread: Range<Int>
  private var part = 256
  /// The ranks of the matching records in the newest parts, and the position of the first that the walk has not reached.
  private var kept: [Int] = []
  private var next = 0
  private(set) var rank = -1
  /// A cursor at a rank at or before that of the record, once the record was read.
  private var cursor: (records: any RecordCursor, rank: Int)?

  init(_ datastore: any ReadableDatastore, _ ranks: Range<Int>, _ filter: Filter) {
    self.datastore = datastore
    test = RecordTest(filter)
    unread = ranks
  }

  func advance(_ read: (Int) throws -> Void) throws -> Bool {
    while next == kept.count {
      guard !unread.isEmpty else { return false }
      try read(try readParts())
    }
    rank = kept[next]
    next += 1
    return true
  }

  /// Searches a part on each processor. Returns the number of records read.
  private func readParts() throws(ModelError) -> Int {
    let ranks = unread.lowerBound..<min(unread.upperBound, unread.lowerBound + part * scanningProcessors)
    kept.removeAll(keepingCapacity: true)
    next = 0
    let found = try ranks.concurrently(size: part) { [datastore, test] ranks throws(ModelError) in
      var records = try datastore.records(at: ranks)
      var (rank, kept, test) = (ranks.lowerBound, [Int](), Optional(test))
      while try records.next() {
        if try records.isKept(by: &test) { kept.append(rank) }
        rank += 1
      }
      return kept
    }
    for ranks in found { kept += ranks }
    unread = ranks.upperBound..<unread.upperBound
    part = min(part * 2, Self.largestPart)
    return ranks.count
  }

  /// Moves the cursor to the record: by a few steps, or by its rank.
  private func place() throws(ModelError) -> any RecordCursor {
    if let (records, at) = cursor, at == rank { return records }
    var records: any RecordCursor
    var at = rank - 1
    if let (known, place) = cursor.take(), place < rank, rank - place < 16 {
      (records, at) = (known, place)
    } else {
      records = try datastore.records(at: rank..<unread.upperBound)
    }
    while at < rank, try records.next() { at += 1 }
    cursor = (records, rank)
    return records
  }

  func identifier() throws -> StoredKey { try place().identifier }
  func rawRecord() throws -> RawRecord? { try place().rawRecord() }
}
