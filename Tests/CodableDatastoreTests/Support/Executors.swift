import Dispatch
import StrataLocks

@testable import CodableDatastore

/// Runs work on an executor of its own, which counts how often a task comes to it.
actor Worker {
  nonisolated let executor = CountingExecutor()
  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  /// How often the work came back to the executor after it had left it.
  func returns(of work: @Sendable (isolated Worker) async throws -> Void) async throws -> Int {
    let before = executor.jobs.withLock { $0 }
    try await work(self)
    return executor.jobs.withLock { $0 } - before
  }
}

/// Counts how often a task comes to it.
final class CountingExecutor: SerialExecutor {
  let jobs = Mutex(0)
  private let queue = DispatchQueue(label: "counting")

  func enqueue(_ job: consuming ExecutorJob) {
    jobs.withLock { $0 += 1 }
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
  }
}

extension TimeSlices {
  /// Those of a clock on which each look takes a tenth of a slice; a yield takes one look.
  static func ofTenLooks() -> TimeSlices { ofLooks(10) }

  /// Those of a clock on which each look takes such a part of a slice.
  static func ofLooks(_ parts: UInt64) -> TimeSlices {
    let looks = Mutex<UInt64>(0)
    return TimeSlices {
      looks.withLock { looks in
        looks += 1
        return looks * (length / parts)
      }
    }
  }

  /// Those of a clock that stands still.
  static func ofStandingClock() -> TimeSlices { TimeSlices { 1 } }
}

/// A clock that goes on only when it is told to.
final class ManualClock: Clock {
  struct Instant: InstantProtocol {
    var time = Swift.Duration.zero
    func advanced(by duration: Swift.Duration) -> Self { Instant(time: time + duration) }
    func duration(to other: Self) -> Swift.Duration { other.time - time }
    static func < (left: Self, right: Self) -> Bool { left.time < right.time }
  }

  private struct State {
    var now = Instant()
    var sleepers: [(end: Instant, continuation: CheckedContinuation<Void, Never>)] = []
  }

  private let state = Mutex(State())

  var now: Instant { state.withLock { $0.now } }
  var minimumResolution: Swift.Duration { .zero }

  func sleep(until end: Instant, tolerance: Swift.Duration?) async throws {
    await withCheckedContinuation { continuation in
      let isOver = state.withLock { state in
        if end <= state.now { return true }
        state.sleepers.append((end, continuation))
        return false
      }
      if isOver { continuation.resume() }
    }
  }

  /// Goes on once somebody sleeps, which may wake then.
  func advance(by duration: Swift.Duration) async {
    while state.withLock({ $0.sleepers.isEmpty }) { await Task.yield() }
    jump(by: duration)
  }

  func jump(by duration: Swift.Duration) {
    let woken = state.withLock { state in
      state.now = state.now.advanced(by: duration)
      let woken = state.sleepers.filter { $0.end <= state.now }
      state.sleepers.removeAll { $0.end <= state.now }
      return woken
    }
    for sleeper in woken { sleeper.continuation.resume() }
  }
}
