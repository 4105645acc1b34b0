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

  /// Whether Enter waits for the record at the cross-hair.
  private var opensPoint = false

  /// The record that is nearest to the cross-hair; nil while it is read.
  var point: PlotPoint? { pointing.answered == pointing.request ? pointing.reply ?? nil : nil }

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
    guard let found = reply as? PlotReply, reading.request != nil else {
      pointing.take(reply)
      if opensPoint { openPoint(in: &session) }
      return
    }
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
    opensPoint = false
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
        guard let part = values(from: corner, to: cross, session.dotForm) else { return false }
        showRows(of: reply.request.source, where: [Self.filter(reply, part)], in: &session)
      } else {
        openPoint(in: &session)
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

  /// Goes to the record at the cross-hair, or waits until it is read.
  private mutating func openPoint(in session: inout Session) {
    opensPoint = pointing.answered != pointing.request
    guard let point, let source = subject?.source else { return }
    session.intend(.closeView(id), .select(RecordPlace(datastore: source.datastore, identifier: point.identifier)))
  }

  /// The values for which the cells of a rectangle stand, as it is drawn: both ends are whole cells.
  func values(
    from corner: (x: Double, y: Double), to other: (x: Double, y: Double), _ form: ChartForm
  ) -> ScatterCount.Frame? {
    guard let count = reply?.count, let first = count.dot(corner.x, corner.y), let last = count.dot(other.x, other.y)
    else { return nil }
    func dots(_ first: Int, _ last: Int, _ size: Int, of count: Int) -> ClosedRange<Int> {
      min(first, last) / size * size...min(count - 1, max(first, last) / size * size + size - 1)
    }
    let columns = dots(first.column, last.column, form.dotsAcross, of: count.columns)
    let rows = dots(first.row, last.row, form.dotsDown, of: count.rows)
    let lower = count.values(column: columns.lowerBound, row: rows.upperBound)
    let upper = count.values(column: columns.upperBound, row: rows.lowerBound)
    // The last dots have the end of the picture.
    let right = columns.upperBound == count.columns - 1 ? count.frame.x.upperBound : upper.x.upperBound
    let top = rows.lowerBound == 0 ? count.frame.y.upperBound : upper.y.upperBound
    return ScatterCount.Frame(x: lower.x.lowerBound...right, y: lower.y.lowerBound...top)
  }

  /// A filter for the rows with the values of a part of the picture.
  private static func filter(_ reply: PlotReply, _ part: ScatterCount.Frame) -> String {
    func bounds(_ path: String, _ part: ClosedRange<Double>, _ span: ClosedRange<Double>) -> String {
      let name = (try? DocumentPath(parsing: path))?.shortText ?? path
      func text(_ value: Double) -> String {
        let text = ScaledNumber.measured(value, step: span.width(ofParts: 1_000))
        // The ends of the picture are values of records, which may be rounded to others.
        return value != span.lowerBound && value != span.upperBound || Double(text) == value ? text : "\(value)"
      }
      // A value between two dots is in the upper one.
      let isLast = part.upperBound == span.upperBound
      return "\(name) >= \(text(part.lowerBound)) and \(name) \(isLast ? "<=" : "<") \(text(part.upperBound))"
    }
    let frame = reply.count.frame
    return bounds(reply.x, part.x, frame.x) + " and " + bounds(reply.y, part.y, frame.y)
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
