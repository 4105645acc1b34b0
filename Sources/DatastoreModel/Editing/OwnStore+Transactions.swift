import Expressions
import StorageEngine

extension OwnStore {
  /// Runs one transaction and waits until its commit is durable; answers its number, or that of the head where nothing
  /// changed. Where `body` throws, nothing is written. The writer's lock is let go before it returns. `body` may run on a thread
  /// that writes for several.
  func transact(
    _ info: CommitInfo, _ body: (WriteTransaction) throws(ModelError) -> Void
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
  func baseView(of transaction: WriteTransaction) throws(ModelError) -> OwnView {
    let head = engine.head
    return head.commit.number == transaction.base.number
      ? view(head) : try ownView(at: CommitNumber(transaction.base.number))
  }

  /// Tells other processes what this one is busy with, while `body` runs; `report` is called with what is done.
  func whileBusy<Value>(
    _ title: String, total: Int, progress: WorkProgress?, _ body: (WorkMeter) throws(ModelError) -> Value
  ) throws(ModelError) -> Value {
    let meter = WorkMeter(store: self, title: title, total: total, progress: progress)
    defer { meter.close() }
    return try body(meter)
  }
}

/// Counts a long work, tells it to whoever listens, and asks whether to go on.
final class WorkMeter {
  private let store: OwnStore
  private let title: String
  private let progress: WorkProgress?
  private let startedAt = LocalTime.now
  private var done = 0
  private var told = 0
  private var hasTold = false
  var total: Int

  init(store: OwnStore, title: String, total: Int, progress: WorkProgress?) {
    self.store = store
    self.title = title
    self.total = total
    self.progress = progress
    tell()
  }

  /// Throws `ModelError.cancelled` where the listener wants no more.
  func advance(by count: Int = 1) throws(ModelError) {
    done += count
    guard done - told >= Self.step else { return }
    told = done
    tell()
    if let progress, !progress(done, total) { throw .cancelled }
  }

  func finish() throws(ModelError) {
    if let progress, !progress(done, max(done, total)) { throw .cancelled }
  }

  /// Takes back what other processes were told, if anything was.
  func close() {
    if hasTold { store.engine.setActivity(nil) }
  }

  private static let step = 64

  private func tell() {
    guard total > 500 || done > 500 else { return }
    hasTold = true
    store.engine.setActivity(
      Activity(
        title: title, done: done, total: max(total, done), startedAt: startedAt,
        steps: [Activity.Step(title: title, done: done, total: max(total, done), isComplete: false)]
      ).bytes)
  }
}
