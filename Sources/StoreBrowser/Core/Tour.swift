import StrataDocuments
import StrataModel
import StrataTerminal

/// A tour of the browser in steps, shown in a box over the panes: each says what to press, and the next comes when that is done.
struct Tour: Sendable {
  private(set) var step = 0
  /// Whether this browser has committed something since the step began.
  var hasWritten = false

  struct Step: Sendable {
    let title: String
    let text: @Sendable (Browser) -> String
    /// Whether the user has done it.
    let isDone: @Sendable (Browser, Tour) -> Bool
  }

  static let steps: [Step] = [
    Step(
      title: "Look",
      text: { _ in "j and k move, / finds, f filters. Press Enter: the record under the cursor gets the keys." }
    ) { browser, _ in browser.focus == .record },
    Step(
      title: "Range",
      text: { browser in
        let field = index(of: browser)?.documentPath?.shortText
        let order = field.map { "then o in the column \($0): an index orders the table." }
        return "Press 2, \(order ?? "where the identifiers order the table.") ( and ) cut a range out; 5 shows it as a "
          + "histogram. Press ( on some row."
      }
    ) { browser, _ in browser.table.source?.range != nil },
    Step(
      title: "Edit and review",
      text: { _ in
        "e edits the value under the cursor and Enter stages it: nothing is written yet. w reviews all that is staged, and "
          + "Enter commits it."
      }
    ) { $1.hasWritten },
    Step(
      title: "History and undo",
      text: { _ in
        "gH shows every commit; Enter its changes, T the whole store as it was, Esc comes back. Press u and commit: a new "
          + "commit takes the last one back."
      }
    ) { $1.hasWritten },
    Step(
      title: "Reindex",
      text: { browser in
        let command =
          index(of: browser).map { ":rebuild-index \($0.name)" } ?? ":add-index NAME=FIELD with a field's name"
        return "Type \(command). Pane 6 shows the build, which can run while you look at other panes."
      }
    ) { $1.hasWritten },
    Step(
      title: "Leave",
      text: { _ in
        "q closes a view, and on the main screen the browser. Staged changes stay on the disk for the next time. "
          + ":tour ends the tour."
      }
    ) { _, _ in false },
  ]

  /// The index that the steps name: the first with one value for each record, or else the first.
  private static func index(of browser: Browser) -> IndexDescriptor? {
    let indexes = browser.session.current?.indexes.map(\.descriptor).filter { $0.documentPath != nil } ?? []
    return indexes.first { !$0.kind.hasManyValues } ?? indexes.first
  }

  /// The present step; nil at the end.
  var present: Step? { Self.steps.indices.contains(step) ? Self.steps[step] : nil }

  mutating func goOn() { (step, hasWritten) = (step + 1, false) }

  func isDone(_ browser: Browser) -> Bool { present?.isDone(browser, self) ?? true }

  // MARK: Drawing

  /// Draws the box in the lower right corner.
  func draw(on grid: inout CellGrid, in body: Rect, browser: Browser) {
    let theme = browser.session.theme
    guard let present else { return }
    let width = min(50, body.columns)
    let height = min(body.rows, present.text(browser).wrapped(to: width - 4).count + 2)
    let cursor = grid.cursor
    let frame = PaneFrame(
      rect: Rect(column: body.right - width, row: body.bottom - height, columns: width, rows: height), isFocused: false)
    grid.fill(frame.rect)
    grid.border(
      frame, digit: nil, title: "Tour \(step + 1) of \(Self.steps.count): \(present.title)",
      footer: ":tour next \(theme.dot) :tour ends it", theme: theme)
    grid.writeWrapped(present.text(browser), in: frame.inside, style: theme.style(.title))
    grid.cursor = cursor
  }
}

extension Browser {
  /// `:tour` begins or ends the tour, `:tour next` leaves a step out.
  mutating func toggleTour(_ argument: String?) {
    if argument?.trimmed == "next", tour != nil {
      tour?.goOn()
    } else if tour == nil {
      // The keys go to the table, where the tour begins.
      returnToMain(focus: .table)
      tour = Tour()
    } else {
      tour = nil
    }
    if tour == nil || tour?.present == nil {
      tour = nil
      session.say("the tour is over: ? lists all keys, :tour begins it again")
    }
  }
}
