import Documents
import DatastoreModel
import Expressions
import TerminalKit

/// Pane 2: the records of a datastore, in the order of an index, a window at a time.
///
/// It keeps ranks and a window of rows, never all of them: the position of a row leads to its rank in the index (or, of
/// a filter, into the list of ranks that it kept), and only what is near the screen is read.
struct TablePane: ListPane, KeptPane, Equatable {
  static let entry = PaneEntry(
    .table, digit: 2, name: "Table",
    work: [.table, .rows, .rowsAhead, .search, .filter, .sort, .order, .matches, .stepChanges],
    footer: [
      .down, .open, .edit, .review, .search, .filter, .sort, .history, .mark, .deleteRecord, .undo, .travel, .palette,
      .help, .close,
    ], isAlwaysKept: true
  ) { TablePane() }

  /// What is asked for.
  var source: RowSource?
  var list = ListWindow()
  /// The selected column, and the first one shown after the frozen ones.
  var column = 0
  var columnOffset = 0
  var columns = TableColumns()

  /// The order that was chosen, where the commit that is shown has no such index; it comes back where there is one again.
  private(set) var setAside: RowSource?

  /// What the bounds belong to.
  private(set) var opened: TableRequest?
  private(set) var bounds = 0..<0
  /// The ranks that a filter kept or a sort ordered; nil where the range itself is shown.
  private(set) var ranks: [Int]?
  private var ranksAreFor: ScanKey?
  private(set) var scan: ScanState?
  /// Rows by rank.
  private(set) var rows: [Int: Row] = [:]
  private var pending: TableRequest?
  var pendingRows: RowsRequest?
  /// The positions whose rows are kept: the screen, one before it and one behind.
  var window = 0..<0
  /// Where the selection is to go once the table is open.
  var anchor: TableRequest.Anchor?
  /// The record that the cursor belongs to while its row is not among those that are shown; nil where it is on its row.
  private(set) var wanted: Wanted?
  private var problem: String?

  struct Wanted: Sendable, Equatable {
    var rank: Int
    /// What stood there; nil where the record that the cursor was on is gone.
    var entry: IndexEntry?
    /// As so-manieth staged new record, behind the stored ones.
    var staged: Int?
    var identifier: StoredKey?
    /// Where it stood before, from 0.
    var position = 0
    /// Where the selection was put meanwhile: once a person moves it from there it is on its row.
    var selection = 0
  }

  /// Marked records in the order in which they were marked.
  var marks: [StoredKey] = []
  private var markSet: Set<StoredKey> = []
  var rangeStart: Int?
  /// What other programs' commits changed, or differs from the commit that was shown before, until the next key.
  var changed: [StoredKey: ChangeKind] = [:] { didSet { if changed.isEmpty { step = nil } } }
  /// The step from another commit to this one that `changed` is of, with the cells as they were before.
  private(set) var step: StepChangesReply?
  var searchText: String?
  /// Where the selection was when the search that is being typed began; nil while none is.
  private(set) var searchOrigin: Int?
  /// The rows with the text that is searched for, in the order of the table.
  private(set) var matches: MatchesRequest.Reply?
  /// Where the selection goes once it is known whether an index has the order that was asked for.
  private var orderAnchor: TableRequest.Anchor?

  /// The visible columns, and what they were made from.
  private var arranged: ArrangedColumns?

  private struct ArrangedColumns: Sendable, Equatable {
    var origin: Arrangement
    var columns: [TableColumn]
  }

  private struct Arrangement: Sendable, Equatable {
    var columns: TableColumns
    var choice: ColumnChoice
    var commit: CommitNumber?
    var datastore: String?
    var index: String?
  }

  private struct ScanKey: Sendable, Hashable { var source: RowSource; var commit: CommitNumber }

  struct ScanState: Sendable, Hashable {
    var plan: String
    /// How many rows it keeps, where ranks tell before they are read.
    var known: Int?
    var read: Int
    var total: Int?
    var isRunning: Bool
  }

  // MARK: Where one is

  /// The rows of the range or the list, without staged ones.
  var storedCount: Int { ranks?.count ?? bounds.count }

  /// The ranks of the rows of a filter, once all of them are found.
  var foundRanks: [Int]? {
    guard source?.filter != nil, let scan, !scan.isRunning, scan.read == scan.total else { return nil }
    return ranks
  }

