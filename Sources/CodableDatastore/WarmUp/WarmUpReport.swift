import DatastoreModel
import FoundationEssentials
import StorageEngine

/// What those hear who wait for a warm-up.
struct WarmUpReport<Format: DatastoreFormat> {
  private let core: DatastoreCore<Format>
  private var progress: WarmUpProgress
  private let total: Int
  private let clock = ContinuousClock()
  private let startedAt = LocalTime.now
  private let begin: ContinuousClock.Instant
  private var lastDetail: ContinuousClock.Instant?
  private var firstFailure: (any Error)?
  /// Whether somebody wants to hear of every failure; otherwise the first ends the work.
  private let collectsFailures: Bool

  init(core: DatastoreCore<Format>, title: String, total: Int) {
    self.core = core
    self.total = total
    begin = clock.now
    collectsFailures = core.listeners.current.contains { $0.detailed != nil }
    progress = WarmUpProgress(
      steps: [WarmUpProgress.Step(title: title, done: 0, total: total)], rate: 0, remainingSeconds: nil, failures: [],
      isComplete: false)
  }

  mutating func willWork(on position: Int) async {
    await core.listeners.tell(.working(current: position, total: total))
    guard position & 15 == 0 else { return }
    let now = clock.now
    if let lastDetail, now - lastDetail < .milliseconds(50) { return }
    lastDetail = now
    await tell(done: position, now: now)
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
  mutating func finish() async throws {
    await tell(done: total, now: clock.now)
    if let firstFailure { throw firstFailure }
  }

  private mutating func tell(done: Int, now: ContinuousClock.Instant) async {
    let seconds = (now - begin) / .seconds(1)
    progress.steps[0].done = done
    progress.rate = seconds > 0 ? Double(done) / seconds : 0
    progress.remainingSeconds = progress.rate > 0 ? Double(total - done) / progress.rate : nil
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
