import StrataModel
import StrataTerminal

/// Pane 5: the keys of an index with the number of their entries, its range and its histogram.
struct IndexPane: ListPane, PermanentPane, Equatable {
  static let entry = PaneEntry(
    id: .index, digit: 5, name: "Index", work: [.keys, .histogram, .distinct, .verify],
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
    didSet {
      keys = rows.reduce(into: ColumnExtent()) {
        $0.widen(to: ColumnExtent(ValueText(key: $1.key), width: SafeText.width(Self.text(of: $1.key))))
      }
    }
  }
  private(set) var keys = ColumnExtent()
  var bounds: Range<Int>?
  var total = 0
  var list = ListWindow()
  var pending: KeysRequest?
  /// Whether the requested keys continue those that were read, so that the selection stays.
  private var readsOn = false
  var histogram = IndexHistogram()
  var distinct: Int?
  private var counting = Reading<DistinctRequest>()
  private(set) var verified: VerifyAnswer?
  var problem: String?
  /// The rank of the table's selection that was followed last.
  var followed: Int?

  private static let pageSize = 120

  private mutating func show(_ datastore: String?, index: String?, range: KeyInterval?) {
    guard datastore != self.datastore || index != self.index || range != self.range else { return }
    if datastore != self.datastore || index != self.index { verified = nil }
    (self.datastore, self.index, self.range) = (datastore, index, range)
    reset()
  }

  /// Forgets what was read of the index. The histogram knows itself what it is of.
  private mutating func reset() {
    let former = self
    self = IndexPane()
    (datastore, index, range, total) = (former.datastore, former.index, former.range, former.total)
    (verified, histogram, followed) = (former.verified, former.histogram, former.followed)
  }

  func lineCount(_ session: Session) -> Int { rows.count }
  var marksHits: Bool { false }
  var selected: KeyRow? { list.selected(of: rows) }
  private var selectedInterval: KeyInterval? { selected.map { KeyInterval($0.key) } }

  mutating func demand(frame: PaneFrame, in session: inout Session) {
    let source = session.selections.source
    show(source?.datastore, index: source?.index, range: source?.range)
    guard let datastore else { return }
    if commit != session.shown {
      let key = frame.isFocused ? selected.map { KeysRequest.Anchor.key($0.key) } : nil
      let rank = selected?.rank ?? (range == nil ? session.selections.rank : nil)
      let anchor = key ?? rank.map { .from(rank: $0) } ?? .start
      reset()
      commit = session.shown
      ask(anchor, datastore, in: &session)
    }
    guard problem == nil else { return }
    histogram.demand(datastore, index, frame: frame, in: &session)
    // A prompt over the pane does not lead it back to the table's record.
    if frame.isFocused { followed = session.selections.rank } else { stand(atSelectionOf: &session) }
    reveal(frame, session)
    guard pending == nil, let bounds, let first = rows.first, let last = rows.last else { return }
    if list.selection + frame.rows > rows.count, last.rank + last.count < bounds.upperBound {
      ask(.from(rank: last.rank + last.count), datastore, readsOn: true, in: &session)
    } else if list.selection < frame.rows / 2, first.rank > bounds.lowerBound {
      ask(.before(rank: first.rank), datastore, in: &session)
    } else if frame.isFocused {
      // Every identifier occurs once.
      guard index != nil else { return distinct = bounds.count }
      let request = DistinctRequest(datastore: datastore, index: index, commit: session.shown, range: range)
      counting.ask(request, as: .distinct, in: &session)
    }
  }

  /// Selects the key of the table's selected record, if that has changed.
  mutating func stand(atSelectionOf session: inout Session) {
    guard pending == nil, let datastore, let rank = session.selections.rank, rank != followed,
      bounds?.contains(rank) == true, commit == session.shown
    else { return }
    followed = rank
    histogram.leaveBin()
    select(rank, datastore, in: &session)
  }

  /// Selects the key that has the entry of a rank.
  private mutating func select(_ rank: Int, _ datastore: String, in session: inout Session) {
    if let line = rows.firstIndex(where: { ($0.rank..<$0.rank + max(1, $0.count)).contains(rank) }) {
      list.selection = line
    } else {
      ask(.from(rank: rank), datastore, in: &session)
    }
  }

  private mutating func ask(
    _ anchor: KeysRequest.Anchor, _ datastore: String, readsOn: Bool = false, in session: inout Session
  ) {
    let request = KeysRequest(
      datastore: datastore, index: index, commit: session.shown, range: range, anchor: anchor, limit: Self.pageSize,
      naming: session.naming)
    (pending, self.readsOn) = (request, readsOn)
    session.start(.keys, request)
  }

