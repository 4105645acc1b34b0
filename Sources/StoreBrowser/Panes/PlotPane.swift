import StrataDocuments
import StrataModel
import StrataTerminal

/// Two fields of the table's rows as a chart of dots, with a third by colour and mark. A cross-hair names the nearest record; a rectangle
/// becomes a filter.
struct PlotPane: PermanentPane, ReplyPane {
  static let entry = PaneEntry(
    id: .plot, name: "Plot", work: [question, PlotPointRequest.slot],
    footer: [.down, .open, .range, .larger, .hideColumn, .unhideColumns, .chartForm, .help, .close],
    commands: [
      CommandTable.row(
        "plot", ["g p"], "plot two fields", "plot", .table, argument: .init("X Y [by Z]", isRequired: false),
        "Draws the rows of the table as points: `:plot longitude latitude by countrycode`. Without names, a map where "
          + "there are longitude and latitude, otherwise the first two numbers. Arrows move a cross-hair that names the "
          + "nearest record, which Enter opens; `v` begins a rectangle, which Enter makes a filter; `+` `-` zoom.",
        unless: .withoutDatastore
      ) { browser, argument in browser.plot(argument) }
    ]
  ) { PlotPane() }

  static let question = WorkSlot(name: "plot", isLong: true)

  /// The request of the plot; the frame gives its room.
  var subject: PlotRequest?
  var reading = Reading<PlotRequest>()
  private var pointing = Reading<PlotPointRequest>()
  /// The cross-hair and the first corner of the rectangle, in the values of the axes.
  private(set) var cross: (x: Double, y: Double)?
  private(set) var corner: (x: Double, y: Double)?

  /// The record that is nearest to the cross-hair.
  var point: PlotPoint? { pointing.reply ?? nil }

  mutating func show(_ subject: PlotRequest, in session: inout Session) {
    self = PlotPane()
    self.subject = subject
  }

  // MARK: Work

  mutating func demand(frame: PaneFrame, in session: inout Session) {
    guard var request = subject, frame.rows > 3, frame.columns > 20, reading.problem == nil else { return }
    let form = session.dotForm
    let room = Self.room(frame)
    request.columns = room.columns * form.dotsAcross
    request.rows = room.rows * form.dotsDown
    // A cell is about twice as high as wide.
    request.dotAspect = 0.5 * Double(form.dotsDown) / Double(form.dotsAcross)
    request.commit = session.shown
    if subject?.commit != session.shown {
      // A plot that is being read is shown first: commits may follow each other faster than one is read.
      guard reading.request == nil || !session.isRunning(Self.question) else { return }
      // Ranks belong to one commit; at another commit the filter is asked of each record.
      request.ranks = nil
      subject = request
    }
    reading.ask(request, as: Self.question, label: "plot of \(request.source.datastore)", in: &session)
    askPoint(in: &session)
  }

  mutating func askAgain(in session: inout Session) { reading.problem = nil }

  private mutating func askPoint(in session: inout Session) {
    guard let reply, let rank = nearestRank else { return }
    let request = PlotPointRequest(
      source: reply.request.source, commit: reply.request.commit, rank: rank, x: reply.x, y: reply.y)
    pointing.ask(request, as: PlotPointRequest.slot, in: &session)
  }

  mutating func answered(_ reply: any Sendable, in session: inout Session) {
    guard let found = reply as? PlotReply, reading.request != nil else { return pointing.take(reply) }
    // Later requests use the fields that were chosen as the most suitable ones.
    subject?.x = found.x
    subject?.y = found.y
    reading.request?.x = found.x
    reading.request?.y = found.y
    reading.take(found)
    if cross == nil { cross = Self.middle(found.count.frame) }
  }

  // MARK: Keys

  func refusal(of command: Command, in session: Session) -> String? {
    reply == nil && [.open, .range, .larger, .hideColumn, .unhideColumns].contains(command)
      ? "the points are still being read" : nil
  }

  mutating func run(_ command: Command, argument: String?, frame: PaneFrame, in session: inout Session) -> Bool {
    guard let reply, let cross else { return false }
    let cell = Self.cellSize(reply, form: session.dotForm)
    switch command {
    case .left: move(-cell.x, 0)
    case .right: move(cell.x, 0)
    case .up: move(0, cell.y)
    case .down: move(0, -cell.y)
    case .halfUp, .pageUp: move(0, cell.y * 8)
    case .halfDown, .pageDown: move(0, -cell.y * 8)
    case .first: self.cross = (reply.count.frame.x.lowerBound, reply.count.frame.y.upperBound)
    case .last: self.cross = (reply.count.frame.x.upperBound, reply.count.frame.y.lowerBound)
    case .range: corner = corner == nil ? cross : nil
    case .larger: zoom(0.5)
    case .hideColumn: zoom(2)
    case .unhideColumns: subject?.frame = nil
    case .open:
      if let corner {
        showRows(of: reply.request.source, where: [Self.filter(reply, corner, cross)], in: &session)
      } else if let point, let source = subject?.source {
        session.intend(.closeView(id), .select(RecordPlace(datastore: source.datastore, identifier: point.identifier)))
      }
    default: return false
    }
    askPoint(in: &session)
    return true
  }

