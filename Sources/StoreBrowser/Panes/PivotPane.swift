import StrataModel
import StrataDocuments
import StrataTerminal

/// The rows of the table counted by two fields: a line for each value of one, a column for each value of the other; Enter shows the
/// records of a cell.
struct PivotPane: ListPane, PermanentPane, ReplyPane {
  static let entry = PaneEntry(
    id: .pivot, name: "Pivot", work: [question],
    footer: [.down, .right, .open, .pivot, .search, .export, .copyValue, .help, .close],
    commands: [
      CommandTable.row(
        .pivot, ["g P"], "count by two fields", "pivot", .table,
        argument: .init("ROWS COLUMNS [FIELD]", isRequired: false), verb: "records",
        "Counts the rows of the table by two fields, `:pivot continent government`, with a figure over a third: `:pivot "
          + "countrycode timezone population`. Without names the column under the cursor gives the lines, and the one to its right "
          + "the columns. Again it shows the next figure: count, sum, mean, least, greatest. Enter shows the records of a cell.",
        in: [.table, .pivot], unless: .withoutDatastore
      ) { browser, argument in browser.openPivot(argument) }
    ]
  ) { PivotPane() }

  static let question = WorkSlot(name: "pivot", isLong: true)

  var reading = Reading<GroupRequest>()
  /// The values that give the lines and the columns, in their order.
  private(set) var rows: [Document] = []
  private(set) var columns: [Document] = []
  /// By line and column.
  private var cells: [[Int]: RecordGroup] = [:]
  private var figures: [String] = []
  private(set) var figure = 0
  /// After that of the lines.
  var cursorColumn = 1 { didSet { cursorColumn = max(1, cursorColumn) } }
  var list = ListWindow()

  mutating func show(_ request: GroupRequest, in session: inout Session) {
    self = PivotPane()
    reading.ask(request, as: Self.question, label: "pivot of \(request.keys[0])", in: &session)
  }

  mutating func answered(_ answer: any Sendable, in session: inout Session) {
    let (value, title) = (rows.dropFirst(list.selection).first, columns.dropFirst(column).first)
    take(answer)
    // The values of a line are not asked for: there may be as many columns as lines.
    list.selection = value.flatMap { rows.firstIndex(of: $0) } ?? list.selection
    cursorColumn = 1 + (title.flatMap { columns.firstIndex(of: $0) } ?? 0)
  }

  private mutating func take(_ answer: any Sendable) {
    reading.take(answer)
    guard let answer = answer as? GroupRequest.Reply else { return }
    figures = Array(answer.columns.dropFirst(2))
    var places: [[[UInt8]: Int]] = [[:], [:]]
    (rows, places[0]) = Self.values(of: 0, in: answer.groups)
    (columns, places[1]) = Self.values(of: 1, in: answer.groups)
    cells = [:]
    for group in answer.groups { cells[zip(places, group.keys).map { $0[$1.sortKey] ?? 0 }] = group }
  }

  /// The values of a key in their order, and where each stands: texts in different normal forms are one, as in a group.
  private static func values(of key: Int, in groups: [RecordGroup]) -> ([Document], [[UInt8]: Int]) {
    let values = groups.map { ($0.keys[key].sortKey, $0.keys[key]) }
    let sorted = Dictionary(values, uniquingKeysWith: { first, _ in first })
      .sorted { $0.key.lexicographicallyPrecedes($1.key) }
    return (sorted.map(\.value), Dictionary(uniqueKeysWithValues: sorted.enumerated().map { ($1.key, $0) }))
  }

  var column: Int { cursorColumn - 1 }

  func headerRows(_ frame: PaneFrame) -> Int { 1 }
  func lineCount(_ session: Session) -> Int { rows.count }

  private func cell(_ row: Int, _ column: Int) -> RecordGroup? { cells[[row, column]] }

  /// The figure of a cell; nil if no record is in it.
  func value(_ row: Int, _ column: Int) -> Document? { cell(row, column)?.figures[figure] }
  private func shownValue(_ row: Int, _ column: Int) -> Document? {
    value(row, column).map { NumberFormat.figure($0, of: figures[figure]) }
  }

  var rowColumns: [String] {
    let names =
      [request.map { TableWriter.heading(of: $0.keys[0]) } ?? ""] + columns.map { TableWriter.cell($0) ?? "null" }
    let counts = Dictionary(names.map { ($0, 1) }, uniquingKeysWith: +)
    return names.prefix(1) + zip(names.dropFirst(), columns).map { counts[$0] == 1 ? $0 : $1.compactJSON }
  }
  func row(_ line: Int) -> [Document] { [rows[line]] + columns.indices.map { value(line, $0) ?? .null } }

  func refusal(of command: Command, in session: Session) -> String? {
    guard [.open, .copyValue].contains(command), cell(list.selection, column) == nil else { return nil }
    return reply == nil ? "the records are being read" : "no record is in this cell"
  }

