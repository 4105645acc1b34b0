import Expressions
import DatastoreModel
#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import StorageEngine

/// What those hear who wait for a warm-up.
struct WarmUpReport<Format: DatastoreFormat> {
  private let core: DatastoreCore<Format>
  private var progress: WarmUpProgress
  private let total: Int
  /// Instances that were worked on.
  private var position = 0
  private let clock = ContinuousClock()
  private let startedAt = LocalTime.now
  private let begin: ContinuousClock.Instant
  private var lastDetail: ContinuousClock.Instant?
  private var firstFailure: (any Error)?
  /// Whether somebody wants to hear of every failure; otherwise the first ends the work.
  private let collectsFailures: Bool
  /// Whether plain listeners hear of each instance. Where old ones are only evaluated again, that is a part of
  /// evaluating.
  private let tellsInstances: Bool

  init(core: DatastoreCore<Format>, total: Int, tellsInstances: Bool) {
    self.core = core
    self.total = total
    self.tellsInstances = tellsInstances
    begin = clock.now
    collectsFailures = core.listeners.current.contains { $0.detailed != nil }
    progress = WarmUpProgress(steps: [], rate: 0, remainingSeconds: nil, failures: [], isComplete: false)
  }

  /// Begins a step.
  mutating func begin(_ title: String, total: Int) async {
    progress.steps.append(WarmUpProgress.Step(title: title, done: 0, total: total))
    await tell(done: 0)
  }

  /// Ends the step.
  mutating func finishStep() async {
    await tell(done: progress.steps.last?.total ?? 0)
  }

  /// Tells of the next instance.
  mutating func willWork() async throws {
    let position = position
    self.position += 1
    if position & 63 == 0 { try Task.checkCancellation() }
    if tellsInstances { await core.listeners.tell(.working(current: position, total: total)) }
    guard position & 15 == 0 else { return }
    let now = clock.now
    if let lastDetail, now - lastDetail < .milliseconds(50) { return }
    lastDetail = now
    measure(position, now)
    await tell(done: position)
  }

  /// Notes a failure; without anybody who collects them it is thrown.
  mutating func failed(_ error: any Error, key: [UInt8], record: Bytes) async throws {
    if error is CancellationError || !collectsFailures { throw error }
    firstFailure = firstFailure ?? error
    guard progress.failures.count < 100 else { return }
    progress.failures.append(
      WarmUpProgress.Failure(
        identifier: (try? core.identifiers.encoding.decode(key).description) ?? "\(key)",
        version: core.coder.tag(of: record) ?? "", decodingPath: DecodingPath.text(of: error),
        reason: DecodingPath.reason(of: error), key: key, byteCount: record.count))
  }

  /// Ends the reading; throws the first failure.
  mutating func finishReading() async throws {
    measure(total, clock.now)
    await tell(done: total)
    if let firstFailure { throw firstFailure }
  }

  /// Ends the work.
  mutating func complete() async {
    progress.isComplete = true
    progress.remainingSeconds = 0
    await core.listeners.tell(progress)
  }

  private mutating func measure(_ done: Int, _ now: ContinuousClock.Instant) {
    let seconds = (now - begin) / .seconds(1)
    progress.rate = seconds > 0 ? Double(done) / seconds : 0
    progress.remainingSeconds = progress.rate > 0 ? Double(total - done) / progress.rate : nil
  }

  private mutating func tell(done: Int) async {
    if !progress.steps.isEmpty { progress.steps[progress.steps.count - 1].done = done }
    await core.listeners.tell(progress)
    tellOtherProcesses()
  }

  /// Leaves word for the panes of other processes.
  private func tellOtherProcesses() {
    let activity = Activity(progress, of: core.key, startedAt: startedAt)
    (try? core.store.connection.storeForReading(forWriter: true))?.setActivity(activity.bytes)
  }

  /// Takes the word back.
  func end() { (try? core.store.connection.storeForReading(forWriter: true))?.setActivity(nil) }
}

/// Where and why decoding failed.
enum DecodingPath {
  static func text(of error: any Error) -> String {
    guard let error = error as? DecodingError else { return "" }
    var path = context(of: error).codingPath
    if case .keyNotFound(let key, _) = error { path.append(key) }
    return path.map { key in key.intValue.map { "[\($0)]" } ?? ".\(key.stringValue)" }.joined()
  }

  /// What is wrong and where, in one line.
  static func sentence(for error: any Error) -> String {
    let path = text(of: error)
    return path.isEmpty ? reason(of: error) : "\(reason(of: error)) at \(path)"
  }

  static func reason(of error: any Error) -> String {
    if let error = error as? DecodingError { return context(of: error).debugDescription }
    if let error = error as? any LocalizedError, let description = error.errorDescription { return description }
    return "\(error)"
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
