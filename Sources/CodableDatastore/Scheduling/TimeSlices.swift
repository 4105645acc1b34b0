import Dispatch
import Locks
import StorageEngine

/// Has tasks that read or write in a loop give way to others on their executor.
///
/// None of these calls needs to suspend: a load is answered from memory. A loop of them would therefore keep its executor,
/// be it the main actor's or a thread of the cooperative pool, until it ends. So each call looks how long its task has run
/// since it last gave way, and yields after a slice. What counts is the task: its iterators, single loads, and writes
/// in a transaction share one slice.
///
/// A task that yields may go on on another processor, whose caches do not hold what the task reads: measured, a sixth of a
/// slice of a millisecond. While nobody runs in its place when it yields, its slices therefore grow.
package final class TimeSlices: Sendable {
  /// A slice in nanoseconds where others wait, and on the main actor. Short enough that a frame of a display
  /// (8 ms) has room for one beside its own work.
  static let length: UInt64 = 1_000_000
  /// The longest slice of a task for which nobody waits. Somebody who comes while it lasts waits no longer than this.
  static let longest: UInt64 = 4_000_000
  /// The longest slice while tasks wait for their commits: each of them waits for a thread behind all that read.
  static let besideWriters: UInt64 = 500_000
  /// A yield that took less time let nobody run.
  static let briefest: UInt64 = 100_000

  /// Those of the real clock.
  package static let shared = TimeSlices { DispatchTime.now().uptimeNanoseconds }

  private let now: @Sendable () -> UInt64
  /// How many tasks wait for their commits.
  private let writers = Atomic(0)
  /// By the task's identity. Two tasks that meet in a slot share its slice; that is seldom, and then they yield later or
  /// earlier than need be, but do.
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

  /// Whether the current task has used up its slice. Costs a look at the clock.
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
    // An old slice is that of a task that has ended or waits; a young one may be that of a task which runs now.
    if age >= Self.length { slot.begin.store(now, ordering: .relaxed) }
    return false
  }

  /// Lets others run, and begins another slice: twice as long as the last where nobody did.
  func giveWay() async {
    let slot = slots[TaskIdentity.current & 511]
    let isMain = isMain(#isolation)
    let (length, yielded) = (slot.length.load(ordering: .relaxed), now())
    // A thread that waits for this one's processor, which may be the main one, would get it when the system thinks that this
    // thread has had its time: after 4 ms.
    if !isMain { letOthersRun() }
    await Task.yield()
    let now = now()
    let isAlone = now &- yielded < Self.briefest && !isMain
    begin(at: now, length: isAlone ? min(2 * length, Self.longest) : Self.length)
  }

  /// Never inlined: with the comparison in the same function as `#isolation`, the optimizer of Swift 6.3 makes code that it
  /// refuses itself.
  @inline(never) private func isMain(_ actor: (any Actor)?) -> Bool { actor === MainActor.shared }

  /// Waits for what makes a commit durable; those that read give way more often meanwhile.
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

/// Tells tasks apart.
enum TaskIdentity {
  /// A number that no other living task has; 0 outside of tasks.
  static var current: Int { withUnsafeCurrentTask { $0?.hashValue ?? 0 } }
}
