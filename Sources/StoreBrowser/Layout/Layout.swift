package import StrataTerminal

/// Where everything stands on a screen of some size: a pure function, tested at every size.
package struct Layout: Sendable, Hashable {
  package struct Placed: Sendable, Hashable {
    package var pane: PaneID
    package var rect: Rect
  }

  package var size: Size
  /// In the order in which Tab goes round.
  package var panes: [Placed]
  package var isTooSmall: Bool

  /// The first line is the title, the last the foot.
  package var title: Rect { Rect(size).split(top: 1).top }
  package var foot: Rect { Rect(size).split(top: size.rows - 1).bottom }

  package static func isTooSmall(_ size: Size) -> Bool { size.columns < 40 || size.rows < 10 }

  /// The picture of a window that is too small.
  static func demand(for size: Size, name: String, quitting: String = "Q") -> CellGrid {
    var grid = CellGrid(size: size)
    let wanted = "make the window 40×10 or larger (it is \(size.columns)×\(size.rows)); \(quitting) quits"
    grid.writeWrapped("\(name): \(wanted)", in: Rect(size))
    grid.cursor = .zero
    return grid
  }

  package func rect(of pane: PaneID) -> Rect? { panes.first { $0.pane == pane }?.rect }

  /// - Parameter isWithoutDifference: Whether the pane of differences has nothing to show, and leaves its room to the history.
  package init(size: Size, view: ViewKind, focus: PaneID, mode: ScreenMode, isWithoutDifference: Bool = false) {
    self.size = size
    isTooSmall = Self.isTooSmall(size)
    panes = []
    guard !isTooSmall else { return }
    let body = Rect(column: 0, row: 1, columns: size.columns, rows: size.rows - 2)
    let isExtra = view == .main && [.history, .difference, .index].contains(focus)
    let focus = isExtra || view.panes.contains(focus) ? focus : view.panes[0]
    var placed = Self.arrange(view, in: body, focus: focus, hasDifference: !isWithoutDifference || focus == .difference)
    if !placed.contains(where: { $0.pane == focus }) { placed = [(focus, body)] }
    if mode == .full { placed = [(focus, body)] }
    if mode == .half, placed.count > 1 { placed = Self.half(placed, focus: focus, in: body) }
    panes = placed.map { Placed(pane: $0.pane, rect: $0.rect) }
  }

  private typealias Arranged = [(pane: PaneID, rect: Rect)]

  private static func arrange(_ view: ViewKind, in body: Rect, focus: PaneID, hasDifference: Bool) -> Arranged {
    switch view {
    case .main: main(in: body, focus: focus, hasDifference: hasDifference)
    case .history where body.columns >= 60:
      history(in: body, percent: body.columns >= 100 ? 55 : 60, hasDifference: hasDifference)
    case .history: [(focus, body)]
    default: [(view.panes[0], body)]
    }
  }

  /// The history with a share of the width, and the difference beside it.
  private static func history(in body: Rect, percent: Int, hasDifference: Bool) -> Arranged {
    guard hasDifference else { return [(.history, body)] }
    let (a, b) = body.split(left: body.columns * percent / 100)
    return [(.history, a), (.difference, b)]
  }

  private static func main(in body: Rect, focus: PaneID, hasDifference: Bool) -> Arranged {
    if body.columns < 60 { return [(focus, body)] }
    if body.columns < 100 { return narrow(in: body, focus: focus) }
    if body.columns >= 140, body.rows >= 36 { return everything(in: body, focus: focus, hasDifference) }
    return columns(in: body, focus: focus)
  }

  /// Under 100 columns: stores and table, the record below; it takes the larger part while it has the keys.
  private static func narrow(in body: Rect, focus: PaneID) -> Arranged {
    let height = focus == .record ? body.rows * 3 / 5 : max(5, min(max(14, body.rows / 4), body.rows / 3))
    let recordHeight = body.rows >= 13 ? height : 0
    let (upper, lower) = body.split(top: body.rows - recordHeight)
    let (stores, table) = upper.split(left: 22)
    var result: Arranged = [(.stores, stores), (.table, table)]
    if recordHeight > 0 { result.append((.record, lower)) }
    return result
  }

  /// Side by side; the record takes the room that it needs while it has the keys.
  private static func columns(in body: Rect, focus: PaneID) -> Arranged {
    let storesWidth = body.columns >= 140 ? 28 : 24
    let recordWidth = max(focus == .record ? 44 : body.columns >= 120 ? 36 : 30, body.columns * 26 / 100)
    let (stores, rest) = body.split(left: storesWidth)
    let (table, record) = rest.split(left: rest.columns - recordWidth)
    return [(.stores, stores), (.table, table), (.record, record)]
  }

  /// From 140×39 on: also history, difference and index.
  private static func everything(in body: Rect, focus: PaneID, _ hasDifference: Bool) -> Arranged {
    // As high as its histogram needs, and with the keys as high as that and its keys.
    let indexHeight = focus == .index ? max(14, min(18, body.rows / 3)) : max(9, min(12, body.rows / 5))
    let historyHeight = max(8, body.rows / 5)
    let (upper, rest) = body.split(top: body.rows - indexHeight - historyHeight)
    let (middle, lower) = rest.split(top: historyHeight)
    var result = columns(in: upper, focus: focus)
    result += history(in: middle, percent: 60, hasDifference: hasDifference)
    result.append((.index, lower))
    return result
  }

  /// The focused pane takes the larger part, the table or what stands beside it the rest.
  private static func half(_ placed: Arranged, focus: PaneID, in body: Rect) -> Arranged {
    let others = placed.map(\.pane).filter { $0 != focus }
    guard let other = others.first(where: { $0 == .table }) ?? others.last(where: { $0 == .record }) ?? others.first
    else { return placed }
    let (a, b): (Rect, Rect) =
      body.columns >= 100 ? body.split(left: body.columns * 2 / 5) : body.split(top: body.rows * 2 / 5)
    return [(other, a), (focus, b)]
  }
}