  func count(_ session: Session) -> Int { storedCount + insertions(session).count }

  func insertions(_ session: Session) -> [RecordEdit] {
    guard let source, session.asOf == nil else { return [] }
    return session.insertions[source.datastore] ?? []
  }

  func rank(at position: Int) -> Int? {
    guard position >= 0, position < storedCount else { return nil }
    if let ranks { return ranks[position] }
    return source?.isDescending == true ? bounds.upperBound - 1 - position : bounds.lowerBound + position
  }

  func row(at position: Int) -> Row? { rank(at: position).flatMap { rows[$0] } }

  /// The row under the cursor; nil while the row that the cursor belongs to is looked for.
  var selectedRow: Row? { wanted == nil ? row(at: list.selection) : nil }

  /// The rank of the record under the cursor.
  var selectedRank: Int? { wanted?.rank ?? rank(at: list.selection) }

  /// The record under the cursor, a staged new one included.
  func selectedIdentifier(_ session: Session) -> StoredKey? {
    if let wanted { return wanted.identifier }
    if list.selection >= storedCount {
      let insertions = insertions(session)
      let index = list.selection - storedCount
      return insertions.indices.contains(index) ? insertions[index].identifier : nil
    }
    return selectedRow?.entry.identifier
  }

  /// The record under the cursor as of the commit that is shown, where it has been read with its row.
  func selectedRecord(_ session: Session) -> Record? {
    guard let source, opened?.commit == session.shown, opened?.source == source.unscanned else { return nil }
    return selectedRow?.record
  }

  func selectedPlace(_ session: Session) -> RecordPlace? {
    guard let source, let identifier = selectedIdentifier(session) else { return nil }
    return RecordPlace(datastore: source.datastore, identifier: identifier)
  }

  func visibleColumns(_ session: Session) -> [TableColumn] {
    if let arranged, arranged.origin == arrangement(session) { return arranged.columns }
    return columns.visible(
      choice: session.columnChoice(source?.datastore ?? ""), datastore: session.current, index: source?.index)
  }

  private func arrangement(_ session: Session) -> Arrangement {
    Arrangement(
      columns: columns, choice: session.columnChoice(source?.datastore ?? ""), commit: session.outline?.commit.number,
      datastore: session.datastore, index: source?.index)
  }

  /// Keeps the visible columns, which are asked for several times with every key.
  private mutating func arrangeColumns(_ session: Session) {
    let origin = arrangement(session)
    guard arranged?.origin != origin else { return }
    arranged = nil
    arranged = ArrangedColumns(origin: origin, columns: visibleColumns(session))
  }

  func selectedColumn(_ session: Session) -> TableColumn? {
    let visible = visibleColumns(session)
    return visible.indices.contains(column) ? visible[column] : visible.first
  }

  /// The document path of the selected column.
  func selectedPath(_ session: Session) -> String? {
    switch selectedColumn(session)?.source {
    case .field(let path)?: path
    case .identifier?: columns.identifierPath
    case .key?: session.current?.index(source?.index)?.descriptor.documentPath?.description
    case nil: nil
    }
  }

  // MARK: Marks

  func isMarked(_ identifier: StoredKey) -> Bool { markSet.contains(identifier) }

  mutating func toggleMark(_ identifier: StoredKey) {
    if markSet.remove(identifier) != nil {
      marks.removeAll { $0 == identifier }
    } else {
      markSet.insert(identifier)
      marks.append(identifier)
    }
  }

  mutating func clearMarks() {
    marks = []
    markSet = []
    rangeStart = nil
  }

  var range: ClosedRange<Int>? { rangeStart.map { min($0, list.selection)...max($0, list.selection) } }

  /// What a command works on: the marked records, the range, or the row under the cursor.
  func chosen(_ session: Session) -> GatherRequest.Which? {
    if !marks.isEmpty { return .identifiers(marks) }
    if let range { return .ranks(range.compactMap(rank(at:))) }
    return selectedIdentifier(session).map { .identifiers([$0]) }
  }

  /// The marked records, or everything that is shown.
  func everything(_ session: Session) -> GatherRequest.Which {
    if !marks.isEmpty { return .identifiers(marks) }
    if let range { return .ranks(range.compactMap(rank(at:))) }
    return .ranks(ranks ?? Array(bounds))
  }

  // MARK: Opening

