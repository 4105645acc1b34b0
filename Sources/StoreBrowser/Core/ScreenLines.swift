import StrataTerminal

/// The lines above and below the panes: the title and the foot.
struct ScreenLines: Sendable, Equatable {
  var theme: Theme
  /// The open store, and, at the right, the shown commit and the running work.
  var store: String
  var status: String
  var isOfThePast: Bool
  /// The left of the foot: a message, and keys with their commands in pairs.
  var message: StatusText?
  var keys: [[String]]
  /// The right of the foot.
  var state: StatusText

  func draw(on grid: inout CellGrid, _ layout: Layout) {
    for rect in [layout.title, layout.foot] { grid.fill(rect) }
    drawTitle(in: layout.title, on: &grid)
    drawFoot(in: layout.foot, on: &grid)
  }

  private func drawTitle(in rect: Rect, on grid: inout CellGrid) {
    let width = min(SafeText.width(status), rect.columns * 3 / 4)
    grid.write(
      store, at: Point(column: 1, row: rect.top), width: max(0, rect.columns - width - 3), style: theme.style(.title))
    grid.write(status, at: Point(column: rect.columns - width - 1, row: rect.top), width: width)
    if isOfThePast { grid.restyle(rect) { $0.attributes.formUnion(.reverse) } }
  }

  /// A message that leaves no room for the state takes the whole line.
  private func drawFoot(in rect: Rect, on grid: inout CellGrid) {
    var x = 1
    if let message {
      x +=
        grid.write(
          message.text, at: rect.at(x), width: rect.columns - 2, style: theme.style(message.role)) + 3
    }
    for key in keys {
      x += grid.write(key[0], at: rect.at(x), style: theme.style(.key).with(.bold)) + 1
      x += grid.write(key[1], at: rect.at(x), style: theme.style(.text)) + 2
    }
    guard x + state.width <= rect.columns else { return }
    grid.write(
      state.text, at: rect.at(rect.columns - 1 - state.width), width: state.width, style: theme.style(state.role))
  }
}

struct StatusText: Sendable, Equatable {
  var text: String
  var role: Role

  var width: Int { SafeText.width(text) }

  init(_ text: String, _ role: Role = .text) { (self.text, self.role) = (text, role) }
}
