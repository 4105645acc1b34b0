import StrataDocuments
import StrataModel
import StrataTerminal

/// The contents of the fields of the table's rows, one line per field; Enter counts the values of one.
struct DescribePane: ListPane, PermanentPane, ReplyPane {
  static let entry = PaneEntry(
    id: .describe, name: "Describe", work: [question], footer: [.down, .open, .copyValue, .help, .close],
    commands: [
      CommandTable.row(
        "describe", ["I"], "describe the fields", "describe", .table, verb: "describe",
        "Shows of every field of the rows that the table shows (its filter and range) the types, nulls, distinct values, least, "
          + "quartiles, greatest, sum, mean, commonest values, how they are spread, and its index. Up to 100,000 distinct "
          + "values are counted exactly; ~ stands before an estimate. Esc keeps what was read so far and says of how much; "
          + "Enter counts the values.",
        unless: .withoutDatastore
      ) { browser, _ in browser.describe() }
    ]
  ) { DescribePane() }

  static let question = WorkSlot(name: "describe", isLong: true, repliesInPart: true)

  var reading = Reading<DescribeRequest>()
  var list = ListWindow()

  mutating func show(_ request: DescribeRequest, in session: inout Session) {
    // Closing the pane ends a reading, too.
    let isKnown = reply?.isComplete == true || session.isRunning(Self.question)
    guard request != self.request || !isKnown || reading.problem != nil else { return }
    self = DescribePane()
    reading.ask(request, as: Self.question, label: "describe \(request.source.datastore)", in: &session)
  }

  func lineCount(_ session: Session) -> Int { reply?.fields.count ?? 0 }
  var rowColumns: [String] { ["field", "types", "values", "nulls", "distinct", "least", "greatest"] }

  func row(_ line: Int) -> [Document] {
    guard let field = reply?.fields[line] else { return [] }
    return [
      .string(field.name), .string(field.kinds.map(\.kind.typeName).joined(separator: ", ")),
      .number(NumberText(field.count)), .number(NumberText(field.nulls)), .number(NumberText(field.distinct)),
      field.least ?? .null, field.greatest ?? .null,
    ]
  }
  func headerRows(_ frame: PaneFrame) -> Int { 1 }
  func footerRows(_ frame: PaneFrame) -> Int { frame.rows >= 16 ? 6 : 0 }

  var selected: FieldDescription? { list.selected(of: reply?.fields ?? []) }

  func refusal(of command: Command, in session: Session) -> String? {
    guard [.open, .frequency, .copyValue].contains(command) else { return nil }
    guard let selected else { return "no field is selected" }
    return command != .copyValue && selected.path == nil
      ? "the values of lists of objects are not counted by themselves" : nil
  }

  mutating func run(_ command: Command, argument: String?, frame: PaneFrame, in session: inout Session) -> Bool {
    guard let selected else { return false }
    switch command {
    case .open,
      .frequency where argument == nil:
      guard let path = selected.path else { return false }
      session.intend(.run(.frequency, argument: path.description))
    case .copyValue: session.copy(selected.name, what: "field")
    default: return false
    }
    return true
  }

  // MARK: Drawing

  func draw(on grid: inout CellGrid, frame: PaneFrame, session: Session) {
    let theme = session.theme
    let empty = reply?.isComplete == true ? "there are no fields: the datastore is empty" : "reading…"
    let (title, note) = ("Fields of \(request?.source.datastore ?? "")", reply?.fields.isEmpty == true ? empty : nil)
    let footer = [state] + scope(session)
    guard let description = begin(on: &grid, frame, title: title, footer: footer, note: note, session) else { return }
    let inside = frame.inside
    let columns = DescribeColumns(description, width: inside.columns - 2)
    for column in columns.all {
      grid.write(
        column.title, at: inside.at(2 + column.left), width: column.width, style: theme.style(.header),
        alignment: column.isTrailing ? .trailing : .leading)
    }
    drawLines(on: &grid, frame: frame, session: session) { grid, line, rect in
      let field = description.fields[line]
      for column in columns.all {
        grid.write(
          column.text(field, theme), at: rect.at(2 + column.left), width: column.width, style: theme.style(column.role),
          alignment: column.isTrailing ? .trailing : .leading)
      }
    }
    if footerRows(frame) > 0, let selected { drawDetail(selected, in: inside, on: &grid, session: session) }
  }

  /// The number of rows read.
  private var state: String {
    guard let description = reply else { return "" }
    let read = max(reading.done, description.read)
    var text = "\(NumberFormat.counted(description.total, "record"))"
    if !description.isComplete {
      let end = reading.problem != nil ? ", then failed" : reading.isStopped ? ", then stopped" : ""
      text = "\(NumberFormat.percent(read, of: description.total)) read\(end) · \(text)"
    }
    if description.unreadable > 0 { text += " · \(NumberFormat.count(description.unreadable)) unreadable" }
    return text
  }

