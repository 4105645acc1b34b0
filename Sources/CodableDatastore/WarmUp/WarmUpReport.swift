import StrataEngine
import StrataExpressions
import StrataFoundation
import StrataModel

/// Reports the progress of a warm-up to the callers that wait for it.
struct WarmUpReport<Format: DatastoreFormat> {
  private let core: DatastoreCore<Format>
  private var progress: WarmUpProgress
  private var account: WorkAccount
  private let total: Int
  private var position = 0
  private var lastDetail: Int64?
  private let startedAt = LocalTime.now
  private var firstFailure: (any Error)?
  /// Whether a listener collects every failure; otherwise the first failure ends the work.
  private let collectsFailures: Bool
  /// Whether each instance is reported to plain listeners. If old instances are only evaluated again, that is a part
  /// of evaluating.
  private let tellsInstances: Bool

  init(core: DatastoreCore<Format>, total: Int, tellsInstances: Bool) {
    self.core = core
    self.total = total
    self.tellsInstances = tellsInstances
    collectsFailures = core.listeners.collectFailures
    progress = WarmUpProgress(steps: [], rate: 0, remainingSeconds: nil, failures: [], isComplete: false)
    account = WorkAccount("warm up \(core.key)", [], startedAt: startedAt, at: startedAt)
  }

  /// Sets the planned steps, as far as they are known before the instances are decoded.
  mutating func plan(_ steps: [Activity.Step]) async {
    let store = try? core.store.connection.storeForReading(forWriter: true) as? FileStore
    account = WorkAccount(
      "warm up \(core.key)", steps, startedAt: startedAt, at: LocalTime.now, storeBefore: store?.fileBytes)
    await tell()
  }

  mutating func begin(_ title: String, total: Int) async {
    account.begin(title, total: total, at: LocalTime.now)
    await tell()
  }

  /// Continues a step that alternates with others.
  mutating func enter(_ title: String) { account.enter(title, at: LocalTime.now) }

  mutating func advance(by count: Int) { account.advance(by: count) }

  mutating func finishStep() async {
    account.finish(at: LocalTime.now)
    await tell()
  }

  mutating func willWork() async throws {
    let position = position
    self.position += 1
    account.advance(by: 1)
    if position & 63 == 0 { try Task.checkCancellation() }
    if tellsInstances { await core.listeners.tell(.working(current: position, total: total)) }
    guard position & 15 == 0 else { return }
    let now = LocalTime.now
    if let lastDetail, now - lastDetail < 50_000_000 { return }
    lastDetail = now
    await tell()
  }

  /// Notes a failure. If no listener collects failures, or it is a cancellation, throws it.
  mutating func failed(_ error: any Error, key: [UInt8], record: Bytes) async throws {
    if error is CancellationError || !collectsFailures { throw error }
    firstFailure = firstFailure ?? error
    account.fail(Activity.Failure(datastore: core.key, identifier: key, reason: DecodingPath.sentence(for: error)))
    guard progress.failures.count < 100 else { return }
    progress.failures.append(core.failure(error, key: key, record: record))
  }

  /// Ends the reading; throws the first failure.
  mutating func finishReading() async throws {
    if firstFailure == nil { account.finish(at: LocalTime.now) }
    await tell()
    if let firstFailure { throw firstFailure }
  }

  /// Reports the end of the work, which is durable now.
  mutating func complete() async {
    account.end(at: LocalTime.now)
    progress.isComplete = true
    await tellListeners()
    await core.listeners.tell(.complete(total: total))
  }

  private mutating func tell() async {
    await tellListeners()
    if let engine { engine.show(activity(measuring: engine), of: StoreConnection.programName) }
  }

  private mutating func tellListeners() async {
    let now = LocalTime.now
    account.update(at: now)
    let seconds = Double(now - startedAt) / 1e9
    progress.rate = seconds > 0 ? Double(position) / seconds : 0
    progress.remainingSeconds = progress.isComplete ? 0 : account.activity.secondsLeft?.upperBound
    progress.steps = account.activity.steps.map { .init(title: $0.title, done: $0.done, total: $0.total) }
    progress.activity = account.activity
    await core.listeners.tell(progress)
  }

  // MARK: Other processes

  private var engine: (any Engine)? { try? core.store.connection.storeForReading(forWriter: true) }

  private func activity(measuring engine: any Engine) -> Activity {
    var activity = account.activity
    activity.figures = WorkFigures(of: engine)
    return activity
  }

  /// Takes the word back, or leaves that the work was cancelled or why it failed.
  func end(_ error: (any Error)?) {
    guard let engine else { return }
    guard let error, !(error is WarmUpSuspended) else { return engine.setActivity(nil) }
    var ending = Activity.Ending()
    if !(error is CancellationError) {
      (ending.failures, ending.failureCount) = (account.activity.failures ?? [], account.activity.failureCount ?? 0)
      ending.reason =
        account.activity.failureCount.map { "\(counted($0, "record")) \($0 == 1 ? "does" : "do") not decode" }
        ?? DecodingPath.sentence(for: error)
    }
    engine.leave(activity(measuring: engine), ending, of: StoreConnection.programName)
  }
}

enum DecodingPath {
  static func text(of error: any Error) -> String {
    guard let error = decoding(error) else { return "" }
    var path = context(of: error).codingPath
    if case .keyNotFound(let key, _) = error { path.append(key) }
    return path.map { key in key.intValue.map { "[\($0)]" } ?? ".\(key.stringValue)" }.joined()
  }

  /// The reason of an error and the decoding path at which it occurred, without a full stop.
  static func sentence(for error: any Error) -> String {
    let (path, reason) = (text(of: error), reason(of: error))
    return (reason.hasSuffix(".") ? String(reason.dropLast()) : reason) + (path.isEmpty ? "" : " at \(path)")
  }

  static func reason(of error: any Error) -> String {
    if let error = decoding(error) { return context(of: error).debugDescription }
    let error = (error as? UnreadableInstanceError)?.underlying ?? error
    if let error = error as? any LocalizedError, let description = error.errorDescription { return description }
    return "\(error)"
  }

  private static func decoding(_ error: any Error) -> DecodingError? {
    ((error as? UnreadableInstanceError)?.underlying ?? error) as? DecodingError
  }

  private static func context(of error: DecodingError) -> DecodingError.Context {
    switch error {
    case .typeMismatch(_, let context), .valueNotFound(_, let context), .keyNotFound(_, let context),
      .dataCorrupted(let context):
      return context
    @unknown default:
      return DecodingError.Context(codingPath: [], debugDescription: "\(error)")
    }
  }
}
