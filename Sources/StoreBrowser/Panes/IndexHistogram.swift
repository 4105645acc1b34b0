import StrataModel
import StrataTerminal

/// The histogram above the keys of an index: the distribution of its entries, with the range as a brush on it.
struct IndexHistogram: Sendable, Equatable {
  private(set) var reading = Reading<HistogramRequest>()
  private var choice = Histogram.Choice.automatic
  private var hasLogLengths = false
  /// Whether bars show their share of all entries, not of the largest bar.
  private var isOfAll = false
  /// The bin that the user stepped to; nil if the selected key decides.
  private(set) var bin: Int?

  var histogram: Histogram? { reading.reply }

  /// The rows of bars that fit into a pane; 0 for none. Beside the table it is only a histogram, and the keys appear with the focus.
  static func bars(_ frame: PaneFrame) -> Int {
    guard frame.rows >= 7 else { return 0 }
    return frame.isFocused ? min(8, max(2, (frame.rows - 3) * 2 / 5)) : min(8, frame.rows - 2)
  }

  // MARK: Work

  mutating func demand(_ datastore: String, _ index: String?, frame: PaneFrame, in session: inout Session) {
    guard Self.bars(frame) > 0 else { return }
    if reading.answered?.datastore != datastore || reading.answered?.index != index { reset() }
    let columns = Self.picture(in: frame.inside).columns - Self.margin(histogram) - 1
    let request = HistogramRequest(
      datastore: datastore, index: index, commit: session.shown, choice: choice,
      bins: max(4, BarLayout.capacity(columns: columns, form: session.barForm)))
    reading.ask(request, as: .histogram, in: &session)
  }

  mutating func answered(_ reply: any Sendable) {
    let label = bin.flatMap { histogram?.bins[$0].label }
    reading.take(reply)
    // The bin at the same place may be of other keys.
    if let bin, histogram?.bins.dropFirst(bin).first?.label != label { self.bin = nil }
  }

  /// Shows nothing until another question is asked or answered.
  mutating func reset() { (reading.reply, bin) = (nil, nil) }

  // MARK: Keys

  /// Steps to the next bin that has entries. Returns its run of the index.
  mutating func step(by lines: Int, from rank: Int?) -> Range<Int>? {
    guard let histogram, !histogram.bins.isEmpty else { return nil }
    var next = (bin ?? rank.flatMap { histogram.bin(ofRank: $0) } ?? 0) + lines
    while histogram.bins.indices.contains(next), histogram.bins[next].count == 0 { next += lines }
    guard histogram.bins.indices.contains(next) else { return nil }
    bin = next
    return histogram.bins[next].ranks
  }

  mutating func leaveBin() { bin = nil }

  /// Selects the bin with a rank, as a chart shows it.
  mutating func stand(at rank: Int?) { bin = bin ?? rank.flatMap { histogram?.bin(ofRank: $0) } }

  /// The entries of the selected bin.
  var ranks: Range<Int>? { bin.flatMap { histogram?.bins[$0].ranks } }

  /// The range of the selected bin.
  var interval: KeyInterval? { bin.flatMap { histogram?.interval(of: $0..<$0 + 1) } }

  mutating func stepScale(in session: inout Session) {
    switch (choice, hasLogLengths) {
    case (.logarithmic, false): hasLogLengths = true
    case (.logarithmic, true): (choice, hasLogLengths) = (.linear, false)
    case (.linear, _): choice = .logarithmic
    default: choice = histogram?.form == .logarithmic ? .linear : .logarithmic
    }
    session.say("\(choice == .logarithmic ? "logarithmic" : "linear") bins\(hasLogLengths ? " and lengths" : "")")
  }

  mutating func toggleParts(in session: inout Session) {
    choice = choice == .equalParts ? .automatic : .equalParts
    session.say(choice == .equalParts ? "about as many entries in each bin" : "bins by value")
  }

  mutating func toggleShare(in session: inout Session) {
    isOfAll.toggle()
    session.say(isOfAll ? "bars of all entries" : "bars of the largest bar")
  }

  // MARK: Drawing

  /// The width of the text beside the bars in a wide pane.
  private static let textColumns = 36

  private static func picture(in inside: Rect) -> Rect {
    inside.columns >= 110 ? inside.split(right: textColumns).left : inside
  }

  /// The columns left of the axis: for the greatest count, and for entries without a place on the axis.
  private static func margin(_ histogram: Histogram?) -> Int {
    10 + (histogram?.asides ?? []).reduce(0) { $0 + max(3, SafeText.width($1.label)) + 1 }
  }

