import TerminalKit

/// Where the columns of a table stand.
enum TableGeometry {
  /// Cells for the cursor, mark and change signs before the first column.
  static let signs = 3

  struct Slot: Sendable, Hashable {
    var column: Int
    var x: Int
    var width: Int
  }

  /// The columns that fit: the frozen ones, then those from the offset on; the last one may be cut.
  static func slots(_ columns: [TableColumn], frozen: Int, offset: Int, width: Int) -> [Slot] {
    var slots: [Slot] = []
    var x = 0
    let first = Array(0..<min(frozen, columns.count))
    let rest = Array(max(frozen, offset)..<max(frozen, offset, columns.count))
    for column in first + rest {
      guard columns.indices.contains(column) else { break }
      let room = width - x
      guard room >= min(4, columns[column].width) else { break }
      slots.append(Slot(column: column, x: x, width: min(columns[column].width, room)))
      x += columns[column].width + 2
    }
    return slots
  }

  /// The offset, nearest to the one before, at which a column is wholly in sight.
  static func offset(of column: Int, in columns: [TableColumn], frozen: Int, width: Int, from before: Int) -> Int {
    guard column >= frozen else { return min(before, max(frozen, columns.count - 1)) }
    var offset = max(frozen, min(before, column))
    while offset < column {
      if let slot = slots(columns, frozen: frozen, offset: offset, width: width).first(where: { $0.column == column }),
        slot.width == columns[column].width
      {
        return offset
      }
      offset += 1
    }
    return offset
  }
}
