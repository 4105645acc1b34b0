import StrataExpressions
import StrataModel
import StrataLocks
import StrataEngine

extension DatastoreCore {
  func missingSteps(in view: View) throws -> [String] {
    let tree = try throwingStoreErrors { try view.tree(recordsTree) }
    guard let tree else { return [] }
    let stored = try descriptor(of: tree)
    let plan = try plan(for: stored, isEmpty: tree.isWithoutEntries)
    var steps = plan.rebuilt.sorted().map { place in
      "index \(indexes[place].name), \(stored.index(indexes[place].name) == nil ? "new" : "changed")"
    }
    steps += plan.moved.sorted { $0.key < $1.key }.map { "index \($0.value), renamed \(indexes[$0.key].name)" }
    steps += plan.dropped.map { "index \($0), dropped" }
    if plan.rekeys { steps.append("identifiers in another form") }
    if !plan.evaluated.isEmpty, steps.isEmpty { steps.append("version \(stored.version) → \(coder.tag)") }
    return steps
  }

  func rewriteOlderRecords(_ progress: @escaping WarmUpHandler) async throws {
    try await migrateEntireStore(
      ifLessThan: Format.currentVersion, listener: WarmUpListener(nil, detailed: progress))
  }
}

/// Brings the datastores of a persistence up to their declarations, one after the other.
final class PersistenceWarmUp: WarmUpDriver {
  private let store: EngineStore
  private let formats: [any DeclaredDatastore]
  private let releasesLock: Bool

  init(store: EngineStore, formats: [any DeclaredDatastore], releasesLock: Bool) {
    self.store = store
    self.formats = formats
    self.releasesLock = releasesLock
  }

  func plan() throws(ModelError) -> [String] {
    do {
      let view = try store.engine.refresh()
      return try formats.flatMap { format in
        try format.missingSteps(in: view).map { "\(format.datastore): \($0)" }
      }
    } catch {
      throw Self.modelError(error)
    }
  }

  func warmUp(
    leavingOut: [RecordPlace], mending: [RecordEdit], report: @escaping @Sendable (Activity) -> Bool
  ) throws(ModelError) -> WarmUpResult {
    try run(report) { format, handler in
      let keys = leavingOut.filter { $0.datastore == format.datastore }.map(\.identifier.bytes)
      let edits = mending.filter { $0.datastore == format.datastore }
      try await format.warm(
        listener: WarmUpListener(nil, detailed: handler), forced: WarmUpPlan(leavingOut: Set(keys), mending: edits))
    }
  }

  func rewriteOlderRecords(
    report: @escaping @Sendable (Activity) -> Bool
  ) throws(ModelError) -> WarmUpResult {
    try run(report) { format, handler in try await format.rewriteOlderRecords(handler) }
  }

  /// Does work on one datastore after the other, on a task that ends when the listener says so.
  private func run(
    _ report: @escaping @Sendable (Activity) -> Bool,
    _ work: @escaping @Sendable (any DeclaredDatastore, @escaping WarmUpHandler) async throws -> Void
  ) throws(ModelError) -> WarmUpResult {
    let head = store.head
    // How many records each datastore has, in the order in which they are warmed up.
    let counts: [(datastore: String, count: Int)] = try formats.map { format throws(ModelError) in
      (format.datastore, try head.datastore(format.datastore)?.count ?? 0)
    }
    let progress = RunningWarmUp(counts, report)
    defer { if releasesLock { store.engine.releaseLock() } }
    do {
      try CallingThread.run {
        let task = Task.detached { [formats] in
          for format in formats {
            let datastore = format.datastore
            try await work(format) { progress.hear($0, of: datastore) }
          }
        }
        progress.begin(task)
        try await task.value
      }
    } catch {
      if error is CancellationError { throw .cancelled }
      guard progress.failures.isEmpty else { return WarmUpResult(commit: nil, failures: progress.failures) }
      throw Self.modelError(error)
    }
    return WarmUpResult(commit: try store.refresh().commit)
  }

  private static func modelError(_ error: any Error) -> ModelError {
    if let error = error as? ModelError { return error }
    if let error = error as? StoreError, case .locked(let process, let program) = error.kind {
      return .locked(WriterHold(processIdentifier: process, program: program, since: 0))
    }
    return .storage(DecodingPath.reason(of: error), kind: .failed)
  }
}

/// A warm-up under way: what it has reported, and its task, which ends when the listener says so.
private final class RunningWarmUp: Sendable {
  private struct State {
    var failures: [WarmUpFailure] = []
    var task: Task<Void, any Error>?
    var isCancelled = false
    var whole: WholeWarmUp
  }

  private let state: Mutex<State>
  private let report: @Sendable (Activity) -> Bool

  init(_ counts: [(datastore: String, count: Int)], _ report: @escaping @Sendable (Activity) -> Bool) {
    state = Mutex(State(whole: WholeWarmUp(counts: counts, startedAt: LocalTime.now)))
    self.report = report
  }

  var failures: [WarmUpFailure] { state.withLock { $0.failures } }

  func begin(_ task: Task<Void, any Error>) {
    let isCancelled = state.withLock { state in
      state.task = task
      return state.isCancelled
    }
    if isCancelled { task.cancel() }
  }

  func hear(_ progress: WarmUpProgress, of datastore: String) {
    // A datastore that needs nothing has nothing to show.
    guard let part = progress.activity, !part.steps.isEmpty else { return }
    let goesOn = report(state.withLock { $0.whole.activity(with: part, of: datastore, at: LocalTime.now) })
    let task = state.withLock { state in
      state.failures = progress.failures.map { WarmUpFailure($0, in: datastore) }
      state.isCancelled = state.isCancelled || !goesOn
      return state.isCancelled ? state.task : nil
    }
    task?.cancel()
  }
}

/// The warm-up of several datastores as one work: each weighs as many records as it has.
private struct WholeWarmUp {
  let counts: [(datastore: String, count: Int)]
  let startedAt: Int64
  /// The steps of the datastores that are done, and of the present one.
  var earlier: [Activity.Step] = []
  var present: (datastore: String, steps: [Activity.Step])?
  var estimate = WorkEstimate()

  mutating func activity(with part: Activity, of datastore: String, at now: Int64) -> Activity {
    if let present, present.datastore != datastore { earlier += present.steps }
    let steps = part.steps.map { step in
      var step = step
      if counts.count > 1 { step.title = "\(datastore): \(step.title)" }
      return step
    }
    present = (datastore, steps)
    var activity = part
    activity.title = "warm up \(datastore)"
    activity.startedAt = startedAt
    activity.steps = earlier + steps
    if let share = part.share { estimate.add(whole(share, of: datastore), at: now) }
    (activity.share, activity.secondsLeft) = (estimate.share, estimate.secondsLeft)
    return activity
  }

  private func whole(_ share: Double, of datastore: String) -> Double {
    let all = counts.reduce(0) { $0 + $1.count }
    let before = counts.prefix { $0.datastore != datastore }.reduce(0) { $0 + $1.count }
    let own = counts.first { $0.datastore == datastore }?.count ?? 0
    return all > 0 ? (Double(before) + share * Double(own)) / Double(all) : share
  }
}

extension WarmUpFailure {
  fileprivate init(_ failure: WarmUpProgress.Failure, in datastore: String) {
    let path = failure.decodingPath.isEmpty ? "" : " at \(failure.decodingPath)"
    let identifier = StoredKey(bytes: failure.key, value: .string(failure.identifier))
    self.init(
      place: RecordPlace(datastore: datastore, identifier: identifier), reason: failure.reason + path,
      byteCount: failure.byteCount)
  }
}