  /// Shows other rows, the selection where the anchor says.
  mutating func show(_ source: RowSource, anchor: TableRequest.Anchor) {
    if self.source?.datastore != source.datastore {
      columns = TableColumns()
      column = 0
      columnOffset = 0
      rows = [:]
      clearMarks()
      changed = [:]
    }
    if self.source?.index != source.index { columns.forgetKeyWidth() }
    self.source = source
    self.anchor = anchor
    setAside = nil
    opened = nil
    pending = nil
    ranks = nil
    ranksAreFor = nil
    scan = nil
    rangeStart = nil
    problem = nil
    wanted = nil
  }

  /// Whether the bounds are those of this source, whatever its filter.
  func isOpen(_ source: RowSource) -> Bool {
    opened?.source == source.unscanned && pending == nil
  }

  /// Filters the rows that are open by something else, the selection staying on its row where that is among them, otherwise on the first.
  mutating func refilter(_ filter: String?) {
    let (rank, row) = (selectedRank, selectedRow)
    source?.filter = filter
    wanted = nil
    if let rank, let row, let source, source.needsScan, Self.isKept(row, by: filter) {
      wanted = Wanted(at: rank, row.entry, position: list.selection)
    }
    ranks = nil
    ranksAreFor = nil
    scan = nil
    rangeStart = nil
    problem = nil
    list.selection = 0
    guard let source, !source.needsScan, let rank, bounds.contains(rank) else { return }
    list.selection = source.isDescending ? bounds.upperBound - 1 - rank : rank - bounds.lowerBound
  }

  /// Whether a filter keeps a row; false where its record was not read whole.
  private static func isKept(_ row: Row, by filter: String?) -> Bool {
    guard let filter else { return true }
    guard let test = try? RowTest(filter), let document = try? row.record?.document() else { return false }
    return test.filter.matches(document)
  }

  /// Goes on in the order by identifier at a commit that has not the index of the order, and comes back to it at one that has.
  /// Answers what there is to say of it.
  mutating func settleOrder(of outline: Outline) -> String? {
    guard let source, let datastore = outline.datastore(source.datastore) else { return nil }
    if let index = source.index, datastore.index(index) == nil {
      var other = source
      (other.index, other.range) = (nil, nil)
      let kept = setAside ?? source
      show(other, anchor: keepingIdentifier())
      setAside = kept
      return "\(outline.commit.number) has no index \(index): in the order of the identifiers"
    }
    guard let kept = setAside, kept.datastore == source.datastore, datastore.index(kept.index) != nil else {
      return nil
    }
    show(kept, anchor: keepingIdentifier())
    return nil
  }

  /// The anchor that keeps the selection on its record in another order.
  func keepingIdentifier() -> TableRequest.Anchor {
    guard case .entry(let entry, _) = keepingAnchor() else { return keepingAnchor() }
    return .identifier(entry.identifier)
  }

  /// The anchor that keeps the selection on its record.
  func keepingAnchor() -> TableRequest.Anchor {
    if let entry = wanted?.entry ?? selectedRow?.entry { return .entry(entry, position: list.selection) }
    if let staged = wanted?.staged { return .staged(staged) }
    let isStaged = wanted == nil && opened != nil && scan?.isRunning != true && list.selection >= storedCount
    return isStaged ? .staged(list.selection - storedCount) : .position(list.selection)
  }

  mutating func demand(frame: PaneFrame, in session: inout Session) {
    arrangeColumns(session)
    if let wanted, list.selection != wanted.selection { self.wanted = nil }
    guard let source, session.outline != nil, session.outline?.datastore(source.datastore) != nil else { return }
    guard problem == nil else { return }
    let screen = max(8, frame.rows)
    let base = source.unscanned
    let naming = session.naming
    if opened?.source != base || opened?.commit != session.shown || opened?.naming != naming {
      guard pending?.source != base || pending?.commit != session.shown || pending?.naming != naming else { return }
      let request = TableRequest(
        source: base, commit: session.shown, anchor: anchor ?? keepingAnchor(), screen: screen, naming: naming)
      pending = request
      session.start(.table, request)
      return
    }
    demandScan(source, in: &session)
    if frame != .hidden { settle(frame: frame, session) }
    demandRows(base, frame: frame, in: &session)
  }

