import TerminalKit

/// The lines above and below the panes: the title, the status, and the keys.
struct ScreenLines: Sendable, Equatable {
  var theme: Theme
  /// The open store, and, at the right, the shown commit and the running work.
  var store: String
  var standing: String
  var isOfThePast: Bool
  var status: String
  var statusRole: Role
  /// The size of the store.
  var size: String
  /// Keys and their commands, in pairs.
  var keys: [[String]]

  func draw(on grid: inout CellGrid, _ layout: Layout) {
    for rect in [layout.title, layout.status, layout.keys] { grid.fill(rect) }
    drawTitle(in: layout.title, on: &grid)
    drawStatus(in: layout.status, on: &grid)
    var x = 1
    for key in keys {
      x += grid.write(key[0], at: Point(column: x, row: layout.keys.top), style: theme.style(.key).with(.bold)) + 1
      x += grid.write(key[1], at: Point(column: x, row: layout.keys.top), style: theme.style(.text)) + 2
    }
  }

  private func drawTitle(in rect: Rect, on grid: inout CellGrid) {
    let width = min(SafeText.width(standing), rect.columns * 3 / 4)
    grid.write(
      store, at: Point(column: 1, row: rect.top), width: max(0, rect.columns - width - 3), style: theme.style(.title))
    grid.write(standing, at: Point(column: rect.columns - width - 1, row: rect.top), width: width)
    if isOfThePast { grid.restyle(rect) { $0.attributes.formUnion(.reverse) } }
  }

  private func drawStatus(in rect: Rect, on grid: inout CellGrid) {
    let width = SafeText.width(size)
    grid.write(
      status, at: Point(column: 1, row: rect.top), width: max(0, rect.columns - width - 3),
      style: theme.style(statusRole))
    grid.write(
      size, at: Point(column: rect.columns - width - 1, row: rect.top), width: width, style: theme.style(.dim))
  }
}
