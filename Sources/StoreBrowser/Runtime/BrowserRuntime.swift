import Dispatch
package import StrataModel
import StrataLocks

/// Runs the browser's work on its own threads and posts the reports.
///
/// Quick questions (rows, a record) run one after the other on one thread, so that they never wait for a long scan; long work has a thread
/// each. Saves run in the order of their requests. Staged changes have a thread of their own, so that they never wait for a server.
/// Progress is posted at most ten times a second, with all results since the last post; the first result is posted at once.
package final class BrowserRuntime: Sendable {
  private struct State {
    var open: [WorkID: Cancellation] = [:]
    var posted: [Message] = []
    var isStopped = false
    var followers: [any Sendable & AnyObject] = []
    var stirs = false
    /// Whether the clock has ticked since the last look.
    var ticks = false
    /// The measured figures that were not taken yet, and whether a measurement runs.
    var figures: WorkFigures?
    var isMeasuring = false
    /// Distinguishes the present clock from earlier ones.
    var clockTurn = 0
    /// The number of pieces of work since the store last released memory.
    var done = 0
  }

  /// Signals that messages wait. If a function is itself the value of a lock, every access wraps it again, so that each call would take
  /// longer than the one before.
  private struct Alarm {
    var ring: @Sendable () -> Void = {}
  }

  private let state = Mutex(State())
  private let store: any ReadableStore
  private let files: BrowserFiles
  private let warmUp: (any WarmUpDriver)?
  private let alarm = Mutex(Alarm())
  /// Work that saves what the user did, and other work that may leave files behind.
  private let kept = DispatchGroup()
  private let others = DispatchGroup()
  private let quick = DispatchQueue(label: "browser.quick", qos: .userInteractive)
  private let ordered = DispatchQueue(label: "browser.ordered", qos: .utility)
  private let staging = DispatchQueue(label: "browser.staging", qos: .utility)
  private let clock = DispatchQueue(label: "browser.clock", qos: .utility)
  private let long = DispatchQueue(label: "browser.long", qos: .userInitiated, attributes: .concurrent)

  package init(store: any ReadableStore, files: BrowserFiles = .none, warmUp: (any WarmUpDriver)? = nil) {
    self.store = store
    self.files = files
    self.warmUp = warmUp
  }

  /// Calls `wake`, on any thread, whenever messages wait.
  package func start(wake: @escaping @Sendable () -> Void) {
    alarm.withLock { $0.ring = wake }
    if !isIdle { wake() }
  }

  /// Begins to follow the store: each of its changes becomes a message. Reads from its disk or its server. Returns why it cannot.
  func follow() -> ModelError? {
    var follower: (any Sendable & AnyObject)?
    var problem: ModelError?
    do throws(ModelError) {
      follower = try store.follow { [weak self] in self?.stir() }
    } catch { problem = error }
    let inbox: (any Sendable & AnyObject)? = (store as? EngineStore)?.inbox?.watchIfPresent { [weak self] in
      self?.stir()
    }
    state.withLock { [follower] in $0.followers = [follower, inbox].compactMap { $0 } }
    return problem
  }

  /// Takes the messages posted since the last call.
  package func drainMessages() -> [Message] {
    state.withLock { state in
      var posted = state.posted
      state.posted = []
      if state.stirs {
        state.stirs = false
        posted.append(.storeStirred)
      }
      if state.ticks {
        posted.append(.tick(state.figures))
        (state.ticks, state.figures) = (false, nil)
      }
      return posted
    }
  }

  /// Whether no work runs and no message waits.
  package var isIdle: Bool {
    state.withLock { $0.open.isEmpty && $0.posted.isEmpty && !$0.stirs }
  }

  /// Whether a quick question is open, or its reply waits to be taken.
  var answersSoon: Bool {
    state.withLock { state in
      !state.posted.isEmpty
        || state.open.keys.contains {
          !$0.slot.isLong && !$0.slot.isSlow && !$0.slot.isKept && !$0.slot.isPrefetch
        }
    }
  }

  /// Starts or cancels work; the terminal handles other effects.
  package func run(_ effect: Effect) {
    switch effect {
    case .start(let id, let work): start(work, id)
    case .cancel(let id): state.withLock { $0.open[id] }?.cancel()
    case .clock(let isOn): setClock(isOn)
    default: break
    }
  }

  private static let patience: Double = 2

  /// Cancels everything except saves and commits, and waits for those if asked. It waits a moment for the rest, which removes its
  /// unfinished files.
  package func stop(waits: Bool = true) {
    let open = state.withLock { state in
      state.isStopped = true
      state.followers = []
      return state.open.filter { !$0.key.slot.isKept }.map(\.value)
    }
    for cancellation in open { cancellation.cancel() }
    if waits { kept.wait() }
    _ = others.wait(timeout: .now() + Self.patience)
  }

  /// Ticks every second while something runs. An earlier clock, or a stopped one, no longer ticks.
  private func setClock(_ isOn: Bool) {
    let turn = state.withLock { state in
      state.clockTurn += 1
      return isOn && !state.isStopped ? state.clockTurn : nil
    }
    turn.map(scheduleTick)
  }

  private func scheduleTick(_ turn: Int) {
    clock.asyncAfter(deadline: .now() + 1) { [weak self] in self?.tick(turn) }
  }

  /// Ticks, and measures on another thread: a server that does not answer does not stop the clock.
  private func tick(_ turn: Int) {
    let (isDue, measures) = state.withLock { state in
      guard state.clockTurn == turn, !state.isStopped else { return (false, false) }
      let measures = !state.isMeasuring
      (state.ticks, state.isMeasuring) = (true, true)
      return (true, measures)
    }
    guard isDue else { return }
    if measures {
      long.async { [self] in
        let figures = WorkFigures(of: store)
        state.withLock { ($0.figures, $0.isMeasuring) = (figures, false) }
      }
    }
    wakeLoop()
    scheduleTick(turn)
  }

  private func start(_ work: any Question, _ id: WorkID) {
    let cancellation = Cancellation()
    let isStopped = state.withLock { state in
      if !state.isStopped { state.open[id] = cancellation }
      return state.isStopped
    }
    guard !isStopped else { return }
    let queue =
      id.slot == .staging
      ? staging : id.slot.isKept && id.slot != .commit ? ordered : id.slot.isLong || id.slot.isSlow ? long : quick
    queue.async(group: id.slot.isKept && id.slot != .remembered && !(work is LoadStagedRequest) ? kept : others) {
      [self] in
      ReadPatience.$isNone.withValue(true) { answer(work, id, cancellation) }
    }
  }

  private func answer(_ work: any Question, _ id: WorkID, _ cancellation: Cancellation) {
    // A cancelled save of staged changes is skipped, because a later one saves them all.
    guard !cancellation.isCancelled || id.slot.isKept && id.slot != .staging else {
      finish(id, .failed(.cancelled))
      return
    }
    let throttle = ProgressThrottle { [self] in
      post(.work(id, .progress($0)), isOpen: id)
      store.releaseMemory()
    }
    var context = WorkContext(
      store: store, files: files, warmUp: warmUp, cancellation: cancellation, report: { throttle.report($0) })
    context.typingPause = 150
    if id.slot.isInCockpit { measure(id) }
    let report = work.report(in: context)
    throttle.flush()
    if id.slot.isInCockpit { measure(id) }
    finish(id, report)
    tidy(after: id.slot)
  }

  /// Measures when long work begins and when it has ended; in between, the clock measures.
  private func measure(_ id: WorkID) { post(.tick(WorkFigures(of: store)), isOpen: id) }

  /// Limits memory however long the user reads: releases it at once after work that reads much, otherwise now and then.
  private func tidy(after slot: WorkSlot) {
    let isDue = state.withLock { state in
      state.done += 1
      guard slot.isLong || slot.isSlow || [.changes, .history].contains(slot) || state.done >= 64 else { return false }
      state.done = 0
      return true
    }
    if isDue { store.releaseMemory() }
  }

  private func finish(_ id: WorkID, _ report: WorkReport) {
    state.withLock { state in
      state.open[id] = nil
      // If a save fails at the end, the shell shows it.
      if !state.isStopped || id.slot == .staging { state.posted.append(.work(id, report)) }
    }
    wakeLoop()
  }

  private func post(_ message: Message, isOpen id: WorkID) {
    state.withLock { if $0.open[id] != nil { $0.posted.append(message) } }
    wakeLoop()
  }

  private func wakeLoop() {
    let alarm = alarm.withLock { $0 }
    alarm.ring()
  }

  private func stir() {
    let isNew = state.withLock { state in
      defer { state.stirs = !state.isStopped }
      return !state.stirs && !state.isStopped
    }
    if isNew { wakeLoop() }
  }
}

