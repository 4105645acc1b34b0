/// Marking a text that the picture contains already.
extension CellGrid {
  /// Adds attributes to the cells of `rect` that show `needle`, in either case. Looks at each cell once, so that a view can draw first and
  /// mark afterwards, whatever it has drawn.
  package mutating func mark(_ needle: String, in rect: Rect, with attributes: Attributes = [.bold, .underline]) {
    let wanted = Array(needle.lowercased())
    let part = rect.intersection(bounds)
    guard !wanted.isEmpty, !part.isEmpty else { return }
    for row in part.top..<part.bottom {
      var (characters, columns): ([Character], [Int]) = ([], [])
      for column in part.left..<part.right {
        for character in self[Point(column: column, row: row)].text.lowercased() {
          characters.append(character)
          columns.append(column)
        }
      }
      var place = 0
      while place + wanted.count <= characters.count {
        guard characters[place..<place + wanted.count].elementsEqual(wanted) else {
          place += 1
          continue
        }
        let last = columns[place + wanted.count - 1]
        let end = last + max(1, Int(self[Point(column: last, row: row)].width))
        restyle(Rect(column: columns[place], row: row, columns: end - columns[place], rows: 1)) {
          $0.attributes.formUnion(attributes)
        }
        place += wanted.count
      }
    }
  }
}
