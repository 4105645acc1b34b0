import StrataDocuments
import StrataModel

/// Pane 2: the records of a datastore, in the order of an index, a window at a time.
///
/// It keeps ranks and a window of rows, never all rows. The position of a row leads to its rank in the index (or, with a filter, into the
/// list of matching ranks), and only rows near the screen are read.
struct TablePane: ListPane, PermanentPane, Equatable {
  static let entry = PaneEntry(
    id: .table, digit: 2, name: "Table",
    work: [
      .table, .rows, .rowsAhead, .search, .filter, .sort, TakenRequest.slot, OrderRequest.slot, MatchesRequest.slot,
      StepChangesRequest.slot,
    ],
    footer: [
      .down, .open, .edit, .review, .search, .filter, .sort, .history, .mark, .deleteRecord, .undo, .travel, .palette,
      .help, .close,
    ], isAlwaysKept: true
  ) { TablePane() }

  var source: RowSource?
  var list = ListWindow()
  /// The selected column, and the first one shown after the frozen ones.
  var column = 0
  var columnOffset = 0
  /// The field that gets the cursor as soon as it has a column.
  var soughtField: String?
  var columns = TableColumns()
  /// The revision of what is staged for which the columns have room.
  var stagedColumns: Int?

  /// The chosen order, if the shown commit has no such index; it comes back when a commit is shown that has one.
  var setAside: RowSource?

  /// The request that the bounds belong to.
  var opened: TableRequest?
  var bounds = 0..<0
  /// The ranks that a filter kept or a sort ordered; nil if the range itself is shown.
  var ranks: [Int]?
  var ranksAreFor: ScanKey?
  var scan: ScanState?
  var rows: [Int: Row] = [:]
  var pending: TableRequest?
  var pendingRows: RowsRequest?
  /// The positions whose rows are kept: the screen, one screen before it and one after it.
  var window = 0..<0
  /// The place for the selection once the table is open.
  var anchor: TableRequest.Anchor?
  /// The record that the cursor belongs to while its row is not shown; nil if the cursor is on that row.
  var wanted: Wanted?
  var problem: String?

  struct SearchOrigin: Sendable, Equatable {
    var position: Int
    var anchor: TableRequest.Anchor
    /// The rows that the position is in.
    var opened: TableRequest?
  }

  struct Wanted: Sendable, Equatable {
    var rank: Int
    /// The record's entry; nil if the record that the cursor was on no longer exists.
    var entry: IndexEntry?
    /// The number of the staged new record, after the stored ones.
    var staged: Int?
    var identifier: StoredKey?
    /// The position of the row before, from 0.
    var position = 0
    /// The temporary selection. Once the user moves it, the cursor is on its row.
    var selection = 0
  }

  /// The records that this browser's newest commit deleted.
  var ownDeletions: Set<StoredKey> = []

  /// The state for which `session.taken` was asked.
  var takenState: TakenState?

  /// The staged new records that were looked up as of that commit.
  var lookedUp: Set<RecordPlace> = []

  struct TakenState: Sendable, Hashable {
    var commit: CommitNumber
    var stagedRevision: Int
  }

  /// Marked records in the order in which they were marked.
  var marks: [StoredKey] = []
  private var markSet: Set<StoredKey> = []
  var rangeStart: Int?
  /// The entry there, so that the range stays on its records at another commit.
  var rangeEntry: IndexEntry?
  /// The records that other programs' commits changed, or that differ from the previously shown commit, until the next key.
  var changed: [StoredKey: ChangeKind] = [:] { didSet { if changed.isEmpty { step = nil } } }
  /// The step from another commit to this one that `changed` describes, with the cells as they were before.
  var step: StepChangesReply?
  var searchText: SearchText?
  var searchColumn: TableColumn.Source?
  /// The selection when the user began to type the search; nil if no search is being typed.
  var searchOrigin: SearchOrigin?
  /// The rows that contain the searched text, in the order of the table.
  var matches: MatchesRequest.Reply?
  /// The hit that was gone to last.
  var hit: SearchAnswer?
  /// Whether the row of the hit is still being read, so that the cursor has not gone to its column.
  var isHitUnread = false
  /// The command about all rows that waits until they are found.
  var waiting: AwaitedCommand?
  /// The requested order, until it is known whether an index has it.
  var awaitedOrder: AwaitedOrder?

