import StrataExpressions
import StrataModel
import StrataLocks
import StrataSystem

/// The progress of long work, on one line of standard error that is overwritten: only if that is a terminal, at most ten times a second.
final class ProgressMeter: Sendable {
  private struct State {
    var first: Int64?
    var last: Int64 = 0
    var isShown = false
    var done = 0
  }

  private let title: String
  private let isVisible = isatty(STDERR_FILENO) == 1
  private let state = Mutex(State())

  init(_ title: String) { self.title = title }

  /// The function that long work calls; it always returns true, so that the work continues.
  var report: WorkProgress { { done, total in self.show(done, total) } }

  private func show(_ done: Int, _ total: Int) -> Bool {
    guard isVisible else { return true }
    let now = LocalTime.now
    let text = state.withLock { state -> String? in
      // Fewer than before: another step has begun, with a rate of its own.
      let first = done < state.done ? now : state.first ?? now
      state.first = first
      state.done = done
      guard now - state.last > 100_000_000 else { return nil }
      state.last = now
      state.isShown = true
      return line(of: done, total, seconds: Double(now - first) / 1e9)
    }
    if let text { writeError("\r\(text)\u{1B}[K") }
    return true
  }

  private func line(of done: Int, _ total: Int, seconds: Double) -> String {
    guard total > 0, done > 0, seconds > 0 else { return "\(title) \(done)" }
    let rate = Double(done) / seconds
    let remaining = Double(max(0, total - done)) / rate
    return
      "\(title) \(done) of \(total), \(done * 100 / total) %, \(Int(rate))/s, \(Int(remaining.rounded(.up))) s left"
  }

  /// Removes the line: it stands as long as the work has its `report`.
  deinit {
    if state.withLock({ $0.isShown }) { writeError("\r\u{1B}[K") }
  }
}
