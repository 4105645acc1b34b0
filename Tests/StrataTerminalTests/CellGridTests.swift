import Testing

@testable import StrataTerminal

@Suite("Cell grid")
struct CellGridTests {
  @Test("text is cut, aligned and dimmed where it stands in")
  func writing() {
    var grid = CellGrid(size: Size(columns: 12, rows: 3))
    #expect(grid.write("Invisible Cities", at: .zero, width: 8) == 8)
    grid.write("8.50", at: Point(column: 0, row: 1), width: 8, alignment: .trailing)
    grid.write("a\u{7}", at: Point(column: 0, row: 2), style: Style(.ansi(1)))
    #expect(grid.lines() == ["Invisib…    ", "    8.50    ", "a␇          "])
    #expect(grid[Point(column: 1, row: 2)].style == Style(.ansi(1), .dim))
    #expect(grid.styleLines()[2] == "ab..........")
    #expect(grid.styleLegend() == ["a red on standard", "b red on standard dim"])
  }

  @Test("plain lines have no frames, keep the strokes of a title, and find a pane whose lower edge is under a message")
  func plainLines() {
    func plain(_ rows: [String]) -> [String] {
      var grid = CellGrid(size: Size(columns: rows[0].count, rows: rows.count))
      for (row, text) in rows.enumerated() { grid.write(text, at: Point(column: 0, row: row)) }
      return grid.plainLines()
    }
    let top = ["title           ", "┌─ Porto-Novo ─┐", "│ id 2026-09-01│"]
    let text = ["title", "", "Porto-Novo", " id 2026-09-01"]
    #expect(plain(top + ["└── 1 of 9 - ──┘", " foot           "]) == text + ["(1 of 9 -)", "", " foot"])
    #expect(plain(top + [" a long message ", " in two lines   "]) == text + ["", " a long message", " in two lines"])
    let beside = ["title           ", "┌─ A ──┐┏━ B ━━┓", "│ 1    │┃ 2    ┃"]
    let parts = ["title", "", "A", " 1", "", "B", " 2", ""]
    #expect(plain(beside + ["└──────┘┗━━━━━━┛", " foot           "]) == parts + [" foot"])
    #expect(plain(beside + [" a long message ", " in two lines   "]) == parts + [" a long message", " in two lines"])
  }

  @Test("plain lines in ASCII are of the same panes")
  func plainLinesInASCII() {
    var grid = CellGrid(size: Size(columns: 14, rows: 3))
    grid.frame(Rect(column: 0, row: 0, columns: 7, rows: 3), title: "日-")
    grid.frame(Rect(column: 7, row: 0, columns: 7, rows: 3), heavy: true)
    grid.write("é", at: Point(column: 1, row: 1))
    grid.write("▶ 1", at: Point(column: 8, row: 1))
    #expect(grid.plainLines(isASCII: true) == ["", ".", "e", "", "> 1", ""], "\(grid.plainLines(isASCII: true))")
    grid.frame(Rect(column: 0, row: 0, columns: 14, rows: 3), title: "日-")
    #expect(grid.plainLines(isASCII: true).contains("??-"), "\(grid.plainLines(isASCII: true))")
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

  @Test("printable ASCII is written as any other text is, whatever it is written over")
  func asciiAsOthers() {
    let seed = UInt64.random(in: 0 ... .max)
    var state = seed
    func next(_ limit: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int(state >> 33) % limit
    }
    let pieces = [
      "a", "b c", "~", "longer than most", " ", "日本", "é", "e\u{301}", "\u{7}", "x\u{301}", "…", "\u{200B}",
    ]
    let size = Size(columns: 14, rows: 1)
    var (quick, slow) = (CellGrid(size: size), CellGrid(size: size))
    for _ in 0..<3_000 {
      // Mostly ASCII alone.
      let kinds = next(3) == 0 ? pieces.count : 5
      let text = (0..<next(5)).map { _ in pieces[next(kinds)] }.joined()
      let point = Point(column: next(18) - 3, row: 0)
      let width = next(16)
      let style = [Style.plain, Style(.ansi(1)), Style(.ansi(1), .dim)][next(3)]
      let alignment = [Alignment.leading, .trailing][next(2)]
      let used = quick.write(text, at: point, width: width, style: style, alignment: alignment)
      // One cluster after the other.
      let (clusters, columns) = SafeText.fitted(text, to: width)
      let room = width - columns
      var column = point.column + (alignment == .leading ? 0 : room)
      for cluster in clusters {
        slow[Point(column: column, row: 0)] = Cell(
          text: cluster.text, width: UInt8(cluster.width), style: cluster.isStandIn ? style.with(.dim) : style)
        column += cluster.width
      }
      #expect(quick == slow && used == columns, "seed \(seed): \(text.debugDescription) at \(point), \(width)")
      guard next(8) == 0 else { continue }
      let (left, count) = (next(14), next(8))
      quick.fill(Rect(column: left, row: 0, columns: count, rows: 1))
      for column in left..<min(14, left + count) { slow[Point(column: column, row: 0)] = .blank }
      #expect(quick == slow, "seed \(seed): filled \(left), \(count)")
    }
  }

  @Test("rows of a part are moved up and down, and what is beside them stays")
  func scrolling() {
    func grid() -> CellGrid {
      var grid = CellGrid(size: Size(columns: 4, rows: 5))
      for row in 0..<5 { grid.write("\(row)\(row)\(row)\(row)", at: Point(column: 0, row: row)) }
      return grid
    }
    func scrolled(_ rows: Int) -> [String] {
      var grid = grid()
      grid.scroll(Rect(column: 1, row: 1, columns: 2, rows: 3), by: rows)
      return grid.lines()
    }
    #expect(scrolled(1) == ["0000", "1221", "2332", "3333", "4444"])
    #expect(scrolled(-2) == ["0000", "1111", "2222", "3113", "4444"])
    #expect(scrolled(3) == grid().lines() && scrolled(0) == grid().lines())
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
    #expect(Rect(column: 0, row: 0, columns: 1, rows: 1).inset().isEmpty)
    #expect(nav.intersection(rest).isEmpty)
    #expect(screen.centered(Size(columns: 100, rows: 10)) == Rect(column: 0, row: 7, columns: 80, rows: 10))
    #expect(Size("80x24") == Size(columns: 80, rows: 24))
    #expect(Size("80") == nil && Size("0x4") == nil && Size("-3x4") == nil && Size("99999999999999999999x1") == nil)
  }
}
