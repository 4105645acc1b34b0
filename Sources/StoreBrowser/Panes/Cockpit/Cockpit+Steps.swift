import StrataModel
import StrataTerminal

/// The rows of the steps: names whole in a column of their own, a bar, how much of all is done, rate and time.
extension Cockpit {
  private struct Row {
    var step: Activity.Step
    var count: String
    var rate: String
    var time: String
    var role: Role
  }

  var steps: [[Span]] {
    let rows = run.activity.steps.map(row)
    let names = widest(rows.map(\.step.title))
    let counts = widest(rows.map(\.count))
    var (rates, times) = (widest(rows.map(\.rate)), widest(rows.map(\.time)))
    // If there is no room for all columns, the rate goes first.
    func usedWidth() -> Int { names + 2 + counts + (rates > 0 ? rates + 2 : 0) + (times > 0 ? times + 2 : 0) }
    if usedWidth() > width { rates = 0 }
    if usedWidth() > width { times = 0 }
    let bar = width - usedWidth() - 2
    return rows.map { row in
      var spans = [Span(SafeText.padded(row.step.title, names) + "  ", theme.style(.text))]
      if bar >= 6 {
        let done = row.step.isComplete ? max(1, row.step.total) : row.step.done
        let text = Bars.progress(done, of: max(1, row.step.total), width: bar, isASCII: theme.isASCII)
        spans.append(Span(text + "  ", theme.style(.bar)))
      }
      spans.append(Span(SafeText.padded(row.count, counts, isTrailing: true), theme.style(row.role)))
      if rates > 0 { spans.append(Span("  " + SafeText.padded(row.rate, rates, isTrailing: true))) }
      if times > 0 { spans.append(Span("  " + SafeText.padded(row.time, times, isTrailing: true), theme.style(.dim))) }
      return spans
    }
  }

  private func row(_ step: Activity.Step) -> Row {
    let of = "\(NumberFormat.count(step.done)) / \(NumberFormat.count(step.total))"
    let counts = step.total > 0 ? of : NumberFormat.count(step.done)
    let seconds = step.seconds ?? 0
    let hasTime = step.seconds != nil && (step.done > 0 || step.isComplete)
    let rate =
      run.isRunning && !step.isComplete
      ? step.rate : seconds >= Activity.Step.measurable ? Double(step.done) / seconds : nil
    var row = Row(
      step: step, count: counts, rate: "", time: hasTime ? TimeText.duration(seconds: seconds) : "", role: .text)
    if run.hasFailed(step) {
      (row.count, row.role) = ("failed \(theme.problemSign) at \(counts)", .problem)
    } else if step.isComplete {
      (row.count, row.role) = ("\(NumberFormat.count(step.total)) \(theme.check)", .inserted)
    } else if !run.isRunning {
      (row.count, row.role) = (step.done > 0 ? "ended at \(counts)" : "not begun", .dim)
    } else if step.done == 0 {
      (row.count, row.role) = ("waiting", .dim)
    }
    // One thing at once, as a commit, has no rate.
    if let rate, rate >= 1, step.total > 1, step.done > 0 { row.rate = "\(NumberFormat.count(Int(rate)))/s" }
    return row
  }

  private func widest(_ texts: [String]) -> Int { texts.map { SafeText.width($0) }.max() ?? 0 }
}
