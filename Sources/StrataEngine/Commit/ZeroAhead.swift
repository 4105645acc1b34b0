import StrataLocks

/// The zeros between the frames and the end of the file, written ahead of the frames so that the sync of a commit has no
/// metadata to write.
///
/// In a small store the appending transaction writes them, a little at a time. In a larger one a thread writes them, while there is still
/// room for commits, in pieces that it syncs itself: no commit waits for more than one of them.
final class ZeroAhead: @unchecked Sendable {
  // `@unchecked`: `state` is only touched while `monitor` is held.
  private let monitor = Monitor()
  private var state = State()
  private let counters: Counters
  /// The number of other tasks that use the disk for long.
  private let others = Atomic(0)
  /// In stores whose frames end before this offset, the transactions write the zeros.
  private let largeStore: FileOffset

  private struct State {
    /// Up to here there are frames or zeros; beyond it nothing was written yet.
    var end: FileOffset = 0
    /// Up to here a thread writes zeros now.
    var piece: FileOffset?
    /// A thread is at work until the zeros reach this.
    var goal: FileOffset?
    /// Numbers the threads. A thread that is to end may run again late, when another is at work, in another file.
    var thread: UInt64 = 0
    /// The size of the next piece, which is written before one sync. The first is at most the room that commits had when the thread began:
    /// so no commit waits after a compaction, which leaves few zeros. It doubles with each piece.
    var pieceSize: UInt64 = 0
    /// After a failure nothing is tried until the frames reach this.
    var patience: FileOffset = 0
    /// How many bytes of zeros to write next time. It doubles each time they are used up, because each piece delays a commit or two.
    var step: UInt64 = 0
  }

  private static let page: UInt64 = 4096
  private static let mostPieceSize: UInt64 = 1 << 20
  /// The size of the parts in which a piece is brought to the disk. The sync of a commit that comes meanwhile waits for the bytes that are
  /// not there yet. Smaller parts make the longest waits shorter and the sum of all waits longer.
  private static let partSize: UInt64 = 256 << 10
  private static let partSizeBesideOthers: UInt64 = 64 << 10
  private static let leastStep: UInt64 = 128 << 10
  private static let mostStep: UInt64 = 16 << 20

  /// Starts a thread; a test may delay its start.
  private let start: @Sendable (@escaping @Sendable () -> Void) throws(DiskError) -> Void

  init(
    largeStore: FileOffset, counters: Counters,
    start: @escaping @Sendable (@escaping @Sendable () -> Void) throws(DiskError) -> Void = startThread
  ) {
    self.largeStore = largeStore
    self.counters = counters
    self.start = start
  }

  /// Begins with a file whose frames and zeros reach to `end`.
  func begin(at end: FileOffset) {
    stop()
    monitor.withLock { state = State(end: end, thread: state.thread) }
  }

  /// Reserves the range up to `newEnd` for a frame: no zeros will be written there any more.
  func claim(_ newEnd: FileOffset) {
    monitor.withLock {
      while state.piece != nil, newEnd > state.end { monitor.wait() }
      guard newEnd > state.end else { return }
      state.end = newEnd
      // A frame longer than the zeros does not mean that many small ones follow.
      state.step = 0
    }
  }

  /// Ends the work of a thread, and waits for it: a process that has released the writer's lock must not write any more.
  func stop() {
    monitor.withLock {
      state.goal = nil
      while state.piece != nil { monitor.wait() }
    }
  }

  private var partSize: UInt64 {
    others.load(ordering: .relaxed) > 0 ? ZeroAhead.partSizeBesideOthers : ZeroAhead.partSize
  }

  /// Runs work that uses the disk for long. Until it is done, zeros are written in smaller parts.
  func besideOthers<R>(_ body: () throws(StorageError) -> R) throws(StorageError) -> R {
    others.add(1, ordering: .relaxed)
    defer { others.subtract(1, ordering: .relaxed) }
    return try body()
  }

