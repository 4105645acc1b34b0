/// How a store is opened.
package struct StoreOptions: Sendable {
  package var isReadOnly: Bool
  /// How long a writer waits for another process's lock, in seconds; more than 10⁹ counts as 10⁹.
  package var lockPatience: Double
  /// Written into each commit unless its information says otherwise.
  package var program: String
  package var author: String
  /// Whether to read through a mapping; otherwise each node and value is read by a call (for file systems whose
  /// mappings are in doubt).
  package var readsMapped: Bool
  /// The number of seconds without a commit after which collated commits are made durable, a slot records the end, and the writer's lock is
  /// released, so that another process may write. The next transaction takes it again. 10⁹ at most. If 0, a durable commit does all that
  /// before it is reported.
  package var idleSeconds: Double
  /// The same in nanoseconds; at least a millisecond.
  var idleTime: Int64 { Int64(min(max(0.001, idleSeconds), 1e9) * 1e9) }
  /// For how many nanoseconds a reader relies on the mapped words of the lock file before it looks at the files themselves again.
  var lookDistance: Int64 = 100_000_000
  /// How long a sync waits for transactions that are writing at this moment, in nanoseconds: a few dozen small commits.
  var gatheringTime: Int64 = 4_000_000
  /// The size in bytes from which a store's zeros are written ahead by a thread and not by its transactions.
  var largeStore = FileOffset(8 << 20)
  /// How many bytes a compaction writes between two syncs, from which it goes on after a crash. Commits wait for these syncs. So there are
  /// few of them, and most of their bytes were brought to the disk before.
  var compactionSyncDistance: UInt64 = 16 << 20
  /// Whether a store that is made writes nodes as patches of the nodes that they replace. Programs from before that refuse it.
  package var writesDeltas = true
  /// The number of bytes up to which the patches of a node are written instead of the whole node.
  var deltaLimit = NodeDelta.mostBytes
  /// The number of bytes that the nodes made whole from patches may take in memory, for each open file.
  package var nodeCacheSize = NodeCache.usualSize
  /// The commits to keep after idleness, and when a written store is closed, if more of it is dead than alive; all if nil.
  package var retention: Retention?
  /// Whether a compaction compresses the values of a tree of records, by its name and its attributes. If there is no answer, those that are
  /// compressed stay so, and the others stay raw.
  package var compresses: (@Sendable (TreeName, Bytes) -> Bool?)?
  /// The bytes of records from which compressing a tree is worth a dictionary.
  var leastCompressedBytes: UInt64 = 256 << 10

  package init(
    isReadOnly: Bool = false, lockPatience: Double = 2, program: String = "", author: String = "",
    readsMapped: Bool = true, idleSeconds: Double = 2, retention: Retention? = nil
  ) {
    self.isReadOnly = isReadOnly
    self.lockPatience = lockPatience
    self.program = program
    self.author = author
    self.readsMapped = readsMapped
    self.idleSeconds = idleSeconds
    self.retention = retention
  }
}

/// Which commits compaction keeps. Named commits and `head` are always kept.
package enum Retention: Sendable, Hashable {
  case all
  /// The newest commits of `head`'s ancestry, by number. Those among them that change no record, for example if one only sets a name, are
  /// kept and do not count.
  case last(Int)
  /// The commits younger than a number of nanoseconds.
  case younger(Int64)
  /// The commits that both rules keep.
  case both(last: Int, younger: Int64)
  /// The commits that either rule keeps.
  case either(last: Int, younger: Int64)

  /// The number of commits to keep, if the rule has one.
  package var count: Int? {
    switch self {
    case .all, .younger: nil
    case .last(let count), .both(let count, _), .either(let count, _): max(1, count)
    }
  }

  /// The age in nanoseconds up to which commits are kept, if the rule has one.
  package var age: Int64? {
    switch self {
    case .all, .last: nil
    case .younger(let age), .both(_, let age), .either(_, let age): age
    }
  }

  /// Whether a commit is kept, by the answers of both rules.
  package func keeps(byCount: @autoclosure () -> Bool, byAge: @autoclosure () -> Bool) -> Bool {
    switch self {
    case .all: true
    case .last: byCount()
    case .younger: byAge()
    case .both: byCount() && byAge()
    case .either: byCount() || byAge()
    }
  }
}

/// The identity of the store that a file holds.
package struct StoreIdentity: Sendable, Hashable {
  /// Random, given at creation; copies share it.
  package var high: UInt64
  package var low: UInt64
  /// Counts the compactions of a file. On a server it is the oldest commit that the last pruning has left, 0 if there was none.
  package var generation: UInt64
  /// Nanoseconds since 1970.
  package var created: Int64

  package init(high: UInt64, low: UInt64, generation: UInt64, created: Int64) {
    self.high = high
    self.low = low
    self.generation = generation
    self.created = created
  }
}

/// The findings of opening a store.
package struct OpeningReport: Sendable, Hashable {
  /// Whole commits after the known durable end that were adopted.
  package var adoptedCommits: Int = 0
  /// Bytes after the last whole commit that belong to none.
  package var cutBytes: UInt64 = 0
  /// The path under which the cut bytes were kept.
  package var keptAside: String?
  /// Damage before the known durable end; the store is open read-only.
  package var damage: StorageError?
  /// Sentences for people; empty if there was nothing special.
  package var notes: [String] = []

  package init() {}

  /// Adds a note if the newest commit is dated more than a day after this computer's clock.
  package mutating func compare(newest date: Int64, now: Int64) {
    let day: Int64 = 86_400_000_000_000
    let ahead = date.subtractingReportingOverflow(now).partialValue
    guard ahead > day else { return }
    notes.append(
      "the newest commit is dated \(ahead / day) days after this computer's clock: one of the two clocks is or was wrong; "
        + "times are looked for by the clocks of the writers, and dates stay at that one until it is reached")
  }
}

/// The holder of the writer's lock.
package struct LockHold: Sendable, Hashable, CustomStringConvertible {
  package var processIdentifier: Int32
  package var program: String
  /// Nanoseconds since 1970.
  package var since: Int64
  package var generation: UInt64
  package var durableEnd: FileOffset
  package var session: UInt64
  /// The time of the data file's last change when the writer released it (see `FileStatus`); 0 while it is held.
  var changed: Int64 = 0

  /// `NAME (pid N)`.
  package var description: String {
    processIdentifier == 0
      ? "another process" : "\(program.isEmpty ? "a program" : program) (pid \(processIdentifier))"
  }
}

/// Work done since the store was opened, for tests that count instead of measuring time.
/// Reads are counted exactly on one thread; if two threads read at the same moment, one read may not be counted.
package struct WorkCounts: Sendable, Hashable {
  package var nodeReads: UInt64 = 0
  package var frameReads: UInt64 = 0
  package var valueReads: UInt64 = 0
  package var bytesWritten: UInt64 = 0
  package var writes: UInt64 = 0
  package var syncs: UInt64 = 0
  package var commits: UInt64 = 0
  package var nodesWritten: UInt64 = 0
  package var nodeBytesWritten: UInt64 = 0
  /// How often a node was made whole from patches, instead of taken from the cache.
  package var nodesPatched: UInt64 = 0
  /// How often a caller waited for a server.
  package var roundTrips: UInt64 = 0
}

extension WorkCounts {
  /// The counts of a store on a server, which counts nothing else.
  package init(roundTrips: Int) { self.init(roundTrips: UInt64(roundTrips)) }
}
