import StrataTerminal
import Testing

@testable import StoreBrowser

@Suite("Layout")
struct LayoutTests {
  static let sizes: [Size] = {
    var sizes: [Size] = []
    for columns in stride(from: 20, through: 300, by: 7) {
      for rows in stride(from: 5, through: 100, by: 3) { sizes.append(Size(columns: columns, rows: rows)) }
    }
    return sizes + [Size(columns: 40, rows: 10), Size(columns: 80, rows: 24), Size(columns: 300, rows: 100)]
  }()

  @Test(
    "at every size panes lie inside, do not overlap, and the focused one is there",
    arguments: [ViewKind.main] + PaneTable.panes.map { ViewKind(of: $0.id) })
  func everySize(view: ViewKind) {
    for size in Self.sizes {
      for mode in [ScreenMode.normal, .half, .full] {
        for focus in view.panes {
          let layout = Layout(size: size, view: view, focus: focus, mode: mode)
          check(layout, focus, "\(view) \(size) \(mode) \(focus)")
        }
      }
    }
  }

  @Test("a difference that has nothing to show leaves all of its room to the history, unless it has the keys")
  func withoutDifference() {
    for size in Self.sizes where size.columns >= 60 && size.rows >= 10 {
      let layout = Layout(size: size, view: .history, focus: .history, mode: .normal, isWithoutDifference: true)
      #expect(layout.panes.map(\.pane) == [.history])
      #expect(layout.rect(of: .history) == Rect(column: 0, row: 1, columns: size.columns, rows: size.rows - 2))
      let focused = Layout(size: size, view: .history, focus: .difference, mode: .normal, isWithoutDifference: true)
      #expect(focused.rect(of: .difference) != nil)
    }
  }

  private func check(_ layout: Layout, _ focus: PaneID, _ what: String) {
    let isSmall = layout.size.columns < 40 || layout.size.rows < 10
    guard layout.isTooSmall == isSmall else {
      Issue.record("\(what): too small or not")
      return
    }
    guard !isSmall else { return }
    let body = Rect(column: 0, row: 1, columns: layout.size.columns, rows: layout.size.rows - 2)
    var area = 0
    for placed in layout.panes {
      if body.intersection(placed.rect) != placed.rect || placed.rect.rows < 3 || placed.rect.columns < 10 {
        Issue.record("\(what): \(placed)")
      }
      area += placed.rect.columns * placed.rect.rows
    }
    for (place, first) in layout.panes.enumerated() {
      for second in layout.panes.dropFirst(place + 1)
      where !first.rect.intersection(second.rect).isEmpty { Issue.record("\(what): \(first) over \(second)") }
    }
    if area != body.columns * body.rows { Issue.record("\(what): not all is used") }
    if layout.rect(of: focus) == nil { Issue.record("\(what): the focus is not there") }
  }

  @Test("under 100 columns the record is below, under 60 one pane is shown, at 160×48 everything")
  func steps() {
    func panes(_ columns: Int, _ rows: Int) -> [PaneID] {
      Layout(size: Size(columns: columns, rows: rows), view: .main, focus: .table, mode: .normal).panes.map(\.pane)
    }
    #expect(panes(59, 24) == [.table])
    #expect(panes(80, 24) == [.stores, .table, .record])
    #expect(panes(100, 30) == [.stores, .table, .record])
    #expect(panes(160, 48) == [.stores, .table, .record, .history, .difference, .index])
    let narrow = Layout(size: Size(columns: 80, rows: 24), view: .main, focus: .table, mode: .normal)
    #expect(narrow.rect(of: .record)?.columns == 80)
    let reading = Layout(size: Size(columns: 80, rows: 24), view: .main, focus: .record, mode: .normal)
    #expect(reading.rect(of: .record)?.rows == 13 && narrow.rect(of: .record)?.rows == 7)
    let wide = Layout(size: Size(columns: 120, rows: 24), view: .main, focus: .table, mode: .normal)
    #expect(wide.rect(of: .record)?.top == 1)
  }

  @Test("at every size the picture has the right cells, and the cursor is inside")
  func drawing() throws {
    let driver = Driver(try Sample.store(), start: .init(datastore: "City"))
    for keys in ["", "3", "g H", "q 5", "q M", "q ?", "Esc :", "Esc e", "Esc w", "Esc"] {
      driver.press(keys)
      for size in [
        Size(columns: 1, rows: 1), Size(columns: 39, rows: 10), Size(columns: 40, rows: 10),
        Size(columns: 59, rows: 11),
        Size(columns: 60, rows: 40), Size(columns: 99, rows: 13), Size(columns: 100, rows: 12),
        Size(columns: 139, rows: 60), Size(columns: 160, rows: 48), Size(columns: 300, rows: 100),
      ] {
        driver.resize(size)
        let grid = driver.grid
        #expect(grid.size == size)
        for line in grid.lines() { #expect(SafeText.width(line) == size.columns) }
        if let cursor = grid.cursor { #expect(grid.bounds.contains(cursor), "\(keys) \(size)") }
      }
    }
  }

  @Test("what stands at the end of a heading leaves the heading whole")
  func headingsStayWhole() {
    let size = ["1.2 MB, 6.8 KB each", "6.8 KB each"]
    #expect(StoresPane.longest(of: size, beside: "COMMITS", columns: 30) == size[0])
    #expect(StoresPane.longest(of: size, beside: "COMMITS", columns: 27) == size[0])
    #expect(StoresPane.longest(of: size, beside: "COMMITS", columns: 26) == size[1])
    #expect(StoresPane.longest(of: size, beside: "COMMITS", columns: 18) == "")
    #expect(StoresPane.longest(of: [], beside: "VIEWS", columns: 30) == "")
  }
}
