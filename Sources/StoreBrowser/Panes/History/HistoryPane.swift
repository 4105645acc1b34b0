import StrataDocuments
import StrataModel

/// Pane 4: the commits of the store, of a datastore, of a record or of a field; newest first, a page at a time.
struct HistoryPane: ListPane, PermanentPane, Equatable {
  static let entry = PaneEntry(
    id: .history, digit: 4, name: "History", companions: [.difference], work: [.history, CommitStripRequest.slot],
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
  /// The number of known rows; more may follow unless the end was reached.
  private(set) var count = 0
  private(set) var isAtEnd = false
  private var pending: HistoryRequest?
  /// The history that the pages are of.
  private var edition: HistoryEdition?
  private var wanted: CommitNumber?
  /// The search that waits for commits to be read.
  private(set) var seeks: Seek?
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

  enum Following: String, CaseIterable, Sendable, Hashable { case datastore, record, field }

  /// A search that goes from line to line.
  struct Seek: Sendable, Hashable {
    var text: SearchText
    var step: Int
    var start = 0
    /// The next line to look at; nil before it has begun, and when the lines have other places by now.
    var line: Int?
    /// Whether it went past an end of the list.
    var isRound = false
  }

  static let pageSize = 200

  /// Every page but the last one has the same number of rows.
  func row(_ line: Int) -> HistoryRow? {
    guard line >= 0, let rows = pages[line / Self.pageSize] else { return nil }
    return rows.indices.contains(line % Self.pageSize) ? rows[line % Self.pageSize] : nil
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
    (wanted, seeks) = (commit, nil)
    reset()
  }

  /// Forgets what was read, so that it is read again.
  mutating func reset() {
    edition = nil
    starts = []
    pages = [:]
    count = 0
    isAtEnd = false
    seeks?.isRound = false
    seeks?.line = nil
    pending = nil
    problem = nil
    lanes = 1
    countWidths = [:]
  }

  mutating func demand(frame: PaneFrame, in session: inout Session) {
    if let follows, let wanted = Self.scope(following: follows, session), wanted != scope { turn(to: wanted) }
    guard problem == nil || edition != session.edition else { return }
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
    wanted = session.asOf ?? session.head
    selectWanted()
  }

  private mutating func selectWanted() {
    guard let commit = wanted, let page = page(of: commit), let rows = pages[page] else { return }
    list.selection = page * Self.pageSize + (rows.firstIndex { $0.commit.number <= commit } ?? rows.count)
    wanted = nil
  }

  /// The last known page that begins at a commit or at a newer one.
  private func page(of commit: CommitNumber) -> Int? {
    starts.lastIndex { $0.open.max().map { $0 >= commit } == true }
  }

  /// The first missing page that is needed: for lines in sight, for a search, for a commit, or for a command that waits for all lines.
  private func missingPage(around lines: Range<Int>) -> Int? {
    let last = starts.count - 1
    let needed = [
      seeks?.line.map { min($0 / Self.pageSize, last) }, wanted.flatMap(page(of:)), list.awaited.map { _ in last },
    ]
    let shown = lines.lowerBound / Self.pageSize...(lines.upperBound - 1) / Self.pageSize
    return (shown + needed.compactMap(\.self)).first { $0 <= last && pages[$0] == nil }
  }

  mutating func answered(_ reply: any Sendable, in session: inout Session) {
    strip.answered(reply)
    guard let answer = reply as? HistoryAnswer, answer.request == pending else { return }
    pending = nil
    let page = answer.request.page
    pages[page] = answer.rows
    authors.formUnion(answer.rows.map(\.commit.who))
    for change in answer.rows.flatMap(\.commit.changes) where scope.datastore.map({ $0 == change.datastore }) != false {
      countWidths[change.datastore] = max(countWidths[change.datastore] ?? 0, Self.counts(change).count)
    }
    lanes = max(lanes, answer.rows.compactMap { $0.graph?.width }.max() ?? 1)
    if page == starts.count - 1, !isAtEnd {
      count += answer.rows.count
      if let next = answer.next { starts.append(next) } else { isAtEnd = true }
    }
    selectWanted()
    seek(in: &session)
    // A page is 200 rows; three on each side of the selection are kept.
    for old in pages.keys where abs(old - list.selection / Self.pageSize) > 3 { pages[old] = nil }
  }

  /// Looks for a text in the names of the commits, round to the selected one, and goes on as they are read, until another key.
  private mutating func search(_ command: Command, _ text: String?, in session: inout Session) {
    if let text, !text.isEmpty { searchText = try? SearchText(text) }
    session.markedText = searchText
    seeks = searchText.map { Seek(text: $0, step: command == .searchPrevious ? -1 : 1, start: list.selection) }
    if command == .search { seeks?.line = list.selection }
    seek(in: &session)
  }

  /// Goes on with a search as far as the commits were read.
  private mutating func seek(in session: inout Session) {
    // It starts over at its commit, whose line is another after a commit that was made meanwhile.
    if let wanted, page(of: wanted) != nil { return }
    while let seek = seeks {
      guard let line = seek.line else {
        seeks?.start = list.selection
        seeks?.line = list.selection + seek.step
        continue
      }
      let row = row(line)
      let isOutside = isAtEnd && !(0..<count).contains(line)
      if row == nil, !isOutside {
        // Before the first line comes the last one, which is not known yet.
        if line < 0 { seeks?.line = .max }
        return
      }
      if let commit = row?.commit,
        [commit.action, commit.author, commit.program, commit.number.description].contains(where: seek.text.occurs)
      {
        list.selection = line
        seeks = nil
        if seek.isRound { session.say(seek.step < 0 ? "from the end again" : "from the top again") }
      } else if seek.isRound, isOutside || line == seek.start {
        seeks = nil
        session.warn("no commit with “\(seek.text.typed)” among \(NumberFormat.count(count))")
      } else if isOutside {
        seeks?.isRound = true
        seeks?.line = seek.step < 0 ? count - 1 : 0
      } else {
        seeks?.line = line + seek.step
      }
    }
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

  /// The selection that the scope follows after the next step; nil stands for the whole store.
  var followedNext: Following? {
    let next = follows.flatMap(Following.allCases.firstIndex(of:)).map { $0 + 1 } ?? 0
    return Following.allCases.dropFirst(next).first
  }

  /// Steps to the datastore of the selection, its record, its field, and back to the whole store; the scope then follows the selection.
  private mutating func stepScope(in session: inout Session) {
    guard let next = followedNext, let scope = Self.scope(following: next, session) else { return show(.store) }
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
