import StrataModel
import StrataDocuments
import StrataTerminal

/// The rows of the table in groups, a line for each value of a field, with figures over another field; Enter shows the group's records.
struct GroupPane: ListPane, PermanentPane, ReplyPane {
  static let entry = PaneEntry(
    id: .group, name: "Groups", work: [question],
    footer: [.down, .open, .group, .sort, .sortReverse, .export, .copyValue, .help, .close],
    commands: [
      CommandTable.row(
        .group, ["g b"], "group by this column", "group by", .table, argument: .init("KEY [FIELD]", isRequired: false),
        verb: "records",
        "Shows a line for each value of the column in the rows that the table shows: how many there are, and sum, mean, least and "
          + "greatest of a field of numbers. Again in the groups it takes the next field. o and O sort by the column under the "
          + "cursor, s saves the groups to a file, and Enter shows the records of a group.",
        in: [.table, .group], unless: .withoutDatastore
      ) { browser, argument in browser.openGroups(argument) }
    ]
  ) { GroupPane() }

  static let question = WorkSlot(name: "group", isLong: true)

  var reading = Reading<GroupRequest>()
  /// The fields that figures can be of, in the order in which they are stepped through.
  private var fields: [DocumentPath] = []
  var cursorColumn = 0
  private var sorted: (column: Int, isDescending: Bool) = (0, false)
  var list = ListWindow()

  /// Groups other rows, or shows the figures of another field in the same columns and the same order.
  mutating func show(_ request: GroupRequest, fields: [DocumentPath], in session: inout Session) {
    let isSame = request.keys == self.request?.keys && request.source == self.request?.source
    let former = isSame ? self : GroupPane()
    self = GroupPane()
    (self.fields, cursorColumn, sorted) = (fields, former.cursorColumn, former.sorted)
    reading.ask(request, as: Self.question, label: "groups of \(request.keys[0])", in: &session)
  }

  mutating func answered(_ answer: any Sendable, in session: inout Session) {
    let sorted = sorted
    keepingSelection(session) {
      $0.reading.take(answer)
      // Without figures there are fewer columns.
      guard sorted != (0, false), sorted.column < $0.rowColumns.count else { return $0.sorted = (0, false) }
      $0.reading.reply?.groups.sort(by: sorted.column, isDescending: sorted.isDescending)
    }
  }

  func headerRows(_ frame: PaneFrame) -> Int { 1 }
  func lineCount(_ session: Session) -> Int { reply?.groups.count ?? 0 }
  var rowColumns: [String] { reply?.columns ?? ["value"] }
  func row(_ line: Int) -> [Document] { reply?.groups[line].cells ?? [] }

  var selected: RecordGroup? { list.selected(of: reply?.groups ?? []) }

  func refusal(of command: Command, in session: Session) -> String? {
    guard selected == nil, [.open, .copyValue, .sort, .sortReverse, .group, .export, .search].contains(command) else {
      return nil
    }
    return reply == nil ? "the groups are being read" : "there are no groups"
  }

  func short(_ command: Command) -> String? {
    switch command {
    case .open: "its records"
    case .group: "next field"
    default: nil
    }
  }

  mutating func run(_ command: Command, argument: String?, frame: PaneFrame, in session: inout Session) -> Bool {
    guard let reply, let request else { return false }
    switch command {
    case .left, .right: cursorColumn = max(0, min(reply.columns.count - 1, cursorColumn + (command == .left ? -1 : 1)))
    case .sort, .sortReverse: sort(by: argument, isDescending: command == .sortReverse, in: &session)
    case .group where argument == nil:
      guard let next = nextField else { return false }
      let fields = fields
      var changed = request
      changed.field = next
      show(changed, fields: fields, in: &session)
    case .open: selected.map { showRows(of: request.source, where: request.conditions(of: $0), in: &session) }
    case .copyValue: selected.map { session.copy($0.cells[cursorColumn], what: reply.columns[cursorColumn]) }
    default: return false
    }
    return true
  }

