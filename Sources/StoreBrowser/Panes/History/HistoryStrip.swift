import StrataModel
import StrataTerminal

/// The strip above a history: its commits over time, as high as the records that they changed, on a logarithmic scale so
/// that a migration does not flatten everything else. The selected commit, the commit that is shown and pins are marked.
struct HistoryStrip: Sendable, Equatable {
  /// Two of bars, one of marks and dates.
  static let rows = 3

  private var reading = Reading<CommitStripRequest>()

  mutating func demand(_ scope: HistoryScope, columns: Int, in session: inout Session) {
    let request = CommitStripRequest(scope: scope, history: session.edition, parts: max(8, columns - 2))
    reading.ask(request, as: CommitStripRequest.slot, in: &session)
  }

  mutating func answered(_ reply: any Sendable) { reading.take(reply) }

  func draw(in rect: Rect, selected: CommitNumber?, on grid: inout CellGrid, session: Session) {
    let theme = session.theme
    guard case let strip?? = reading.reply, rect.columns > 8 else { return }
    if session.readsAsLines {
      let rows = strip.parts.map { part in
        let commits = part.commits.map { "\($0.lowerBound)–\($0.upperBound)" } ?? ""
        return ChartTable.Row(label: "records changed in \(commits)", count: part.changeCount)
      }
      return ChartTable(rows: rows).draw(in: rect, on: &grid, theme: theme)
    }
    let form = session.barForm == .braille ? .block : session.barForm
    let layout = BarLayout(count: strip.parts.count, columns: rect.columns, form: form)
    let largest = ScaledNumber.logarithm(Double(strip.parts.map(\.changeCount).max() ?? 0) + 2)
    let current = selected.flatMap(strip.part)
    let shown = session.asOf.flatMap(strip.part)
    let heights = strip.parts.map { part in
      part.commitCount == 0 ? 0 : ScaledNumber.logarithm(Double(part.changeCount) + 2) / largest
    }
    let bars = Rect(column: rect.left, row: rect.top, columns: rect.columns, rows: rect.rows - 1)
    grid.drawBars(heights, in: bars, form: form) { part in
      part == current || part == shown ? theme.style(.foundBar) : theme.style(.bar)
    }
    func mark(_ part: Int?, _ text: String, _ role: Role) {
      guard let part else { return }
      let column = layout.column(of: part) + layout.width / 2
      guard column < rect.columns else { return }
      grid[Point(column: rect.left + column, row: rect.bottom - 1)] = Cell(
        text: text, width: 1, style: theme.style(role))
    }
    for pin in session.outline?.pins ?? [] { mark(strip.part(of: pin.commit), theme.pinned, .marked) }
    mark(current, theme.isASCII ? "^" : "▲", .found)
    mark(shown, "@", .found)
    drawDates(strip, in: rect, on: &grid, session: session)
  }

  /// Writes the dates at the ends, and between them what is shown, each beside the marks.
  private func drawDates(_ strip: CommitStrip, in rect: Rect, on grid: inout CellGrid, session: Session) {
    let style = session.theme.style(.dim)
    let row = rect.bottom - 1
    let (first, last) = session.time.ends(strip.span.lowerBound, strip.span.upperBound)
    let words =
      "\(NumberFormat.counted(strip.commitCount, "commit")) by \(strip.axis == .time ? "time" : "number"), height: records"
    /// Writes a text at the first of the columns where nothing stands, with a blank on each side.
    func write(_ text: String, at columns: some Sequence<Int>) {
      let width = SafeText.width(text)
      for column in columns {
        let taken = max(rect.left, column - 1)..<min(rect.right, column + width + 1)
        guard column >= rect.left, column + width <= rect.right,
          taken.allSatisfy({ grid[Point(column: $0, row: row)].text == " " })
        else { continue }
        grid.write(text, at: Point(column: column, row: row), width: width, style: style)
        return
      }
    }
    let end = rect.right - SafeText.width(last)
    write(first, at: rect.left..<rect.left + rect.columns / 4)
    write(last, at: (end - rect.columns / 4...end).reversed())
    let middle = rect.left + (rect.columns - SafeText.width(words)) / 2
    write(words, at: middle..<middle + rect.columns / 4)
  }
}