/// Passes on progress at most ten times a second: the first report and the first result at once, and later results together.
final class ProgressThrottle: Sendable {
  private struct State {
    var waiting: Progress?
    var last: ContinuousClock.Instant?
    /// Whether a result has been passed on.
    var hasFound = false
  }

  private let state = Mutex(State())
  private let send: @Sendable (Progress) -> Void

  init(_ send: @escaping @Sendable (Progress) -> Void) { self.send = send }

  func report(_ progress: Progress, at now: ContinuousClock.Instant = .now) {
    let ready: [Progress] = state.withLock { state in
      var ready: [Progress] = []
      // The last report of one step must not be replaced by the first of the next.
      if let waiting = state.waiting, !waiting.isOfSameStep(as: progress) {
        ready.append(waiting)
        state.waiting = nil
      }
      let merged = progress.after(state.waiting)
      let isFirstFound = merged.hasFound && !state.hasFound
      if let last = state.last, now - last < .milliseconds(100), !isFirstFound {
        state.waiting = merged
        return ready
      }
      state.waiting = nil
      state.last = now
      if isFirstFound { state.hasFound = true }
      return ready + [merged]
    }
    ready.forEach(send)
  }

  func flush() {
    state.withLock { $0.waiting.take() }.map(send)
  }
}

extension Progress {
  /// Whether there are results that the user waits to see.
  fileprivate var hasFound: Bool {
    switch found {
    case .ranks(let ranks): !ranks.isEmpty
    case .hits(let hits): !hits.isEmpty
    default: false
    }
  }

  fileprivate func isOfSameStep(as other: Progress) -> Bool {
    switch (found, other.found) {
    // The rows before a plan are those of a scan that has begun again.
    case (.plan, _), (_, .plan): false
    case (.activity(let first), .activity(let second)): first.title == second.title
    default: true
    }
  }

  /// Returns this progress with the results of an earlier one added.
  fileprivate func after(_ earlier: Progress?) -> Progress {
    var merged = self
    switch (earlier?.found, found) {
    case (.ranks(let first)?, .ranks(let second)): merged.found = .ranks((first + second).sorted())
    case (.hits(let first)?, .hits(let second)): merged.found = .hits(first + second)
    case (.some(let first), .nothing): merged.found = first
    default: break
    }
    return merged
  }
}