  private var nextField: DocumentPath? {
    guard !fields.isEmpty else { return nil }
    let position = request?.field.flatMap { fields.firstIndex(of: $0) } ?? -1
    return fields[(position + 1) % fields.count]
  }

  /// By the column under the cursor, or by one that is named; again on the same column turns the order round.
  private mutating func sort(by name: String?, isDescending: Bool, in session: inout Session) {
    let falls = name?.trimmed.hasSuffix(" desc") == true
    let typed = name.map { String(falls ? $0.trimmed.dropLast(5) : $0[...]).trimmed }
    let known = rowColumns.indices.first { [rowColumns[$0], title($0)].contains(typed) }
    guard let named = name == nil ? cursorColumn : known else {
      return session.warn("groups are sorted by one of their columns: \(rowColumns.joined(separator: ", "))")
    }
    let turns = name == nil && !isDescending && sorted == (named, false)
    sorted = (named, isDescending || falls || turns)
    reading.reply?.groups.sort(by: named, isDescending: sorted.isDescending)
    list = ListWindow()
  }

  // MARK: Drawing

  func draw(on grid: inout CellGrid, frame: PaneFrame, session: Session) {
    let theme = session.theme
    let found = reply.map { [NumberFormat.counted($0.groups.count, "group"), $0.plan] } ?? []
    let footer = [figures].compactMap(\.self) + scope(session) + found
    let heading = request.map { "\($0.source.datastore) by \($0.keys[0].shortText)" } ?? "Groups"
    let note = reply?.groups.isEmpty == true ? "no record is shown" : nil
    guard let reply = begin(on: &grid, frame, title: heading, footer: footer, note: note, session) else { return }
    let isSeparated = request.map { session.isSeparated($0.keys[0]) } ?? true
    let shownFigures = reply.columns.indices.map { figures($0, reply, shownLines(frame, session)) }
    let columns = layout(reply, shownFigures.map(\.width), width: frame.columns - 2, theme)
    grid.titles(
      of: reply.columns.count, columns, selected: cursorColumn, in: frame.inside, from: 2, theme: theme,
      isTrailing: { $0 > 0 }, title: { SafeText.cutInTheMiddle(title($0.column, theme), to: $0.width) })
    let (measured, largest) = measure(reply)
    let barStart = columns.last.map { $0.x + $0.width + 5 } ?? 0
    let barWidth = frame.columns - barStart - 4
    let hasBars = barWidth >= 8 && largest > 0
    if hasBars {
      grid.write(reply.columns[measured], at: frame.inside.at(barStart), width: barWidth, style: theme.style(.dim))
    }
    drawLines(on: &grid, frame: frame, session: session) { grid, line, rect in
      let cells = reply.groups[line].cells
      for slot in columns {
        let cell = slot.column == 0 ? cells[0] : NumberFormat.figure(cells[slot.column], of: reply.columns[slot.column])
        let shown = ValueText(cell: cell)
        let isPlain = shown.kind == .number && !isSeparated && slot.column == 0
        let fraction = slot.column == 0 ? 0 : shownFigures[slot.column].fraction
        let text = isPlain ? shown.fitting(slot.width) : NumberFormat.exact(cell, in: slot.width)
        grid.write(
          NumberFormat.aligned(text, fraction: fraction, in: slot.width), at: rect.at(2 + slot.x), width: slot.width,
          style: theme.style(shown.cellRole),
          alignment: slot.x > 0 || shown.isTrailing ? .trailing : .leading)
      }
      guard hasBars, case .number(let value) = cells[measured] else { return }
      let share = value.double / largest
      guard share > 0, share <= 1 else { return }
      let bar = Bars.bar(Int(share * 1e6), largest: 1_000_000, width: barWidth, isASCII: theme.isASCII)
      grid.write(bar, at: rect.at(barStart), width: barWidth, style: theme.style(.bar))
    }
  }

