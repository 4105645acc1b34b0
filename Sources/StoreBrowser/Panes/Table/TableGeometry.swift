/// The positions of a table's columns.
enum TableGeometry {
  /// Cells for the cursor, mark and change signs before the first column.
  static let signs = 3

  struct Slot: Sendable, Hashable {
    var column: Int
    var x: Int
    var width: Int
  }

  /// Returns the columns that fit: the frozen ones, then those from the offset on. The last one may be cut, but a cut number says nothing:
  /// for a last column of numbers, the widest text column gives up width.
  static func slots(_ columns: [TableColumn], frozen: Int, offset: Int, width: Int) -> [Slot] {
    var slots = naturalSlots(columns, frozen: frozen, offset: offset, width: width)
    giveRoom(&slots, columns)
    return slots
  }

  /// The same before a column gives up width.
  private static func naturalSlots(_ columns: [TableColumn], frozen: Int, offset: Int, width: Int) -> [Slot] {
    var slots: [Slot] = []
    var x = 0
    let first = max(frozen, offset)
    for column in Array(0..<min(frozen, columns.count)) + (first..<max(first, columns.count)) {
      let room = width - x
      let least = columns[column].isTrailing && giver(slots, columns) == nil ? scaledNumber : 4
      guard room >= min(least, columns[column].width) else { break }
      slots.append(Slot(column: column, x: x, width: min(columns[column].width, room)))
      x += columns[column].width + 2
    }
    return slots
  }

  /// The width of a scaled number in cells: `252 k`.
  private static let scaledNumber = 5
  /// The width that a text keeps when it gives up width.
  private static let keptText = 12

  /// The widest text column that can give up width.
  private static func giver(_ slots: [Slot], _ columns: [TableColumn]) -> Int? {
    slots.indices.filter { !columns[slots[$0].column].isTrailing && slots[$0].width > keptText }
      .max { slots[$0].width < slots[$1].width }
  }

  private static func giveRoom(_ slots: inout [Slot], _ columns: [TableColumn]) {
    guard let last = slots.last, columns[last.column].isTrailing, let giver = giver(Array(slots.dropLast()), columns)
    else {
      return
    }
    let given = min(columns[last.column].width - last.width, slots[giver].width - keptText)
    guard given > 0 else { return }
    slots[giver].width -= given
    for position in slots.indices where position > giver { slots[position].x -= given }
    slots[slots.count - 1].width += given
  }

  /// Returns the columns of some widths that fit, with one of them wholly among them and as many before it as there is room for.
  static func slots<Widths: RandomAccessCollection>(of widths: Widths, around selected: Int, width: Int) -> [Slot]
  where Widths.Element == Int, Widths.Index == Int {
    guard widths.indices.contains(selected), width > 0 else { return [] }
    var (first, room) = (selected, width - widths[selected])
    while first > 0, room >= widths[first - 1] + 2 {
      first -= 1
      room -= widths[first] + 2
    }
    var (slots, x) = ([Slot](), 0)
    for column in first..<widths.count {
      guard x + min(widths[column], 8) <= width || column == selected else { break }
      slots.append(Slot(column: column, x: x, width: min(widths[column], width - x)))
      x += widths[column] + 2
    }
    return slots
  }

  /// The offset, nearest to the previous one, at which a column is wholly visible. Columns come back if there is room for all from them on.
  static func offset(of column: Int, in columns: [TableColumn], frozen: Int, width: Int, from before: Int) -> Int {
    var offset = max(frozen, min(before, columns.count - 1))
    func room(from first: Int) -> Int {
      let shown = columns.prefix(frozen) + columns.dropFirst(first)
      return width - shown.reduce(-2) { $0 + $1.width + 2 }
    }
    while offset > frozen, room(from: offset - 1) >= 0 { offset -= 1 }
    guard column >= frozen else { return offset }
    return (min(offset, column)..<column).first { offset in
      naturalSlots(columns, frozen: frozen, offset: offset, width: width)
        .contains { $0.column == column && $0.width == columns[column].width }
    } ?? column
  }
}
