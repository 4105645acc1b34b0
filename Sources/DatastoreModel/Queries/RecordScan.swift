import Dispatch
import Documents
import Expressions
#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import Locks
import StorageEngine

// Walks along records as they lie, of which no more is read than a query looks at.

extension RecordQuery {
  /// A walk over the records of a range of ranks that the filter keeps.
  func scan(_ datastore: any ReadableDatastore, at ranks: Range<Int>) throws(ModelError) -> QueryScan<FoundRecord> {
    let walk: any RecordWalk =
      if let filter, ranks.count >= ParallelWalk.least {
        ParallelWalk(datastore, ranks, filter)
      } else {
        SerialWalk(try datastore.records(at: ranks), at: ranks.lowerBound, filter)
      }
    let selection = DocumentSelection(sort.map(\.path))
    return QueryScan(
      advance: { try walk.advance($0) }, rank: { walk.rank },
      sortKey: { sortKey(of: (try? walk.rawRecord()?.document(at: selection)) ?? .null) },
      identifier: { try walk.identifier() }, element: { try walk.record().map { FoundRecord(record: $0) } })
  }
}

extension RecordQuery {
  /// Tells which rows of a table the filter keeps, reading each record of it: rows are the entries of an index, or the records
  /// themselves. What is sorted by and what indexes could answer makes no difference.
  ///
  /// - Parameters:
  ///   - index: Whose entries are the rows; nil for the records as they lie.
  ///   - ranks: Which rows.
  ///   - read: Hears how many more rows were looked at; throws to end the work.
  ///   - keep: Hears the ranks of the rows that are kept, ascending.
  package func forEachRow(
    of index: (any ReadableIndex)?, at ranks: Range<Int>, in datastore: any ReadableDatastore,
    read: (Int) throws -> Void, _ keep: (Int) throws -> Void
  ) throws {
    let query = named(in: datastore)
    guard let index else {
      let scan = try query.scan(datastore, at: ranks)
      while try scan.advance(read) { try keep(scan.rank()) }
      return
    }
    for start in stride(from: ranks.lowerBound, to: ranks.upperBound, by: 128) {
      let end = min(ranks.upperBound, start + 128)
      for (offset, entry) in try index.entries(at: start..<end).enumerated() {
        guard let found = try datastore.record(entry.identifier).map({ FoundRecord(record: $0) }) else { continue }
        if query.filter.map({ found.matches($0) }) ?? true { try keep(start + offset) }
      }
      try read(end - start)
    }
  }
}

/// The processors that a scan uses.
private let scanningProcessors = min(max(ProcessInfo.processInfo.activeProcessorCount, 1), 16)

extension ReadableDatastore {
  /// Reads the records of some ranks in parts, one on each processor, and returns what was made of each part, in order.
  fileprivate func parts<Found: Sendable>(
    of ranks: Range<Int>, size: Int,
    _ read: @Sendable (inout any RecordCursor, Range<Int>) throws(ModelError) -> Found
  ) throws(ModelError) -> [Found] {
    let parts = stride(from: ranks.lowerBound, to: ranks.upperBound, by: size).map {
      $0..<min(ranks.upperBound, $0 + size)
    }
    let found = Mutex([Result<Found, ModelError>?](repeating: nil, count: parts.count))
    DispatchQueue.concurrentPerform(iterations: parts.count) { place in
      let part = Result { () throws(ModelError) in
        var records = try self.records(at: parts[place])
        return try read(&records, parts[place])
      }
      found.withLock { $0[place] = part }
    }
    var results: [Found] = []
    for part in found.withLock({ $0 }) { if let part { results.append(try part.get()) } }
    return results
  }

  /// Reads the records of some ranks on all processors, and passes on what was made of each part, in order.
  ///
  /// - Parameter body: called with the records read so far; throws to end the work.
  func forEachPart<Found: Sendable>(
    of ranks: Range<Int>,
    _ read: @Sendable (inout any RecordCursor, Range<Int>) throws(ModelError) -> Found,
    body: (Found, _ read: Int) throws -> Void
  ) throws {
    let size = 8_192
    for start in stride(from: ranks.lowerBound, to: ranks.upperBound, by: size * scanningProcessors) {
      let end = min(ranks.upperBound, start + size * scanningProcessors)
      for found in try parts(of: start..<end, size: size, read) { try body(found, end - ranks.lowerBound) }
    }
  }
}

/// A walk over records that a filter keeps.
private protocol RecordWalk: AnyObject {
  /// Goes to the next record that is kept, and tells how many were read for that; false behind the last one.
  func advance(_ read: (Int) throws -> Void) throws -> Bool
  /// Where the record lies.
  var rank: Int { get }
  func identifier() throws -> StoredKey
  func rawRecord() throws -> RawRecord?
}

extension RecordWalk {
  fileprivate func record() throws -> Record? {
    guard let content = try rawRecord() else { return nil }
    return Record(
      identifier: try identifier(), version: content.version, content: content.bytes.array, coding: content.coding)
  }
}

extension RecordCursor {
  /// Whether a filter keeps the record. What cannot be read as a document meets no condition.
  fileprivate func isKept(by filter: Filter) throws(ModelError) -> Bool {
    guard let record = try rawRecord() else { return false }
    return (try? record.meets(filter)) ?? false
  }
}

/// One record after the other.
private final class SerialWalk: RecordWalk {
  private var records: any RecordCursor
  private let filter: Filter?
  private(set) var rank: Int

  init(_ records: any RecordCursor, at start: Int, _ filter: Filter?) {
    self.records = records
    self.filter = filter
    rank = start - 1
  }

  func advance(_ read: (Int) throws -> Void) throws -> Bool {
    while try records.next() {
      rank += 1
      try read(1)
      guard let filter else { return true }
      if try records.isKept(by: filter) { return true }
    }
    return false
  }

  func identifier() throws -> StoredKey { try records.identifier }
  func rawRecord() throws -> RawRecord? { try records.rawRecord() }
}

/// Many records: each processor looks through a part of the next ones for those that are kept.
///
/// The parts begin small, so that who wants only the first few does not wait for more, and grow to some thousand records.
private final class ParallelWalk: RecordWalk {
  /// With fewer records it is not worth the while.
  static let least = 8192
  private static let largestPart = 8192

  private let datastore: any ReadableDatastore
  private let filter: Filter
  private var unread: Range<Int>
  private var part = 256
  /// The ranks of the records that are kept of the newest parts, and the first that was not gone to yet.
  private var kept: [Int] = []
  private var next = 0
  private(set) var rank = -1
  /// Stands at a rank at or before that of the record, once that was asked for.
  private var cursor: (records: any RecordCursor, rank: Int)?

  init(_ datastore: any ReadableDatastore, _ ranks: Range<Int>, _ filter: Filter) {
    self.datastore = datastore
    self.filter = filter
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

  /// Looks through a part for each processor; how many records that were.
  private func readParts() throws(ModelError) -> Int {
    let ranks = unread.lowerBound..<min(unread.upperBound, unread.lowerBound + part * scanningProcessors)
    kept.removeAll(keepingCapacity: true)
    next = 0
    let filter = filter
    let found = try datastore.parts(of: ranks, size: part) { records, ranks throws(ModelError) in
      var (rank, kept) = (ranks.lowerBound, [Int]())
      while try records.next() {
        if try records.isKept(by: filter) { kept.append(rank) }
        rank += 1
      }
      return kept
    }
    for ranks in found { kept += ranks }
    unread = ranks.upperBound..<unread.upperBound
    part = min(part * 2, Self.largestPart)
    return ranks.count
  }

  /// Goes to the record: a few steps on, or by its rank.
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