  /// The visible columns, with the inputs from which they were made.
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
    var references: [String: String]?
  }

  /// The list at a newer commit while it is filled; until it is complete, the rows of the previous commit are shown.
  var renewal: Renewal?

  struct Renewal: Sendable, Equatable {
    let commit: CommitNumber
    var ranks: [Int] = []
    var isWhole = false
  }

  struct ScanKey: Sendable, Hashable { var source: RowSource; var commit: CommitNumber }

  struct ScanState: Sendable, Hashable {
    var plan: String
    /// How many rows it keeps, if ranks give the count before the rows are read.
    var known: Int?
    var read: Int
    var total: Int?
    var isRunning: Bool
    /// Whether it ended before everything was read.
    var isCutShort: Bool { !isRunning && read != total }
  }

  // MARK: The cursor's row

  /// The commit of the rows, which is older than the shown one while a new list is filled.
  func commit(_ session: Session) -> CommitNumber { opened?.commit ?? session.shown }

  /// The ranks of the stored rows, as far as they are known.
  var shownRanks: RowRanks {
    let limit = source?.limit ?? .max
    if let ranks { return RowRanks(list: ranks, limit: limit) }
    return RowRanks(run: bounds, isDescending: source?.isDescending == true, limit: limit)
  }

  /// The number of rows of the range or the list, without staged ones.
  var storedCount: Int { shownRanks.count }

  /// The ranks of the rows of a filter or a limit, once all of them are found.
  var foundRanks: RowRanks? {
    if source?.limit != nil { return shownRanks }
    guard source?.filter != nil, renewal == nil, let scan, !scan.isRunning, !scan.isCutShort else { return nil }
    return ranks == nil ? nil : shownRanks
  }

  func count(_ session: Session) -> Int { storedCount + insertions(session).count }

  func insertions(_ session: Session) -> [RecordEdit] {
    source.map { session.shownInsertions($0.datastore) } ?? []
  }

  func rank(at position: Int) -> Int? {
    let ranks = shownRanks
    return ranks.indices.contains(position) ? ranks[position] : nil
  }

  func row(at position: Int) -> Row? { rank(at: position).flatMap { rows[$0] } }

  /// The row under the cursor; nil while the cursor's row is being found.
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

  /// The record under the cursor as of the shown commit, if it was read with its row.
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
      choice: session.columnChoice(source?.datastore ?? ""), datastore: session.current,
      index: source?.index
    ) { (try? DocumentPath(parsing: $0)).map(session.isSeparated) ?? true }
  }

  private func arrangement(_ session: Session) -> Arrangement {
    Arrangement(
      columns: columns, choice: session.columnChoice(source?.datastore ?? ""), commit: session.outline?.commit.number,
      datastore: session.datastore, index: source?.index,
      references: session.remembered.references?[session.datastore ?? ""])
  }

  /// Keeps the visible columns, because they are needed several times with every key. The cursor stays on its field if columns move.
  mutating func arrangeColumns(_ session: Session) {
    let origin = arrangement(session)
    guard arranged?.origin != origin else { return }
    let before = arranged
    arranged = nil
    let visible = visibleColumns(session)
    if let before, before.origin.datastore == origin.datastore {
      let old = before.columns.map { field(of: $0, index: before.origin.index, session) }
      let new = visible.map { field(of: $0, index: origin.index, session) }
      // The next column takes the place of one that is gone.
      func place(_ column: Int) -> Int { old.dropFirst(column).compactMap { new.firstIndex(of: $0) }.first ?? column }
      column = place(column)
      if columnOffset > frozen(session), Set(old) != Set(new) { columnOffset = place(columnOffset) }
    } else {
      soughtField = nil
    }
    if let soughtField, let place = visible.firstIndex(where: { $0.path == soughtField }) {
      (column, self.soughtField) = (place, nil)
    }
    arranged = ArrangedColumns(origin: origin, columns: visible)
  }

  /// The field that a column shows, as itself or as the key of an index; the column itself if it shows no field.
  private func field(of column: TableColumn, index: String?, _ session: Session) -> TableColumn.Source {
    guard column.source == .key else { return column.source }
    return session.current?.index(index)?.descriptor.documentPath.map { .field($0.description) } ?? .key
  }

  func selectedColumn(_ session: Session) -> TableColumn? {
    let visible = visibleColumns(session)
    return visible.indices.contains(column) ? visible[column] : visible.first
  }

  func selectedPath(_ session: Session) -> String? {
    selectedColumn(session).flatMap { path(of: $0, session) }
  }

  /// The field that the selected column shows.
  func selectedField(_ session: Session) -> DocumentPath? {
    selectedPath(session).flatMap { try? DocumentPath(parsing: $0) }
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

  mutating func unmark(where isGone: (StoredKey) -> Bool) {
    marks.removeAll(where: isGone)
    markSet.formIntersection(marks)
  }

  mutating func clearMarks() {
    marks = []
    markSet = []
    rangeStart = nil
  }

  /// A layer that Esc takes back in the table, each with a press of its own, before it returns from the past.
  enum Layer: String {
    case marks = "unmark"
    case filter = "no filter"
    case sort = "no sort"
    case range = "no range"
  }

  /// The layer that the next Esc takes back.
  var layer: Layer? {
    if !marks.isEmpty || rangeStart != nil { return .marks }
    guard let source else { return nil }
    if source.filter != nil { return .filter }
    if !source.sort.isEmpty { return .sort }
    return source.range == nil ? nil : .range
  }

  var range: ClosedRange<Int>? { rangeStart.map { min($0, list.selection)...max($0, list.selection) } }

  /// The staged new records in the range.
  func newInRange(_ session: Session) -> [StoredKey] {
    guard let range else { return [] }
    let (new, count) = (insertions(session), storedCount)
    return new.indices.filter { range.contains($0 + count) }.map { new[$0].identifier }
  }

  private var marked: GatherRequest.Which? {
    if !marks.isEmpty { return .identifiers(marks) }
    return range.map { .ranks(RowRanks(list: $0.compactMap(rank(at:)))) }
  }

  /// The records that a command applies to: the marked records, the range, or the row under the cursor.
  func chosen(_ session: Session) -> GatherRequest.Which? {
    if marks.isEmpty, let range, range.lowerBound >= storedCount {
      return .identifiers(newInRange(session))
    }
    return marked ?? selectedIdentifier(session).map { .identifiers([$0]) }
  }

  /// Whether commands about many records are about all shown ones.
  var isAboutAll: Bool { marks.isEmpty && rangeStart == nil }

  /// The marked records, or all shown ones.
  var everything: GatherRequest.Which { marked ?? .ranks(shownRanks) }

  /// The staged new records beside them; marked ones are among them already.
  func newInEverything(_ session: Session) -> [StoredKey] {
    if isAboutAll { return insertions(session).map(\.identifier) }
    return marks.isEmpty ? newInRange(session) : []
  }

  func footer(_ session: Session) -> [Command] {
    guard session.asOf != nil else { return Self.entry.footer }
    return [
      .olderCommit, .newerCommit, .escape, .down, .open, .restoreRecord, .search, .filter, .sort, .history, .palette,
      .help, .close,
    ]
  }

  func short(_ command: Command) -> String? { command == .escape ? layer?.rawValue ?? "leave the past" : nil }

  func headerRows(_ frame: PaneFrame) -> Int { 1 }
  func lineCount(_ session: Session) -> Int { count(session) }
}
