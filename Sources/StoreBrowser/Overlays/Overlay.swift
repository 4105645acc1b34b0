import Documents
import DatastoreModel
import TerminalKit

/// What lies over the panes and has the keys: the topmost one first.
enum Overlay: Sendable {
  case prompt(Prompt)
  case help(HelpOverlay)
  case review(ReviewOverlay)
  case editor(ValueEditor)
  case menu(MenuOverlay)
  case text(TextOverlay)
  case bulk(BulkOverlay)
  case compact(CompactOverlay)
}

/// What an overlay did with a key.
enum OverlayOutcome: Sendable {
  /// It stays, changed or not.
  case stays
  /// It goes.
  case closes
  /// It goes, and something is done.
  case does(Command, argument: String?)
}

/// Lines to read: a long value, a log, the scalars of a cell.
struct TextOverlay: Sendable {
  var title: String
  var lines: [String]
  var list = ListWindow()

  init(title: String, lines: [String]) {
    self.title = title
    self.lines = lines.flatMap(TextLines.wrapped)
  }

  /// A value in full: text as its lines, data as hex, the rest as JSON.
  init(title: String, value: Document) {
    self.title = title
    switch value {
    case .string(let text):
      lines = TextLines.wrapped(text)
    case .data(let bytes):
      lines = stride(from: 0, to: min(bytes.count, 1 << 20), by: 16).map { start in
        let part = bytes[start..<min(bytes.count, start + 16)]
        return part.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined(separator: " ")
      }
    default: lines = TextLines.wrapped(value.prettyText)
    }
  }

  /// The scalars of a text, for `ga`.
  init(scalarsOf text: String) {
    title = "Scalars of “\(SafeText.cut(text, to: 30))”"
    lines = SafeText.scalars(text, limit: 4096)
  }

  mutating func perform(_ command: Command?, rows: Int) -> Bool {
    command.map { list.perform($0, argument: nil, rows: rows, count: lines.count) } ?? false
  }

  func draw(on grid: inout CellGrid, in body: Rect, session: Session) {
    let rect = body.inset(columns: min(4, body.columns / 20), rows: 1)
    grid.fill(rect)
    let frame = PaneFrame(rect: rect, isFocused: true)
    grid.border(
      frame, digit: nil, title: title, footer: "\(list.selection + 1) of \(lines.count) · Esc close",
      theme: session.theme)
    for row in 0..<frame.rows where lines.indices.contains(list.top + row) {
      grid.write(
        lines[list.top + row], at: Point(column: frame.inside.left, row: frame.inside.top + row), width: frame.columns)
    }
    grid.cursor = Point(column: frame.inside.left, row: frame.inside.top + list.selection - list.top)
  }
}

/// A short list to choose from.
struct MenuOverlay: Sendable {
  struct Item: Sendable {
    var title: String
    var detail: String
    var choice: Choice
  }

  enum Choice: Sendable {
    case setField(RecordPlace, DocumentPath, Document)
    case select(RecordPlace)
    case filter(datastore: String, index: String, range: KeyInterval)
    case nothing
  }

  var title: String
  var items: [Item]
  var list = ListWindow()

  func draw(on grid: inout CellGrid, in body: Rect, session: Session) {
    let widest = items.map { SafeText.width($0.title) + SafeText.width($0.detail) + 4 }.max() ?? 20
    let size = Size(
      columns: min(body.columns - 2, max(30, widest + 4, SafeText.width(title) + 8)),
      rows: min(body.rows, max(3, items.count + 2)))
    let rect = body.centered(size)
    grid.fill(rect)
    let frame = PaneFrame(rect: rect, isFocused: true)
    let theme = session.theme
    grid.border(frame, digit: nil, title: title, footer: "\(theme.enterKey) choose · Esc close", theme: theme)
    for row in 0..<frame.rows where items.indices.contains(list.top + row) {
      let item = items[list.top + row]
      let line = Rect(column: frame.inside.left, row: frame.inside.top + row, columns: frame.columns, rows: 1)
      grid.write(item.title, at: Point(column: line.left + 2, row: line.top), width: line.columns - 2)
      grid.write(item.detail, at: line.origin, width: line.columns, style: theme.style(.dim), alignment: .trailing)
      guard list.top + row == list.selection else { continue }
      grid.write(theme.cursor, at: line.origin, width: 1)
      grid.select(line, frame: frame, theme: theme)
    }
  }
}
