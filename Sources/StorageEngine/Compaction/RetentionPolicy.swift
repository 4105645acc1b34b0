import Locks

/// When a store that has a retention is worth pruning, as far as that is known without reading its history.
///
/// It is asked after each idleness, on the thread that syncs for tasks, so an answer costs a few comparisons. What a look at the
/// history has found is remembered until there is reason to look again.
struct RetentionSchedule {
  private(set) var isRunning = false
  private var generation: UInt64?
  /// Nothing was to be pruned: it is looked again when the file has grown to this, or at this time.
  private var nextEnd: FileOffset = 0
  private var nextDate: Int64 = .max
  /// Why the last attempt failed, if that could not be written beside the data.
  var failure: PruningFailure?

  /// Fewer dead bytes than these are not worth a new file.
  private static let leastDeadBytes: UInt64 = 1 << 20

  /// Whether more bytes are dead than alive, and many.
  static func pays(_ state: Publication.State) -> Bool {
    let dead = state.chain.end.bytes.subtractingClamped(state.head.liveBytes)
    return dead > max(leastDeadBytes, state.head.liveBytes)
  }

  /// Whether to look at the history now; the caller does, and calls `end`.
  mutating func begin(_ state: Publication.State, now: Int64) -> Bool {
    guard !isRunning, Self.pays(state) else { return false }
    let isNews =
      generation != state.file.header.identity.generation || state.chain.end >= nextEnd || now >= nextDate
    isRunning = isNews
    return isNews
  }

  /// Ends what was begun. `keepsAll`: of this state nothing was to be pruned, by its age not before `date`.
  mutating func end(keepsAll state: Publication.State? = nil, until date: Int64 = .max) {
    isRunning = false
    generation = state?.file.header.identity.generation
    guard let state else { return }
    nextEnd = state.chain.end &+ max(Self.leastDeadBytes, state.chain.end.bytes / 8)
    nextDate = date
  }
}

extension FileStore {
  /// Begins to prune by the store's own policy, if it has one and that may pay, on a thread of its own; whether it has begun. Called
  /// on the writer's thread when the store is idle. It goes on beside writers, and ends when the store is closed; what was copied until
  /// then stays for the next time.
  @discardableResult
  func pruneWhileIdle() -> Bool {
    guard let retention = options.retention, retention != .all, !isEndingCompactions,
      schedule.withLock({ $0.begin(publication.current, now: disk.now()) })
    else { return false }
    do {
      if let pause = pruningPause {
        writing.repeatIdleWork(after: pause)
      } else {
        try startThread { self.prune(retention) }
        return true
      }
    } catch {}
    schedule.withLock { $0.end() }
    return false
  }

  private func prune(_ retention: Retention) {
    let state = publication.current
    attempt { () throws(StorageError) in
      let kept = try kept(of: state, retention)
      guard UInt64(kept.count) == state.newest.links.orderDepth else {
        if let lack = try lackOfRoom(for: retention) { return lack }
        _ = try compact(retention, keepsMore: true)
        schedule.withLock { $0.end() }
        return nil
      }
      clearPruningFailure()
      var date = Int64.max
      if case .younger(let age) = retention, let oldest = kept.first {
        date = try state.file.clock(of: oldest).addingReportingOverflow(age).partialValue
      }
      schedule.withLock { $0.end(keepsAll: state, until: date) }
      return nil
    }
    if let pause = pruningPause { writing.repeatIdleWork(after: pause) }
  }

  /// Larger files are not pruned on closing, which waits for it; they are when the store is idle.
  private static let largestAtClose = FileOffset(16 << 20)

  /// Compacts a small store by its own policy, where that pays: at most as much is copied as a moment allows. The caller has the
  /// compactions' turn.
  func pruneAtClose() {
    let state = publication.current
    guard let retention = options.retention, retention != .all, state.chain.end <= FileStore.largestAtClose,
      RetentionSchedule.pays(state), pruningPause == nil
    else { return }
    attempt { () throws(StorageError) in
      guard try UInt64(kept(of: state, retention).count) < state.newest.links.orderDepth else { return nil }
      if let lack = try lackOfRoom(for: retention) { return lack }
      _ = try compactInTurn(retention, keepsMore: false) { _ in true }
      return nil
    }
  }

  private func kept(of state: Publication.State, _ retention: Retention) throws(StorageError) -> [CommitRecord] {
    try keptCommits(of: state, now: disk.now()).select(retention, named: try state.names().map(\.commit))
  }

