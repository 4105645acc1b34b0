import Locks

/// The zeros between the frames and the end of the file, written ahead of the frames so that the sync of a commit has no
/// metadata to write.
///
/// In a small store the appending transaction writes them, a little at a time. In a larger one a thread does, while there is
/// still room for commits, in pieces that it syncs itself: no commit waits for more than one of them.
final class ZeroAhead: @unchecked Sendable {
  // `@unchecked`: `state` is only touched while `monitor` is held.
  private let monitor = Monitor()
  private var state = State()
  private let counters: Counters
  /// How many others use the disk for long.
  private let others = Atomic(0)
  /// Frames end before this in stores whose zeros the transactions write.
  private let largeStore: FileOffset

  private struct State {
    /// Up to here there are frames or zeros; beyond it nothing was written yet.
    var end: FileOffset = 0
    /// Up to here a thread writes zeros now.
    var piece: FileOffset?
    /// A thread is at work until the zeros reach this.
    var goal: FileOffset?
    /// Numbers the threads. One that was told to end may come to itself late, when another is at work, in another file.
    var thread: UInt64 = 0
    /// So much of it may be written before the next sync: not more than there was room for commits when it began, lest one
    /// has to wait, as after a compaction, which leaves only few zeros. Then more with each piece.
    var pieceSize: UInt64 = 0
    /// After a failure nothing is tried until the frames reach this.
    var patience: FileOffset = 0
    /// So many zeros are wanted the next time: the more were used up, the more, because each piece delays a commit or two.
    var step: UInt64 = 0
  }

  private static let page: UInt64 = 4096
  private static let mostPieceSize: UInt64 = 1 << 20
  /// So much of a piece is brought to the disk at a time: the sync of a commit that comes meanwhile waits for all that was not. Less
  /// at a time makes the longest waits shorter and all together longer.
  private static let partSize: UInt64 = 256 << 10
  private static let partSizeBesideOthers: UInt64 = 64 << 10
  private static let leastStep: UInt64 = 128 << 10
  private static let mostStep: UInt64 = 16 << 20

  /// Starts a thread; a test may let it begin later.
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
    settle()
    monitor.withLock { state = State(end: end, thread: state.thread) }
  }

  /// Takes the place up to `newEnd` for a frame: no zeros will be written there any more.
  func claim(_ newEnd: FileOffset) {
    monitor.withLock {
      while state.piece != nil, newEnd > state.end { monitor.wait() }
      guard newEnd > state.end else { return }
      state.end = newEnd
      // A frame longer than the zeros: no sign that many small ones follow.
      state.step = 0
    }
  }

  /// Ends what a thread is at, and waits for it: whoever lets go of the writer's lock must not write any more.
  func settle() {
    monitor.withLock {
      state.goal = nil
      while state.piece != nil { monitor.wait() }
    }
  }

  private var partSize: UInt64 {
    others.load(ordering: .relaxed) > 0 ? ZeroAhead.partSizeBesideOthers : ZeroAhead.partSize
  }

  /// Does something that uses the disk for long: until it is done, zeros are written in smaller parts.
  func besideOthers<R>(_ body: () throws(StorageError) -> R) throws(StorageError) -> R {
    others.add(1, ordering: .relaxed)
    defer { others.subtract(1, ordering: .relaxed) }
    return try body()
  }

  /// Waits while a thread writes zeros.
  func waitWhileBusy() {
    monitor.withLock { while state.piece != nil { monitor.wait() } }
  }

  /// Sees to it that there are zeros behind the frames, which end at `end`. Where there is no room for zeros there may be for
  /// frames, so that is not an error; `failed` is told of errors that leave in doubt what was synced.
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
      settle()
      return provideAtOnce((end + usual).aligned(to: ZeroAhead.page), behind: end, file, failed)
    }
    do {
      try start { self.run(thread, own, file, failed) }
    } catch {
      settle()
    }
  }

  private func provideAtOnce(
    _ goal: FileOffset, behind end: FileOffset, _ file: DataFile, _ failed: (DiskError) -> Void
  ) {
    // The frame claimed its own place, so where it used the zeros up they end where it does.
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

  /// Writes and syncs through `own`, an open of the file of its own: a sync through the one that commits are synced through could
  /// be told of a page of theirs that was lost, and theirs would not be told again.
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
        // It may concern a commit.
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

  /// Ends a piece, which reaches to `end` or failed.
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
