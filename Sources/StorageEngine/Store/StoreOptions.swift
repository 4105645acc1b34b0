/// How a store is opened.
package struct StoreOptions: Sendable {
  package var isReadOnly: Bool
  /// How long a writer waits for another process's lock, in seconds; more than 10⁹ counts as so many.
  package var lockPatience: Double
  /// Written into each commit unless its information says otherwise.
  package var program: String
  package var author: String
  /// Whether to read through a mapping; otherwise each node and value is read by a call (for file systems whose
  /// mappings are in doubt).
  package var readsMapped: Bool
  /// After how many seconds without a commit collated commits are made durable, a slot notes the end, and the writer's lock is let go
  /// of, so that another process may write; the next transaction takes it again. More than 10⁹ counts as so many.
  package var idleSeconds: Double
  /// For how many nanoseconds a reader goes by the mapped words of the lock file before it looks at the files themselves again.
  var lookDistance: Int64 = 100_000_000
  /// How long a sync waits for those that write at this moment, in nanoseconds: a few dozen small commits.
  var gatheringTime: Int64 = 4_000_000
  /// From how many bytes on a store's zeros are written ahead by a thread and not by its transactions.
  var largeStore = FileOffset(8 << 20)
  /// How many bytes a compaction writes between two syncs, which are what it goes on from after a crash. Commits wait for them, so
  /// they are few, and what they sync was brought to the disk before.
  var compactionSyncDistance: UInt64 = 16 << 20
  /// What is kept after idleness, and when a written store is closed, where more of it is dead than alive; nil: everything.
  package var retention: Retention?

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
  /// The newest so many of head's ancestry, and those among them that change no record, as where only a name is set: they do not
  /// count.
  case last(Int)
  /// Those younger than so many nanoseconds.
  case younger(Int64)
}

/// Which store a file is.
package struct StoreIdentity: Sendable, Hashable {
  /// Random, given at creation; copies share it.
  package var high: UInt64
  package var low: UInt64
  /// Counts the compactions.
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

/// What opening found.
package struct OpeningReport: Sendable, Hashable {
  /// Whole commits after the known durable end that were adopted.
  package var adoptedCommits: Int = 0
  /// Bytes after the last whole commit that belong to none.
  package var cutBytes: UInt64 = 0
  /// Where the cut bytes were kept.
  package var keptAside: String?
  /// Damage before the known durable end; the store is open read-only.
  package var damage: StorageError?
  /// Sentences for people; empty where nothing was special.
  package var notes: [String] = []

  package init() {}
}

/// Who holds the writer's lock.
package struct LockHold: Sendable, Hashable, CustomStringConvertible {
  package var processIdentifier: Int32
  package var program: String
  /// Nanoseconds since 1970.
  package var since: Int64
  package var generation: UInt64
  package var durableEnd: FileOffset
  package var session: UInt64
  /// When the data file had last changed as the writer let go of it (see `FileStatus`); 0 while it is held.
  var changed: Int64 = 0

  /// `NAME (pid N)`.
  package var description: String {
    processIdentifier == 0
      ? "another process" : "\(program.isEmpty ? "a program" : program) (pid \(processIdentifier))"
  }
}

/// Work done since the store was opened, for tests that count instead of measuring time.
/// Reads are exact on one thread; of two threads that read at the same moment, one may not be counted.
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
  /// How often a server was waited for.
  package var roundTrips: UInt64 = 0

  package init() {}
}