  /// Chooses commits, until the store ends compactions.
  func keptCommits(of state: Publication.State, now: Int64) -> KeptCommits {
    KeptCommits(state, now: now) { self.isEndingCompactions }
  }
}

// MARK: Attempts that fail

/// Why a store could not be pruned by its own policy. It lies in a small file beside the data, so that all processes wait for the next
/// attempt, until a compaction ends.
package struct PruningFailure: Sendable, Hashable {
  /// The error, as a clause.
  package var reason: String
  /// How many attempts have failed one after the other.
  var attempts: Int
  /// When it is tried again, in nanoseconds since 1970.
  package var nextAttempt: Int64

  private static let minute: Int64 = 60_000_000_000
  static let longestPause = 24 * 60 * minute

  init(_ reason: String, after previous: PruningFailure?, now: Int64) {
    self.reason = reason
    attempts = (previous?.attempts ?? 0) &+ 1
    let pause = attempts < 12 ? min(Self.minute << Int64(attempts - 1), Self.longestPause) : Self.longestPause
    nextAttempt = now.addingReportingOverflow(pause).partialValue
  }

  /// Nil if the note is none.
  init?(_ note: (number: UInt64, bytes: [UInt8])?) {
    guard let note, let attempts = note.bytes.first else { return nil }
    self.attempts = Int(attempts)
    nextAttempt = Int64(bitPattern: note.number)
    reason = String(decoding: note.bytes.dropFirst(), as: UTF8.self)
  }

  func write(to file: NoteFile) throws(StorageError) {
    try file.write([UInt8(clamping: attempts)] + reason.utf8, number: UInt64(bitPattern: nextAttempt))
  }

  func sentence(now: Int64) -> String {
    let minutes = (nextAttempt.subtractingReportingOverflow(now).partialValue &+ Self.minute - 1) / Self.minute
    return "the history could not be shortened by the store's retention: \(reason); "
      + (minutes > 0 ? "the next attempt is in \(minutes) min" : "the next attempt is due")
  }
}

extension FileStore {
  /// Why the store could not be pruned by its own policy, here or by another process; nil if no attempt failed since the last
  /// compaction. Reads a small file.
  package var pruningFailure: PruningFailure? {
    PruningFailure((try? NoteFile.pruning(disk, path).read()) ?? nil) ?? schedule.withLock { $0.failure }
  }

  /// How many nanoseconds there are to the next attempt; nil if one may be made now. A clock that was set back does not hold it off.
  private var pruningPause: Int64? {
    guard let failure = pruningFailure else { return nil }
    let pause = failure.nextAttempt.subtractingReportingOverflow(disk.now()).partialValue
    return pause > 0 && pause <= PruningFailure.longestPause ? pause : nil
  }

  /// Forgets what failed: a compaction has ended, or nothing is to be pruned.
  func clearPruningFailure() {
    schedule.withLock { $0.failure = nil }
    try? disk.unlink(NoteFile.pruning(disk, path).path)
  }

  /// Does what prunes, and notes why it cannot be done, unless the store is being closed.
  ///
  /// - Parameter body: Returns what it lacks, or nil if it has come to its end.
  private func attempt(_ body: () throws(StorageError) -> String?) {
    let reason: String
    do {
      guard let lack = try body() else { return }
      reason = lack
    } catch .cancelled, .closed {
      return schedule.withLock { $0.end() }
    } catch {
      reason = "\(error)"
    }
    let failure = PruningFailure(reason, after: pruningFailure, now: disk.now())
    // On a full disk there may be no room for the note either.
    let isWritten = (try? failure.write(to: NoteFile.pruning(disk, path))) != nil
    schedule.withLock { schedule in
      schedule.failure = isWritten ? nil : failure
      schedule.end()
    }
  }

  /// What is left free beside the copy that a compaction makes by itself.
  private static let spareRoom: UInt64 = 64 << 20

  /// What the disk lacks for the estimated copy and some more; nil if nothing.
  private func lackOfRoom(for retention: Retention) throws(StorageError) -> String? {
    let copied = try engineCall { () throws(DiskError) in try disk.status(compactionPath)?.size ?? 0 }
    let needed = try compactionEstimate(retention).bytesAfter.subtractingClamped(copied) &+ FileStore.spareRoom
    guard let free = try engineCall({ () throws(DiskError) in try disk.freeBytes(at: path) }), free < needed else {
      return nil
    }
    return "\(needed >> 20) MiB must be free on its disk, and \(free >> 20) MiB are"
  }
}
