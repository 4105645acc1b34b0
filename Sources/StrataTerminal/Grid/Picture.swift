/// A grid as an SVG picture, as a terminal with a dark background would show it.
///
/// Runs of one look are one `<text>`, each at its own place: viewers disagree on the advance of a font, and an error must
/// not add up along a line.
package enum Picture {
  private static let cellWidth = 8.4
  private static let cellHeight = 18.0
  private static let margin = 12.0
  private static let paper = "#1d2026"
  private static let ink = "#d8dee9"
  private static let palette = [
    "#3b4252", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#d8dee9", "#7f8a9c", "#ff7b86",
    "#b5e890", "#ffd68a", "#86c8ff", "#e29bf5", "#7fdde8", "#ffffff",
  ]

  /// The picture as the text of an SVG file.
  package static func svg(_ grid: CellGrid) -> String {
    let width = Double(grid.size.columns) * cellWidth + 2 * margin
    let height = Double(grid.size.rows) * cellHeight + 2 * margin
    var backgrounds = ""
    var texts = ""
    for row in 0..<grid.size.rows {
      for run in runs(grid.row(row)) { draw(run, row: row, &backgrounds, &texts) }
    }
    return """
      <svg xmlns="http://www.w3.org/2000/svg" width="\(short(width))" height="\(short(height))" \
      viewBox="0 0 \(short(width)) \(short(height))" \
      font-family="DejaVu Sans Mono, Noto Sans Mono CJK JP, Noto Sans CJK JP, DejaVu Sans, monospace" font-size="14">
      <rect width="100%" height="100%" rx="8" fill="\(paper)"/>
      <g shape-rendering="crispEdges">
      \(backgrounds)</g>
      \(texts)\(cursor(grid))</svg>

      """
  }

  private struct Run {
    var column: Int
    var columns: Int
    var text: String
    var style: Style
  }

  /// Neighbours of one look are one run; box lines and wide or marked clusters stand alone, as fonts differ on them.
  private static func runs(_ cells: ArraySlice<Cell>) -> [Run] {
    var runs: [Run] = []
    for (column, cell) in cells.enumerated() where cell.width > 0 {
      let joins = cell.width == 1 && (cell.text.utf8.first ?? 0x80) < 0x80
      if joins, let last = runs.last, last.style == cell.style, last.text.utf8.allSatisfy({ $0 < 0x80 }) {
        runs[runs.count - 1].text += cell.text
        runs[runs.count - 1].columns += 1
      } else {
        runs.append(Run(column: column, columns: Int(cell.width), text: cell.text, style: cell.style))
      }
    }
    return runs
  }

  private static func draw(_ run: Run, row: Int, _ backgrounds: inout String, _ texts: inout String) {
    var fill = color(run.style.foreground, otherwise: ink)
    var behind = color(run.style.background, otherwise: paper)
    if run.style.attributes.contains(.reverse) { swap(&fill, &behind) }
    let x = margin + Double(run.column) * cellWidth
    let y = margin + Double(row) * cellHeight
    if behind != paper {
      backgrounds += """
        <rect x="\(short(x))" y="\(short(y))" width="\(short(Double(run.columns) * cellWidth))" \
        height="\(short(cellHeight))" fill="\(behind)"/>

        """
    }
    if run.columns == 1, let lines = BoxLines(run.text) {
      texts += lines.path(x: x, y: y, width: cellWidth, height: cellHeight, color: fill)
      return
    }
    let trimmed = run.text.drop { $0 == " " }
    guard trimmed.contains(where: { $0 != " " }) else { return }
    let start = x + Double(run.text.count - trimmed.count) * cellWidth
    texts += "<text x=\"\(short(start))\" y=\"\(short(y + 13.5))\" fill=\"\(fill)\"\(looks(run.style))"
    texts += " xml:space=\"preserve\">\(escaped(trimmed))</text>\n"
  }

  private static func looks(_ style: Style) -> String {
    var result = ""
    if style.attributes.contains(.bold) { result += " font-weight=\"bold\"" }
    if style.attributes.contains(.italic) { result += " font-style=\"italic\"" }
    if style.attributes.contains(.dim) { result += " opacity=\"0.6\"" }
    var lines: [String] = []
    if style.attributes.contains(.underline) { lines.append("underline") }
    if style.attributes.contains(.strike) { lines.append("line-through") }
    if !lines.isEmpty { result += " text-decoration=\"\(lines.joined(separator: " "))\"" }
    return result
  }

  private static func cursor(_ grid: CellGrid) -> String {
    guard let cursor = grid.cursor, grid.bounds.contains(cursor) else { return "" }
    let x = short(margin + Double(cursor.column) * cellWidth)
    let y = short(margin + Double(cursor.row) * cellHeight)
    return """
      <rect x="\(x)" y="\(y)" width="\(short(cellWidth))" height="\(short(cellHeight))" fill="none" stroke="\(ink)"/>

      """
  }

  private static func color(_ color: Color, otherwise standard: String) -> String {
    switch color {
    case .standard: return standard
    case .ansi(let number): return palette[Int(number & 15)]
    case .indexed(let number) where number < 16: return palette[Int(number)]
    case .indexed(let number):
      let parts = Color.parts(number)
      // The one in front keeps the zeros.
      return "#" + String(1 << 24 | parts.red << 16 | parts.green << 8 | parts.blue, radix: 16).dropFirst()
    }
  }

  private static func escaped(_ text: Substring) -> String {
    var result = ""
    for character in text {
      switch character {
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      case "&": result += "&amp;"
      default: result.append(character)
      }
    }
    return result
  }

  /// One decimal place at most, without depending on a formatter.
  static func short(_ number: Double) -> String {
    let tenths = Int(number * 10 + 0.5)  // never negative
    return tenths % 10 == 0 ? "\(tenths / 10)" : "\(tenths / 10).\(abs(tenths % 10))"
  }
}

/// The lines of a box character, drawn as a path so that they meet in every font.
private struct BoxLines {
  /// The edges of its cell that a light character reaches: up, down, left, right.
  private static let light = [
    "─": "lr", "│": "ud", "┌": "dr", "┐": "dl", "└": "ur", "┘": "ul",
    "├": "udr", "┤": "udl", "┬": "dlr", "┴": "ulr", "┼": "udlr",
  ]
  private static let heavy = ["━": "─", "┃": "│", "┏": "┌", "┓": "┐", "┗": "└", "┛": "┘"]

  private let edges: String
  private let weight: Int

  init?(_ text: String) {
    let light = Self.heavy[text]
    guard let edges = Self.light[light ?? text] else { return nil }
    (self.edges, weight) = (edges, light == nil ? 1 : 2)
  }

  func path(x: Double, y: Double, width: Double, height: Double, color: String) -> String {
    let (middleX, middleY) = (x + width / 2, y + height / 2)
    var result = ""
    let ends = [("u", middleX, y), ("d", middleX, y + height), ("l", x, middleY), ("r", x + width, middleY)]
    for (edge, endX, endY) in ends where edges.contains(edge) {
      result += "<path d=\"M\(Picture.short(middleX)) \(Picture.short(middleY))L\(Picture.short(endX)) "
      result += "\(Picture.short(endY))\" stroke=\"\(color)\" stroke-width=\"\(weight)\""
      result += " stroke-linecap=\"square\"/>\n"
    }
    return result
  }
}