  mutating func settle(frame: PaneFrame, _ session: Session) {
    list.reveal(rows: max(1, frame.rows - 1), count: count(session))
    let visible = visibleColumns(session)
    column = max(0, min(column, visible.count - 1))
    columnOffset = TableGeometry.offset(
      of: column, in: visible, frozen: frozen(session), width: frame.columns - TableGeometry.signs, from: columnOffset)
  }

  func frozen(_ session: Session) -> Int {
    max(source?.index == nil ? 1 : 2, session.columnChoice(source?.datastore ?? "").frozen)
  }

  private mutating func demandScan(_ source: RowSource, in session: inout Session) {
    guard source.needsScan else { return }
    let key = ScanKey(source: source, commit: session.shown)
    guard ranksAreFor != key else { return }
    ranksAreFor = key
    ranks = []
    if wanted != nil {
      list.selection = 0
      wanted?.selection = 0
    }
    scan = ScanState(plan: "", read: 0, total: bounds.count, isRunning: true)
    if source.filter != nil {
      session.start(
        .filter,
        FilterRequest(source: source, commit: session.shown, bounds: bounds),
        label: "filter")
    } else {
      startSort(source, ranks: nil, in: &session)
    }
  }

  private func startSort(_ source: RowSource, ranks: [Int]?, in session: inout Session) {
    session.start(
      .sort, SortRequest(source: source, commit: session.shown, bounds: bounds, ranks: ranks), label: "sort")
  }

  /// Asks for the rows around the screen where they are missing, or soon will be: then no picture waits for them.
  private mutating func demandRows(_ source: RowSource, frame: PaneFrame, in session: inout Session) {
    let screen = max(8, frame.rows)
    let isAhead = !lacksRow(in: list.top..<list.top + screen)
    guard !isAhead || lacksRow(in: list.top - screen / 2..<list.top + screen + screen / 2) else { return }
    if let pendingRows, pendingRows.commit == session.shown, pendingRows.source == source {
      let asked = Set(pendingRows.ranks)
      let visible = ranks(of: list.top..<list.top + screen)
      let isAsked = visible.allSatisfy { rows.index(forKey: $0) != nil || asked.contains($0) }
      // What was asked ahead and is missing now is asked anew, so that the picture waits for it.
      if isAsked, isAhead || session.isRunning(.rows) { return }
    }
    let first = max(0, list.top - screen)
    window = first..<first + 3 * screen
    let request = RowsRequest(
      source: source, commit: session.shown, first: first,
      ranks: ranks(of: window).filter { rows.index(forKey: $0) == nil }, naming: session.naming)
    pendingRows = request
    session.cancel(.rows)
    session.cancel(.rowsAhead)
    session.start(isAhead ? .rowsAhead : .rows, request)
  }

  private func lacksRow(in positions: Range<Int>) -> Bool {
    positions.clamped(to: 0..<storedCount).contains { rank(at: $0).map { rows.index(forKey: $0) == nil } ?? false }
  }

  private func ranks(of positions: Range<Int>) -> [Int] {
    positions.clamped(to: 0..<storedCount).compactMap(rank(at:))
  }

  // MARK: A search while it is typed

  mutating func beginSearch() {
    searchOrigin = list.selection
    matches = nil
  }

  /// Goes to the first row with the text from where the search began, and counts all of them.
  mutating func search(typed text: String, in session: inout Session) {
    guard let source, let searchOrigin, text != searchText || matches == nil else { return }
    searchText = text.isEmpty ? nil : text
    matches = nil
    list.selection = searchOrigin
    session.cancel(.search)
    session.cancel(.matches)
    guard !text.isEmpty else { return }
    let request = SearchRequest(
      source: source, commit: session.shown, text: text, isBackward: false, ranks: ranks, bounds: bounds,
      position: min(searchOrigin, max(0, storedCount - 1)), includesPosition: true)
    session.start(.search, request)
    session.start(.matches, MatchesRequest(search: request))
  }

  /// Ends a search; where it was given up the selection goes back.
  mutating func endSearch(isTaken: Bool) {
    if !isTaken, let searchOrigin { list.selection = searchOrigin }
    searchOrigin = nil
  }

  /// `3 of 17`; nil where nothing is known yet.
  func searchStanding(_ session: Session) -> String? {
    guard searchOrigin != nil, searchText != nil, let matches else { return nil }
    let total = NumberFormat.count(matches.count)
    guard matches.count > 0 else { return "no match in \(NumberFormat.counted(storedCount, "row"))" }
    guard let index = matches.positions.firstIndex(of: list.selection) else { return "\(total) rows match" }
    return "\(NumberFormat.count(index + 1)) of \(total)"
  }

