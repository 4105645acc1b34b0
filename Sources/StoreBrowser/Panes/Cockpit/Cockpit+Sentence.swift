import StrataModel
import StrataTerminal

/// The sentence about the worker and the waiters, which is derived from the writer's lock and from the work.
extension Cockpit {
  /// Empty when nothing runs.
  var sentence: String {
    guard run.isRunning else { return "" }
    return run.id == nil ? others : own
  }

  private var own: String {
    if run.activity.figures?.holdsLock == true {
      return
        "This program runs it and holds the lock: the screen stays at \(session.shown) until it commits, and commits "
        + "of other programs wait.\(staged)"
    }
    if let writer = session.status.writer {
      return "This program waits for the lock, which \(name(of: writer)) holds since \(since(writer)).\(staged)"
    }
    // The measurement at the beginning is older than the lock.
    let holdsNone =
      run.activity.figures?.holdsLock == false && run.seconds(at: session.now) >= 2
      ? " and holds no lock: no program waits for it" : ""
    return "This program runs it on \(session.shown)\(holdsNone)."
  }

  private var others: String {
    let worker = run.activity.worker
    guard let writer = session.status.writer else {
      return "\(worker?.text ?? "Another program") runs it; only that cancels it. The screen stays at \(session.shown)."
    }
    // A host is only known of the process that says what it does.
    let name = worker?.processIdentifier == writer.processIdentifier ? worker?.text : nil
    return "\(name ?? self.name(of: writer)) runs it and holds the lock since \(since(writer)); only that cancels it. "
      + "The screen stays at \(session.shown), and commits of this browser wait.\(staged)"
  }

  private var staged: String {
    let count = session.staged.count
    return count > 0 ? " \(NumberFormat.counted(count, "staged change")) wait\(count == 1 ? "s" : "") too." : ""
  }

  private func name(of writer: WriterHold) -> String {
    writer.processIdentifier == 0 ? writer.name : "\(writer.program) (process \(writer.processIdentifier))"
  }
  private func since(_ writer: WriterHold) -> String {
    session.time.clock(writer.since > 0 ? writer.since : session.now)
  }
}

extension WorkRun {
  /// The run in one line at the foot of the other panes: as much of it as fits, the most useful first.
  func line(keys: String, theme: Theme, width: Int) -> String {
    var parts = [title]
    if let percent { parts.append("\(percent) %") }
    if let left = Cockpit.left(activity) { parts.append(left) }
    if let step = activity.currentStep, step.title != title {
      var text = step.title
      if step.total > 0 { text += " \(NumberFormat.count(step.done)) of \(NumberFormat.count(step.total))" }
      parts.append(text)
      if let rate = step.rate, rate >= 1 { parts.append("\(NumberFormat.count(Int(rate)))/s") }
    } else if percent == nil, activity.done > 0 {
      parts.append(NumberFormat.count(activity.done))
    }
    func text() -> String { parts.joined(separator: " \(theme.dot) ") + " — \(keys)" }
    while parts.count > 1, SafeText.width(text()) > width { parts.removeLast() }
    return text()
  }
}
