import StrataModel

/// Long work as far as it was reported, and how it ended.
struct WorkRun: Sendable, Hashable {
  enum Ending: Sendable, Hashable {
    /// With a sentence that describes the result.
    case done(String)
    case failed(String)
    case cancelled
  }

  /// The work of this browser; nil if another program does it.
  let id: WorkID?
  /// The last report of it.
  private(set) var activity: Activity
  /// When progress was last reported.
  private(set) var movedAt: Int64
  private(set) var endedAt: Int64?
  private(set) var ending: Ending?
  /// Whether the cockpit has shown how it ended.
  var isSeen = false
  /// Accounts for work that only says how much is done.
  private var account: WorkAccount?
  /// The most memory that was measured.
  private(set) var greatestMemory: UInt64?

  /// Work that begins here.
  init(_ id: WorkID, title: String, at now: Int64) {
    self.id = id
    activity = Activity(title: title, done: 0, total: 0, startedAt: now)
    movedAt = now
  }

  /// Work that another program reports.
  init(_ activity: Activity, at now: Int64) {
    id = nil
    self.activity = activity
    movedAt = now
    update(activity, at: now)
  }

  var title: String { activity.title }
  var startedAt: Int64 { activity.startedAt }
  var isRunning: Bool { endedAt == nil }

  /// Seconds since it began, to its end or to now.
  func seconds(at now: Int64) -> Double { Double((endedAt ?? now) - startedAt) / 1e9 }

  /// For how many seconds nothing has been done; nil in the first three, and after the end.
  func stalled(at now: Int64) -> Int? {
    let seconds = Int((now - movedAt) / 1_000_000_000)
    return isRunning && seconds >= 3 ? seconds : nil
  }

  /// Whether a key pressed now may have been meant for it though it has ended.
  func hasJustEnded(at now: Int64) -> Bool { id != nil && endedAt.map { now - $0 < 2_000_000_000 } ?? false }

  /// Whether an activity that another program reports belongs to this run.
  func isContinued(by activity: Activity) -> Bool { id == nil && activity.startedAt == startedAt }

  /// How much is done in percent: of the whole if that is known, otherwise of the step under way. Header, pane and foot all say this.
  var percent: Int? {
    if let share = activity.share { return Int(share * 100 + 1e-9) }
    return activity.total > 0 ? min(100, activity.done * 100 / activity.total) : nil
  }

  /// Whether it builds indexes from all records.
  var isBuild: Bool { activity.counts.records > 0 }

  mutating func update(_ progress: Progress, at now: Int64) {
    if case .activity(let activity) = progress.found { return update(activity, at: now) }
    var account =
      account
      ?? WorkAccount(
        title, [Activity.Step(title: title, done: 0, total: 0, isComplete: false, cost: 1)], startedAt: startedAt,
        at: startedAt)
    account.set(done: progress.done, total: progress.total ?? 0)
    account.update(at: now)
    self.account = account
    update(account.activity, at: now)
  }

  /// Takes in a report. A run whose end was not seen goes on with it, or learns how it ended.
  mutating func update(_ activity: Activity, at now: Int64) {
    guard ending == nil || ending == .cancelled else { return }
    if ending == nil { endedAt = nil }
    let before = self.activity
    self.activity = activity
    if let share = before.share { self.activity.share = activity.share.map { max($0, share) } }
    if activity.figures == nil {
      (self.activity.figures, self.activity.storeBefore) = (before.figures, before.storeBefore)
    }
    if activity.worker == nil { self.activity.worker = before.worker }
    if let figures = activity.figures { updateMemory(figures) }
    if before.steps.map(\.done) != activity.steps.map(\.done) || before.done != activity.done { movedAt = now }
    guard let ending = activity.ending else { return }
    // The growth of the store is known when all is written.
    if let before = activity.storeBefore, ending.bytes > 0 {
      self.activity.figures?.store = before + UInt64(ending.bytes)
    }
    end(Ending(ending, of: activity), at: ending.at)
  }

  /// Notes memory and sizes that this browser measured.
  mutating func update(_ figures: WorkFigures) {
    if activity.storeBefore == nil { activity.storeBefore = figures.store }
    activity.figures = figures
    updateMemory(figures)
  }

  private mutating func updateMemory(_ figures: WorkFigures) {
    greatestMemory = figures.memory.map { max($0, greatestMemory ?? 0) } ?? greatestMemory
  }

  mutating func end(_ ending: Ending?, at now: Int64) {
    guard isRunning else { return }
    endedAt = now
    self.ending = ending
    guard case .done = ending, var account else { return }
    account.end(at: now)
    activity.steps = account.activity.steps
  }

  /// Whether a step was under way when the work failed.
  func hasFailed(_ step: Activity.Step) -> Bool {
    guard case .failed = ending else { return false }
    return step.title == activity.currentStep?.title
  }

  /// How it ended, in words.
  var words: String? {
    switch ending {
    case .done(let words): words
    case .failed(let reason): "failed: \(reason); the store is as it was"
    case .cancelled: "cancelled; the store is as it was"
    case nil: nil
    }
  }

  /// One line for each step that is done or failed, and how it ended.
  var log: [String] {
    ["started \(title)"]
      + activity.steps.compactMap { step in
        if hasFailed(step) {
          return "failed \(step.title): at \(NumberFormat.count(step.done)) of \(NumberFormat.count(step.total))"
        }
        return step.isComplete ? "complete \(step.title): \(NumberFormat.count(step.total))" : nil
      } + [words].compactMap(\.self)
  }
}

extension WorkRun.Ending {
  /// As another program left it.
  fileprivate init(_ ending: Activity.Ending, of activity: Activity) {
    if let commit = ending.commit {
      var words = "complete: commit \(CommitNumber(commit))"
      let counts = activity.counts
      if counts.records > 0 {
        let seconds = Double(max(0, ending.at - activity.startedAt)) / 1e9
        words += IndexChangeReport.figures(
          records: counts.records, entries: counts.entries, bytes: ending.bytes, seconds: seconds)
      }
      if let leftOut = ending.leftOut, leftOut > 0 { words += ", \(NumberFormat.counted(leftOut, "row")) left out" }
      self = .done(words)
    } else {
      self = ending.reason.map { .failed($0) } ?? .cancelled
    }
  }
}
