/// An index as the planner uses it: its subjects, and the number of entries before a value. A record's entries must be exactly its values
/// of the subjects; an index that may have others is not offered to the planner.
package struct QueryIndex: Sendable {
  package var name: String
  /// The subject of each tier; one for an index that is not compound.
  package var subjects: [QuerySubject]
  package var encodings: [KeyEncoding]
  package var isCompound: Bool
  /// Whether a record may have several values in it.
  package var hasManyValues: Bool
  /// Whether a value's rank can be found in the app's own order, as the typed library can; in byte order it always can be found.
  package var takesComparators: Bool
  /// Whether its entries have all that is wanted of a record.
  package var isCovering: Bool
  /// Whether a sort by its subjects puts records in its order. A list is sorted as a list, and not by each of its elements.
  package var hasOrder: Bool
  package var count: Int
  /// Returns the number of entries before a bound: O(log n).
  package var rank: @Sendable (KeyBound) throws(ModelError) -> Int

  package init(
    name: String, subjects: [QuerySubject], encodings: [KeyEncoding], isCompound: Bool = false,
    hasManyValues: Bool = false, takesComparators: Bool = false, isCovering: Bool = false, count: Int,
    rank: @escaping @Sendable (KeyBound) throws(ModelError) -> Int
  ) {
    self.name = name
    self.subjects = subjects
    self.encodings = encodings
    self.isCompound = isCompound
    self.hasManyValues = hasManyValues
    self.takesComparators = takesComparators
    self.isCovering = isCovering
    hasOrder = !hasManyValues
    self.count = count
    self.rank = rank
  }

  /// The ranks of an interval of the tier that follows a prefix of equal ones.
  func ranks(of interval: KeyInterval, after prefix: [KeyValue]) throws(ModelError) -> Range<Int> {
    let ends = interval.bounds(after: prefix, isCompound: isCompound)
    let start = try rank(ends.lower)
    return start..<max(start, try rank(ends.upper))
  }
}

/// Ranges of one index that contain the records that match a query.
package struct IndexRanges: Hashable, Sendable {
  package var index: String
  /// Ascending, and disjoint.
  package var ranges: [Range<Int>]
  /// The ranges of values, as a user types them.
  package var shown: String
  package var hasManyValues = false
  /// The number of leading tiers that have a single value throughout.
  package var fixedTiers = 0

  package var count: Int { ranges.reduce(0) { $0 + $1.count } }
}

extension Collection {
  /// The first elements as text, for a plan.
  package func shortText(_ text: (Element) -> String) -> String {
    prefix(8).map(text).joined(separator: ", ") + (count > 8 ? ", …" : "")
  }
}

extension [Range<Int>] {
  /// The ranges in order, with adjacent ones joined.
  var united: [Range<Int>] {
    var result: [Range<Int>] = []
    for range in sorted(by: { $0.lowerBound < $1.lowerBound }) where !range.isEmpty {
      if let last = result.last, last.upperBound >= range.lowerBound {
        result[result.count - 1] = last.lowerBound..<Swift.max(last.upperBound, range.upperBound)
      } else {
        result.append(range)
      }
    }
    return result
  }

  /// Returns the ranges that lie in both lists, each of which is ascending and disjoint. The cost is linear.
  func intersected(with other: [Range<Int>]) -> [Range<Int>] {
    var result: [Range<Int>] = []
    var (place, otherPlace) = (0, 0)
    while place < count, otherPlace < other.count {
      let (range, otherRange) = (self[place], other[otherPlace])
      let common = range.clamped(to: otherRange)
      if !common.isEmpty { result.append(common) }
      if range.upperBound < otherRange.upperBound { place += 1 } else { otherPlace += 1 }
    }
    return result
  }

  func complement(in count: Int) -> [Range<Int>] {
    var start = 0
    var result: [Range<Int>] = []
    for range in united {
      if start < range.lowerBound { result.append(start..<range.lowerBound) }
      start = range.upperBound
    }
    return start < count ? result + [start..<count] : result
  }
}
