/// The distribution of an index's entries over its values: exact counts, computed from ranks.
///
/// A histogram of `bins` bins takes a few searches per bin, whatever the number of entries; no record is read. Bins are runs of the index,
/// so that a range of bins is a range of the index: see `interval(of:)`.
package struct Histogram: Sendable, Hashable {
  /// How the bins are made.
  package enum Form: Hashable, Sendable {
    /// Equally wide, with round limits.
    case linear
    /// By preferred numbers that grow by about the same factor.
    case logarithmic
    /// By a calendar's units.
    case calendar(CalendarLimits.Unit)
    /// By the first character in which texts differ.
    case initials
    /// One bin per key, if there are few.
    case keys
    /// About as many entries in each; the entries of a key are never divided.
    case equalParts
  }

  /// The form that the user chooses.
  package enum Choice: String, Hashable, Sendable, CaseIterable { case automatic, linear, logarithmic, equalParts }

  package struct Bin: Hashable, Sendable {
    /// Its entries, as a run of the index.
    package var ranks: Range<Int>
    /// Its lower end: the limit in bins by value, otherwise the first key.
    package var lower: KeyValue
    /// The limit as it is labelled on an axis.
    package var label: String

    package var count: Int { ranks.count }
  }

  /// Entries without a place on the axis.
  package struct Aside: Hashable, Sendable {
    /// `null`, `≤ 0`, `nan`, `∞`, `−∞`.
    package var label: String
    package var ranks: Range<Int>
    package var interval: KeyInterval

    package var count: Int { ranks.count }
  }

  package internal(set) var form = Form.equalParts
  /// In ascending order of the values, also if the index is descending.
  package internal(set) var bins: [Bin] = []
  package internal(set) var asides: [Aside] = []
  /// The end of the last bin: a limit that is not in it, or the last key.
  package internal(set) var end: KeyValue?
  package internal(set) var endLabel = ""
  /// Whether `end` is a limit rather than a key.
  var endsWithLimit = false
  var isDescending: Bool
  /// All entries of the index.
  package internal(set) var count: Int

  /// The greatest number of entries in a bin.
  package var largest: Int { bins.map(\.count).max() ?? 0 }

  /// Returns the bin of an entry, or nil for one beside the axis.
  package func bin(ofRank rank: Int) -> Int? { bins.firstIndex { $0.ranks.contains(rank) } }

  /// Returns the range of the index that has exactly the entries of some bins; nil for no bins.
  package func interval(of range: Range<Int>) -> KeyInterval? {
    guard let first = range.first, let last = range.last, bins.indices.contains(first), bins.indices.contains(last)
    else { return nil }
    let lower = KeyInterval.Bound.including(bins[first].lower)
    var upper = KeyInterval.Bound.open
    if last + 1 < bins.count {
      upper = .excluding(bins[last + 1].lower)
    } else if let end {
      upper = endsWithLimit ? .excluding(end) : .including(end)
    }
    return isDescending ? KeyInterval(lower: upper, upper: lower) : KeyInterval(lower: lower, upper: upper)
  }

  /// Counts an index.
  ///
  /// - Parameters:
  ///   - bins: the maximum number of bins.
  ///   - goOn: called between searches; throws to end the work.
  package init(
    of index: any ReadableIndex, choice: Choice = .automatic, bins: Int,
    goOn: @escaping () throws(ModelError) -> Void = {}
  ) throws(ModelError) {
    isDescending = KeyShape(index.descriptor.encoding).isDescending
    count = try index.count
    guard count > 0, bins > 0 else { return }
    var counting = HistogramCounting(self, of: index, bins: min(bins, RoundNumbers.partLimit), goOn: goOn)
    try counting.setAside()
    if !counting.ranks.isEmpty { try counting.count(choice) }
    self = counting.histogram
  }
}
