import StrataEngine
import StrataExpressions
import StrataSystem

/// Counts long work step by step, reports it to the listeners, and asks them whether to go on.
final class WorkMeter {
  private let store: EngineStore
  private let datastore: String
  private let progress: WorkProgress?
  private let activity: ActivityProgress?
  private var account: WorkAccount
  /// Units that were done in the step at the last report to the listeners.
  private var told = 0
  /// Whether the work is reported to other processes however small it is. A build is, because its failures are looked for.
  var isAlwaysReported = false
  /// Whether nothing was to be done, so that nothing is left for other processes.
  var isTrial = false
  /// The rows that are left out of the commit.
  var leftOut = 0
  /// The time of the last report to other processes; nil before the first.
  private var toldOthersAt: Int64?

  init(
    store: EngineStore, title: String, steps: [Activity.Step], datastore: String, startedAt: Int64,
    progress: WorkProgress?, activity: ActivityProgress?
  ) {
    self.store = store
    self.datastore = datastore
    self.progress = progress
    self.activity = activity
    account = WorkAccount(
      title, steps, startedAt: startedAt, at: LocalTime.now, storeBefore: (store.engine as? FileStore)?.fileBytes)
  }

  /// Ends the steps before and begins another, planned or not. Throws `ModelError.cancelled` if the listener wants no more.
  func begin(_ step: String, total: Int) throws(ModelError) {
    account.begin(step, total: total, at: LocalTime.now)
    told = 0
    try report()
  }

  /// Turns to a step that alternates with others, and sets how much it has to do if `total` says so.
  func enter(_ step: String, total: Int? = nil) {
    account.enter(step, total: total, at: LocalTime.now)
    told = account.activity.done
  }

  /// Sets the totals of the step and of those planned after it, if they are known only now.
  func expect(_ total: Int) throws(ModelError) {
    account.expect(total)
    try report()
  }

  /// Throws `ModelError.cancelled` if the listener wants no more.
  func advance(by count: Int = 1) throws(ModelError) {
    account.advance(by: count)
    guard account.activity.done - told >= Self.stride else { return }
    told = account.activity.done
    try report()
  }

  func fail(_ identifier: StoredKey, _ reason: String) {
    account.fail(Activity.Failure(datastore: datastore, identifier: identifier.bytes, reason: reason))
  }

  /// Completes the steps so far.
  func finish() throws(ModelError) {
    account.finish(at: LocalTime.now)
    try report()
  }

  /// Completes all steps, when there is nothing left that could be called off.
  func end() {
    account.end(at: LocalTime.now)
    try? report()
  }

  /// Leaves the result for other processes, if the work was reported to them.
  func close(_ outcome: Result<CommitNumber?, ModelError>) {
    guard toldOthersAt != nil else { return }
    if isTrial { return store.engine.setActivity(nil) }
    var ending = Activity.Ending()
    switch outcome {
    case .success(let commit):
      (ending.commit, ending.leftOut) = (commit?.rawValue, leftOut)
      let bytes = (store.engine as? FileStore)?.fileBytes ?? 0
      ending.bytes = Int(clamping: bytes) - Int(clamping: present.storeBefore ?? bytes)
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
    store.engine.leave(present, ending, of: store.program)
  }

  private static let mostFailures = 100
  private static let stride = 64

  /// Reports the progress now, however recent the last report is.
  func report() throws(ModelError) {
    account.update(at: LocalTime.now)
    tellOthers()
    let present = present
    if let activity, !activity(present) { throw .cancelled }
    if let progress, !progress(present.done, max(present.total, present.done)) { throw .cancelled }
  }

  private var present: Activity { account.activity }

  /// Reports a build, and other work of more than 500 units, to other processes, at most twenty times a second.
  private func tellOthers() {
    guard isAlwaysReported || present.total > 500 || present.done > 500 || toldOthersAt != nil else { return }
    let now = LocalTime.now
    // A clock that was set back is as good as a new one.
    guard toldOthersAt.map({ !(0..<50_000_000 ~= now - $0) }) ?? true else { return }
    toldOthersAt = now
    account.update(WorkFigures(of: store.engine))
    store.engine.show(present, of: store.program)
  }
}

extension Engine {
  /// Shows other processes the work of this one.
  package func show(_ activity: Activity, of program: String) {
    var shown = activity
    shown.worker = .current(program)
    // A file is written ten times a second: three records say what is wrong.
    shown.failures = shown.failures.map { Array($0.prefix(3)) }
    setActivity(shown.bytes)
  }

  /// Leaves other processes the work of this one, and how it ended.
  package func leave(_ activity: Activity, _ ending: Activity.Ending, of program: String) {
    var last = activity
    (last.failures, last.failureCount) = (nil, nil)
    (last.ending, last.worker) = (ending, .current(program))
    leaveActivity(last.bytes)
  }
}

extension Activity.Worker {
  /// This process.
  fileprivate static func current(_ program: String) -> Self {
    var name = [CChar](repeating: 0, count: 256)
    let host =
      gethostname(&name, name.count - 1) == 0
      ? String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self) : ""
    return Self(processIdentifier: getpid(), program: program, host: host)
  }
}
