import StrataModel
import StrataTerminal

/// The chosen index at a glance, for the sidebar: how its entries are spread, a few rows high.
struct SmallHistogram: Sendable, Equatable {
  /// Three of bars, one of the axis.
  static let rows = 4
  static let slot = WorkSlot(name: "small-histogram", isSlow: true)

  private var reading = Reading<HistogramRequest>()

  /// Asks for the histogram of the rows that the table shows.
  mutating func demand(columns: Int, in session: inout Session) {
    guard let source = session.selections.source, columns > 8 else { return }
    let request = HistogramRequest(
      datastore: source.datastore, index: source.index, commit: session.shown, choice: .automatic,
      bins: BarLayout.capacity(columns: columns, form: session.barForm))
    reading.ask(request, as: Self.slot, in: &session)
  }

  mutating func answered(_ reply: any Sendable) { reading.take(reply) }

  /// The histogram, where it is of what is shown now.
  func current(_ session: Session) -> Histogram? {
    guard let histogram = reading.reply, let of = reading.answered, let source = session.selections.source,
      of.commit == session.shown, of.datastore == source.datastore, of.index == source.index, histogram.bins.count > 1
    else { return nil }
    return histogram
  }

  func draw(in rect: Rect, on grid: inout CellGrid, session: Session) {
    guard let histogram = current(session) else { return }
    let theme = session.theme
    if session.readsAsLines {
      return ChartTable(rows: histogram.bins.map { .init(label: $0.label, count: $0.count) })
        .draw(in: rect, on: &grid, theme: theme)
    }
    let bars = Rect(column: rect.left, row: rect.top, columns: rect.columns, rows: rect.rows - 1)
    grid.drawBars(
      histogram.bins.map { Double($0.count) / Double(max(1, histogram.largest)) }, in: bars, form: session.barForm
    ) { _ in theme.style(.bar) }
    let isLimit = histogram.form == .linear || histogram.form == .logarithmic
    func text(_ label: String) -> String { isLimit ? ScaledNumber.axis(label) : SafeText.cut(label, to: 9) }
    let least = text(histogram.bins[0].label)
    let greatest = text(isLimit && !histogram.endLabel.isEmpty ? histogram.endLabel : histogram.bins.last?.label ?? "")
    let axis = Point(column: rect.left, row: bars.bottom)
    grid.write(least, at: axis, width: rect.columns, style: theme.style(.dim))
    // The end of the axis stands under the end of the bars.
    let used = BarLayout(count: histogram.bins.count, columns: bars.columns, form: session.barForm).used
    let column = max(SafeText.width(least) + 2, used - SafeText.width(greatest))
    guard column + SafeText.width(greatest) <= rect.columns else { return }
    grid.write(
      greatest, at: Point(column: rect.left + column, row: bars.bottom), width: rect.columns - column,
      style: theme.style(.dim))
  }
}