  mutating func reveal(_ frame: PaneFrame, _ session: Session) {
    let visible = visibleRows(frame)
    // Without focus the pane follows the table a page at a time: moving lines with every step would cost more than the step.
    if !frame.isFocused, list.selection < list.top { list.top = list.selection - visible + 1 }
    if !frame.isFocused, list.selection >= list.top + visible { list.top = list.selection }
    list.reveal(rows: visible, count: rows.count)
  }

  /// The range and the check, the bars with their axis, and the titles of the columns.
  func headerRows(_ frame: PaneFrame) -> Int {
    let bars = IndexHistogram.bars(frame)
    return bars > 0 ? bars + 3 : 1
  }

  mutating func answered(_ reply: any Sendable, in session: inout Session) {
    switch reply {
    case let answer as KeysAnswer where answer.request == pending:
      defer { (pending, readsOn) = (nil, false) }
      bounds = answer.bounds
      total = answer.count
      switch answer.request.anchor {
      case .before:
        rows = answer.rows + rows
        list.selection += answer.rows.count
        list.top += answer.rows.count
        if rows.count > 3 * Self.pageSize { rows.removeLast(rows.count - 3 * Self.pageSize) }
      case .from where readsOn:
        rows += answer.rows
        if rows.count > 3 * Self.pageSize {
          let excess = rows.count - 3 * Self.pageSize
          rows.removeFirst(excess)
          list.selection = max(0, list.selection - excess)
          list.top = max(0, list.top - excess)
        }
      case .end:
        rows = answer.rows
        list.selection = max(0, rows.count - 1)
      default:
        rows = answer.rows
        list = ListWindow()
      }
    case let answer as VerifyAnswer: verified = answer
    default:
      counting.take(reply)
      distinct = counting.reply ?? distinct
      histogram.answered(reply)
    }
  }

  mutating func askAgain(in session: inout Session) { if problem != nil { reset() } }

  mutating func failed(_ error: ModelError, of slot: WorkSlot, in session: inout Session) {
    if slot == .keys, case .text? = pending?.anchor {
      // A text that the index cannot have as a key leaves the keys as they are.
      pending = nil
      if bounds == nil { commit = nil }
      session.complain(error)
    } else if slot == .keys {
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
    if [.down, .up, .pageDown, .pageUp, .halfDown, .halfUp, .first, .last, .goTo, .search].contains(command) {
      histogram.leaveBin()
    }
    switch command {
    case .left, .right: stepBin(command == .right ? 1 : -1, datastore, in: &session)
    case .scale: histogram.stepScale(in: &session)
    case .equalParts: histogram.toggleParts(in: &session)
    case .share: histogram.toggleShare(in: &session)
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
      guard let interval = histogram.interval ?? selectedInterval else { return false }
      session.intend(.setRange(interval.bounding(range, isLower: command == .lowerBound)))
    case .open:
      guard let interval = histogram.interval ?? selectedInterval else { return false }
      // A bin within the set range is shown with the rest of the range.
      let isInside = range != nil && histogram.ranks.flatMap { bin in bounds?.overlaps(bin) } == true
      if !isInside { session.intend(.setRange(interval)) }
      session.intend(.focus(.table))
    case .copyKey: session.copy(swiftExpression(session), what: "Swift expression")
    case .copyValue: if let selected { session.copy(selected.key.description, what: "key", as: selected.key.document) }
    default: return false
    }
    reveal(frame, session)
    return true
  }

  /// Steps to the next bin, and selects its keys if the range contains them.
  private mutating func stepBin(_ lines: Int, _ datastore: String, in session: inout Session) {
    guard let ranks = histogram.step(by: lines, from: selected?.rank), let bounds, ranks.overlaps(bounds) else {
      return
    }
    select(max(ranks.lowerBound, bounds.lowerBound), datastore, in: &session)
  }

  /// The range, or the key under the cursor, as the typed library loads it: `load("Ca"..<"Le", from: \.author)`.
  func swiftExpression(_ session: Session) -> String {
    let descriptor = session.outline?.datastore(datastore)?.index(index)?.descriptor
    let path = index.map { descriptor?.keyPathName ?? $0 }
    return (range ?? selectedInterval ?? KeyInterval()).swiftCall(from: path)
  }

  func short(_ command: Command) -> String? { command == .right ? "next bin" : nil }
}
