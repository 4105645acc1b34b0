import Expressions
import StorageEngine

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

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

  /// Tells other processes what this one is busy with, while `body` runs and makes a commit, and what came of it; whoever listens hears
  /// what is done.
  ///
  /// - Parameters:
  ///   - steps: what is done already, what is done first, and what follows as far as it is known.
  ///   - datastore: whose records may fail.
  ///   - startedAt: when the work began, in nanoseconds since 1970; nil: now.
  func whileBusy<Value>(
    _ title: String, _ steps: [Activity.Step], of datastore: String = "", startedAt: Int64? = nil,
    progress: WorkProgress?, activity: ActivityProgress? = nil,
    _ body: (WorkMeter) throws(ModelError) -> Value
  ) throws(ModelError) -> Value {
    let meter = WorkMeter(
      store: self, title: title, steps: steps, datastore: datastore, startedAt: startedAt ?? LocalTime.now,
      progress: progress, activity: activity)
    do {
      if activity != nil { try meter.report() }
      let value = try body(meter)
      meter.close(.success(value as? CommitNumber))
      return value
    } catch {
      meter.close(.failure(error))
      throw error
    }
  }
}

/// Counts a long work step by step, tells it to whoever listens, and asks whether to go on.
final class WorkMeter {
  private let store: OwnStore
  private let title: String
  private let datastore: String
  private let startedAt: Int64
  private let progress: WorkProgress?
  private let activity: ActivityProgress?
  private var steps: [Activity.Step]
  /// The step that is under way.
  private var place: Int
  private var done = 0
  private var told = 0
  private var total: Int
  /// Of the store's file; a server is not asked.
  private let bytesBefore: UInt64
  /// When other processes were last told; nil while they were not.
  private var toldOthersAt: Int64?

  fileprivate init(
    store: OwnStore, title: String, steps: [Activity.Step], datastore: String, startedAt: Int64,
    progress: WorkProgress?, activity: ActivityProgress?
  ) {
    self.store = store
    self.title = title
    self.steps = steps
    self.datastore = datastore
    place = steps.firstIndex { !$0.isComplete } ?? 0
    bytesBefore = Self.fileBytes(of: store)
    self.startedAt = startedAt
    self.progress = progress
    self.activity = activity
    total = steps[place].total
  }

  /// Ends the step and begins another, planned or not. Throws `ModelError.cancelled` where the listener wants no more.
  func begin(_ step: String, total: Int) throws(ModelError) {
    let next = steps.firstIndex { $0.title == step } ?? steps.endIndex
    if next != place { complete() }
    place = next
    if place == steps.endIndex { steps.append(Activity.Step(title: step, done: 0, total: total, isComplete: false)) }
    steps[place].total = total
    (done, told, self.total) = (0, 0, total)
    try tell()
  }

  /// Tells how much the step and those planned after it have to do, where that is known only now.
  func expect(_ total: Int) throws(ModelError) {
    for later in steps.indices[place...] { steps[later].total = total }
    self.total = total
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

  /// Leaves word for other processes of what came of it, if they were told anything.
  fileprivate func close(_ outcome: Result<CommitNumber?, ModelError>) {
    guard toldOthersAt != nil else { return }
    var last = present
    var ending = Activity.Ending(processIdentifier: getpid(), at: LocalTime.now)
    switch outcome {
    case .success(let commit):
      ending.commit = commit?.rawValue
      ending.bytes = Int(clamping: Self.fileBytes(of: store)) - Int(clamping: bytesBefore)
    case .failure(.failures(let records, let total)):
      ending.reason = "\(counted(total, "record")) \(total == 1 ? "does" : "do") not fit"
      ending.failureCount = total
      ending.failures = records.prefix(Self.mostFailures).map {
        .init(datastore: datastore, identifier: $0.identifier.bytes, reason: $0.reason)
      }
    // Nothing was done, and the one that was waited for has more to say.
    case .failure(.locked): return store.engine.setActivity(nil)
    case .failure(.cancelled): break
    case .failure(let error): ending.reason = error.description
    }
    last.ending = ending
    store.engine.leaveActivity(last.bytes)
  }

  private static let mostFailures = 100

  private static func fileBytes(of store: OwnStore) -> UInt64 { (store.engine as? FileStore)?.fileBytes ?? 0 }

  /// Tells how far it is now, whatever was told last.
  func report() throws(ModelError) { try tell() }

  private static let stride = 64

  private func complete() {
    total = max(total, done)
    steps[place].done = done
    steps[place].total = total
    steps[place].isComplete = true
  }

  private func tell() throws(ModelError) {
    tellOthers()
    if let activity, !activity(present) { throw .cancelled }
    if let progress, !progress(done, max(total, done)) { throw .cancelled }
  }

  private var present: Activity {
    var steps = steps
    if !steps[place].isComplete {
      steps[place].done = done
      steps[place].total = max(total, done)
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