  /// Draws bars, axis and words into the rows of `rect`; the last row is the axis.
  ///
  /// - Parameters:
  ///   - range: the entries of the set range; nil for none.
  ///   - rank: the first entry of the selected key.
  ///   - hasKeys: whether the pane has the focus; then its keys are shown.
  func draw(
    in rect: Rect, range: Range<Int>?, interval: KeyInterval?, rank: Int?, hasKeys: Bool, on grid: inout CellGrid,
    session: Session
  ) {
    let theme = session.theme
    guard let histogram, histogram.count > 0, rect.rows > 1, reading.answered?.commit == session.shown else { return }
    if session.readsAsLines {
      let rows =
        histogram.asides.map { ChartTable.Row(label: $0.label, count: $0.count) }
        + histogram.bins.map { ChartTable.Row(label: "from \($0.label)", count: $0.count) }
      return ChartTable(rows: rows).draw(in: rect, on: &grid, theme: theme)
    }
    let picture = Self.picture(in: rect)
    let margin = Self.margin(histogram)
    let bars = Rect(
      column: picture.left + margin, row: rect.top, columns: picture.columns - margin - 1, rows: rect.rows - 1)
    guard bars.columns > 8 else { return }
    let form = session.barForm
    let layout = BarLayout(count: histogram.bins.count, columns: bars.columns, form: form)
    let top = isOfAll ? histogram.count : max(histogram.largest, histogram.asides.map(\.count).max() ?? 0)
    func height(_ count: Int) -> Double {
      guard count > 0, top > 0 else { return 0 }
      return hasLogLengths
        ? ScaledNumber.logarithm(Double(count) + 1) / ScaledNumber.logarithm(Double(top) + 1)
        : Double(count) / Double(top)
    }
    let current = bin ?? rank.flatMap { histogram.bin(ofRank: $0) }
    let dim = theme.style(.dim)
    grid.drawBars(histogram.bins.map { height($0.count) }, in: bars, form: form) { bin in
      if bin == current || layout.barsPerCell == 2 && bin + 1 == current { return theme.style(.foundBar) }
      guard let range else { return theme.style(.bar) }
      return histogram.bins[bin].ranks.overlaps(range) ? theme.style(.bar) : theme.style(.bar).with(.dim)
    }
    drawAsides(histogram, height, left: picture.left + 10, bars: bars, form: form, on: &grid, theme: theme)
    for row in bars.top..<bars.bottom {
      grid[Point(column: bars.left - 1, row: row)] = Cell(text: theme.isASCII ? "|" : "▏", width: 1, style: dim)
    }
    let greatest = isOfAll ? "100 %" : NumberFormat.count(top)
    grid.write(
      greatest.utf8.count <= 8 ? greatest : NumberFormat.fitting("\(top)", in: 8),
      at: Point(column: picture.left, row: bars.top), width: 8, style: dim, alignment: .trailing)
    if let range { drawBrush(range, histogram, layout, in: bars, on: &grid, theme: theme) }
    drawAxis(histogram, layout, current: current, in: bars, on: &grid, theme: theme)
    if picture.columns < rect.columns {
      drawWords(
        in: rect.split(right: Self.textColumns).right, histogram, range: range, interval: interval, current: current,
        hasKeys: hasKeys, on: &grid, session: session)
    }
  }

  private func drawAsides(
    _ histogram: Histogram, _ height: (Int) -> Double, left: Int, bars: Rect, form: ChartForm,
    on grid: inout CellGrid, theme: Theme
  ) {
    var column = left
    for aside in histogram.asides {
      let width = max(3, SafeText.width(aside.label))
      grid.drawBars(
        [height(aside.count)], in: Rect(column: column, row: bars.top, columns: width, rows: bars.rows), form: form
      ) { _ in theme.style(.constant) }
      grid.write(
        aside.label, at: Point(column: column, row: bars.bottom), width: width, style: theme.style(.dim))
      column += width + 1
    }
  }

  /// Draws the ends of the range as posts between the bars.
  private func drawBrush(
    _ range: Range<Int>, _ histogram: Histogram, _ layout: BarLayout, in bars: Rect, on grid: inout CellGrid,
    theme: Theme
  ) {
    let touched = histogram.bins.indices.filter { histogram.bins[$0].ranks.overlaps(range) }
    guard let first = touched.first, let last = touched.last else { return }
    let post = Cell(text: theme.isASCII ? "|" : "┃", width: 1, style: theme.style(.title))
    for column in [layout.column(of: first) - 1, layout.columns(of: last).upperBound] {
      guard column >= -1, column < bars.columns else { continue }
      for row in bars.top..<bars.bottom { grid[Point(column: bars.left + column, row: row)] = post }
    }
  }

