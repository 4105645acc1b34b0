import DatastoreModel

/// Long work, as the cockpit shows it: what runs, and what has ended with what came of it.
extension Session {
  private static let runLimit = 20

  /// What runs and is shown in the cockpit, the newest first.
  var cockpitWork: [RunningWork] { longWork.filter(\.id.slot.isInCockpit) }

  /// The run to be shown: the newest that goes on, otherwise the one that ended last.
  var run: WorkRun? {
    runs.last(where: \.isRunning) ?? runs.max { ($0.endedAt ?? 0, $0.startedAt) < ($1.endedAt ?? 0, $1.startedAt) }
  }

  mutating func noteRun(_ id: WorkID, _ label: String) {
    guard id.slot.isInCockpit else { return }
    runs.append(WorkRun(id, title: label, at: now))
    if runs.count > Self.runLimit { runs.removeFirst() }
  }

  mutating func noteRun(_ id: WorkID, _ progress: Progress) {
    guard let position = runs.lastIndex(where: { $0.id == id }) else { return }
    runs[position].note(progress, at: now)
  }

  mutating func endRun(_ id: WorkID, _ ending: WorkRun.Ending) {
    guard let position = runs.lastIndex(where: { $0.id == id }) else { return }
    runs[position].end(ending, at: now)
  }

  /// What is taken while this browser's work runs.
  mutating func noteRuns(_ figures: WorkFigures) {
    for position in runs.indices where runs[position].isRunning && runs[position].id != nil {
      runs[position].note(figures)
    }
  }

  /// The last work that failed, until the cockpit has shown it.
  var unseenFailure: WorkRun? {
    runs.last { run in if case .failed = run.ending { !run.isSeen } else { false } }
  }

  /// What another program says that it does; nil when it is done or gone.
  mutating func hear(_ activity: Activity?) {
    // While work of this browser writes, that is what its store speaks of.
    guard cockpitWork.isEmpty else { return }
    let theirs = runs.lastIndex { $0.id == nil && $0.isRunning }
    guard let activity else {
      if let theirs { runs[theirs].end(nil, at: now) }
      return
    }
    if let known = runs.lastIndex(where: { $0.isContinued(by: activity) }) {
      runs[known].note(activity, at: now)
    } else {
      if let theirs { runs[theirs].end(nil, at: now) }
      runs.append(WorkRun(activity, at: now))
    }
  }

  /// Whether a clock must tick: a stalled work is told from a slow one only by the time.
  var needsClock: Bool { !longWork.isEmpty || running[.staging] != nil || runs.contains { $0.isRunning } }
}
