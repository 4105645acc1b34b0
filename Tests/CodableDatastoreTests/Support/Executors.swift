import Dispatch
import Locks

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
