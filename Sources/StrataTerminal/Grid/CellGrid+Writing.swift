/// The position of text within its width.
package enum Alignment: Hashable, Sendable {
  /// At the left edge.
  case leading
  /// At the right edge.
  case trailing
}

/// A piece of a line in one style.
package struct Span: Hashable, Sendable {
  package var text: String
  package var style: Style

  /// Makes a piece of a line.
  package init(_ text: String, _ style: Style = .plain) {
    self.text = text
    self.style = style
  }
}

extension CellGrid {
  /// Writes one line of canonical text, cut with `…` if it is wider than `width`.
  ///
  /// Stand-ins for unprintable text are dim. Cells beyond the text stay unchanged.
  ///
  /// - Parameters:
  ///   - text: any text; only the visible part is read.
  ///   - point: the start of the width; may be outside.
  ///   - width: the largest number of columns; nil for up to the right edge.
  ///   - style: the style of the text.
  ///   - alignment: the position of the text in `width`.
  /// - Returns: the columns that the text took.
  @discardableResult
  package mutating func write(
    _ text: String, at point: Point, width: Int? = nil, style: Style = .plain, alignment: Alignment = .leading
  ) -> Int {
    let available = width ?? (size.columns - point.column)
    guard point.row >= 0, point.row < size.rows, available > 0 else { return 0 }
    if let used = writeASCII(text, at: point, available: available, style: style, alignment: alignment) { return used }
    let (clusters, used) = SafeText.fitted(text, to: available)
    var column = point.column + (alignment == .leading ? 0 : available - used)
    for cluster in clusters {
      let look = cluster.isStandIn ? style.with(.dim) : style
      self[Point(column: column, row: point.row)] = Cell(
        text: cluster.text, width: UInt8(cluster.width), style: look)
      column += cluster.width
    }
    return used
  }

  /// The same for text whose visible part is printable ASCII, as most is, without making a string of each character. Returns nil if it is
  /// not, or if part of it is outside.
  private mutating func writeASCII(
    _ text: String, at point: Point, available: Int, style: Style, alignment: Alignment
  ) -> Int? {
    var text = text
    return text.withUTF8 { bytes in
      let isCut = bytes.count > available
      // A combining mark after the last kept character would join it.
      guard bytes.prefix(available + 1).allSatisfy({ (0x20..<0x7F).contains($0) }) else { return nil }
      let used = min(bytes.count, available)
      let column = point.column + (alignment == .leading ? 0 : available - used)
      guard column >= 0, column + used <= size.columns else { return nil }
      let shown = UnsafeBufferPointer(rebasing: bytes[..<(isCut ? used - 1 : used)])
      put(narrow: shown, look: PackedStyle(style), at: Point(column: column, row: point.row))
      if isCut { self[Point(column: column + used - 1, row: point.row)] = Cell(text: "…", style: style) }
      return used
    }
  }

  /// Writes pieces of a line one after the other; the piece that does not fit into `width` is cut with `…`.
  ///
  /// - Returns: the columns that they took.
  @discardableResult
  package mutating func write(_ spans: [Span], at point: Point, width: Int? = nil) -> Int {
    let available = width ?? (size.columns - point.column)
    var used = 0
    for span in spans where used < available {
      used += write(
        span.text, at: Point(column: point.column + used, row: point.row), width: available - used, style: span.style)
    }
    return used
  }

  /// Draws a box along the edge of `rect`, with `title` in its upper and `footer` in its lower edge.
  ///
  /// - Parameters:
  ///   - rect: the box, edges included; nothing is drawn if it is smaller than 2×2.
  ///   - title: at the left of the upper edge, bold if `heavy`.
  ///   - footer: at the right of the lower edge.
  ///   - style: the style of the edge.
  ///   - heavy: thick lines and a bold title, for the focused pane.
  package mutating func frame(
    _ rect: Rect, title: String = "", footer: String = "", style: Style = .plain, heavy: Bool = false
  ) {
    guard rect.columns >= 2, rect.rows >= 2 else { return }
    let lines = heavy ? FrameLines.heavy : FrameLines.light
    fill(Rect(column: rect.left, row: rect.top, columns: rect.columns, rows: 1), with: lines.cell(lines.across, style))
    fill(Rect(column: rect.left, row: rect.top, columns: 1, rows: rect.rows), with: lines.cell(lines.down, style))
    fill(Rect(column: rect.right - 1, row: rect.top, columns: 1, rows: rect.rows), with: lines.cell(lines.down, style))
    self[rect.origin] = lines.cell(lines.corners[0], style)
    self[Point(column: rect.right - 1, row: rect.top)] = lines.cell(lines.corners[1], style)
    self[Point(column: rect.left, row: rect.bottom - 1)] = lines.cell(lines.corners[2], style)
    self[Point(column: rect.right - 1, row: rect.bottom - 1)] = lines.cell(lines.corners[3], style)
    let room = rect.columns - 6
    if !title.isEmpty, room > 0 {
      let text = " " + SafeText.cut(title, to: room) + " "
      write(text, at: rect.at(2), style: heavy ? style.with(.bold) : style)
    }
    lowerEdge(rect, footer: footer, style: style, heavy: heavy)
  }

  /// Redraws the lower edge of a box with another footer.
  package mutating func lowerEdge(_ rect: Rect, footer: String, style: Style = .plain, heavy: Bool = false) {
    guard rect.columns >= 2, rect.rows >= 2 else { return }
    let lines = heavy ? FrameLines.heavy : FrameLines.light
    fill(
      Rect(column: rect.left + 1, row: rect.bottom - 1, columns: rect.columns - 2, rows: 1),
      with: lines.cell(lines.across, style))
    let room = rect.columns - 6
    guard !footer.isEmpty, room > 0 else { return }
    let text = " " + SafeText.cut(footer, to: room) + " "
    write(
      text, at: Point(column: rect.left + 2, row: rect.bottom - 1), width: rect.columns - 4, style: style,
      alignment: .trailing)
  }
}

/// The characters of a box.
private struct FrameLines {
  let across: String
  let down: String
  let corners: [String]

  static let light = FrameLines(across: "─", down: "│", corners: ["┌", "┐", "└", "┘"])
  static let heavy = FrameLines(across: "━", down: "┃", corners: ["┏", "┓", "┗", "┛"])

  func cell(_ text: String, _ style: Style) -> Cell { Cell(text: text, width: 1, style: style) }
}
