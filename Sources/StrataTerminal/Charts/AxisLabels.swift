/// Chooses the labels of an axis that are written, so that none touches another.
package struct AxisLabel: Hashable, Sendable {
  /// The column under which it belongs, from the left edge of the axis.
  package var column: Int
  package var text: String
  /// The importance: labels with a larger weight are placed first.
  package var weight: Int

  package init(column: Int, text: String, weight: Int = 0) {
    self.column = column
    self.text = text
    self.weight = weight
  }

  /// Returns the labels that have room in `columns`, each with the column where its text begins: centred under its position, moved inwards
  /// at the ends, with at least two blanks between.
  package static func placed(_ labels: [AxisLabel], columns: Int) -> [(column: Int, label: AxisLabel)] {
    var taken: [Range<Int>] = []
    var placed: [(column: Int, label: AxisLabel)] = []
    for label in labels.sorted(by: { ($0.weight, -$0.column) > ($1.weight, -$1.column) }) {
      let width = SafeText.width(label.text)
      guard width > 0, width <= columns else { continue }
      let column = max(0, min(columns - width, label.column - width / 2))
      let room = column - 2..<column + width + 2
      guard !taken.contains(where: { $0.overlaps(room) }) else { continue }
      taken.append(column..<column + width)
      placed.append((column, label))
    }
    return placed.sorted { $0.column < $1.column }
  }
}

extension CellGrid {
  /// Writes the labels of a horizontal axis that have room.
  package mutating func drawAxis(_ labels: [AxisLabel], at point: Point, columns: Int, style: Style) {
    for (column, label) in AxisLabel.placed(labels, columns: columns) {
      write(label.text, at: Point(column: point.column + column, row: point.row), width: columns - column, style: style)
    }
  }
}
