/// Marking a text that the picture contains already.
extension CellGrid {
  /// Adds attributes to the cells of a line that show what `find` finds among its characters. A view can draw first and mark afterwards,
  /// whatever it has drawn.
  package mutating func mark(
    in rect: Rect, with attributes: Attributes = [.bold, .underline], _ find: ([Character]) -> [Range<Int>]
  ) {
    let line = rect.intersection(bounds)
    guard !line.isEmpty else { return }
    var (characters, columns): ([Character], [Int]) = ([], [])
    for column in line.left..<line.right {
      for character in self[Point(column: column, row: line.top)].text {
        characters.append(character)
        columns.append(column)
      }
    }
    for place in find(characters) {
      let last = columns[place.upperBound - 1]
      let end = last + max(1, Int(self[Point(column: last, row: line.top)].width))
      let first = columns[place.lowerBound]
      restyle(Rect(column: first, row: line.top, columns: end - first, rows: 1)) {
        $0.attributes.formUnion(attributes)
      }
    }
  }
}
