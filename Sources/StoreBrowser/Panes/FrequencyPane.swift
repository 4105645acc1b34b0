import StrataDocuments
import StrataExpressions
import StrataModel
import StrataTerminal

/// The distinct values of a column with their counts; Enter filters to one.
struct FrequencyPane: ListPane, PermanentPane, ReplyPane {
  static let entry = PaneEntry(
    id: .frequency, name: "Frequency", work: [question], footer: [.down, .open, .copyValue, .help, .close]
  ) { FrequencyPane() }

  static let question = WorkSlot(name: "frequency", isLong: true)

  var reading = Reading<FrequencyRequest>()
  var list = ListWindow()

  mutating func show(_ request: FrequencyRequest, in session: inout Session) {
    self = FrequencyPane()
    reading.ask(request, as: Self.question, label: "frequency of \(request.path)", in: &session)
  }

  func headerRows(_ frame: PaneFrame) -> Int { 2 }
  func lineCount(_ session: Session) -> Int { reply?.values.count ?? 0 }
  var rowColumns: [String] { ["value", "count"] }

  func row(_ line: Int) -> [Document] {
    guard let value = reply?.values[line] else { return [] }
    return [value.document, .number(NumberText(value.count))]
  }

  var selected: ValueCount? { list.selected(of: reply?.values ?? []) }

  func refusal(of command: Command, in session: Session) -> String? {
    selected == nil && [.open, .copyValue].contains(command) ? "no value is selected" : nil
  }

  mutating func run(_ command: Command, argument: String?, frame: PaneFrame, in session: inout Session) -> Bool {
    guard let selected, let request else { return false }
    switch command {
    case .open:
      guard let path = try? DocumentPath(parsing: request.path) else { return false }
      let filter = Filter.text(of: path, being: selected.document, isElement: selected.isElement)
      showRows(of: request.source, where: [filter], in: &session)
    case .copyValue: session.copy(row(list.selection).first)
    default: return false
    }
    return true
  }

  func draw(on grid: inout CellGrid, frame: PaneFrame, session: Session) {
    let theme = session.theme
    let found = reply.map {
      "\(NumberFormat.count($0.values.count))\($0.isCut ? "+" : "") values · \($0.plan) · \(NumberFormat.count($0.rowsRead)) read"
    }
    let footer = [found].compactMap(\.self) + scope(session)
    let title = request.map { "\($0.source.datastore) by \(DocumentPath.title(of: $0.path))" } ?? "Frequency"
    guard let answer = begin(on: &grid, frame, title: title, footer: footer, note: nil, session) else { return }
    let inside = frame.inside
    var summary = "nulls \(NumberFormat.count(answer.nulls))"
    if let numbers = answer.summary, let least = numbers.least, let greatest = numbers.greatest {
      let path = request.flatMap { try? DocumentPath(parsing: $0.path) }
      let room = inside.columns / 3
      let ends = [least, greatest].map {
        path.map(session.isSeparated) == false ? ValueText(cell: $0).fitting(room) : NumberFormat.exact($0, in: room)
      }
      summary += " · min \(ends[0]) · max \(ends[1])"
      if let sum = numbers.sum { summary += " · sum \(numbers.isRounded ? "~" : "")\(NumberFormat.exact(sum))" }
    }
    grid.write(summary, at: inside.at(1), width: inside.columns - 1, style: theme.style(.dim))
    let largest = answer.values.first?.count ?? 0
    let width = max(8, min(40, inside.columns / 2))
    let countWidth = max(9, NumberFormat.count(largest).utf8.count)
    drawLines(on: &grid, frame: frame, session: session) { grid, line, rect in
      let value = answer.values[line]
      grid.write(
        value.value.visible.fitting(width), at: rect.at(2), width: width, style: theme.style(value.value.role),
        alignment: value.value.isTrailing ? .trailing : .leading)
      grid.write(
        NumberFormat.count(value.count), at: rect.at(width + 3), width: countWidth, style: theme.style(.number),
        alignment: .trailing)
      grid.write(
        Bars.bar(
          value.count, largest: largest, width: max(0, inside.columns - width - countWidth - 6), isASCII: theme.isASCII),
        at: rect.at(width + countWidth + 5), width: max(0, inside.columns - width - countWidth - 5),
        style: theme.style(.bar))
    }
  }
}

extension Browser {
  mutating func openFrequency(_ argument: String?) {
    guard let source = openRows(for: .frequency, argument) else { return }
    let path =
      argument.map { (try? fieldPath($0))?.description ?? $0 }
      ?? (focus == .record ? record.selectedLine?.path.description : table.selectedPath(session))
    guard let path else { return session.warn("choose a column first") }
    let request = FrequencyRequest(
      source: source, commit: table.commit(session), path: path, ranks: table.foundRanks)
    open(FrequencyPane.self) { $0.show(request, in: &$1) }
  }
}