  /// The column that the bars show, the one that the groups are sorted by or their count, and its greatest value.
  private func measure(_ reply: GroupRequest.Reply) -> (column: Int, largest: Double) {
    guard sorted.column > 0 else { return (1, Double(reply.largestCount)) }
    let ends = [reply.groups.first, reply.groups.last].compactMap { group -> Double? in
      if case .number(let value)? = group?.cells[sorted.column] { value.double } else { nil }
    }
    return (sorted.column, ends.max() ?? 0)
  }

  /// The field of the figures, which the foot of the pane names once.
  private var figures: String? { request?.field.map { "figures of \($0.shortText)" } }

  /// The name of a column without its field, which the foot of the pane names.
  private func title(_ column: Int) -> String {
    column < 2 ? rowColumns[column] : String(rowColumns[column].prefix { $0 != "(" })
  }

  private func title(_ column: Int, _ theme: Theme) -> String {
    guard column == sorted.column else { return title(column) }
    return "\(title(column)) \(theme.isASCII ? (sorted.isDescending ? "v" : "^") : sorted.isDescending ? "▼" : "▲")"
  }

  /// The width of a column on the screen, and of what its numbers have after the point.
  private func figures(_ column: Int, _ reply: GroupRequest.Reply, _ shown: Range<Int>) -> ColumnExtent {
    let name = reply.columns[column]
    return NumberFormat.measure(reply.groups[shown].lazy.map { NumberFormat.figure($0.cells[column], of: name) })
  }

  /// Columns are as wide as their texts on the screen. If that is too much, figures are scaled, and the key has the rest. The key stays in
  /// sight, and with it the columns around the cursor.
  private func layout(
    _ reply: GroupRequest.Reply, _ natural: [Int], width: Int, _ theme: Theme
  ) -> [TableGeometry.Slot] {
    var widths = natural.indices.map { max(natural[$0], SafeText.width(title($0, theme))) }
    func total() -> Int { widths.reduce(0) { $0 + $1 + 2 } }
    while total() > width, let widest = widths.indices.dropFirst().max(by: { widths[$0] < widths[$1] }),
      widths[widest] > 10
    {
      widths[widest] -= 1
    }
    widths[0] = min(widths[0], max(8, widths[0] + width - total()))
    let left = widths.removeFirst()
    let figures = TableGeometry.slots(of: widths, around: max(0, cursorColumn - 1), width: width - left - 2)
    return [.init(column: 0, x: 0, width: left)]
      + figures.map { .init(column: $0.column + 1, x: left + 2 + $0.x, width: $0.width) }
  }
}

extension Browser {
  /// The path of a field that is typed, or that of the index with this name if no record that was read has such a field.
  func fieldPath(_ text: String) throws(ModelError) -> DocumentPath {
    let path = try WorkContext.path(text)
    guard !table.columns.seen.contains(where: { WorkContext.isPath($0.path, in: path) }) else { return path }
    return session.current?.index(text)?.descriptor.documentPath ?? path
  }

  /// Groups the rows of the table by the column under the cursor, or by the field that is typed; figures are of the first field of
  /// numbers, or of the second that is typed.
  mutating func openGroups(_ argument: String?) {
    // Unlike the other lists, groups need no table that is open: `:query` asks for them with its rows.
    guard let source = table.source, source.limit == nil || !waitsForRows(.group, argument) else { return }
    let words = argument?.words ?? []
    do throws(ModelError) {
      guard let text = words.first ?? table.selectedPath(session) else { return session.warn("choose a column first") }
      let key = try fieldPath(text)
      let numbers = table.visibleColumns(session).filter(\.isTrailing).compactMap(\.path)
      let fields = try numbers.map { text throws(ModelError) in try WorkContext.path(text) }.filter { $0 != key }
      let named = try words.dropFirst().first.map { text throws(ModelError) in try fieldPath(text) }
      if let unknown = table.unknownName(in: [key] + [named].compactMap(\.self), session) { session.warn(unknown) }
      let request = GroupRequest(
        source: source, commit: table.commit(session), keys: [key], field: named ?? fields.first,
        ranks: source.limit == nil ? nil : table.foundRanks)
      open(GroupPane.self) { $0.show(request, fields: fields, in: &$1) }
    } catch { session.complain(error) }
  }
}
