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
  package var title: Rect { Rect(origin: Point(column: 0, row: 0), size: Size(columns: size.columns, rows: 1)) }
  package var foot: Rect {
    Rect(origin: Point(column: 0, row: max(0, size.rows - 1)), size: Size(columns: size.columns, rows: 1))
  }

  package static let smallest = Size(columns: 40, rows: 10)

  package func rect(of pane: PaneID) -> Rect? { panes.first { $0.pane == pane }?.rect }

  /// - Parameter isWithoutDifference: Whether the pane of differences has nothing to show, and leaves its room to the history.
  package init(size: Size, view: ViewKind, focus: PaneID, mode: ScreenMode, isWithoutDifference: Bool = false) {
    self.size = size
    isTooSmall = size.columns < Self.smallest.columns || size.rows < Self.smallest.rows
    panes = []
    guard !isTooSmall else { return }
    let body = Area(x: 0, y: 1, width: size.columns, height: size.rows - 2)
    let focus = view.panes.contains(focus) || (view == .main && Self.isWideExtra(focus)) ? focus : view.panes[0]
    var placed = Self.arrange(view, in: body, focus: focus, hasDifference: !isWithoutDifference || focus == .difference)
    if !placed.contains(where: { $0.pane == focus }) { placed = [(focus, body)] }
    switch mode {
    case .normal: break
    case .full: placed = [(focus, body)]
    case .half where placed.count > 1: placed = Self.half(placed, focus: focus, in: body)
    case .half: break
    }
    panes = placed.map { Placed(pane: $0.pane, rect: $0.area.rect) }
  }

  private static func isWideExtra(_ pane: PaneID) -> Bool { pane == .history || pane == .difference || pane == .index }

  private typealias Arranged = [(pane: PaneID, area: Area)]

  private static func arrange(_ view: ViewKind, in body: Area, focus: PaneID, hasDifference: Bool) -> Arranged {
    switch view {
    case .main: main(in: body, focus: focus, hasDifference: hasDifference)
    case .history where body.width >= 60:
      history(in: body, percent: body.width >= 100 ? 55 : 60, hasDifference: hasDifference)
    case .history: [(focus, body)]
    default: [(view.panes[0], body)]
    }
  }

  /// The history with a share of the width, and the difference beside it.
  private static func history(in body: Area, percent: Int, hasDifference: Bool) -> Arranged {
    guard hasDifference else { return [(.history, body)] }
    let (a, b) = body.columns(body.width * percent / 100)
    return [(.history, a), (.difference, b)]
  }

  private static func main(in body: Area, focus: PaneID, hasDifference: Bool) -> Arranged {
    if body.width < 60 { return [(focus, body)] }
    if body.width < 100 { return narrow(in: body) }
    if body.width >= 140, body.height >= 36 { return everything(in: body, focus: focus, hasDifference) }
    return columns(in: body, focus: focus)
  }

  /// Under 100 columns: stores and table, the record below.
  private static func narrow(in body: Area) -> Arranged {
    let recordHeight = body.height >= 13 ? max(5, min(max(14, body.height / 4), body.height / 3)) : 0
    let (upper, lower) = body.rows(body.height - recordHeight)
    let (stores, table) = upper.columns(22)
    var result: Arranged = [(.stores, stores), (.table, table)]
    if recordHeight > 0 { result.append((.record, lower)) }
    return result
  }

  /// Side by side; the record takes the room that it needs while it has the keys.
  private static func columns(in body: Area, focus: PaneID) -> Arranged {
    let storesWidth = body.width >= 140 ? 28 : 24
    let recordWidth = max(focus == .record ? 44 : body.width >= 120 ? 36 : 30, body.width * 26 / 100)
    let (stores, rest) = body.columns(storesWidth)
    let (table, record) = rest.columns(rest.width - recordWidth)
    return [(.stores, stores), (.table, table), (.record, record)]
  }

  /// From 140×39 on: also history, difference and index.
  private static func everything(in body: Area, focus: PaneID, _ hasDifference: Bool) -> Arranged {
    // As high as its histogram needs, and with the keys as high as that and its keys.
    let indexHeight = focus == .index ? max(14, min(18, body.height / 3)) : max(9, min(12, body.height / 5))
    let historyHeight = max(8, body.height / 5)
    let (upper, rest) = body.rows(body.height - indexHeight - historyHeight)
    let (middle, lower) = rest.rows(historyHeight)
    var result = columns(in: upper, focus: focus)
    result += history(in: middle, percent: 60, hasDifference: hasDifference)
    result.append((.index, lower))
    return result
  }

  /// The focused pane takes the larger part, the table or what stands beside it the rest.
  private static func half(_ placed: Arranged, focus: PaneID, in body: Area) -> Arranged {
    let others = placed.map(\.pane).filter { $0 != focus }
    guard let other = others.first(where: { $0 == .table }) ?? others.last(where: { $0 == .record }) ?? others.first
    else { return placed }
    if body.width >= 100 {
      let (a, b) = body.columns(body.width * 2 / 5)
      return [(other, a), (focus, b)]
    }
    let (a, b) = body.rows(body.height * 2 / 5)
    return [(other, a), (focus, b)]
  }
}

/// A rectangle in whole cells that can be cut.
private struct Area {
  var x: Int, y: Int, width: Int, height: Int

  var rect: Rect {
    Rect(origin: Point(column: x, row: y), size: Size(columns: max(0, width), rows: max(0, height)))
  }

  func columns(_ first: Int) -> (Area, Area) {
    let first = max(0, min(first, width))
    return (
      Area(x: x, y: y, width: first, height: height), Area(x: x + first, y: y, width: width - first, height: height)
    )
  }

  func rows(_ first: Int) -> (Area, Area) {
    let first = max(0, min(first, height))
    return (
      Area(x: x, y: y, width: width, height: first), Area(x: x, y: y + first, width: width, height: height - first)
    )
  }
}
