import DatastoreModel

/// Long work as it was heard of: all its steps with measured times and rates, and how it ended.
struct WorkRun: Sendable, Hashable {
  struct Step: Sendable, Hashable {
    var title: String
    var done: Int
    /// 0 where it is not known.
    var total: Int
    var isComplete: Bool
    /// Whether it ended with an error, or with records that do not fit.
    var isFailed = false
    /// When it was first heard of with something done, and when as complete; nanoseconds since 1970.
    var firstSeen: Int64?
    var finished: Int64?
    var rates = RateMeter()

    var seconds: Double? {
      guard let firstSeen, let finished, finished > firstSeen else { return nil }
      return Double(finished - firstSeen) / 1e9
    }
  }

  enum Ending: Sendable, Hashable {
    /// With what was done, in words.
    case done(String)
    case failed(String)
    case cancelled
  }

  /// The work of this browser; nil where another program does it.
  let id: WorkID?
  private(set) var title: String
  /// Nanoseconds since 1970.
  let startedAt: Int64
  private(set) var steps: [Step] = []
  private(set) var rates = RateMeter()
  private(set) var done = 0
  private(set) var total = 0
  /// When something was last heard to be done.
  private(set) var movedAt: Int64
  private(set) var endedAt: Int64?
  private(set) var ending: Ending?
  /// What another program left of it.
  private(set) var left: Activity.Ending?
  /// Whether the cockpit has shown how it ended.
  var isSeen = false
  /// How much of the whole is done, from 0 to 1, where all steps are known from the beginning; it never goes back.
  private(set) var share: Double?
  private(set) var shares = RateMeter()
  /// What it takes, as it was measured last, and at its beginning.
  private(set) var figures: WorkFigures?
  private var firstFigures: WorkFigures?

  /// Work that begins here.
  init(_ id: WorkID, title: String, at now: Int64) {
    self.id = id
    self.title = title
    (startedAt, movedAt) = (now, now)
  }

  /// What another program says that it does.
  init(_ activity: Activity, at now: Int64) {
    id = nil
    title = activity.title
    startedAt = activity.startedAt
    movedAt = now
    note(activity, at: now)
  }

  var isRunning: Bool { endedAt == nil }

  /// Seconds since it began, to its end or to now.
  func seconds(at now: Int64) -> Double { Double((endedAt ?? now) - startedAt) / 1e9 }

  /// For how many seconds nothing has been done; nil while that says nothing.
  func stalled(at now: Int64) -> Int? {
    let seconds = Int((now - movedAt) / 1_000_000_000)
    return isRunning && seconds >= 3 ? seconds : nil
  }

  /// Whether a key pressed now may have been meant for it though it has ended.
  func hasJustEnded(at now: Int64) -> Bool { id != nil && endedAt.map { now - $0 < 2_000_000_000 } ?? false }

  /// Whether what another program says is of this run.
  func isContinued(by activity: Activity) -> Bool { id == nil && activity.startedAt == startedAt }

  /// How far it is, and of how much: of the whole where that is known, otherwise of the step under way.
  var part: (done: Int, total: Int) {
    share.map { (Int($0 * Double(Self.whole)), Self.whole) } ?? (done, total)
  }

  private static let whole = 10_000

  mutating func note(_ progress: Progress, at now: Int64) {
    if case .activity(let activity) = progress.found { return note(activity, at: now) }
    note(Activity(title: title, done: progress.done, total: progress.total ?? 0, startedAt: startedAt), at: now)
  }

  mutating func note(_ activity: Activity, at now: Int64) {
    guard isRunning else { return }
    let heard =
      activity.steps.isEmpty
      ? [
        Activity.Step(
          title: activity.title, done: activity.done, total: activity.total,
          isComplete: activity.total > 0 && activity.done == activity.total)
      ] : activity.steps
    let before = current?.title
    for step in heard { note(step, at: now) }
    title = activity.title
    if activity.done != done || activity.total != total || current?.title != before { movedAt = now }
    (done, total) = (activity.done, activity.total)
    if current?.title != before { rates.beginStep() }
    rates.note(done: done, at: now)
    weigh(activity.steps, at: now)
    guard let ending = activity.ending else { return }
    left = ending
    end(Ending(ending, of: activity), at: ending.at)
  }

