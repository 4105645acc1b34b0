/// Searches entries whose order is known.
extension EntryList {
  /// The first row at or after the searched position. The closure returns whether an entry is not before that: first false, then true; nil
  /// means that the entry cannot be read, which decides nothing.
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
    // It may be on the page before too; pages on which no entry begins are passed over.
    var before = page - 1
    while before >= 0, self.page(before).starts.isEmpty { before -= 1 }
    guard before >= 0 else { return Place(page: page, row: 0) }
    let starts = self.page(before).starts.count
    let row = Self.firstIndex(in: 0..<starts) { isNotBefore(Place(page: before, row: $0)) }
    return row < starts ? Place(page: before, row: row) : Place(page: before, row: self.page(before).rowCount)
  }

  /// The first number whose answer is true, although some have no answer; the end if there is none.
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