  /// Draws the details of the selected field that do not fit into its line.
  private func drawDetail(_ field: FieldDescription, in inside: Rect, on grid: inout CellGrid, session: Session) {
    let theme = session.theme
    let top = inside.bottom - 6
    grid.rule(at: Point(column: inside.left, row: top), columns: inside.columns, theme: theme)
    func line(_ row: Int, _ name: String, _ text: String) {
      grid.write(
        [Span(name, theme.style(.dim)), Span(text)], at: Point(column: inside.left + 1, row: top + row),
        width: inside.columns - 2)
    }
    let kinds = field.kinds.map { "\($0.kind.typeName) \(NumberFormat.count($0.count))" }
    line(
      1, "\(field.name)  ",
      (kinds + [
        "null \(NumberFormat.count(field.nulls))", "missing \(NumberFormat.count(field.missing))",
        field.index.map { "index \($0)" } ?? "no index",
      ]).joined(separator: " \(theme.dot) "))
    let quartiles = ([field.least].compactMap { $0 } + field.quartiles + [field.greatest].compactMap { $0 })
      .map(Self.text)
    if !quartiles.isEmpty {
      line(
        2, "least … greatest  ",
        quartiles.joined(separator: field.areQuartilesSampled ? "  | ~" : "  |  ")
          + (field.areQuartilesSampled ? "  (quartiles of a sample)" : ""))
    }
    let rough = field.isRounded ? "~" : ""
    let sums = [("sum", field.sum), ("mean", field.mean)].compactMap { name, value in
      value.map { "\(name) \(rough)\(NumberFormat.exact($0))" }
    }.joined(separator: " \(theme.dot) ")
    line(3, "", sums)
    let left = sums.isEmpty ? 1 : SafeText.width(sums) + 3
    let largest = Double(max(1, field.distribution.max() ?? 1))
    grid.drawBars(
      field.distribution.map { Double($0) / largest },
      in: Rect(column: inside.left + left, row: top + 3, columns: max(0, inside.columns - left - 1), rows: 1),
      form: session.barForm
    ) { _ in theme.style(.bar) }
    let least = field.areCountsLeast ? "at least " : ""
    line(
      4, "commonest  ",
      field.commonest.allSatisfy { $0.count == 1 }
        ? "each \(least)once"
        : field.commonest.map { "\(Self.text($0.value)) \(least)\(NumberFormat.count($0.count))" }
          .joined(separator: " \(theme.dot) "))
    line(5, "distinct  ", (field.isEstimated ? "~" : "") + NumberFormat.count(field.distinct))
  }

  fileprivate static func text(_ value: Document) -> String { ValueText(cell: value).visible.text }
}

/// The columns of a description that fit.
private struct DescribeColumns {
  struct Column {
    var title: String
    var left: Int
    var width: Int
    var isTrailing: Bool
    var role: Role
    var text: @Sendable (FieldDescription, Theme) -> String
  }

  private(set) var all: [Column] = []
  private var left = 0
  private let width: Int

  init(_ description: DatastoreDescription, width: Int) {
    self.width = width
    let longest = description.fields.map { SafeText.width($0.name) }.max() ?? 0
    let isWide = width >= 110
    let valueWidth = isWide ? 13 : 9
    let nameWidth = min(longest, isWide ? 30 : 18)
    add("field", nameWidth, role: .key) { field, _ in SafeText.cutInTheMiddle(field.name, to: max(5, nameWidth)) }
    add("types", isWide ? 12 : 8) { field, _ in field.kinds.map(\.kind.typeName).joined(separator: " ") }
    add("null", 7, isTrailing: true, role: .number) { field, theme in
      let count = field.nulls + field.missing
      return count == 0 ? theme.dot : NumberFormat.exact(.number(NumberText(count)), in: 7)
    }
    add("distinct", 10, isTrailing: true, role: .number) { field, _ in
      (field.isEstimated ? "~" : "") + NumberFormat.exact(.number(NumberText(field.distinct)), in: 9)
    }
    add("least", valueWidth, isTrailing: true) { field, _ in Self.text(field.least, valueWidth) }
    if isWide {
      add("median", valueWidth, isTrailing: true) { field, _ in
        let text = Self.text(field.quartiles.dropFirst().first, valueWidth - 1)
        return (field.areQuartilesSampled ? "~" : "") + text
      }
    }
    add("greatest", valueWidth, isTrailing: true) { field, _ in Self.text(field.greatest, valueWidth) }
    if width - left >= FieldDescription.distributionParts {
      add("spread", FieldDescription.distributionParts, role: .bar) { field, theme in
        Bars.spark(field.distribution.map(Double.init), isASCII: theme.isASCII)
      }
    }
    if width >= 130 {
      let longestIndex = description.fields.map { SafeText.width($0.index ?? "") }.max() ?? 0
      add("index", min(24, longestIndex), role: .dim) { field, _ in field.index ?? "" }
    }
    add("commonest", max(0, width - left), role: .dim) { field, theme in
      let least = field.areCountsLeast ? theme.isASCII ? ">=" : "≥" : ""
      return field.commonest.prefix(4).map { "\(DescribePane.text($0.value)) \(least)\(NumberFormat.count($0.count))" }
        .joined(separator: " \(theme.dot) ")
    }
  }

  private mutating func add(
    _ title: String, _ columns: Int, isTrailing: Bool = false, role: Role = .text,
    _ text: @escaping @Sendable (FieldDescription, Theme) -> String
  ) {
    let columns = min(max(columns, SafeText.width(title)), width - left)
    guard columns >= min(6, SafeText.width(title)) else { return }
    all.append(Column(title: title, left: left, width: columns, isTrailing: isTrailing, role: role, text: text))
    left += columns + 2
  }

  private static func text(_ value: Document?, _ width: Int) -> String {
    guard let value else { return "" }
    let text = DescribePane.text(value)
    return ValueText(cell: value).kind == .number ? NumberFormat.fitting(text, in: width) : text
  }
}

extension Browser {
  mutating func describe() {
    guard let datastore = session.datastore else { return }
    if table.source?.limit != nil, waitsForRows("describe", nil) { return }
    let source = table.opened == nil ? nil : table.source
    let request = DescribeRequest(
      source: source ?? RowSource(datastore: datastore), commit: table.commit(session), ranks: table.foundRanks)
    open(DescribePane.self) { $0.show(request, in: &$1) }
  }
}
