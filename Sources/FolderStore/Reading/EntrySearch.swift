/// Searching entries whose order is known.
extension EntryList {
  /// The first row that is not before what is searched, by a question about entries that is first answered no and then
  /// yes; nil means that the entry cannot be read, which tells nothing.
  ///
  /// Reads one page for each halving of the page list, and the pages of the entries that it asks about.
  package func firstRow(where isNotBefore: (Place) -> Bool?) -> Place {
    let page = Self.firstIndex(in: 0..<pages.count) { number in
      let page = self.page(number)
      for row in page.starts.indices {
        if let answer = isNotBefore(Place(page: number, row: row)) { return answer }
      }
      return nil
    }
    // The page before may hold it too, and so may those before that where it begins no entry.
    var before = page - 1
    while before >= 0, self.page(before).starts.isEmpty { before -= 1 }
    guard before >= 0 else { return Place(page: page, row: 0) }
    let starts = self.page(before).starts.count
    let row = Self.firstIndex(in: 0..<starts) { isNotBefore(Place(page: before, row: $0)) }
    return row < starts ? Place(page: before, row: row) : Place(page: before, row: self.page(before).rowCount)
  }

  /// The first number that answers yes, where no answer is known for some; the end where none does.
  private static func firstIndex(in range: Range<Int>, _ answer: (Int) -> Bool?) -> Int {
    var low = range.lowerBound
    var high = range.upperBound
    while low < high {
      let middle = low + (high - low) / 2
      var at = middle
      var found: Bool?
      while at < high {
        found = answer(at)
        if found != nil { break }
        at += 1
      }
      if found == false { low = at + 1 } else { high = middle }
    }
    return low
  }
}
