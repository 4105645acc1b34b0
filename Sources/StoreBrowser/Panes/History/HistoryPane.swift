import Documents
import DatastoreModel
import TerminalKit

/// Pane 4: the commits of the store, of a datastore, of a record or of a field; newest first, a page at a time.
struct HistoryPane: ListPane, KeptPane, Equatable {
  static let entry = PaneEntry(
    .history, digit: 4, name: "History", view: [.history, .difference], work: [.history, .strip],
    footer: [.down, .open, .travel, .history, .range, .difference, .revert, .restoreRecord, .pickaxe, .help, .close]
  ) { HistoryPane() }

  private(set) var scope = HistoryScope.store
  /// What of the selection it follows; nil where it stays.
  private var follows: Following?
  var list = ListWindow()
  var isFolded = true
  /// The base of a difference, set by v.
  private(set) var base: CommitNumber?

  /// Where each page begins; pages that are not near the selection are let go.
  private var starts: [HistoryStart] = []
  private var pages: [Int: [HistoryRow]] = [:]
  private var counts: [Int] = []
  private var isAtEnd = false
  private var pending: HistoryRequest?
  private var newest: CommitNumber?
  private var wanted: CommitNumber?
  private var goesToEnd = false
  /// What is looked for in commits that are still to be read.
  private var seeks: String?
  private(set) var problem: String?
  private var searchText: String?
  private var strip = HistoryStrip()
  /// The commit travelled to that was followed last.
  private var followed: CommitNumber?
  /// The lanes that the widest row of the graph takes.
  private var lanes = 1

  private enum Following: Sendable, Hashable { case datastore, record, field }

  static let pageSize = 200

  /// The rows that are known; more may follow unless the end was reached.
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

  /// Shows another history; the selection goes to a commit, or to the newest.
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

  /// Reads everything anew: the commits are others than before.
  mutating func renew() { reset() }

  private mutating func reset() {
    newest = nil
    starts = []
    pages = [:]
    counts = []
    isAtEnd = false
    pending = nil
    problem = nil
    lanes = 1
  }

  mutating func demand(frame: PaneFrame, in session: inout Session) {
    if let follows, let wanted = Self.scope(following: follows, session), wanted != scope { turn(to: wanted) }
    guard problem == nil else { return }
    guard session.head.rawValue > 0 else {
      isAtEnd = true
      return
    }
    if newest != session.head {
      wanted = wanted ?? (list.selection > 0 ? selected?.commit.number : nil)
      reset()
      newest = session.head
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

  /// Stands at the commit that the rest of the screen shows, where that is another than before.
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

  /// The first page that the lines need and that is not there.
  private func missingPage(around lines: Range<Int>) -> Int? {
    var start = 0
    for (page, count) in counts.enumerated() {
      if pages[page] == nil, lines.overlaps(start..<start + max(1, count)) { return page }
      start += count
    }
    if !isAtEnd, goesToEnd || wanted != nil || seeks != nil || lines.upperBound > count {
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
    if goesToEnd {
      list.selection = max(0, count - 1)
      goesToEnd = !isAtEnd
    }
    seek(from: known, in: &session)
    // A page is 200 rows; three on each side of the selection are kept.
    for old in pages.keys where abs(old - page) > 3 { pages[old] = nil }
  }

  private func line(of commit: CommitNumber, in page: Int) -> Int? {
    guard let rows = pages[page], let index = rows.firstIndex(where: { $0.commit.number <= commit }) else { return nil }
    return counts.prefix(page).reduce(0, +) + index
  }

  /// Looks for a text in the names of the commits, and goes on reading older ones until another key.
  private mutating func search(_ command: Command, _ text: String?, in session: inout Session) {
    if let text, !text.isEmpty { searchText = text }
    guard let needle = searchText?.lowercased() else { return }
    let step = command == .searchPrevious ? -1 : 1
    var line = command == .search ? list.selection : list.selection + step
    while line >= 0, line < count {
      if let commit = row(line)?.commit, Self.has(needle, commit) {
        list.selection = line
        return
      }
      line += step
    }
    if step > 0, !isAtEnd { seeks = needle } else { missNone(in: &session) }
  }

  /// Goes on with a search in older commits that have just been read.
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
    session.warn("no commit with “\(searchText ?? "")” among \(NumberFormat.count(count))")
  }

  private static func has(_ needle: String, _ commit: Commit) -> Bool {
    [commit.action, commit.author, commit.program, commit.number.description].contains {
      $0.lowercased().contains(needle)
    }
  }

  mutating func failed(_ error: ModelError, of slot: WorkSlot, in session: inout Session) {
    if slot == .history { problem = error.description }
  }

  /// The history of what is selected; nil where nothing is.
  private static func scope(following: Following, _ session: Session) -> HistoryScope? {
    switch following {
    case .datastore: session.datastore.map { .datastore($0) }
    case .record: session.looking.record.map { .record($0) }
    case .field:
      session.looking.record.flatMap { place in session.looking.path.map { .field(place, path: $0) } }
    }
  }

  /// The datastore of the selection, its record, its field, and the whole store again; it follows from then on.
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
    seeks = nil
    if command == .last, !isAtEnd {
      goesToEnd = true
      return true
    }
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
      guard let commit = selected?.commit.number else { return false }
      session.intend(.present(ReviewOverlay(subject: .undo(commit, isRedo: false))))
    case .restoreRecord:
      guard let place = scope.place, let commit = selected?.commit.number else { return false }
      restore(place, from: commit, path: nil, in: &session)
    case .restoreField:
      guard case .field(let place, let path) = scope, let commit = selected?.commit.number else { return false }
      restore(place, from: commit, path: path, in: &session)
    case .copyKey, .copyValue:
      guard let row = selected else { return false }
      session.copy(command == .copyKey ? row.commit.number.description : row.commit.action, what: "commit")
    default: return false
    }
    return true
  }

