import Dispatch
import StrataLocks
import StrataEngine

/// Makes tasks that read or write in a loop yield to others on their executor.
///
/// None of these calls needs to suspend: a load is served from memory. A loop of them would therefore occupy its executor, whether the main
/// actor's or a thread of the cooperative pool, until it ends. So each call checks how long its task has run since it last yielded, and
/// yields after a slice. A slice belongs to a task: its iterators, single loads, and writes in a transaction share it.
///
/// A task that yields may go on on another processor, whose caches do not hold the data that the task reads: measured, a sixth of a slice
/// of a millisecond. While no other task runs when it yields, its slices therefore grow.
package final class TimeSlices: Sendable {
  /// A slice in nanoseconds if others wait.
  static let length: UInt64 = 1_000_000
  /// The longest slice of a task for which no other task waits: on the main actor, where a frame of a display (8 ms) must have room for one
  /// beside its own work, and elsewhere. A task that comes while it lasts waits no longer than this.
  static let longest: (onMain: UInt64, elsewhere: UInt64) = (2_000_000, 3_000_000)
  /// The longest slice while tasks wait for their commits: each of them waits for a thread behind all tasks that read.
  static let besideWriters: UInt64 = 40_000
  /// If a yield took less time than this, no other task ran.
  static let briefest: UInt64 = 100_000

  /// The slices of the real clock.
  package static let shared = TimeSlices { DispatchTime.now().uptimeNanoseconds }

  private let now: @Sendable () -> UInt64
  /// The number of tasks that wait for their commits.
  private let writers = Atomic(0)
  /// The slots by the task's identity. Two tasks that share a slot share its slice. That is rare, and they then yield later or earlier than
  /// necessary, but they do yield.
  private let slots: [Slot]

  private final class Slot: Sendable {
    let task = Atomic(0)
    let begin = Atomic<UInt64>(0)
    let length = Atomic(TimeSlices.length)
  }

  /// - Parameter now: A clock that never goes back, in nanoseconds.
  package init(now: @escaping @Sendable () -> UInt64) {
    self.now = now
    slots = (0..<512).map { _ in Slot() }
  }

  /// Whether the current task has used up its slice. Costs one reading of the clock.
  func isUsedUp() -> Bool {
    let task = TaskIdentity.current
    let slot = slots[task & 511]
    let now = now()
    let age = now &- slot.begin.load(ordering: .relaxed)
    if slot.task.load(ordering: .relaxed) == task {
      let length = slot.length.load(ordering: .relaxed)
      return age >= length || age >= Self.besideWriters && writers.load(ordering: .relaxed) > 0
    }
    slot.task.store(task, ordering: .relaxed)
    slot.length.store(Self.length, ordering: .relaxed)
    // An old slice belongs to a task that has ended or waits; a young one may belong to a task that runs now.
    if age >= Self.length { slot.begin.store(now, ordering: .relaxed) }
    return false
  }

  /// Lets other tasks run, and begins another slice: twice as long as the last if none did.
  func yieldTask() async {
    let slot = slots[TaskIdentity.current & 511]
    let isMain = isMain(#isolation)
    let (length, yielded) = (slot.length.load(ordering: .relaxed), now())
    // A thread that waits for this one's processor, possibly the main thread, would get it only when the system ends this thread's time:
    // after 4 ms.
    if !isMain { yieldThread() }
    await Task.yield()
    let now = now()
    let longest = isMain ? Self.longest.onMain : Self.longest.elsewhere
    begin(at: now, length: now &- yielded < Self.briefest ? min(2 * length, longest) : Self.length)
  }

  /// Never inlined: with the comparison in the same function as `#isolation`, the optimizer of Swift 6.3 makes code that it
  /// refuses itself.
  @inline(never) private func isMain(_ actor: (any Actor)?) -> Bool { actor === MainActor.shared }

  /// Waits until a commit is durable. Tasks that read yield more often meanwhile.
  func awaitingCommit<R>(_ body: () async throws -> R) async rethrows -> R {
    writers.add(1, ordering: .relaxed)
    defer { writers.subtract(1, ordering: .relaxed) }
    return try await body()
  }

  /// Begins a slice: the current task was suspended just now.
  func begin() { begin(at: now(), length: Self.length) }

  private func begin(at now: UInt64, length: UInt64) {
    let task = TaskIdentity.current
    let slot = slots[task & 511]
    slot.task.store(task, ordering: .relaxed)
    slot.length.store(length, ordering: .relaxed)
    slot.begin.store(now, ordering: .relaxed)
  }
}

/// Distinguishes tasks.
enum TaskIdentity {
  /// A number that no other living task has; 0 outside of tasks.
  static var current: Int { withUnsafeCurrentTask { $0?.hashValue ?? 0 } }
}
