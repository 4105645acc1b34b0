package import StrataDocuments

/// The few cells of a column that are of another kind than most of its cells, and so made it a text column.
package struct ColumnExceptions: Hashable, Sendable {
  package struct Cell: Hashable, Sendable {
    /// `FILE:LINE`.
    package var place: String
    package var text: String
  }

  /// The type of most cells.
  package var type: CellType
  /// The number of cells that are not empty, and of those among them that are of another kind.
  package var cells: Int
  package var others: Int
  /// The first of the others.
  package var first: [Cell]

  /// As a sentence: `population is String: 2 of 148 896 cells are not Int: cities.csv:17 “n/a”, …`
  package func sentence(for path: DocumentPath) -> String {
    let shown = first.map { "\($0.place) “\($0.text)”" }.joined(separator: ", ")
    let more = others > first.count ? " and \(others - first.count) more" : ""
    return "\(path.shortText) is String, and so is an index of it: \(others) of \(cells) cells "
      + "\(others == 1 ? "is" : "are") not \(type): \(shown)\(more)"
  }
}

struct ColumnSurvey {
  private(set) var type = CellType.empty
  /// Whether a number is not in its shortest form, such as `1.10`.
  private(set) var hasOddDecimal = false
  private var counts: [CellType: Int] = [:]
  private var first: [CellType: [ColumnExceptions.Cell]] = [:]

  private static let shown = 5
  private static let textLimit = 40

  mutating func see(_ cell: String, at place: @autoclosure () -> String) {
    let kind = CellType(cell: cell)
    guard kind != .empty else { return }
    type = type.joined(with: kind)
    if kind == .number || kind == .integer, !hasOddDecimal {
      hasOddDecimal = NumberText(unchecked: cell).canonicalText != cell
    }
    let count = counts[kind, default: 0]
    counts[kind] = count + 1
    guard count < Self.shown else { return }
    let text = cell.count > Self.textLimit ? "\(cell.prefix(Self.textLimit))…" : cell
    first[kind, default: []].append(ColumnExceptions.Cell(place: place(), text: text))
  }

  /// The cells of another kind, if the column is text although most of its cells are not.
  var exceptions: ColumnExceptions? {
    guard type == .text else { return nil }
    let cells = counts.values.reduce(0, +)
    let numbers: Set<CellType> = [.integer, .number]
    let kinds: [(Set<CellType>, CellType)] = [
      (numbers, counts[.number] == nil ? .integer : .number), ([.bool], .bool), ([.json], .json),
    ]
    for (kind, name) in kinds {
      let others = counts.filter { !kind.contains($0.key) }
      let count = others.values.reduce(0, +)
      guard count > 0, count * 2 < cells else { continue }
      let shown = others.keys.flatMap { first[$0] ?? [] }.sorted { Self.line($0) < Self.line($1) }
      return ColumnExceptions(type: name, cells: cells, others: count, first: Array(shown.prefix(Self.shown)))
    }
    return nil
  }

  private static func line(_ cell: ColumnExceptions.Cell) -> Int {
    cell.place.split(separator: ":").last.flatMap { Int($0) } ?? 0
  }
}
