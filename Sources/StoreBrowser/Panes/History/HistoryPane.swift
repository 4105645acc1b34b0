import StrataDocuments
import StrataModel

/// Pane 4: the commits of the store, of a datastore, of a record or of a field; newest first, a page at a time.
struct HistoryPane: ListPane, PermanentPane, Equatable {
  static let entry = PaneEntry(
    .history, digit: 4, name: "History", view: [.history, .difference], work: [.history, CommitStripRequest.slot],
    footer: [.down, .open, .travel, .history, .range, .difference, .revert, .restoreRecord, .pickaxe, .help, .close]
  ) { HistoryPane() }

  private(set) var scope = HistoryScope.store
  /// The selection that the scope follows; nil if it does not follow one.
  var follows: Following?
  var list = ListWindow()
  var isFolded = true
  /// The base of a difference, set by v.
  private(set) var base: CommitNumber?

  /// The start of each page; pages that are not near the selection are released.
  private var starts: [HistoryStart] = []
  private var pages: [Int: [HistoryRow]] = [:]
  private var counts: [Int] = []
  var isAtEnd = false
  private var pending: HistoryRequest?
  /// The history that the pages are of.
  private var edition: HistoryEdition?
  private var wanted: CommitNumber?
  /// The text to find in commits that are not read yet.
  var seeks: SearchText?
  private(set) var problem: String?
  /// The authors of the commits that were read.
  private(set) var authors: Set<String> = []
  /// The widths of the changed counts of each datastore in the commits that were read.
  private(set) var countWidths: [String: Int] = [:]
  private var searchText: SearchText?
  var strip = HistoryStrip()
  /// The commit that the user went to and that was followed last.
  var followed: CommitNumber?
  /// The lanes that the widest row of the graph takes.
  var lanes = 1

  enum Following: Sendable, Hashable { case datastore, record, field }

  static let pageSize = 200

  /// The number of known rows; more may follow unless the end was reached.
  var count: Int { counts.reduce(0, +) }

  func row(_ line: Int) -> HistoryRow? {
    var line = line
    for (page, count) in counts.enumerated() {
      if line < count { return pages[page].flatMap { $0.indices.contains(line) ? $0[line] : nil } }
      line -= count
    }
    return nil
  }

  var selected: HistoryRow? { row(list.selection) }

  /// Shows another history and selects a commit, or the newest.
  mutating func show(_ scope: HistoryScope, at commit: CommitNumber? = nil) {
    follows = nil
    turn(to: scope, at: commit)
  }

  private mutating func turn(to scope: HistoryScope, at commit: CommitNumber? = nil) {
    if scope != self.scope { base = nil }
    self.scope = scope
    list = ListWindow()
    wanted = commit
    reset()
  }

  /// Forgets what was read, so that it is read again.
  mutating func reset() {
    edition = nil
    starts = []
    pages = [:]
    counts = []
    isAtEnd = false
    pending = nil
    problem = nil
    lanes = 1
    countWidths = [:]
  }

  mutating func demand(frame: PaneFrame, in session: inout Session) {
    if let follows, let wanted = Self.scope(following: follows, session), wanted != scope { turn(to: wanted) }
    guard problem == nil else { return }
    guard session.head.rawValue > 0 else {
      isAtEnd = true
      return
    }
    if edition != session.edition {
      wanted = wanted ?? (list.selection > 0 ? selected?.commit.number : nil)
      reset()
      edition = session.edition
      starts = [HistoryStart(open: [session.head])]
    }
    if !frame.isFocused { follow(session) }
    list.reveal(rows: visibleRows(frame), count: count)
    if headerRows(frame) > 0 { strip.demand(scope, columns: frame.columns, in: &session) }
    let page = missingPage(around: list.top..<list.top + max(1, frame.rows) * 2)
    guard let page, pending == nil || pending?.page != page else { return }
    let request = HistoryRequest(
      scope: scope, start: starts[page], page: page, isFolded: isFolded, limit: Self.pageSize)
    pending = request
    session.start(.history, request)
  }

  /// Selects the commit that the rest of the screen shows, if that has changed.
  private mutating func follow(_ session: Session) {
    guard session.asOf != followed else { return }
    followed = session.asOf
    let shown = session.asOf ?? session.head
    for page in counts.indices {
      guard let line = line(of: shown, in: page) else { continue }
      list.selection = line
      return
    }
    wanted = shown
  }

  /// The first missing page among those that the lines need.
  private func missingPage(around lines: Range<Int>) -> Int? {
    var start = 0
    for (page, count) in counts.enumerated() {
      if pages[page] == nil, lines.overlaps(start..<start + max(1, count)) { return page }
      start += count
    }
    if !isAtEnd, list.awaited != nil || wanted != nil || seeks != nil || lines.upperBound > count {
      return counts.count < starts.count ? counts.count : nil
    }
    return nil
  }

  mutating func answered(_ reply: any Sendable, in session: inout Session) {
    strip.answered(reply)
    guard let answer = reply as? HistoryAnswer, answer.request == pending else { return }
    pending = nil
    let page = answer.request.page
    let known = count
    pages[page] = answer.rows
    authors.formUnion(answer.rows.map(\.commit.who))
    for change in answer.rows.flatMap(\.commit.changes) where scope.datastore.map({ $0 == change.datastore }) != false {
      countWidths[change.datastore] = max(countWidths[change.datastore] ?? 0, Self.counts(change).count)
    }
    lanes = max(lanes, answer.rows.compactMap { $0.graph?.width }.max() ?? 1)
    if page == counts.count {
      counts.append(answer.rows.count)
      if let next = answer.next { starts.append(next) } else { isAtEnd = true }
    }
    if let wanted, let line = line(of: wanted, in: page) {
      list.selection = line
      self.wanted = nil
    } else if isAtEnd {
      wanted = nil
    }
    seek(from: known, in: &session)
    // A page is 200 rows; three on each side of the selection are kept.
    for old in pages.keys where abs(old - page) > 3 { pages[old] = nil }
  }