  func waitWhileBusy() {
    monitor.withLock { while state.piece != nil { monitor.wait() } }
  }

  /// Provides zeros behind the frames, which end at `end`. If there is no room for zeros, there may be room for frames, so that is not an
  /// error. `failed` receives errors that leave in doubt which bytes a sync made durable.
  func provide(behind end: FileOffset, in file: DataFile, failed: @escaping @Sendable (DiskError) -> Void) {
    let usual = min(ZeroAhead.mostStep, max(ZeroAhead.leastStep, end.bytes / 64))
    guard end >= largeStore else {
      return provideAtOnce((end + usual).aligned(to: ZeroAhead.page), behind: end, file, failed)
    }
    let thread: UInt64? = monitor.withLock {
      let step = max(usual, min(state.step, end.bytes / 16, ZeroAhead.mostStep))
      guard state.goal == nil, state.piece == nil, end >= state.patience, state.end < end + step / 2 else {
        return nil
      }
      state.step = step * 2
      state.goal = (end + step).aligned(to: ZeroAhead.page)
      let room = max(ZeroAhead.partSizeBesideOthers, state.end > end ? state.end - end : 0)
      state.pieceSize = min(room, ZeroAhead.mostPieceSize)
      state.thread += 1
      return state.thread
    }
    guard let thread else { return }
    guard let own = (try? file.file.reopened()) ?? nil else {
      stop()
      return provideAtOnce((end + usual).aligned(to: ZeroAhead.page), behind: end, file, failed)
    }
    do {
      try start { self.run(thread, own, file, failed) }
    } catch {
      stop()
    }
  }

  private func provideAtOnce(
    _ goal: FileOffset, behind end: FileOffset, _ file: DataFile, _ failed: (DiskError) -> Void
  ) {
    // The frame claimed its own range. If it used up the zeros, they end where the frame does.
    guard monitor.withLock({ state.end }) <= end else { return }
    do {
      try file.file.zero(end..<goal)
    } catch {
      if !error.isFull { failed(error) }
      return
    }
    file.extend(to: goal)
    claim(goal)
  }

  /// Writes and syncs through `own`, a separate open of the file. A sync through the commits' open could receive the report of a lost page
  /// of theirs, and the commits' own sync would not receive it again.
  private func run(_ thread: UInt64, _ own: any DiskFile, _ file: DataFile, _ failed: (DiskError) -> Void) {
    while let piece = nextPiece(thread) {
      do {
        var start = piece.lowerBound
        while start < piece.upperBound {
          let part = start..<min(start + partSize, piece.upperBound)
          do { try own.zero(part) } catch  where error.isFull { return finish(nil) }
          try own.writeBack(part)
          start = part.upperBound
        }
        try own.sync()
      } catch {
        // The error may concern a commit.
        failed(error)
        return finish(nil)
      }
      counters.syncs.add(1)
      file.extend(to: piece.upperBound)
      finish(piece.upperBound)
    }
  }

  private func nextPiece(_ thread: UInt64) -> Range<FileOffset>? {
    monitor.withLock {
      guard state.thread == thread else { return nil }
      guard let goal = state.goal, goal > state.end else {
        state.goal = nil
        return nil
      }
      let piece = state.end..<min(goal, (state.end + state.pieceSize).aligned(to: ZeroAhead.page))
      state.pieceSize = min(state.pieceSize * 2, ZeroAhead.mostPieceSize)
      state.piece = piece.upperBound
      return piece
    }
  }

  /// Ends a piece, which reaches to `end`, or failed if `end` is nil.
  private func finish(_ end: FileOffset?) {
    monitor.withLock {
      state.piece = nil
      if let end {
        state.end = max(state.end, end)
      } else {
        state.patience = state.goal ?? state.end
        state.goal = nil
      }
      monitor.notifyAll()
    }
  }
}
