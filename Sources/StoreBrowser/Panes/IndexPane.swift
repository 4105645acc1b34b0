import StrataModel
import StrataTerminal

/// Pane 5: the keys of an index with the number of their entries, its range and its histogram.
struct IndexPane: PermanentPane, Equatable {
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
  var commit: CommitNumber?
  var rows: [KeyRow] = [] {
    didSet { widestKey = rows.lazy.map { SafeText.width(Self.text(of: $0.key)) }.max() ?? 0 }
  }
  var widestKey = 0
  var bounds: Range<Int>?
  var total = 0
  var selection = 0
  var top = 0
  var pending: KeysRequest?
  var histogram = IndexHistogram()
  var distinct: Int?
  private var asksDistinct = false
  private(set) var verified: VerifyAnswer?
  var problem: String?
  /// The rank of the table's selection that was followed last.
  var followed: Int?

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
    let source = session.selections.source
    show(source?.datastore, index: source?.index, range: source?.range)
    guard let datastore, problem == nil else { return }
    if commit != session.shown {
      let rank = selected?.rank ?? (range == nil ? session.selections.rank : nil)
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
        // Every identifier occurs once.
        distinct = bounds.count
        return
      }
      let request = DistinctRequest(datastore: datastore, index: index, commit: session.shown, range: range)
      session.start(.distinct, request)
    }
  }

  /// Selects the key of the table's selected record, if that has changed.
  mutating func stand(atSelectionOf session: inout Session) {
    guard pending == nil, let datastore, let rank = session.selections.rank, rank != followed,
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
    // Without focus the pane follows the table a page at a time: moving lines with every step would cost more than the step.
    if selection < top { top = frame.isFocused ? selection : selection - visible + 1 }
    if selection >= top + visible { top = frame.isFocused ? selection - visible + 1 : selection }
    top = max(0, min(top, rows.count - visible))
  }

  /// The range and the check, the bars with their axis, and the titles of the columns.
  static func headerRows(_ frame: PaneFrame) -> Int {
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

  /// Whether a reply is about the shown contents.
  private func isCurrent(_ request: DistinctRequest) -> Bool {
    request.datastore == datastore && request.index == index && request.range == range && request.commit == commit
  }

  mutating func askAgain(in session: inout Session) { if problem != nil { reset() } }

  mutating func failed(_ error: ModelError, of slot: WorkSlot, in session: inout Session) {
    if slot == .keys {
      problem = error.description
      pending = nil
    } else if slot == .histogram {
      histogram.reset()
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
      // A bin within the set range is shown with the rest of the range.
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
    default: return false
    }
    reveal(frame: frame)
    return true
  }

  /// Steps to the next bin, and selects its keys if the range contains them.
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
}