  func line(of commit: CommitNumber, in page: Int) -> Int? {
    guard let rows = pages[page], let index = rows.firstIndex(where: { $0.commit.number <= commit }) else { return nil }
    return counts.prefix(page).reduce(0, +) + index
  }

  /// Looks for a text in the names of the commits, and continues in older ones until another key.
  private mutating func search(_ command: Command, _ text: String?, in session: inout Session) {
    if let text, !text.isEmpty { searchText = try? SearchText(text) }
    session.markedText = searchText
    guard let searchText else { return }
    let step = command == .searchPrevious ? -1 : 1
    var line = command == .search ? list.selection : list.selection + step
    while line >= 0, line < count {
      if let commit = row(line)?.commit, Self.has(searchText, commit) {
        list.selection = line
        return
      }
      line += step
    }
    if step > 0, !isAtEnd { seeks = searchText } else { missNone(in: &session) }
  }

  /// Continues a search in older commits that have just been read.
  private mutating func seek(from line: Int, in session: inout Session) {
    guard let seeks else { return }
    if let found = (line..<max(line, count)).first(where: { row($0).map { Self.has(seeks, $0.commit) } ?? false }) {
      list.selection = found
      self.seeks = nil
    } else if isAtEnd {
      self.seeks = nil
      missNone(in: &session)
    }
  }

  private func missNone(in session: inout Session) {
    session.warn("no commit with “\(searchText?.typed ?? "")” among \(NumberFormat.count(count))")
  }

  private static func has(_ text: SearchText, _ commit: CommitDetails) -> Bool {
    [commit.action, commit.author, commit.program, commit.number.description].contains(where: text.occurs)
  }

  mutating func askAgain(in session: inout Session) { if problem != nil { reset() } }

  mutating func failed(_ error: ModelError, of slot: WorkSlot, in session: inout Session) {
    if slot == .history { problem = error.description }
  }

  /// Returns the history of the selection, or nil if nothing is selected.
  static func scope(following: Following, _ session: Session) -> HistoryScope? {
    switch following {
    case .datastore: session.datastore.map { .datastore($0) }
    case .record: session.selections.record.map { .record($0) }
    case .field:
      session.selections.record.flatMap { place in session.selections.path.map { .field(place, path: $0) } }
    }
  }

  /// Steps to the datastore of the selection, its record, its field, and back to the whole store; the scope then follows the selection.
  private mutating func stepScope(in session: inout Session) {
    let next: Following? =
      switch follows {
      case nil: .datastore
      case .datastore: .record
      case .record: .field
      case .field: nil
      }
    guard let next, let scope = Self.scope(following: next, session) else { return show(.store) }
    follows = next
    turn(to: scope)
  }

  func refusal(of command: Command, in session: Session) -> String? {
    switch command {
    case .searchNext, .searchPrevious:
      if searchText == nil { return "nothing was searched for yet (/)" }
    case .open, .travel, .revert, .range, .difference, .pin:
      if selected == nil { return "no commit is selected" }
    case .restoreRecord, .restoreField:
      if scope.place == nil { return "choose the record first: its own history (H) or a change of the commit (Enter)" }
    default: break
    }
    return nil
  }

  mutating func run(_ command: Command, argument: String?, frame: PaneFrame, in session: inout Session) -> Bool {
    (seeks, list.awaited) = (nil, nil)
    switch command {
    case .history: stepScope(in: &session)
    case .search, .searchNext, .searchPrevious: search(command, argument, in: &session)
    case .open: session.intend(.focus(.difference))
    case .fold:
      isFolded.toggle()
      wanted = selected?.commit.number
      reset()
    case .range:
      base = base == nil ? selected?.commit.number : nil
    case .difference where argument == nil:
      guard let commit = selected?.commit else { return false }
      session.intend(.showDifference(base ?? commit.parents.first, commit.number))
    case .travel where argument == nil:
      session.intend(.travel(selected?.commit.number))
    case .revert:
      guard let commit = selected?.commit else { return false }
      session.intend(.present(ReviewOverlay(subject: .undo(commit.number, isRedo: commit.undoes != nil))))
    case .restoreRecord:
      guard let place = scope.place, let commit = selected?.commit.number else { return false }
      session.restore(place, nil, from: commit)
    case .restoreField:
      guard case .field(let place, let path) = scope, let commit = selected?.commit.number else { return false }
      session.restore(place, try? DocumentPath(parsing: path), from: commit)
    case .copyKey, .copyValue:
      guard let row = selected else { return false }
      session.copy(command == .copyKey ? row.commit.number.description : row.commit.action, what: "commit")
    default: return false
    }
    return true
  }

  func lineCount(_ session: Session) -> Int { count }
  func isWhole(_ session: Session) -> Bool { isAtEnd }

  /// The rows for the commits over time, if there is room and the history is not that of one record.
  func headerRows(_ frame: PaneFrame) -> Int { frame.rows >= 12 && scope.place == nil ? HistoryStrip.rows : 0 }
}