  /// The keys that elsewhere change the size of columns and panes change the size of the chart here.
  func short(_ command: Command) -> String? {
    switch command {
    case .larger: "closer"
    case .hideColumn: "farther"
    case .unhideColumns: "all points"
    case .range: "rectangle"
    default: nil
    }
  }

  private mutating func move(_ x: Double, _ y: Double) {
    guard let cross, let frame = reply?.count.frame else { return }
    self.cross = (
      min(max(cross.x + x, frame.x.lowerBound), frame.x.upperBound),
      min(max(cross.y + y, frame.y.lowerBound), frame.y.upperBound)
    )
  }

  private mutating func zoom(_ factor: Double) {
    guard let frame = reply?.count.frame, let cross else { return }
    func part(_ range: ClosedRange<Double>, _ middle: Double) -> ClosedRange<Double> {
      let (half, most) = (range.width(ofParts: 2) * factor, Double.greatestFiniteMagnitude)
      let (lower, upper) = (max(-most, middle - half), min(most, middle + half))
      return lower < upper ? lower...upper : range
    }
    subject?.frame = ScatterCount.Frame(x: part(frame.x, cross.x), y: part(frame.y, cross.y))
  }

  /// A filter for the rows within a rectangle.
  static func filter(
    _ reply: PlotReply, _ corner: (x: Double, y: Double), _ other: (x: Double, y: Double)
  ) -> String {
    func bounds(_ path: String, _ one: Double, _ two: Double, _ span: ClosedRange<Double>) -> String {
      let name = (try? DocumentPath(parsing: path))?.shortText ?? path
      let step = span.width(ofParts: 1_000)
      let (low, high) = (
        ScaledNumber.measured(min(one, two), step: step), ScaledNumber.measured(max(one, two), step: step)
      )
      return "\(name) >= \(low) and \(name) <= \(high)"
    }
    let frame = reply.count.frame
    return bounds(reply.x, corner.x, other.x, frame.x) + " and " + bounds(reply.y, corner.y, other.y, frame.y)
  }

  /// The first row in the dot nearest to the cross-hair.
  private var nearestRank: Int? {
    guard let reply, let cross, let centre = reply.count.dot(cross.x, cross.y) else { return nil }
    var best: (distance: Int, rank: Int)?
    for (dot, rank) in reply.ranks.enumerated() where rank >= 0 {
      let (row, column) = dot.quotientAndRemainder(dividingBy: reply.count.columns)
      let distance = (row - centre.row) * (row - centre.row) + (column - centre.column) * (column - centre.column)
      if best.map({ distance < $0.distance }) ?? true { best = (distance, Int(rank)) }
    }
    return best?.rank
  }

  // MARK: Drawing

  /// Columns for the marks of the vertical axis.
  static let margin = 8

  /// The cells available for the dots.
  static func room(_ frame: PaneFrame) -> Size {
    Size(columns: frame.columns - margin - 1, rows: frame.rows - 3)
  }

  /// The cells of the dots, from the first cell inside the pane.
  static func dots(_ reply: PlotReply, _ frame: PaneFrame, _ form: ChartForm) -> Rect {
    let room = room(frame)
    let columns = min(room.columns, (reply.count.columns + form.dotsAcross - 1) / form.dotsAcross)
    let rows = min(room.rows, (reply.count.rows + form.dotsDown - 1) / form.dotsDown)
    return Rect(
      column: margin + (room.columns - columns) / 2, row: 1 + (room.rows - rows) / 2, columns: columns, rows: rows)
  }

  static func middle(_ frame: ScatterCount.Frame) -> (Double, Double) {
    (frame.x.value(at: 0.5), frame.y.value(at: 0.5))
  }

  private static func cellSize(_ reply: PlotReply, form: ChartForm) -> (x: Double, y: Double) {
    let frame = reply.count.frame
    return (
      frame.x.width(ofParts: reply.count.columns) * Double(form.dotsAcross),
      frame.y.width(ofParts: reply.count.rows) * Double(form.dotsDown)
    )
  }

  mutating func click(at point: Point, frame: PaneFrame, in session: inout Session) {
    guard let reply else { return }
    let form = session.dotForm
    let dots = Self.dots(reply, frame, form)
    let (column, row) = ((point.column - dots.left) * form.dotsAcross, (point.row - dots.top) * form.dotsDown)
    guard (0..<reply.count.columns).contains(column), (0..<reply.count.rows).contains(row) else { return }
    cross = Self.middle(reply.count.values(column: column, row: row))
    askPoint(in: &session)
  }
}

extension Browser {
  /// `X Y by Z`, `X Y`, or nothing.
  mutating func plot(_ argument: String?) {
    guard let source = openRows(for: "plot", argument) else { return }
    var words = argument?.words ?? []
    var by: String?
    if let word = words.firstIndex(of: "by") {
      guard words.count == word + 2 else { return session.warn("plot X Y by Z: the field behind “by” is missing") }
      by = words[word + 1]
      words.removeSubrange(word...)
    }
    guard words.count <= 2 else { return session.warn("plot X Y by Z: two fields, not \(words.count)") }
    var unscanned = source
    unscanned.sort = []
    let request = PlotRequest(
      source: unscanned, commit: table.commit(session), ranks: table.foundRanks,
      x: words.first, y: words.dropFirst().first, by: by, frame: nil, columns: 0, rows: 0, dotAspect: 1)
    open(PlotPane.self) { $0.show(request, in: &$1) }
  }
}