  func short(_ command: Command) -> String? {
    switch command {
    case .open: "its records"
    case .pivot: "next figure"
    default: nil
    }
  }

  mutating func run(_ command: Command, argument: String?, frame: PaneFrame, in session: inout Session) -> Bool {
    guard let request, reply != nil else { return false }
    switch command {
    case .left, .right: cursorColumn = min(columns.count, cursorColumn + (command == .left ? -1 : 1))
    case .pivot where argument == nil && figures.count < 2:
      session.warn("figures are of a third field: :pivot ROWS COLUMNS FIELD")
    case .pivot where argument == nil: figure = (figure + 1) % figures.count
    case .copyValue: session.copy(value(list.selection, column))
    case .open:
      guard let group = cell(list.selection, column) else { return false }
      showRows(of: request.source, where: request.conditions(of: group), in: &session)
    default: return false
    }
    return true
  }

  // MARK: Drawing

  func draw(on grid: inout CellGrid, frame: PaneFrame, session: Session) {
    let theme = session.theme
    let names = request.map { $0.keys.map(\.shortText).joined(separator: " × ") } ?? ""
    let size = "\(NumberFormat.count(rows.count)) × \(NumberFormat.count(columns.count)) values"
    let footer = reply.map { _ in [figures[figure]] + scope(session) + [size] } ?? []
    let title = "\(request?.source.datastore ?? "Pivot") by \(names)"
    let note = rows.isEmpty ? "no record is shown" : nil
    guard begin(on: &grid, frame, title: title, footer: footer, note: note, session) != nil else { return }
    let isSeparated = request?.keys.map(session.isSeparated) ?? [true, true]
    func text(_ value: Document, _ key: Int, in width: Int = .max) -> String {
      isSeparated[key] ? NumberFormat.exact(value, in: width) : ValueText(cell: value).visible.fitting(width)
    }
    // Of many lines and columns only those on the screen are measured.
    let shown = shownLines(frame, session)
    let left = 4 + min(frame.columns / 3, shown.reduce(4) { max($0, SafeText.width(text(rows[$1], 0))) })
    func measure(_ column: Int) -> ColumnExtent {
      NumberFormat.measure(shown.lazy.compactMap { shownValue($0, column) })
    }
    let widths = columns.indices.lazy.map { min(20, max(SafeText.width(text(columns[$0], 1)), measure($0).width)) }
    let slots = TableGeometry.slots(of: widths, around: column, width: frame.columns - left)
    grid.titles(
      of: columns.count, slots, selected: column, in: frame.inside, from: left, theme: theme,
      isTrailing: { _ in true }
    ) { SafeText.cutInTheMiddle(text(columns[$0.column], 1, in: $0.width), to: $0.width) }
    let fractions = slots.map { measure($0.column).fraction }
    drawLines(on: &grid, frame: frame, session: session) { grid, line, rect in
      grid.write(text(rows[line], 0, in: left - 4), at: rect.at(2), width: left - 4, style: theme.style(.key))
      for (slot, fraction) in zip(slots, fractions) {
        guard let value = shownValue(line, slot.column) else { continue }
        grid.write(
          NumberFormat.aligned(NumberFormat.exact(value, in: slot.width), fraction: fraction, in: slot.width),
          at: rect.at(left + slot.x),
          width: slot.width, alignment: .trailing)
        if line == list.selection, slot.column == column {
          grid.restyle(Rect(column: rect.left + left + slot.x, row: rect.top, columns: slot.width, rows: 1)) {
            $0.attributes.formUnion([.bold, .underline])
          }
        }
      }
    }
  }
}

extension Browser {
  /// `:pivot ROWS COLUMNS [FIELD]`; without names, by the column under the cursor and the next one.
  mutating func openPivot(_ argument: String?) {
    guard let source = openRows(for: .pivot, argument) else { return }
    var names = argument?.words ?? []
    let shown = table.visibleColumns(session)
    if names.isEmpty {
      let next = shown.indices.contains(table.column + 1) ? shown[table.column + 1].path : nil
      names = [table.selectedPath(session), next].compactMap(\.self)
    }
    guard names.count >= 2 else { return session.warn("a pivot is of two fields: :pivot ROWS COLUMNS [FIELD]") }
    do throws(ModelError) {
      let paths = try names.prefix(3).map { name throws(ModelError) in try fieldPath(name) }
      if let unknown = table.unknownName(in: paths, session) { session.warn(unknown) }
      let request = GroupRequest(
        source: source, commit: table.commit(session), keys: Array(paths.prefix(2)), field: paths.dropFirst(2).first,
        ranks: source.limit == nil ? nil : table.foundRanks)
      open(PivotPane.self) { $0.show(request, in: &$1) }
    } catch { session.complain(error) }
  }
}
