import StrataDocuments
import StrataExpressions
import StrataTerminal

/// Lines to read: a long value, a log, the scalars of a cell.
struct TextOverlay: ListPane {
  static let entry = PaneEntry(id: "text", name: "Text", footer: [.down, .copyValue, .escape])

  var title: String
  /// The lines of the text, and the same folded at the width of the window.
  private let text: [String]
  private(set) var lines: [String] = []
  private var width = 0
  var list = ListWindow()

  init(title: String, lines: [String]) {
    self.title = title
    text = lines.flatMap(TextLines.split)
  }

  /// A value in full: text as its lines, data as hex, the rest as JSON.
  init(title: String, value: Document) {
    self.title = title
    switch value {
    case .string(let text): self.text = TextLines.split(text)
    case .data(let bytes):
      let shown = bytes.prefix(1 << 20)
      text =
        stride(from: 0, to: shown.count, by: 16).map { start in
          shown[start..<min(shown.count, start + 16)].map(Hexadecimal.text(of:)).joined(separator: " ")
        } + (shown.count < bytes.count ? ["… \(NumberFormat.counted(bytes.count - shown.count, "byte")) more"] : [])
    default: text = TextLines.split(value.prettyText)
    }
  }

  /// The language of conditions, form by form.
  init(conditions theme: Theme) {
    title = "Conditions"
    text =
      ConditionGrammar.introduction.wrapped(to: 70)
      + ConditionGrammar.forms.flatMap { form in
        ["", form.spelling, "    \(form.example)"] + form.meaning.wrapped(to: 68).map { "  \($0)" }
      }
  }

  /// The scalars of a text, for `ga`.
  init(scalarsOf text: String) {
    title = "Scalars of “\(SafeText.cut(text, to: 30))”"
    self.text = SafeText.scalars(text, limit: 4096)
  }

  mutating func demand(frame: PaneFrame, in session: inout Session) {
    guard frame.columns != width, frame.columns > 0 else { return }
    width = frame.columns
    lines = text.flatMap { TextLines.folded($0, to: width) }
  }

  func lineCount(_ session: Session) -> Int { lines.count }

  mutating func run(_ command: Command, argument: String?, frame: PaneFrame, in session: inout Session) -> Bool {
    switch command {
    case .copyValue: session.copy(text.joined(separator: "\n"), what: "text")
    case .open: session.intend(.dismiss)
    default: return false
    }
    return true
  }

  func rect(in body: Rect, session: Session) -> Rect { body.inset(columns: min(4, body.columns / 20), rows: 1) }

  func draw(on grid: inout CellGrid, frame: PaneFrame, session: Session) {
    grid.border(
      frame, digit: nil, title: title, footer: "\(list.selection + 1) of \(lines.count)", theme: session.theme)
    for row in 0..<frame.rows where lines.indices.contains(list.top + row) {
      grid.write(lines[list.top + row], at: frame.inside.at(0, row), width: frame.columns)
    }
    grid.cursor = frame.inside.at(0, list.selection - list.top)
  }
}