  private func restore(_ place: RecordPlace, from commit: CommitNumber, path: String?, in session: inout Session) {
    session.restore(place, path.flatMap { try? DocumentPath(parsing: $0) }, from: commit)
  }

  func lineCount(_ session: Session) -> Int { count }

  /// The commits over time, where there is room and they are not those of one record.
  func headerRows(_ frame: PaneFrame) -> Int { frame.rows >= 12 && scope.place == nil ? HistoryStrip.rows : 0 }

  // MARK: Drawing

  func further(_ session: Session) -> String { title(session) }

  func short(_ command: Command) -> String? {
    guard command == .history else { return nil }
    switch follows {
    case nil: return "datastore"
    case .datastore: return "record"
    case .record: return "field"
    case .field: return "store"
    }
  }

  func draw(on grid: inout CellGrid, frame: PaneFrame, session: Session) {
    let theme = session.theme
    let title = "History  \(title(session))\(follows == nil ? "" : ", followed")"
    guard
      grid.begin(
        frame, digit: 4, title: title, footer: footer, problem: problem,
        note: count > 0 ? nil : isAtEnd ? "no commits" : "reading…", theme: theme)
    else { return }
    let inside = frame.inside
    if headerRows(frame) > 0 {
      strip.draw(
        in: Rect(column: inside.left + 1, row: inside.top, columns: inside.columns - 2, rows: HistoryStrip.rows),
        selected: selected?.commit.number, on: &grid, session: session)
    }
    var ancestors = Ancestors(of: selected)
    drawLines(on: &grid, frame: frame, session: session) { grid, line, rect in
      guard let row = row(line) else { return }
      draw(row, isAncestor: line >= list.selection && ancestors.hold(row), in: rect, on: &grid, session: session)
    }
  }

  private func title(_ session: Session) -> String {
    switch scope {
    case .store: "whole store"
    case .datastore(let key): key
    case .record(let place): "\(place.datastore)/\(session.name(of: place))"
    case .field(let place, let path): "\(place.datastore)/\(session.name(of: place)) \(path)"
    }
  }

  private var footer: String {
    guard count > 0 else { return "" }
    let more = seeks.map { "+ · looking for “\($0)”" } ?? (isAtEnd ? "" : "+")
    return "\(NumberFormat.count(list.selection + 1)) of \(NumberFormat.count(count))\(more)"
      + (base.map { " · base \($0)" } ?? "")
  }

  /// Whether rows below one are what it was made on, asked from it down.
  private struct Ancestors {
    private var known: Set<CommitNumber> = []

