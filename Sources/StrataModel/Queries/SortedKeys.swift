import StrataEngine

/// A record's place in a sort.
package struct SortedKey: Comparable, Sendable {
  var key: [UInt8]
  var identifier: [UInt8]

  package init(key: [UInt8], identifier: [UInt8]) {
    self.key = key
    self.identifier = identifier
  }

  package init(_ position: QueryPosition) { self.init(key: position.sortKey, identifier: position.identifier) }

  package static func < (left: Self, right: Self) -> Bool {
    if left.key != right.key { return left.key.precedes(right.key) }
    return left.identifier.precedes(right.identifier)
  }
}

/// Decides between equal sort keys by the order of the records.
///
/// That is the order of the identifiers' bytes, or, if only the app can order identifiers, the order of the records' ranks.
package struct SortTie {
  private let records: any QueryEntries
  private let isBytes: Bool

  package init(_ records: any QueryEntries) {
    self.records = records
    isBytes = records.hasBytesAsOrder
  }

  /// Returns bytes that have the order of the records.
  ///
  /// - Parameter rank: the rank of the record, if it is known.
  package func bytes(of identifier: StoredKey, at rank: Int? = nil) throws(ModelError) -> [UInt8] {
    if isBytes { return identifier.bytes }
    let place = if let rank { rank } else { try records.place(of: identifier) ?? .max }
    return Self.bytes(of: place) + identifier.bytes
  }

  /// Returns the identifier for such bytes.
  package func identifier(of bytes: [UInt8]) -> [UInt8] {
    isBytes ? bytes : Array(bytes.dropFirst(MemoryLayout<UInt64>.size))
  }

  /// Returns a key before all keys that come after a position, and before no other, whether the record exists or not.
  package func key(behind position: QueryPosition) throws(ModelError) -> SortedKey {
    if isBytes { return SortedKey(position) }
    let rank = try records.rank(after: StoredKey(bytes: position.identifier, value: .null))
    return SortedKey(key: position.sortKey, identifier: Self.bytes(of: rank))
  }

  private static func bytes(of rank: Int) -> [UInt8] { withUnsafeBytes(of: UInt64(rank).bigEndian) { Array($0) } }
}

/// Sorts keys, each with an identifier: the first ones up to a limit, or all. The keys are as `KeyEncoder` makes them:
/// if one is the beginning of another, FF follows there, which begins no identifier.
///
/// With a limit it holds at most about twice that number of keys. Keys that exceed the memory are sorted and written to a file without a
/// name as a run. In the end the runs are merged, a piece of each in memory.
package struct SortedKeys {
  /// Bytes held in memory, each key counted with 42 more: some 300,000 keys of numbers.
  package static let memory = 24 << 20

  private let bound: Int
  private let memory: Int
  private let after: SortedKey?
  private var run = EntryRun()
  private var worst: SortedKey?
  private var spilled: SpilledRuns?

  package init(limit: Int = .max, offset: Int = 0, after: SortedKey? = nil, memory: Int = memory) {
    bound = limit.addingClamped(offset)
    self.after = after
    self.memory = memory
  }

  /// The number of runs written to the file.
  package var runCount: Int { spilled?.places.count ?? 0 }

  /// Whether a key may be among the first ones; otherwise it need not be added.
  package func accepts(_ key: [UInt8]) -> Bool { worst.map { !$0.key.precedes(key) } ?? true }

  package mutating func add(_ item: SortedKey) throws(ModelError) {
    if let after, !(after < item) { return }
    if let worst, !(item < worst) { return }
    run.append(value: item.key, identifier: item.identifier, reference: .none)
    if run.count / 2 > max(bound, 64) { cut() }
    guard run.size > memory else { return }
    if run.count > bound { cut() }
    if run.size > memory / 2 { try spill() }
  }

  /// Returns a walk over the identifiers, in the order of their keys.
  package mutating func walk() throws(ModelError) -> SortedKeyWalk {
    run.sort()
    if spilled != nil, run.count > 0 { try spill() }
    guard let spilled else { return SortedKeyWalk(run, limit: bound) }
    return try SortedKeyWalk(merging: spilled, limit: bound)
  }

  private mutating func cut() {
    run.sort()
    run.keep(first: bound)
    worst = run.withEntry(at: run.count - 1) { EntryKey.split($0.key) }
      .map { SortedKey(key: $0.value, identifier: $0.identifier) }
  }

  private mutating func spill() throws(ModelError) {
    try onStorage {
      if spilled == nil { spilled = SpilledRuns(try ScratchFile.temporary()) }
      try spilled?.write(&run)
    }
  }
}

/// Walks the sorted identifiers.
package struct SortedKeyWalk {
  private final class Merge {
    var runs: RunMerge

    init(_ runs: consuming RunMerge) { self.runs = runs }
  }

  private var held = EntryRun()
  private var merge: Merge?
  private var position = 0
  private let end: Int

  fileprivate init(_ held: EntryRun, limit: Int) {
    self.held = held
    end = min(held.count, limit)
  }

  fileprivate init(merging runs: SpilledRuns, limit: Int) throws(ModelError) {
    merge = try onStorage { Merge(try RunMerge(runs)) }
    end = limit
  }

  /// Returns the identifier of the next key, or nil at the end.
  package mutating func next() throws(ModelError) -> [UInt8]? {
    guard position < end else { return nil }
    defer { position += 1 }
    guard let merge else { return held.withEntry(at: position) { EntryKey.identifier($0.key) } }
    let entry = try onStorage { try merge.runs.next() }
    return entry.flatMap { EntryKey.identifier($0.key) }
  }
}