  // MARK: Answers

  mutating func answered(_ reply: any Sendable, in session: inout Session) {
    switch reply {
    case let answer as TableAnswer: open(answer, in: &session)
    case let answer as RowsAnswer where answer.request == pendingRows:
      pendingRows = nil
      add(answer, in: session)
      forgetFarRows()
    case let answer as FilterAnswer where ranksAreFor != nil:
      scan = ScanState(plan: answer.plan, read: answer.rowsRead, total: answer.rowsRead, isRunning: false)
      guard let source, !source.sort.isEmpty, answer.source == source else {
        put(ranks ?? [], isWhole: true, in: &session)
        return
      }
      startSort(source, ranks: ranks, in: &session)
    case let answer as SortAnswer where answer.source == source:
      put(answer.ranks, isWhole: true, in: &session)
      scan = ScanState(
        plan: source?.filter == nil ? "" : scan?.plan ?? "", read: answer.rowsRead, total: answer.rowsRead,
        isRunning: false)
    case let answer as SearchAnswer:
      guard let position = answer.position else {
        // While one types the prompt says so.
        guard searchOrigin == nil else { break }
        session.warn("no match for “\(answer.request.text)” in \(NumberFormat.count(answer.rowsRead)) rows")
        return
      }
      (list.selection, wanted) = (position, nil)
      guard searchOrigin == nil else { break }
      session.say(
        answer.wasSeek
          ? "INDEX \(answer.request.source.index ?? "id"): row \(NumberFormat.count(position + 1))"
          : "SCAN: \(NumberFormat.count(answer.rowsRead)) rows read")
    case let reply as StepChangesReply where reply.request.to == session.shown:
      changed = reply.changed
      step = reply
    case let reply as OrderRequest.Reply: adoptOrder(reply, in: &session)
    case let reply as MatchesRequest.Reply where reply.request.search.text == searchText: matches = reply
    default: break
    }
  }

  /// Asks for another order; an index that has it is taken, otherwise keys are gathered and sorted.
  mutating func order(by sort: [SortOrder], anchor: TableRequest.Anchor, in session: inout Session) {
    guard var source else { return }
    source.sort = sort
    orderAnchor = anchor
    session.start(.order, OrderRequest(source: source, commit: session.shown))
  }

  private mutating func adoptOrder(_ reply: OrderRequest.Reply, in session: inout Session) {
    guard let anchor = orderAnchor, var wanted = source, wanted.datastore == reply.request.source.datastore else {
      return
    }
    orderAnchor = nil
    if let unknown = reply.unknown.first { return session.warn("not sorted: \(unknown.sentence)") }
    wanted.sort = reply.request.source.sort
    wanted.isDescending = reply.isDescending
    if let index = reply.index {
      (wanted.index, wanted.range, wanted.sort) = (index.isEmpty ? nil : index, nil, [])
      session.say("INDEX \(index.isEmpty ? "identifier" : index): in order at once")
    }
    session.intend(.show(wanted, anchor: anchor))
  }

  private mutating func open(_ answer: TableAnswer, in session: inout Session) {
    guard answer.request == pending else { return }
    pending = nil
    opened = answer.request
    bounds = answer.bounds
    rows = [:]
    pendingRows = nil
    add(answer.rows, in: session)
    defer { anchor = nil }
    // Read anew in other words: the list of the rows is the same.
    if let source, source.needsScan, ranksAreFor == ScanKey(source: source, commit: answer.request.commit) { return }
    let position = answer.position
    let rank = answer.request.source.isDescending ? bounds.upperBound - 1 - position : bounds.lowerBound + position
    var wanted: Wanted?
    list.selection = position
    switch answer.request.anchor {
    case .position: break
    case .staged(let staged):
      let insertions = insertions(session)
      guard insertions.indices.contains(staged) else { break }
      wanted = Wanted(rank: rank, staged: staged, identifier: insertions[staged].identifier)
      list.selection = bounds.count + staged
    case .entry(let entry, let before) where answer.anchorIsGone:
      wanted = Wanted(rank: rank, position: before)
      session.say("\(entry.identifier) is not here any more; the selection is on its successor")
    case .entry(_, let before): wanted = Wanted(at: rank, rows[rank]?.entry, position: before)
    case .identifier: wanted = Wanted(at: rank, answer.anchorIsGone ? nil : rows[rank]?.entry, position: position)
    }
    wanted?.selection = list.selection
    self.wanted = source?.needsScan == true ? wanted : nil
  }