    init(of row: HistoryRow?) { row.map { known = [$0.commit.number] } }

    mutating func hold(_ row: HistoryRow) -> Bool {
      guard known.contains(row.commit.number) else { return false }
      known.formUnion(row.parents)
      return true
    }
  }

  private func draw(
    _ row: HistoryRow, isAncestor: Bool, in rect: Rect, on grid: inout CellGrid, session: Session
  ) {
    let theme = session.theme
    let commit = row.commit
    var sign = ""
    if commit.number == session.head { sign = theme.mark }
    if session.outline?.pins.contains(where: { $0.commit == commit.number }) == true { sign = theme.pinned }
    if commit.number == base { sign = "B" }
    if commit.number == session.asOf { sign = "@" }
    let number = commit.number.description
    let numberWidth = max(6, session.head.description.count)
    var x = rect.left + 1
    func put(_ text: String, _ width: Int, _ role: Role, _ alignment: Alignment = .leading) {
      guard x < rect.right else { return }
      grid.write(
        text, at: Point(column: x, row: rect.top), width: min(width, rect.right - x), style: theme.style(role),
        alignment: alignment)
      x += width + 1
    }
    if lanes > 1, let graph = row.graph {
      let node = commit.number == session.head ? theme.mark : theme.isASCII ? "o" : "○"
      let look = isAncestor ? theme.style(.text).with(.bold) : theme.style(.dim)
      grid.write(
        graph.text(node: node, isASCII: theme.isASCII), at: Point(column: x, row: rect.top),
        width: min(2 * min(lanes, HistoryLanes.most), rect.right - x), style: look)
      x += 2 * min(lanes, HistoryLanes.most)
    }
    put(number, numberWidth, .key, .trailing)
    put(sign, 1, .marked)
    let isNarrow = rect.columns < 64
    put(session.time.short(commit.date, now: session.now, isNarrow: isNarrow), isNarrow ? 5 : 10, .dim)
    let summary = Self.summary(of: commit, scope: scope)
    let who = commit.author.isEmpty ? commit.program : commit.author
    let tail = row.value?.text ?? summary + (rect.columns >= 90 && !who.isEmpty ? "  \(who)" : "")
    let summaryWidth = max(0, min(SafeText.width(tail), (rect.right - x) / 2))
    let nameWidth = max(0, rect.right - x - summaryWidth - 1)
    let name = commit.action.isEmpty ? "(no name)" : commit.action
    let names = pins(of: commit, session)
    let isMuted = commit.isMaintenance || commit.action.isEmpty || commit.isNamedByLibrary
    put(names + name, nameWidth, isMuted ? .dim : .text)
    put(tail, summaryWidth, row.value?.role ?? .dim, .trailing)
  }

  private func pins(of commit: Commit, _ session: Session) -> String {
    session.outline?.pins.filter { $0.commit == commit.number }.map { "[\($0.name)] " }.joined() ?? ""
  }

  /// `City ~212 +3 -1`; several datastores one after the other.
  static func summary(of commit: Commit, scope: HistoryScope) -> String {
    let changes = commit.changes.filter { scope.datastore == nil || $0.datastore == scope.datastore }
    var text = changes.map { change in
      var parts: [String] = []
      if change.updated > 0 { parts.append("~\(NumberFormat.count(change.updated))") }
      if change.inserted > 0 { parts.append("+\(NumberFormat.count(change.inserted))") }
      if change.deleted > 0 { parts.append("-\(NumberFormat.count(change.deleted))") }
      return "\(change.datastore) \(parts.joined(separator: " "))"
    }.joined(separator: ", ")
    if let undone = commit.undoes { text += " (undoes \(undone))" }
    if let restored = commit.restores { text += " (restores \(restored))" }
    if commit.isMaintenance { text += " (maintenance)" }
    if commit.isSquashed { text += " (squashed)" }
    return text
  }
}

extension Commit {
  /// Whether the original library made up the name because the app gave none: `Persist Books Instance`.
  fileprivate var isNamedByLibrary: Bool {
    let words = action.split(separator: " ")
    guard words.count > 2, words.last == "Instance", let verb = words.first else { return false }
    return ["Persist", "Delete", "Migrate"].contains(verb)
  }
}
