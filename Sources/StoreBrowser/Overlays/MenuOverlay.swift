import StrataTerminal

/// A short list to choose from.
struct MenuOverlay: ListPane {
  static let entry = PaneEntry(id: .menu, name: "Menu", footer: [.down, .open, .escape])

  struct Item: Sendable {
    var title: String
    var detail = ""
    /// The action of the item; nil does nothing.
    var choice: Intent?
  }

  var title: String
  var items: [Item]
  var list = ListWindow()

  func lineCount(_ session: Session) -> Int { items.count }

  mutating func run(_ command: Command, argument: String?, frame: PaneFrame, in session: inout Session) -> Bool {
    guard command == .open else { return false }
    session.intend(.dismiss)
    list.selected(of: items)?.choice.map { session.intend($0) }
    return true
  }

  func short(_ command: Command) -> String? { command == .open ? "choose" : nil }

  func rect(in body: Rect, session: Session) -> Rect {
    let widest = items.map { SafeText.width($0.title) + SafeText.width($0.detail) + 4 }.max() ?? 20
    return body.centered(
      Size(
        columns: min(body.columns - 2, max(30, widest + 4, SafeText.width(title) + 8)),
        rows: min(body.rows, max(3, items.count + 2))))
  }

  func draw(on grid: inout CellGrid, frame: PaneFrame, session: Session) {
    let theme = session.theme
    grid.border(frame, digit: nil, title: title, footer: "", theme: theme)
    drawLines(on: &grid, frame: frame, session: session) { grid, line, rect in
      let item = items[line]
      // If there is no room for both, the longer one is cut.
      let room = max(0, rect.columns - 2)
      let detail = SafeText.cut(item.detail, to: max(room / 2, room - SafeText.width(item.title) - 2))
      let titled = detail.isEmpty ? room : max(0, room - SafeText.width(detail) - 2)
      grid.write(item.title, at: rect.at(2), width: titled)
      grid.write(detail, at: rect.origin, width: rect.columns, style: theme.style(.dim), alignment: .trailing)
    }
  }
}