  private mutating func forgetFarRows() {
    let near = Set(ranks(of: window))
    rows = rows.filter { near.contains($0.key) }
  }

  private mutating func add(_ answer: RowsAnswer, in session: Session) {
    for row in answer.rows { rows[row.rank] = row }
    if columns.identifierPath == nil { columns.identifierPath = session.current?.descriptor.identifierPath }
    columns.widen(for: answer.columns, rows: answer.rows)
  }

  mutating func progressed(_ progress: Progress, of slot: WorkSlot, in session: inout Session) {
    guard slot == .filter || slot == .sort, ranksAreFor != nil else { return }
    if case .plan(let plan, let count) = progress.found {
      scan?.plan = plan
      scan?.known = count
      return
    }
    scan?.read = progress.done
    scan?.total = progress.total
    guard case .ranks(let found) = progress.found, !found.isEmpty else { return }
    merge(found, in: &session)
  }

  /// Adds ranks, keeping them ascending (descending where the table is).
  private mutating func merge(_ found: [Int], in session: inout Session) {
    let isDescending = source?.isDescending == true
    var ranks = self.ranks ?? []
    if !isDescending, (ranks.last ?? -1) < (found.first ?? 0) {
      ranks += found
    } else {
      ranks += found
      ranks.sort(by: isDescending ? { $0 > $1 } : { $0 < $1 })
    }
    put(ranks, isWhole: false, in: &session)
  }

  /// Shows other rows. The cursor follows its record to its place among them; while that is not there it is on no row, and once all are
  /// there, on the next one.
  private mutating func put(_ ranks: [Int], isWhole: Bool, in session: inout Session) {
    let behind = list.selection - storedCount
    let staged = wanted?.staged ?? (wanted == nil && storedCount > 0 && behind >= 0 ? behind : nil)
    let rank = selectedRank
    let wanted = wanted
    self.ranks = ranks
    if let staged, isWhole || wanted == nil {
      (list.selection, self.wanted) = (ranks.count + staged, nil)
    } else if staged == nil, let rank, let position = ranks.firstIndex(of: rank) {
      (list.selection, self.wanted) = (position, nil)
    } else if isWhole, let wanted {
      self.wanted = nil
      let isDescending = source?.isDescending == true
      let next = ranks.firstIndex { isDescending ? $0 < wanted.rank : $0 > wanted.rank } ?? ranks.count - 1
      list.selection = max(0, source?.sort.isEmpty == false ? min(wanted.position, ranks.count - 1) : next)
      guard let entry = wanted.entry else { return }
      session.say("\(entry.identifier) is not among these rows any more; the selection is on its successor")
    }
  }

  /// What was called off: the rows found so far stay.
  mutating func cancelled(_ slot: WorkSlot, in session: inout Session) { stopScan() }

  private mutating func stopScan() {
    scan?.isRunning = false
    wanted = nil
  }

  mutating func failed(_ error: ModelError, of slot: WorkSlot, in session: inout Session) {
    stopScan()
    if [.table, .rows, .rowsAhead].contains(slot) {
      problem = error.description
    } else {
      session.complain(error)
    }
  }

  func footer(_ session: Session) -> [Command] {
    guard session.asOf != nil else { return Self.entry.footer }
    return [
      .olderCommit, .newerCommit, .escape, .down, .open, .restoreRecord, .search, .filter, .sort, .history, .palette,
      .help, .close,
    ]
  }

  func short(_ command: Command) -> String? { command == .escape ? "to the head" : nil }

  func headerRows(_ frame: PaneFrame) -> Int { 1 }
  func lineCount(_ session: Session) -> Int { count(session) }

  var failure: String? { problem }

  mutating func clearFailure() { problem = nil }
}

extension TablePane.Wanted {
  /// A record that is stored.
  fileprivate init(at rank: Int, _ entry: IndexEntry?, position: Int) {
    self.init(rank: rank, entry: entry, identifier: entry?.identifier, position: position)
  }
}
