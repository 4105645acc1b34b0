import Documents
import DatastoreModel
import TerminalKit

/// Pane 5: the keys of an index with the number of their entries, its range and its histogram.
struct IndexPane: KeptPane, Equatable {
  static let entry = PaneEntry(
    .index, digit: 5, name: "Index", work: [.keys, .histogram, .distinct, .verify],
    footer: [
      .down, .right, .lowerBound, .upperBound, .open, .scale, .equalParts, .filter, .search, .verify, .copyKey, .help,
      .close,
    ], commands: histogramCommands
  ) { IndexPane() }

  private(set) var datastore: String?
  private(set) var index: String?
  private(set) var range: KeyInterval?
  private var commit: CommitNumber?
  private var rows: [KeyRow] = [] {
    didSet { widestKey = rows.lazy.map { SafeText.width(Self.text(of: $0.key)) }.max() ?? 0 }
  }
  private var widestKey = 0
  private var bounds: Range<Int>?
  private var total = 0
  private var selection = 0
  private var top = 0
  private var pending: KeysRequest?
  private(set) var histogram = IndexHistogram()
  private var distinct: Int?
  private var asksDistinct = false
  private(set) var verified: VerifyAnswer?
  private var problem: String?
  /// The rank of the table's selection that was followed last.
  private var followed: Int?

  private static let pageSize = 120

  private mutating func show(_ datastore: String?, index: String?, range: KeyInterval?) {
    guard datastore != self.datastore || index != self.index || range != self.range else { return }
    let isSameIndex = datastore == self.datastore && index == self.index
    self.datastore = datastore
    self.index = index
    self.range = range
    if !isSameIndex { verified = nil }
    reset()
  }

  private mutating func reset() {
    commit = nil
    rows = []
    bounds = nil
    pending = nil
    distinct = nil
    asksDistinct = false
    problem = nil
    (selection, top) = (0, 0)
  }

  var selected: KeyRow? { rows.indices.contains(selection) ? rows[selection] : nil }

  mutating func demand(frame: PaneFrame, in session: inout Session) {
    let source = session.looking.source
    show(source?.datastore, index: source?.index, range: source?.range)
    guard let datastore, problem == nil else { return }
    if commit != session.shown {
      let rank = selected?.rank ?? (range == nil ? session.looking.rank : nil)
      let anchor: KeysRequest.Anchor = rank.map { .from(rank: $0) } ?? .start
      reset()
      commit = session.shown
      ask(anchor, datastore, in: &session)
    }
    histogram.demand(datastore, index, frame: frame, in: &session)
    if !frame.isFocused { stand(atSelectionOf: &session) }
    reveal(frame: frame)
    guard pending == nil, let bounds, let first = rows.first, let last = rows.last else { return }
    if selection + frame.rows > rows.count, last.rank + last.count < bounds.upperBound {
      ask(.from(rank: last.rank + last.count), datastore, in: &session)
    } else if selection < frame.rows / 2, first.rank > bounds.lowerBound {
      ask(.before(rank: first.rank), datastore, in: &session)
    } else if frame.isFocused, !asksDistinct {
      asksDistinct = true
      guard index != nil else {
        // Every identifier is there once.
        distinct = bounds.count
        return
      }
      let request = DistinctRequest(datastore: datastore, index: index, commit: session.shown, range: range)
      session.start(.distinct, request)
    }
  }

  /// Stands at the key of the record that the table has selected, where that is another than before.
  mutating func stand(atSelectionOf session: inout Session) {
    guard pending == nil, let datastore, let rank = session.looking.rank, rank != followed,
      bounds?.contains(rank) == true, commit == session.shown
    else { return }
    followed = rank
    histogram.leaveBin()
    if let line = rows.firstIndex(where: { ($0.rank..<$0.rank + max(1, $0.count)).contains(rank) }) {
      selection = line
    } else {
      ask(.from(rank: rank), datastore, in: &session)
    }
  }

  private mutating func ask(_ anchor: KeysRequest.Anchor, _ datastore: String, in session: inout Session) {
    let request = KeysRequest(
      datastore: datastore, index: index, commit: session.shown, range: range, anchor: anchor, limit: Self.pageSize,
      naming: session.naming)
    pending = request
    session.start(.keys, request)
  }

  private mutating func reveal(frame: PaneFrame) {
    let visible = max(1, frame.rows - Self.headerRows(frame))
    selection = max(0, min(selection, rows.count - 1))
    // What follows the table turns a page at a time: lines that moved with every step would cost more than the step.
    if selection < top { top = frame.isFocused ? selection : selection - visible + 1 }
    if selection >= top + visible { top = frame.isFocused ? selection - visible + 1 : selection }
    top = max(0, min(top, rows.count - visible))
  }

