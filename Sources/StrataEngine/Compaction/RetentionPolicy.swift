import StrataLocks

/// Decides when pruning a store that has a retention is worth it, as far as that is known without reading the history.
///
/// It is asked after each idleness, on the thread that syncs for tasks, so an answer costs a few comparisons. It remembers the result of
/// the last look at the history until there is reason to look again.
struct RetentionSchedule {
  private(set) var isRunning = false
  private var generation: UInt64?
  /// The end of the file, and the time, at which to look again after a look that found nothing to prune.
  private var nextEnd: FileOffset = 0
  private var nextDate: Int64 = .max
  /// Why the last attempt failed, if that could not be written beside the data.
  var failure: PruningFailure?

  /// Fewer dead bytes are not worth a new file.
  private static let leastDeadBytes: UInt64 = 1 << 20

  /// Whether more bytes are dead than alive, and there are many of them.
  static func pays(_ state: Publication.State) -> Bool {
    let dead = state.chain.end.bytes.subtractingClamped(state.head.liveBytes)
    return dead > max(leastDeadBytes, state.head.liveBytes)
  }

  /// Whether to look at the history now. If so, the caller does that, and calls `end`.
  mutating func begin(_ state: Publication.State, now: Int64) -> Bool {
    guard !isRunning, Self.pays(state) else { return false }
    let isNews =
      generation != state.file.header.identity.generation || state.chain.end >= nextEnd || now >= nextDate
    isRunning = isNews
    return isNews
  }

  /// Ends a look. `keepsAll`: the state, if nothing of it was to be pruned; by age, nothing will be before `date`.
  mutating func end(keepsAll state: Publication.State? = nil, until date: Int64 = .max) {
    isRunning = false
    generation = state?.file.header.identity.generation
    guard let state else { return }
    nextEnd = state.chain.end &+ max(Self.leastDeadBytes, state.chain.end.bytes / 8)
    nextDate = date
  }
}

extension FileStore {
  /// Begins to prune by the store's own policy, if it has one and that may pay off, on a thread of its own. Returns whether it has begun.
  /// Called on the writer's thread when the store is idle. It goes on beside writers, and ends when the store is closed; the part copied
  /// until then stays for the next time.
  @discardableResult
  func pruneWhileIdle() -> Bool {
    guard let retention = options.retention, retention != .all, !isEndingCompactions,
      schedule.withLock({ $0.begin(publication.current, now: disk.now()) })
    else { return false }
    do {
      if let pause = pruningPause {
        writing.repeatIdleWork(after: pause)
      } else {
        try startThread {
          self.prune(retention) { () throws(StorageError) in try self.compact(retention, keepsMore: true) }
          if let pause = self.pruningPause { self.writing.repeatIdleWork(after: pause) }
        }
        return true
      }
    } catch {}
    schedule.withLock { $0.end() }
    return false
  }

  /// Compacts if that leaves out any commit; otherwise records when to look again. Records why it failed, unless the store is being closed.
  private func prune(_ retention: Retention, _ compact: () throws(StorageError) -> CompactionReport) {
    let state = publication.current
    let reason: String
    do {
      let now = disk.now()
      let kept = try kept(of: state, retention, now: now)
      if UInt64(kept.count) == state.newest.links.orderDepth {
        clearPruningFailure()
        var date = Int64.max
        // A commit that is too old already is kept for another reason, which time does not change.
        for commit in kept {
          guard let age = retention.age else { break }
          let end = try state.file.clock(of: commit).addingReportingOverflow(age).partialValue
          if end > now { date = min(date, end) }
        }
        return schedule.withLock { $0.end(keepsAll: state, until: date) }
      }
      guard let lack = try lackOfRoom(for: retention) else {
        _ = try compact()
        return schedule.withLock { $0.end() }
      }
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

  /// Larger files are not pruned on closing, which waits for that, but when the store is idle.
  private static let largestAtClose = FileOffset(16 << 20)

  /// Compacts a small store by its own policy, if that pays off: it copies at most as much as a moment allows. The caller must hold the
  /// lock `compactions`.
  func pruneAtClose() {
    let state = publication.current
    guard let retention = options.retention, retention != .all, state.chain.end <= FileStore.largestAtClose,
      RetentionSchedule.pays(state), pruningPause == nil
    else { return }
    prune(retention) { () throws(StorageError) in try compactInTurn(retention, keepsMore: false) { _ in true } }
  }

  /// The commits that a compaction keeps, unless the store ends compactions meanwhile.
  func kept(
    of state: Publication.State, _ retention: Retention, now: Int64
  ) throws(StorageError) -> [CommitRecord] {
    try KeptCommits(state: state, now: now) { self.isEndingCompactions }
      .select(retention, named: try state.names().map(\.commit))
  }

  /// Why the store could not be pruned by its own policy, here or by another process. Returns nil if no attempt failed since the last
  /// compaction. Reads a small file.
  package var pruningFailure: PruningFailure? {
    PruningFailure((try? NoteFile.pruning(disk, path).read()) ?? nil) ?? schedule.withLock { $0.failure }
  }

  /// The nanoseconds until the next attempt. Returns nil if one may be made now. A clock that was set back does not delay it.
  private var pruningPause: Int64? {
    guard let failure = pruningFailure else { return nil }
    let pause = failure.nextAttempt.subtractingReportingOverflow(disk.now()).partialValue
    return pause > 0 && pause <= PruningFailure.longestPause ? pause : nil
  }

  /// Forgets the failure: a compaction has ended, or nothing is to be pruned.
  func clearPruningFailure() {
    schedule.withLock { $0.failure = nil }
    try? NoteFile.pruning(disk, path).remove()
  }

  /// The room that stays free beside the copy that an automatic compaction makes.
  private static let spareRoom: UInt64 = 64 << 20

  /// The room that the disk lacks for the estimated copy and a reserve, as a clause. Returns nil if there is enough.
  private func lackOfRoom(for retention: Retention) throws(StorageError) -> String? {
    let copied = try engineCall { () throws(DiskError) in try disk.status(compactionPath)?.size ?? 0 }
    let needed = try compactionEstimate(retention).bytesAfter.subtractingClamped(copied) &+ FileStore.spareRoom
    guard let free = try engineCall({ () throws(DiskError) in try disk.freeBytes(at: path) }), free < needed else {
      return nil
    }
    return "\(needed >> 20) MiB must be free on its disk, and \(free >> 20) MiB are"
  }
}

// MARK: Attempts that fail

/// The reason why a store could not be pruned by its own policy. It lies in a small file beside the data, so that all processes wait for
/// the next attempt, until a compaction ends.
package struct PruningFailure: Sendable, Hashable {
  /// The error, as a clause.
  package var reason: String
  /// The number of attempts in a row that have failed.
  var attempts: Int
  /// The time of the next attempt, in nanoseconds since 1970.
  package var nextAttempt: Int64

  private static let minute: Int64 = 60_000_000_000
  static let longestPause = 24 * 60 * minute

  init(_ reason: String, after previous: PruningFailure?, now: Int64) {
    self.reason = reason
    attempts = (previous?.attempts ?? 0) &+ 1
    let pause = attempts < 12 ? min(Self.minute << Int64(attempts - 1), Self.longestPause) : Self.longestPause
    nextAttempt = now.addingReportingOverflow(pause).partialValue
  }

  /// Returns nil if there is no such note.
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
