import StrataEngine
import StrataFoundation
import StrataLocks
import StrataModel

extension TypedQueryRun {
  /// Takes in the rows of all instances that meet the condition, in whatever order takes least: of many on all processors.
  ///
  /// - Throws: ``DecodedOtherwise`` if a record's text told otherwise than its instance: then another call tells.
  mutating func folded<Kind: _FigureKind>(
    _ rows: Rows<Instance, Kind.Value>, into initial: Kind
  ) async throws -> Kind {
    scope?.work?.libraryWork.add(1, ordering: .relaxed)
    defer { scope?.work?.libraryWork.subtract(1, ordering: .relaxed) }
    var result = initial
    if plan.way == .scan, let parts = RecordParts(planned) {
      let known = core.stored.withLock { $0.off }
      return try await withThrowingTaskGroup(of: Kind.self) { group in
        for _ in 0..<RecordParts.workers {
          group.addTask { [core, planned, predicates, unreadable] in
            var run = TypedQueryRun(
              core, planned, predicates: predicates, expectsMany: true, unreadable: unreadable)
            return try await run.folded(rows, of: parts, into: initial)
          }
        }
        for try await part in group { result.add(part) }
        // One worker has found that texts differ; the others may have made rows of such texts.
        if core.stored.withLock({ $0.off }) != known { throw DecodedOtherwise(datastore: core.key) }
        return result
      }
    }
    var reading = RowReading(rows)
    while let candidate = try nextCandidate() {
      try Task.checkCancellation()
      let (key, record) = (candidate.key.bytes, try record(of: candidate))
      do {
        if isTimeToYield() { await slices.yieldTask() }
        guard let match = try await match(record, told: told(by: record), key: key) else { continue }
        result.add(try await row(of: match, key: key, &reading), times: 1)
      } catch let error as UnreadableInstanceError {
        try leaveOut(error)
      }
    }
    return result
  }

  /// The part of a scan that one processor does.
  private mutating func folded<Kind: _FigureKind>(
    _ rows: Rows<Instance, Kind.Value>, of parts: RecordParts, into initial: Kind
  ) async throws -> Kind {
    var (reading, result, count) = (RowReading(rows, expectsMany: true), initial, 0)
    while let part = parts.next() {
      try Task.checkCancellation()
      var cursor = parts.records.cursor()
      for rank in part {
        let record = try throwingStoreErrors { () -> Bytes in
          if rank == part.lowerBound { try cursor.seek(rank: UInt64(rank)) } else { try cursor.next() }
          guard let reference = cursor.currentPayload?.record else { return Bytes() }
          return try parts.records.value(of: reference)
        }
        if isTimeToYield() { await slices.yieldTask() }
        let told = told(by: record)
        if told == true, reading.isConstant {
          count += 1
          continue
        }
        func key() -> [UInt8] { cursor.current?.key.array ?? [] }
        do {
          guard let match = try await match(record, told: told, key: key()) else { continue }
          result.add(try await row(of: match, key: key(), &reading), times: 1)
        } catch let error as UnreadableInstanceError {
          try leaveOut(error)
        }
      }
    }
    if count > 0 { result.add(try reading.constant(), times: count) }
    return result
  }

  /// Takes in the rows of all instances that meet the condition along an index that has them. Reads no record.
  ///
  /// - Returns: nil if the index has not all of them.
  func walked<Kind: _FigureKind>(
    _ index: CoveringIndex<Instance, Kind.Value>, into initial: Kind
  ) async throws -> Kind? {
    var (result, isWhole) = (initial, true)
    for range in index.ranges {
      // In parts of 1,024 values, so that others run in between; a server would be asked for each.
      let length = index.entries.tree.isServed ? Int.max : 1_024
      var (start, read) = (range.lowerBound, length)
      while isWhole, start < range.upperBound, read == length {
        try Task.checkCancellation()
        if slices.isUsedUp() { await slices.yieldTask() }
        read = 0
        try throwingStoreErrors {
          try index.entries.forEachValue(in: start..<range.upperBound) { value, count in
            (start, read) = (start + count, read + 1)
            if let row = index.row(of: value) { result.add(row, times: count) } else { isWhole = false }
            return isWhole && read < length
          }
        }
      }
    }
    return isWhole ? result : nil
  }
}

/// The records of a scan in parts, which workers take one after the other.
private final class RecordParts: Sendable {
  static let workers = min(ProcessInfo.processInfo.activeProcessorCount, 8)
  private static let size = 4_096

  let records: Tree
  private let count: Int
  private let taken = Atomic(0)

  /// Nil if it is not worth the while.
  init?(_ planned: PlannedQuery) {
    guard planned.plan.rows > Self.size, !planned.records.isServed else { return nil }
    (records, count) = (planned.records, planned.plan.rows)
  }

  func next() -> Range<Int>? {
    let start = taken.add(Self.size, ordering: .relaxed).oldValue
    return start < count ? start..<min(count, start + Self.size) : nil
  }
}
