import Testing

@testable import TerminalKit

@Suite("Cell grid")
struct CellGridTests {
  @Test("text is cut, aligned and dimmed where it stands in")
  func writing() {
    var grid = CellGrid(size: Size(columns: 12, rows: 3))
    #expect(grid.write("Invisible Cities", at: .zero, width: 8) == 8)
    grid.write("8.50", at: Point(column: 0, row: 1), width: 8, alignment: .trailing)
    grid.write("a\u{7}", at: Point(column: 0, row: 2), style: Style(.red))
    #expect(grid.lines() == ["Invisib…    ", "    8.50    ", "a␇          "])
    #expect(grid[Point(column: 1, row: 2)].style == Style(.red, .dim))
    #expect(grid.styleLines()[2] == "ab..........")
    #expect(grid.styleLegend() == ["a red on standard", "b red on standard dim"])
  }

  @Test("a wide cluster that is half overwritten leaves a space; every row keeps its columns")
  func wideCells() {
    var grid = CellGrid(size: Size(columns: 6, rows: 1))
    grid.write("日本語", at: .zero)
    grid.write("x", at: Point(column: 1, row: 0))
    #expect(grid.lines() == [" x本語"])
    grid.write("x", at: Point(column: 4, row: 0))
    #expect(grid.lines() == [" x本x "])
    grid.write("日", at: Point(column: 1, row: 0))
    #expect(grid.lines() == [" 日 x "])
    grid[Point(column: 5, row: 0)] = Cell(text: "語", width: 2)
    #expect(grid.lines() == [" 日 x "])
    #expect(grid.row(0).reduce(0) { $0 + Int($1.width) } == 6)
  }

  @Test("drawing outside does nothing")
  func outside() {
    var grid = CellGrid(size: Size(columns: 3, rows: 2))
    grid.write("abcdef", at: Point(column: -2, row: 0))
    grid.write("x", at: Point(column: 0, row: 7))
    grid.fill(Rect(column: -5, row: 1, columns: 100, rows: 100), with: Cell(text: "#"))
    grid.frame(Rect(column: 5, row: 5, columns: 10, rows: 10))
    #expect(grid.lines() == ["cd…", "###"])
    #expect(CellGrid(size: Size(columns: 0, rows: 0)).lines().isEmpty)
  }

  @Test("a frame carries its title and footer, heavy where it has the keys")
  func frames() {
    var grid = CellGrid(size: Size(columns: 24, rows: 7))
    grid.frame(Rect(column: 0, row: 0, columns: 24, rows: 3), title: "1 Stores", footer: "3 of 12")
    grid.frame(Rect(column: 0, row: 3, columns: 14, rows: 4), title: "2 Books by author", heavy: true)
    #expect(
      grid.text() == """
        ┌─ 1 Stores ───────────┐
        │                      │
        └──────────── 3 of 12 ─┘
        ┏━ 2 Books… ━┓
        ┃            ┃
        ┃            ┃
        ┗━━━━━━━━━━━━┛

        """)
    #expect(grid[Point(column: 3, row: 3)].style == .bold)
  }

  @Test("one picture on top of another brings its cursor")
  func overlay() {
    var grid = CellGrid(size: Size(columns: 8, rows: 2))
    grid.write("日本日本", at: .zero)
    var small = CellGrid(size: Size(columns: 2, rows: 1))
    small.write("ok", at: .zero)
    small.cursor = Point(column: 1, row: 0)
    grid.draw(small, at: Point(column: 3, row: 0))
    #expect(grid.lines()[0] == "日 ok 本")
    #expect(grid.cursor == Point(column: 4, row: 0))
  }

  @Test("the ASCII picture has the same columns")
  func ascii() {
    var grid = CellGrid(size: Size(columns: 10, rows: 3))
    grid.frame(grid.bounds, title: "Ü", style: .bold, heavy: true)
    grid.write("日ž→…", at: Point(column: 1, row: 1))
    #expect(grid.asciiOnly().text() == "+- U ----+\n|??z>.   |\n+--------+\n")
  }

  @Test("rectangles split, shrink and meet without leaving each other")
  func rectangles() {
    let screen = Rect(Size(columns: 80, rows: 24))
    let (nav, rest) = screen.split(left: 22)
    #expect(nav.right == rest.left && rest.columns == 58)
    let (body, footer) = screen.split(bottom: 2)
    #expect(body.rows == 22 && footer.top == 22)
    #expect(Rect(column: 0, row: 0, columns: 1, rows: 1).inset().isEmpty)
    #expect(nav.intersection(rest).isEmpty)
    #expect(screen.centered(Size(columns: 100, rows: 10)) == Rect(column: 0, row: 7, columns: 80, rows: 10))
    #expect(Size("80x24") == Size(columns: 80, rows: 24))
    #expect(Size("80") == nil && Size("0x4") == nil && Size("-3x4") == nil && Size("99999999999999999999x1") == nil)
  }
}