  /// Range and check, the bars with their axis, and the titles of the columns.
  private static func headerRows(_ frame: PaneFrame) -> Int {
    let bars = IndexHistogram.bars(frame)
    return bars > 0 ? bars + 3 : 1
  }

  mutating func answered(_ reply: any Sendable, in session: inout Session) {
    switch reply {
    case let answer as KeysAnswer where answer.request == pending:
      pending = nil
      bounds = answer.bounds
      total = answer.count
      switch answer.request.anchor {
      case .before:
        rows = answer.rows + rows
        selection += answer.rows.count
        top += answer.rows.count
        if rows.count > 3 * Self.pageSize { rows.removeLast(rows.count - 3 * Self.pageSize) }
      case .from where !rows.isEmpty && rows.last.map({ $0.rank + $0.count }) == answer.rows.first?.rank:
        rows += answer.rows
        if rows.count > 3 * Self.pageSize {
          let excess = rows.count - 3 * Self.pageSize
          rows.removeFirst(excess)
          selection = max(0, selection - excess)
          top = max(0, top - excess)
        }
      case .end:
        rows = answer.rows
        selection = max(0, rows.count - 1)
      default:
        rows = answer.rows
        (selection, top) = (0, 0)
      }
    case let reply as DistinctRequest.Reply: if isCurrent(reply.request) { distinct = reply.count }
    case let answer as VerifyAnswer: verified = answer
    default: histogram.answered(reply)
    }
  }

  /// Whether an answer is about what is shown.
  private func isCurrent(_ request: DistinctRequest) -> Bool {
    request.datastore == datastore && request.index == index && request.range == range && request.commit == commit
  }

  mutating func failed(_ error: ModelError, of slot: WorkSlot, in session: inout Session) {
    if slot == .keys {
      problem = error.description
      pending = nil
    } else if slot == .histogram {
      histogram.failed()
    } else {
      session.complain(error)
    }
  }

  mutating func run(_ command: Command, argument: String?, frame: PaneFrame, in session: inout Session) -> Bool {
    guard let datastore else { return false }
    let page = max(1, frame.rows - Self.headerRows(frame) - 1)
    if [.down, .up, .pageDown, .pageUp, .halfDown, .halfUp, .first, .last, .goTo, .search].contains(command) {
      histogram.leaveBin()
    }
    switch command {
    case .left, .right: stepBin(command == .right ? 1 : -1, datastore, in: &session)
    case .scale: histogram.stepScale(in: &session)
    case .equalParts: histogram.toggleParts(in: &session)
    case .share: histogram.toggleShare(in: &session)
    case .lowerBound where histogram.interval != nil, .upperBound where histogram.interval != nil:
      guard let bin = histogram.interval else { return false }
      var interval = range ?? KeyInterval()
      if command == .lowerBound { interval.lower = bin.lower } else { interval.upper = bin.upper }
      session.intend(.setRange(interval))
    case .open where histogram.interval != nil:
      // A bin within the range that is set is seen there with the rest of it.
      let isInside = range != nil && histogram.ranks.flatMap { bin in bounds?.overlaps(bin) } == true
      if !isInside { session.intend(.setRange(histogram.interval)) }
      session.intend(.focus(.table))
    case .down: selection = min(rows.count - 1, selection + 1)
    case .up: selection = max(0, selection - 1)
    case .pageDown: selection = min(rows.count - 1, selection + page)
    case .pageUp: selection = max(0, selection - page)
    case .halfDown: selection = min(rows.count - 1, selection + page / 2)
    case .halfUp: selection = max(0, selection - page / 2)
    case .first: ask(.start, datastore, in: &session)
    case .last: ask(.end, datastore, in: &session)
    case .goTo:
      guard let bounds, let line = Position(argument ?? "")?.line(from: selected?.rank ?? 0, count: total) else {
        return false
      }
      ask(.from(rank: max(bounds.lowerBound, min(line, bounds.upperBound - 1))), datastore, in: &session)
    case .search:
      guard let argument, !argument.isEmpty else { return false }
      ask(.text(argument), datastore, in: &session)
    case .lowerBound, .upperBound:
      guard let selected else { return false }
      session.intend(.setRange(KeyInterval.with(selected.key, isLower: command == .lowerBound, from: range)))
    case .open:
      guard let selected else { return false }
      session.intend(.setRange(KeyInterval(lower: .including(selected.key), upper: .including(selected.key))))
      session.intend(.focus(.table))
    case .copyKey: session.copy(swiftExpression(session), what: "Swift expression")
    case .copyValue: if let selected { session.copy(selected.key.description, what: "key") }
    case .verify: return false
    default: return false
    }
    reveal(frame: frame)
    return true
  }

