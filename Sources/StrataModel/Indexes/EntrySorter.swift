package import StrataEngine

/// Sorts the entries that an index is to have, however many: by the bytes of their keys, which in a tree of byte order lets neighbours
/// go to the same nodes.
///
/// What it holds beyond its share of memory it writes, sorted, into a file without a name beside the store's data, and merges those
/// runs when it is asked for all. A full disk is the error of whatever call met it.
///
///     var sorter = EntrySorter(sharing: indexes.count)
///     try sorter.add(value: value, identifier: identifier, reference, in: transaction)
///     try sorter.forEach { entry in … }
package struct EntrySorter: Sendable {
  /// Entries held in memory.
  private var run = EntryRun()
  private var spilled: SpilledRuns?
  private let limit: Int
  /// Entries added.
  package private(set) var count = 0

  /// Bytes that the sorters of one work hold together, and twice as much while an array of theirs grows.
  private static let memory = 16 << 20

  /// - Parameter sharing: how many sorters there are beside each other, which share the memory.
  package init(sharing sorters: Int = 1, memory: Int? = nil) {
    limit = max(1, (memory ?? Self.memory) / max(1, sorters))
  }

  /// Adds an entry, or takes an earlier one of the same key out.
  package mutating func add(
    value: [UInt8], identifier: [UInt8], _ reference: RecordReference, isRemoval: Bool = false,
    in transaction: any WriteTransaction
  ) throws {
    // The tree would refuse it, and a run has no room for its length.
    let length = value.count + identifier.count + 2
    guard length <= Limits.key else { throw StorageError.keyTooLong(count: length, limit: Limits.key) }
    run.append(value: value, identifier: identifier, reference: reference, isRemoval: isRemoval)
    count += 1
    if run.size >= limit { try spill(transaction) }
  }

  /// Adds all entries of a run; `moved` tells where records lie now that have been written since, by the offset at which they lay.
  package mutating func add(
    _ entries: EntryRun, moved: [UInt64: RecordReference] = [:], in transaction: any WriteTransaction
  ) throws {
    run.append(entries, moved: moved)
    count += entries.count
    if run.size >= limit { try spill(transaction) }
  }

  /// Sorts what is in memory. The rest is sorted already.
  package mutating func sort() { run.sort() }

  /// Calls `body` with each entry in the order of the keys' bytes, once for each key: what was added last is what counts.
  package mutating func forEach(_ body: (SortedEntry) throws -> Void) throws {
    try forEachPart { part in
      while let entry = part.next() { try body(entry) }
    }
  }

  /// The same, with walks over many entries at a time.
  mutating func forEachPart(_ body: (inout EntryRun.Walk) throws -> Void) throws {
    run.sort()
    if run.count > 0 { try spilled?.write(&run) }
    guard let spilled else { return try run.withWalk(body) }
    try workingAhead(by: 2) { queue in
      Self.merge(spilled, into: queue)
    } use: { queue in
      while let part = queue.next() { try part.get().withWalk(body) }
    }
  }

  /// Merges runs of a file, on a thread beside the one that writes what comes of them.
  private static func merge(_ runs: SpilledRuns, into queue: BoundedQueue<Result<EntryRun, StorageError>>) {
    do throws(StorageError) {
      var merge = try RunMerge(runs)
      var part = EntryRun()
      while let entry = try merge.next() {
        if !entry.isRemoval { part.append(entry.key, entry.reference) }
        guard part.size >= partSize else { continue }
        if !queue.put(.success(part)) { return }
        part = EntryRun()
      }
      _ = queue.put(.success(part))
    } catch {
      _ = queue.put(.failure(error))
    }
  }

  /// Bytes of merged entries that are handed over at once.
  private static let partSize = 1 << 18

  private mutating func spill(_ transaction: any WriteTransaction) throws {
    if spilled == nil { spilled = SpilledRuns(try transaction.scratchFile()) }
    try spilled?.write(&run)
  }
}