  private func drawAxis(
    _ histogram: Histogram, _ layout: BarLayout, current: Int?, in bars: Rect, on grid: inout CellGrid, theme: Theme
  ) {
    let isLimit = histogram.form == .linear || histogram.form == .logarithmic
    var labels = histogram.bins.enumerated().map { position, bin in
      let text = isLimit ? ScaledNumber.axis(bin.label) : SafeText.cut(bin.label, to: 14)
      let middle = isLimit ? 0 : layout.width / 2
      return AxisLabel(
        column: layout.column(of: position) + middle, text: text, weight: Self.weight(bin.label, isLimit: isLimit))
    }
    if isLimit, !histogram.endLabel.isEmpty {
      labels.append(AxisLabel(column: layout.used, text: ScaledNumber.axis(histogram.endLabel), weight: 1))
    }
    grid.drawAxis(
      labels, at: Point(column: bars.left, row: bars.bottom), columns: bars.columns, style: theme.style(.dim))
    if let current {
      let mark = Point(column: bars.left + layout.column(of: current) + layout.width / 2, row: bars.bottom)
      // A label is more useful than the mark, which does not replace it; the bar itself is marked, too.
      func isBlank(_ step: Int) -> Bool { grid[Point(column: mark.column + step, row: mark.row)].text == " " }
      if isBlank(0), isBlank(-1) || isBlank(1) {
        grid[mark] = Cell(text: theme.isASCII ? "^" : "▲", width: 1, style: theme.style(.found))
      }
    }
  }

  /// Powers of ten come before other round numbers, and these before the rest.
  private static func weight(_ label: String, isLimit: Bool) -> Int {
    guard isLimit else { return 0 }
    let digits = label.drop { $0 == "-" || $0 == "0" || $0 == "." }
    let significant = digits.filter { $0 != "." }.reversed().drop { $0 == "0" }
    if significant.count <= 1 { return significant.first == "1" || significant.isEmpty ? 3 : 2 }
    return significant.count == 2 ? 1 : 0
  }

  private func drawWords(
    in rect: Rect, _ histogram: Histogram, range: Range<Int>?, interval: KeyInterval?, current: Int?, hasKeys: Bool,
    on grid: inout CellGrid, session: Session
  ) {
    let theme = session.theme
    var lines: [(String, Role)] = []
    func share(_ count: Int) -> String {
      "\(NumberFormat.counted(count, "entry", "entries")) · \(NumberFormat.percent(count, of: histogram.count))"
    }
    if let interval, let range { lines += [("range \(interval)", .title), (share(range.count), .text)] }
    if let current, histogram.bins.indices.contains(current) {
      lines.append(("\(theme.isASCII ? "^" : "▲") \(Self.text(of: current, histogram))", .found))
      lines.append(("  " + share(histogram.bins[current].count), .text))
    }
    let keys =
      hasKeys
      ? ["h l by a bin   ( ) set the ends", "\(theme.enterKey) table  gl log  ge equal parts"]
      : ["5 its keys and its range"]
    lines += keys.map { ($0, .dim) }
    for (row, line) in lines.prefix(rect.rows).enumerated() {
      grid.write(line.0, at: rect.at(1, row), width: rect.columns - 2, style: theme.style(line.1))
    }
  }

  /// `1 M ..< 1.25 M`, or the common prefix of a bin's keys.
  private static func text(of bin: Int, _ histogram: Histogram) -> String {
    let label = ScaledNumber.axis(histogram.bins[bin].label)
    let end = bin + 1 < histogram.bins.count ? histogram.bins[bin + 1].label : histogram.endLabel
    switch histogram.form {
    case .linear, .logarithmic: return "\(label) ..< \(ScaledNumber.axis(end))"
    case .calendar: return "\(label) ..< \(end)"
    case .initials: return "\(label)…"
    case .keys: return label
    case .equalParts: return "from \(label)"
    }
  }

  /// The same in words, for the line above the bars.
  func summary(rank: Int?) -> String? {
    guard let histogram, let current = bin ?? rank.flatMap({ histogram.bin(ofRank: $0) }),
      histogram.bins.indices.contains(current)
    else { return nil }
    return "\(Self.text(of: current, histogram)): \(NumberFormat.count(histogram.bins[current].count))"
  }
}

extension IndexPane {
  static let histogramCommands: [CommandEntry] = [
    CommandTable.row(
      .scale, ["g l"], "logarithmic bins and lengths", "log", .index,
      "Steps the histogram: logarithmic bins, logarithmic lengths too, linear.", in: [.index]),
    CommandTable.row(
      .equalParts, ["g e"], "bins of equal parts", "equal parts", .index,
      "Makes the bins of the histogram about equally full, or by value again.", in: [.index]),
    CommandTable.row(
      .share, ["g %"], "bars of all entries or of the largest", "share", .index,
      "Measures the bars against all entries, or against the largest bar.", in: [.index]),
  ]
}
