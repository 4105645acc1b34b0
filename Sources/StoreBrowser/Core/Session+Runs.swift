import StrataModel

/// Long work, as the cockpit shows it: what runs, and what has ended with what came of it.
extension Session {
  private static let runLimit = 20
  private static let buildLimit = 30

  /// The running work that the cockpit shows, the newest first.
  var cockpitWork: [RunningWork] { longWork.filter(\.id.slot.isInCockpit) }

  /// The run to be shown: the newest that goes on, otherwise the one that ended last.
  var run: WorkRun? {
    runs.last(where: \.isRunning) ?? runs.max { ($0.endedAt ?? 0, $0.startedAt) < ($1.endedAt ?? 0, $1.startedAt) }
  }

  mutating func beginRun(_ id: WorkID, _ label: String) {
    guard id.slot.isInCockpit else { return }
    begin(WorkRun(id, title: label, at: now))
  }

  /// Adds a run. If there are too many, the oldest that has ended is removed.
  private mutating func begin(_ run: WorkRun) {
    runs.append(run)
    if runs.count > Self.runLimit, let ended = runs.firstIndex(where: { !$0.isRunning }) { runs.remove(at: ended) }
  }

  mutating func updateRun(_ id: WorkID, _ progress: Progress) {
    guard let position = runs.lastIndex(where: { $0.id == id }) else { return }
    runs[position].update(progress, at: now)
    if !runs[position].isRunning { remember(runs[position]) }
  }

  mutating func endRun(_ id: WorkID, _ ending: @autoclosure () -> WorkRun.Ending) {
    guard let position = runs.lastIndex(where: { $0.id == id }) else { return }
    end(position, ending())
  }

  private mutating func end(_ position: Int, _ ending: WorkRun.Ending?) {
    runs[position].end(ending, at: now)
    remember(runs[position])
  }

  /// Keeps what a build took for those to come.
  private mutating func remember(_ run: WorkRun) {
    guard let build = PastBuild(run) else { return }
    var builds = remembered.builds ?? []
    builds.removeAll { $0.startedAt == build.startedAt && $0.title == build.title }
    remember { $0.builds = (builds + [build]).suffix(Self.buildLimit) }
  }

  /// Notes the memory and disk space that are in use while this browser's work runs.
  mutating func updateRuns(_ figures: WorkFigures) {
    for position in runs.indices where runs[position].isRunning && runs[position].id != nil {
      runs[position].update(figures)
    }
  }

  /// The last work that failed, until the cockpit has shown it.
  var unseenFailure: WorkRun? {
    runs.last { run in if case .failed = run.ending { !run.isSeen } else { false } }
  }

  /// Takes in the activity that another program reports; nil when it is done or the program is gone.
  mutating func hear(_ activity: Activity?) {
    // While work of this browser writes, the store reports that work as its activity.
    guard cockpitWork.isEmpty else { return }
    let theirs = runs.lastIndex { $0.id == nil && $0.isRunning }
    guard let activity else {
      if let theirs { end(theirs, nil) }
      return
    }
    if let known = runs.lastIndex(where: { $0.isContinued(by: activity) }) {
      let ending = runs[known].ending
      runs[known].update(activity, at: now)
      if runs[known].ending != ending { remember(runs[known]) }
    } else {
      if let theirs { end(theirs, nil) }
      begin(WorkRun(activity, at: now))
    }
  }

  /// Whether another program's work has reported no progress for some seconds: the program may be gone.
  var isWorkElsewhereSilent: Bool { runs.contains { $0.id == nil && $0.stalled(at: now) != nil } }

  /// For how many seconds a quick question has had no reply, which says that the store's server or disk is stuck; nil below three.
  var silence: Int? {
    running.values.filter { !$0.id.slot.isLong && !$0.id.slot.isSlow && !$0.id.slot.isKept }
      .compactMap { $0.stalled(at: now) }.max()
  }

  /// Whether a clock must tick: only the time distinguishes stalled work from slow work.
  var needsClock: Bool { !running.isEmpty || runs.contains { $0.isRunning } }
}