  private mutating func weigh(_ steps: [Activity.Step], at now: Int64) {
    var (done, all) = (0.0, 0.0)
    for step in steps {
      guard let cost = step.cost else { return }
      let weight = Double(max(1, step.total)) * Double(cost)
      all += weight
      done += step.isComplete ? weight : weight * Double(min(step.done, step.total)) / Double(max(1, step.total))
    }
    guard all > 0 else { return }
    share = max(share ?? 0, done / all)
    shares.note(done: part.done, at: now)
  }

  mutating func note(_ figures: WorkFigures) {
    self.figures = figures
    if firstFigures == nil { firstFigures = figures }
  }

  /// Bytes that the store's file grew by, as far as it was measured.
  var growth: UInt64? {
    guard let figures, let firstFigures, figures.store > firstFigures.store else { return nil }
    return figures.store - firstFigures.store
  }

  /// The step that is under way, or else the last.
  private var current: Step? { steps.first { !$0.isComplete } ?? steps.last }

  private mutating func note(_ step: Activity.Step, at now: Int64) {
    let position = steps.firstIndex { $0.title == step.title } ?? steps.endIndex
    if position == steps.endIndex {
      // A step without a known length is over when another is heard of.
      for earlier in steps.indices where steps[earlier].total == 0 { complete(earlier, at: now) }
      steps.append(Step(title: step.title, done: 0, total: step.total, isComplete: false))
    }
    if steps[position].firstSeen == nil, step.done > 0 { steps[position].firstSeen = now }
    if step.isComplete, !steps[position].isComplete { steps[position].finished = now }
    steps[position].done = step.done
    steps[position].total = step.total
    steps[position].isComplete = step.isComplete
    steps[position].rates.note(done: step.done, at: now)
  }

  private mutating func complete(_ position: Int, at now: Int64) {
    guard !steps[position].isComplete else { return }
    steps[position].total = steps[position].done
    steps[position].isComplete = true
    steps[position].finished = now
  }

  mutating func end(_ ending: Ending?, at now: Int64) {
    guard isRunning else { return }
    endedAt = now
    self.ending = ending
    switch ending {
    case .failed: fail()
    case .done: for position in steps.indices where steps[position].total == 0 { complete(position, at: now) }
    case .cancelled, nil: break
    }
  }

  /// The step that was under way failed, also where it had come to its end.
  mutating func fail() {
    guard let position = steps.firstIndex(where: { !$0.isComplete }) ?? steps.indices.last else { return }
    steps[position].isComplete = false
    steps[position].isFailed = true
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
      + steps.filter { $0.isComplete || $0.isFailed }.map { step in
        step.isFailed
          ? "failed \(step.title): at \(NumberFormat.count(step.done)) of \(NumberFormat.count(step.total))"
          : "complete \(step.title): \(NumberFormat.count(step.total))"
      } + [words].compactMap(\.self)
  }
}

extension WorkRun.Ending {
  /// As another program left it.
  fileprivate init(_ ending: Activity.Ending, of activity: Activity) {
    if let commit = ending.commit {
      func total(_ isMeant: (String) -> Bool) -> Int? { activity.steps.first { isMeant($0.title) }?.total }
      var words = "complete: commit \(CommitNumber(commit))"
      if let records = total({ $0 == "evaluate" }), let entries = total({ $0.hasPrefix("index ") }) {
        let seconds = Double(max(0, ending.at - activity.startedAt)) / 1e9
        words += IndexChangeReport.figures(records: records, entries: entries, bytes: ending.bytes, seconds: seconds)
      }
      self = .done(words)
    } else {
      self = ending.reason.map { .failed($0) } ?? .cancelled
    }
  }
}