  /// Steps to the next bin, and the keys with it where the range has them.
  private mutating func stepBin(_ lines: Int, _ datastore: String, in session: inout Session) {
    guard let ranks = histogram.step(by: lines, from: selected?.rank), let bounds, ranks.overlaps(bounds) else {
      return
    }
    let rank = max(ranks.lowerBound, bounds.lowerBound)
    if let line = rows.firstIndex(where: { $0.rank == rank }) {
      selection = line
    } else {
      ask(.from(rank: rank), datastore, in: &session)
    }
  }

  /// The range, or the key under the cursor, as the typed library loads it: `load("Ca"..<"Le", from: \.author)`.
  func swiftExpression(_ session: Session) -> String {
    let descriptor = session.outline?.datastore(datastore)?.index(index)?.descriptor
    let path = index.map { descriptor?.keyPathName ?? $0 }
    let interval = range ?? selected.map { KeyInterval(lower: .including($0.key), upper: .including($0.key)) }
    return (interval ?? KeyInterval()).swiftCall(from: path)
  }

  func short(_ command: Command) -> String? { command == .right ? "next bin" : nil }

  mutating func click(at point: Point, frame: PaneFrame, in session: inout Session) {
    let line = top + point.row - Self.headerRows(frame)
    guard rows.indices.contains(line) else { return }
    selection = line
  }

  // MARK: Drawing

  func draw(on grid: inout CellGrid, frame: PaneFrame, session: Session) {
    let theme = session.theme
    guard
      grid.begin(
        frame, digit: 5, title: title(session), footer: frame.isFocused ? footer(session) : "", problem: problem,
        note: datastore == nil ? "no datastore is open" : nil, theme: theme)
    else { return }
    let inside = frame.inside
    let header = Self.headerRows(frame)
    drawHeader(in: inside, rows: header, hasKeys: frame.isFocused, on: &grid, session: session)
    guard header < inside.rows else { return }
    for row in 0..<max(0, inside.rows - header) where rows.indices.contains(top + row) {
      let rect = Rect(column: inside.left, row: inside.top + header + row, columns: inside.columns, rows: 1)
      draw(rows[top + row], before: top + row > 0 ? rows[top + row - 1] : nil, in: rect, on: &grid, session: session)
      guard top + row == selection else { continue }
      grid.write(theme.cursor, at: rect.origin, width: 1)
      // Beside the table the sign is enough: a whole line for each step there would cost more than the step.
      if frame.isFocused { grid.select(rect, frame: frame, theme: theme) }
    }
    if rows.isEmpty, let bounds, bounds.isEmpty {
      grid.note(
        "no entries in this range",
        in: Rect(column: inside.left, row: inside.top + header, columns: inside.columns, rows: 1),
        style: theme.style(.dim))
    }
  }

  /// Beside the table, where it is all picture, only the bin is seen of where it stands: most steps leave it as it was.
  func isDrawn(like other: any Pane, frame: PaneFrame) -> Bool {
    guard let other = other as? Self else { return false }
    guard !frame.isFocused, Self.headerRows(frame) >= frame.rows else { return self == other }
    return picture == other.picture
  }

  /// The pane without what is not seen of it in a picture.
  private var picture: Self {
    var pane = self
    pane.histogram.stand(at: selected?.rank)
    (pane.rows, pane.pending, pane.followed) = ([], nil, nil)
    (pane.selection, pane.top) = (0, 0)
    return pane
  }

  private func title(_ session: Session) -> String {
    guard let datastore else { return "Index" }
    guard let index, let descriptor = session.outline?.datastore(datastore)?.index(index)?.descriptor else {
      return "Index  \(datastore) by identifier"
    }
    var text =
      "Index  \(index) (\(descriptor.kind.short)) \(descriptor.documentPath?.description ?? "computed"): \(descriptor.valueType)"
    if descriptor.isUnique { text += " unique" }
    if descriptor.isStale { text += " \(session.theme.warningSign) stale" }
    return text
  }

  private func footer(_ session: Session) -> String {
    guard let selected else { return "" }
    return "entry \(NumberFormat.count(selected.rank + 1)) of \(NumberFormat.count(total))"
  }

