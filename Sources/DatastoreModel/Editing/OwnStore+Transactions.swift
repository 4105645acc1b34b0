import Expressions
import StorageEngine

extension OwnStore {
  /// Runs one transaction and waits until its commit is durable; answers its number, or that of the head where nothing
  /// changed. Where `body` throws, nothing is written. The writer's lock is let go before it returns. `body` may run on a thread
  /// that writes for several.
  func transact(
    _ info: CommitInfo, _ body: (any WriteTransaction) throws(ModelError) -> Void
  ) throws(ModelError) -> CommitNumber {
    if case .readOnly(let reason) = access { throw .readOnly(reason: reason) }
    defer { if !keepsLock { engine.releaseLock() } }
    var base: UInt64 = 0
    let written = try onStorage { () throws(StorageError) in
      try engine.write(info) { transaction throws(ModelError) in
        base = transaction.base.number
        try body(transaction)
      }
    }
    return CommitNumber(try written.get() ?? base)
  }

  /// The state that a transaction began on.
  func baseView(of transaction: any WriteTransaction) throws(ModelError) -> OwnView {
    let head = engine.head
    return head.commit.number == transaction.base.number
      ? view(head) : try ownView(at: CommitNumber(transaction.base.number))
  }

  /// Tells other processes what this one is busy with, while `body` runs; whoever listens hears what is done.
  ///
  /// - Parameters:
  ///   - step: what is done first; the title where none is named.
  ///   - before: the steps that are done already.
  ///   - startedAt: when the work began, in nanoseconds since 1970; nil: now.
  func whileBusy<Value>(
    _ title: String, step: String? = nil, total: Int, after before: [Activity.Step] = [], startedAt: Int64? = nil,
    progress: WorkProgress?, activity: ActivityProgress? = nil,
    _ body: (WorkMeter) throws(ModelError) -> Value
  ) throws(ModelError) -> Value {
    let first = Activity.Step(title: step ?? title, done: 0, total: total, isComplete: false)
    let meter = WorkMeter(
      store: self, title: title, steps: before + [first], startedAt: startedAt ?? LocalTime.now, progress: progress,
      activity: activity)
    defer { meter.close() }
    if activity != nil { try meter.report() }
    return try body(meter)
  }
}

/// Counts a long work step by step, tells it to whoever listens, and asks whether to go on.
final class WorkMeter {
  private let store: OwnStore
  private let title: String
  private let startedAt: Int64
  private let progress: WorkProgress?
  private let activity: ActivityProgress?
  private var steps: [Activity.Step]
  private var done = 0
  private var told = 0
  private var total: Int
  /// When other processes were last told; nil while they were not.
  private var toldOthersAt: Int64?

  fileprivate init(
    store: OwnStore, title: String, steps: [Activity.Step], startedAt: Int64, progress: WorkProgress?,
    activity: ActivityProgress?
  ) {
    self.store = store
    self.title = title
    self.steps = steps
    self.startedAt = startedAt
    self.progress = progress
    self.activity = activity
    total = steps.last?.total ?? 0
    tellOthers()
  }

  /// Ends the step and begins another. Throws `ModelError.cancelled` where the listener wants no more.
  func begin(_ step: String, total: Int) throws(ModelError) {
    complete()
    steps.append(Activity.Step(title: step, done: 0, total: total, isComplete: false))
    (done, told, self.total) = (0, 0, total)
    try tell()
  }

  /// Throws `ModelError.cancelled` where the listener wants no more.
  func advance(by count: Int = 1) throws(ModelError) {
    done += count
    guard done - told >= Self.stride else { return }
    told = done
    try tell()
  }

  /// Ends the last step.
  func finish() throws(ModelError) {
    complete()
    try tell()
  }

  /// Takes back what other processes were told, if anything was.
  func close() {
    if toldOthersAt != nil { store.engine.setActivity(nil) }
  }

  /// Tells how far it is now, whatever was told last.
  func report() throws(ModelError) { try tell() }

  private static let stride = 64

  private func complete() {
    guard let last = steps.indices.last else { return }
    total = max(total, done)
    steps[last].done = done
    steps[last].total = total
    steps[last].isComplete = true
  }

  private func tell() throws(ModelError) {
    tellOthers()
    if let activity, !activity(present) { throw .cancelled }
    if let progress, !progress(done, max(total, done)) { throw .cancelled }
  }

  private var present: Activity {
    var steps = steps
    if let last = steps.indices.last, !steps[last].isComplete {
      steps[last].done = done
      steps[last].total = max(total, done)
    }
    return Activity(title: title, done: done, total: max(total, done), startedAt: startedAt, steps: steps)
  }

  /// Small work is not worth a word; larger is told twenty times a second at most.
  private func tellOthers() {
    guard total > 500 || done > 500 else { return }
    let now = LocalTime.now
    guard toldOthersAt.map({ now - $0 >= 50_000_000 }) ?? true else { return }
    toldOthersAt = now
    store.engine.setActivity(present.bytes)
  }
}
