extension Array where Element: Hashable {
  /// The pairs of equal elements, beside the equal beginning and end, for which a comparison pays.
  private static var mostPairs: Int { 1 << 18 }

  /// Compares the list with another one: all comparisons and merges of lists follow from it.
  ///
  /// The equal elements are those of a longest common subsequence (Hunt, Szymanski: “A fast algorithm for computing longest common
  /// subsequences”, 1977). Its cost grows with the pairs of equal elements. If there are more than a quarter of a million, elements pair
  /// with those of their equals that are closest to the same place.
  ///
  /// - Returns: For each element, the position of its equal in the other list; nil for an element that the other list has not, or not in
  ///   the same order.
  func positions(in other: [Element]) -> [Int?] {
    let shorter = Swift.min(count, other.count)
    let start = (0..<shorter).first { self[$0] != other[$0] } ?? shorter
    let tail = (0..<shorter - start).first { self[count - 1 - $0] != other[other.count - 1 - $0] } ?? shorter - start
    var positions = indices.map { index in
      index < start ? index : index >= count - tail ? index - count + other.count : nil
    }
    guard start + tail < shorter else { return positions }
    var places: [Element: [Int]] = [:]
    for position in start..<other.count - tail { places[other[position], default: []].append(position) }
    let width = count - tail - start
    let most = Swift.max(1, Self.mostPairs / width)
    // The last pair of the best chain of each length: the one that ends earliest in the other list.
    var ends: [Int] = []
    var pairs: [(index: Int, position: Int, before: Int?)] = []
    for index in start..<count - tail {
      guard var equals = places[self[index]]?[...] else { continue }
      if equals.count > most {
        let place = start + (index - start) * (other.count - tail - start) / width
        let middle = Self.first(of: equals.count) { equals[$0] >= place }
        let first = Swift.max(0, Swift.min(middle - most / 2, equals.count - most))
        equals = equals[first..<first + most]
      }
      for position in equals.reversed() {
        let length = Self.first(of: ends.count) { pairs[ends[$0]].position >= position }
        guard length == ends.count || pairs[ends[length]].position > position else { continue }
        pairs.append((index, position, length == 0 ? nil : ends[length - 1]))
        if length == ends.count { ends.append(pairs.count - 1) } else { ends[length] = pairs.count - 1 }
      }
    }
    var last = ends.last
    while let pair = last.map({ pairs[$0] }) { (positions[pair.index], last) = (pair.position, pair.before) }
    return positions
  }

  /// The first of some numbers from 0 that passes a test, which all later ones pass, too; a binary search.
  private static func first(of count: Int, where passes: (Int) -> Bool) -> Int {
    var (low, high) = (0, count)
    while low < high {
      let middle = (low + high) / 2
      if passes(middle) { high = middle } else { low = middle + 1 }
    }
    return low
  }
}