  private func drawHeader(in inside: Rect, rows: Int, hasKeys: Bool, on grid: inout CellGrid, session: Session) {
    let theme = session.theme
    var spans = [
      Span("range  ", theme.style(.dim)), Span(range?.description ?? "all", theme.style(.title)),
    ]
    if let bounds {
      var text = "   \(NumberFormat.count(bounds.count)) entries"
      if let distinct { text += " · \(NumberFormat.count(distinct)) keys" }
      if inside.columns < 110, let bin = histogram.summary(rank: selected?.rank) {
        text += "   \(theme.isASCII ? "^" : "▲") \(bin)"
      }
      spans.append(Span(text))
    }
    grid.write(spans, at: Point(column: inside.left + 1, row: inside.top), width: inside.columns - 1)
    guard rows > 1 else { return }
    if let verified { drawVerified(verified, at: inside.top, in: inside, on: &grid, session) }
    histogram.draw(
      in: Rect(column: inside.left, row: inside.top + 1, columns: inside.columns, rows: rows - 2),
      range: range == nil ? nil : bounds, interval: range, rank: selected?.rank, hasKeys: hasKeys, on: &grid,
      session: session)
    guard rows < inside.rows else { return }
    let titles = inside.top + rows - 1
    let isTrailing = self.rows.first.map { ValueText(key: $0.key).isTrailing } ?? false
    grid.write(
      "key", at: Point(column: inside.left + 2, row: titles), width: keyWidth(inside), style: theme.style(.header),
      alignment: isTrailing ? .trailing : .leading)
    grid.write(
      "n  records", at: Point(column: inside.left + keyWidth(inside) + 2 + countWidth, row: titles),
      width: max(0, inside.columns - keyWidth(inside) - 2 - countWidth), style: theme.style(.header))
  }

  private func drawVerified(
    _ answer: VerifyAnswer, at row: Int, in inside: Rect, on grid: inout CellGrid, _ session: Session
  ) {
    let theme = session.theme
    guard answer.request.datastore == datastore, answer.request.index == index else { return }
    guard answer.request.commit == session.shown else {
      let text = "verified at \(answer.request.commit), not at \(session.shown); V verifies it"
      let width = min(SafeText.width(text), inside.columns / 2)
      grid.write(
        text, at: Point(column: inside.right - width - 1, row: row), width: width, style: theme.style(.dim))
      return
    }
    let counts = "\(NumberFormat.count(answer.entriesRead)) entries, \(NumberFormat.count(answer.recordsRead)) records"
    let compared =
      (answer.comparedValues ? "" : "; values of computed indexes not compared")
      + (answer.staleness.map { "; \($0)" } ?? "")
    let text =
      answer.isClean
      ? "verify \(theme.check) 0 orphans · 0 missing · \(counts)\(compared)"
      : "verify \(theme.problemSign) \(answer.orphanCount) orphans · \(answer.missingCount) missing · "
        + "\(answer.unreadableCount) unreadable · \(counts)"
    let width = min(SafeText.width(text), inside.columns / 2)
    grid.write(
      text, at: Point(column: inside.right - width - 1, row: row), width: width,
      style: theme.style(answer.isClean ? .inserted : .problem))
  }

  private func keyWidth(_ inside: Rect) -> Int { max(3, min(widestKey, inside.columns / 2)) }

  /// The columns of the counts, which are never cut.
  private var countWidth: Int { max(6, rows.lazy.map { NumberFormat.count($0.count).utf8.count }.max() ?? 0) }

  /// A key as it is shown: texts in quotes, so that blanks at their ends are seen.
  private static func text(of key: KeyValue) -> String {
    let value = ValueText(key: key)
    return value.kind == .string ? "\"\(value.text)\"" : value.text
  }

  private func draw(_ row: KeyRow, before: KeyRow?, in rect: Rect, on grid: inout CellGrid, session: Session) {
    let theme = session.theme
    let width = keyWidth(rect)
    let value = ValueText(key: row.key)
    grid.write(
      Self.text(of: row.key), at: Point(column: rect.left + 2, row: rect.top),
      width: width, style: theme.style(value.role), alignment: value.isTrailing ? .trailing : .leading)
    grid.write(
      NumberFormat.count(row.count), at: Point(column: rect.left + width + 3, row: rect.top),
      width: countWidth, style: theme.style(.number), alignment: .trailing)
    // A label that is the key itself says nothing new.
    var text = row.identifiers.enumerated().map { place, identifier in
      let label = row.labels.indices.contains(place) ? row.labels[place] : nil
      return named(identifier, label == value.text ? nil : label)
    }.joined(separator: "  ")
    if row.count > row.identifiers.count { text += "  +\(NumberFormat.count(row.count - row.identifiers.count))" }
    if let before, Self.looksAlike(before.key, row.key) {
      text += "   \(theme.warningSign) sorts apart from \(before.key)"
    }
    let left = width + 5 + countWidth
    grid.write(text, at: Point(column: rect.left + left, row: rect.top), width: max(0, rect.columns - left))
  }

  /// Whether two keys differ only in case or spaces, which a person may take for one.
  private static func looksAlike(_ left: KeyValue, _ right: KeyValue) -> Bool {
    guard case .string(let left) = left, case .string(let right) = right else { return false }
    return left != right
      && left.lowercased().filter { !$0.isWhitespace } == right.lowercased().filter { !$0.isWhitespace }
  }
}
