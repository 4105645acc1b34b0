import StrataTerminal
import Testing

@Suite struct ChartTests {
  private static func bars(_ heights: [Double], _ columns: Int, _ rows: Int, _ form: ChartForm) -> [String] {
    var grid = CellGrid(size: Size(columns: columns, rows: rows))
    grid.drawBars(heights, in: grid.bounds, form: form) { _ in .plain }
    return grid.lines()
  }

  @Test("bars are as high as their parts; an empty one is blank and a filled one never")
  func heights() {
    #expect(Self.bars([0, 0.001, 0.25, 0.5, 0.75, 1], 6, 2, .block) == ["   ▄█".padded(6, leading: 1), " ▁▄███"])
    #expect(Self.bars([0, 0.001, 0.5, 1], 4, 2, .ascii) == ["   #", " .##"])
    #expect(Self.bars([0, 0.25, 0.5, 1], 4, 1, .braille) == [" ⣀⣤⣿"])
  }

  @Test("braille has two bars in a cell where there are more bars than columns")
  func pairs() {
    #expect(Self.bars([1, 0, 0, 1, 0.5, 0.5], 3, 1, .braille) == ["⡇⢸⣤"])
    #expect(BarLayout.capacity(columns: 3, form: .braille) == 6)
    #expect(BarLayout.capacity(columns: 3, form: .block) == 3)
  }

  @Test("wide bars have gaps, and fit into their columns", arguments: ChartForm.allCases, [1, 3, 7, 40, 80, 160])
  func layout(form: ChartForm, count: Int) {
    for columns in [10, 33, 78, 120] where count <= BarLayout.capacity(columns: columns, form: form) {
      let layout = BarLayout(count: count, columns: columns, form: form)
      #expect(layout.used <= columns)
      let starts = (0..<count).map(layout.column)
      #expect(Set(starts).count == (count + layout.barsPerCell - 1) / layout.barsPerCell)
      #expect(starts == starts.sorted())
    }
  }

  @Test("a cell shows the dots that have points, the series with most of them, and how many they are")
  func dots() {
    var chart = DotChart(cells: Size(columns: 2, rows: 1), form: .braille, series: 2)
    chart.add(column: 0, row: 0)
    chart.add(column: 1, row: 3)
    chart.add(column: 2, row: 0, series: 1)
    for _ in 0..<9 { chart.add(column: 3, row: 0, series: 1) }
    chart.add(column: 99, row: 0)
    chart.add(column: 0, row: -1)
    var grid = CellGrid(size: Size(columns: 2, rows: 1))
    var looks: [[Int]] = []
    grid.draw(chart, in: grid.bounds) { series, shade in
      looks.append([series, shade])
      return .plain
    }
    #expect(grid.lines() == ["⢁⠉"])
    #expect(looks == [[0, 1], [1, DotChart.shades - 1]])
  }

  @Test("blocks have quarters, ASCII has marks for series and densities for one")
  func otherForms() {
    var block = DotChart(cells: Size(columns: 1, rows: 1), form: .block)
    block.add(column: 0, row: 0)
    block.add(column: 1, row: 1)
    var ascii = DotChart(cells: Size(columns: 3, rows: 1), form: .ascii, series: 2)
    ascii.add(column: 0, row: 0)
    ascii.add(column: 2, row: 0, series: 1)
    var single = DotChart(cells: Size(columns: 2, rows: 1), form: .ascii)
    single.add(column: 0, row: 0)
    for _ in 0..<50 { single.add(column: 1, row: 0) }
    for (chart, expected) in [(block, "▚"), (ascii, "o x"), (single, ".@")] {
      var grid = CellGrid(size: Size(columns: expected.count, rows: 1))
      grid.draw(chart, in: grid.bounds) { _, _ in .plain }
      #expect(grid.lines() == [expected])
    }
  }

  @Test("a line joins its ends without a hole")
  func lines() {
    var chart = DotChart(cells: Size(columns: 5, rows: 2), form: .braille)
    chart.line(from: (0, 7), to: (9, 0))
    #expect(chart.counts[0].reduce(0, +) == 10)
    #expect(chart.counts[0][7 * 10] == 1 && chart.counts[0][9] == 1)
    for column in 0..<10 { #expect((0..<8).contains { chart.counts[0][$0 * 10 + column] > 0 }) }
  }

  @Test("labels that would touch are left out, those that matter less first")
  func labels() {
    let labels = (0...10).map { AxisLabel(column: $0 * 4, text: "\($0 * 1_000)", weight: $0 % 5 == 0 ? 1 : 0) }
    let placed = AxisLabel.placed(labels, columns: 41)
    #expect(placed.map(\.label.text) == ["0", "2000", "5000", "7000", "10000"])
    for (one, next) in zip(placed, placed.dropFirst()) {
      #expect(one.column + SafeText.width(one.label.text) + 2 <= next.column)
    }
    #expect(placed.allSatisfy { $0.column >= 0 && $0.column + SafeText.width($0.label.text) <= 41 })
  }
}

extension String {
  fileprivate func padded(_ width: Int, leading: Int) -> String {
    let text = String(repeating: " ", count: leading) + self
    return text + String(repeating: " ", count: max(0, width - text.count))
  }
}
