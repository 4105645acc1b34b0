import StrataDocuments
@testable import StrataModel
import Testing

/// Histograms are counted by searches; here each figure is counted again with a loop over the values.
@Suite struct HistogramTests {
  private static func integers(_ count: Int, seed: UInt64 = 7) -> [Int64] {
    var state = seed
    return (0..<count).map { place in
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      let spread = Int64(truncatingIfNeeded: state >> 40)
      return place.isMultiple(of: 3) ? spread % 1_000 : spread
    }
  }

  /// Values as numbers, in the order of the axis; nil for what has no place on it.
  private static func number(_ value: KeyValue) -> Double? {
    switch value {
    case .integer(let number): Double(number)
    case .unsigned(let number): Double(number)
    case .double(let number): number.isFinite ? number : nil
    case .decimal(let text): Double(text).flatMap { $0.isFinite ? $0 : nil }
    case .date(let seconds): seconds
    case .duration(let seconds, let attoseconds): Double(seconds) + Double(attoseconds) / 1e18
    case .compound(let tiers): tiers.first.flatMap(number)
    default: nil
    }
  }

  private static let numbers: [(KeyEncoding, [KeyValue])] = whole + fractions + wrapped + few

  private static let whole: [(KeyEncoding, [KeyValue])] = [
    (.integer, integers(3_000).map { .integer($0 - 500_000) }),
    (.unsigned, integers(900).map { .integer($0) } + [.unsigned(.max)]),
    (.integer, [.integer(.min), .integer(.max), .integer(0)]),
  ]

  private static let fractions: [(KeyEncoding, [KeyValue])] = [
    (.double, integers(2_000).map { .double(Double($0) / 977 - 3_000) } + [.double(.nan), .double(.infinity)]),
    (.float, integers(500).map { .double(Double(Float(Double($0) / 64))) }),
    (.decimal, integers(500).map { .decimal(RoundNumber(coefficient: Int128($0), exponent: -4).text) }),
    (.duration, integers(500).map { .duration(seconds: $0 / 1_000, attoseconds: $0 % 1_000 * 1_000_000_000_000_000) }),
    (.date, integers(700).map { .date(Double($0) * 40) }),
    (.date, integers(700).map { .date(Double($0 % 90_000)) }),
  ]

  private static let wrapped: [(KeyEncoding, [KeyValue])] = [
    (.optional(.integer), integers(400).map { .integer($0) } + Array(repeating: .null, count: 31)),
    (.descending(.integer), integers(1_200).map { .integer($0 - 9_000) }),
    (.descending(.optional(.double)), integers(300).map { .double(Double($0)) } + [.null, .null]),
    (.compound([.integer, .string]), integers(600).map { .compound([.integer($0), .string("a")]) }),
  ]

  private static let few: [(KeyEncoding, [KeyValue])] = [
    (.integer, [.integer(5)]), (.double, [.double(-0.25)]), (.integer, []),
    (.integer, [.integer(1_000_000_000_000_000_000), .integer(1_000_000_000_000_000_003)]),
  ]

  @Test("numbers and dates are counted in each bin as a loop counts them", arguments: 0..<17, [1, 2, 7, 40, 160])
  func countsNumbers(place: Int, bins: Int) throws {
    let (encoding, values) = Self.numbers[place]
    let index = try ValueIndex(encoding, values)
    for choice in Histogram.Choice.allCases {
      let histogram = try Histogram(of: index, choice: choice, bins: bins)
      #expect(histogram.bins.count <= bins)
      #expect(histogram.bins.reduce(0) { $0 + $1.count } + histogram.asides.reduce(0) { $0 + $1.count } == values.count)
      let isByValue = histogram.form != .equalParts && histogram.form != .keys
      let asideNumbers = histogram.asides.contains { $0.label == "≤ 0" }
      for (position, bin) in histogram.bins.enumerated() {
        let interval = try #require(histogram.interval(of: position..<position + 1))
        #expect(try index.rank(of: interval.start)..<index.rank(of: interval.end) == bin.ranks)
        guard isByValue, let lower = Self.number(bin.lower) else { continue }
        let next = position + 1 < histogram.bins.count ? histogram.bins[position + 1].lower : nil
        let upper = next.flatMap(Self.number) ?? .infinity
        #expect(lower < upper)
        let expected = values.count { value in
          guard let number = Self.number(value), !asideNumbers || number > 0 else { return false }
          return (position == 0 || number >= lower) && number < upper
        }
        #expect(bin.count == expected, "\(encoding) \(choice) \(bin.label)")
        if encoding == .integer { #expect(lower == lower.rounded() && upper - lower >= 1) }
      }
      #expect(histogram.interval(of: 0..<0) == nil)
    }
  }

  @Test("what has no place on the axis is counted beside it")
  func asides() throws {
    let values: [KeyValue] =
      [.null, .null] + [-5, 0, 0, 1, 10, 100, 100_000].map { .double($0) }
      + [.double(.nan), .double(.infinity), .double(-.infinity)]
    let index = try ValueIndex(.optional(.double), values)
    let histogram = try Histogram(of: index, choice: .logarithmic, bins: 20)
    let counts = Dictionary(uniqueKeysWithValues: histogram.asides.map { ($0.label, $0.count) })
    #expect(counts == ["null": 2, "−∞": 1, "nan": 1, "∞": 1, "≤ 0": 3])
    for aside in histogram.asides {
      #expect(try index.rank(of: aside.interval.start)..<index.rank(of: aside.interval.end) == aside.ranks)
    }
    #expect(histogram.bins.reduce(0) { $0 + $1.count } == 4)
  }

  @Test("texts are counted by the character after what they all begin with")
  func initials() throws {
    let texts = (0..<500).map { ["Asia/", "Asia/Ä", "Asia/b", "Asia/香"][$0 % 4] + "\($0)" } + ["Asia/"]
    for encoding in [KeyEncoding.string, .descending(.string), .compound([.string, .integer])] {
      let values: [KeyValue] = texts.map {
        encoding == .compound([.string, .integer]) ? .compound([.string($0), .integer(1)]) : .string($0)
      }
      let index = try ValueIndex(encoding, values)
      let histogram = try Histogram(of: index, bins: 30)
      #expect(histogram.form == .initials)
      for (position, bin) in histogram.bins.enumerated() {
        let expected = texts.count { bin.label == "Asia/" ? $0 == "Asia/" : $0.hasPrefix(bin.label) }
        #expect(bin.count == expected, "\(encoding) \(bin.label)")
        let interval = try #require(histogram.interval(of: position..<position + 1))
        #expect(try index.rank(of: interval.start)..<index.rank(of: interval.end) == bin.ranks)
      }
      #expect(histogram.bins.map(\.label) == histogram.bins.map(\.label).sorted())
      #expect(histogram.bins.reduce(0) { $0 + $1.count } == texts.count)
    }
  }

  @Test("few keys have a bin each, of any type")
  func keys() throws {
    let cases: [(KeyEncoding, [KeyValue])] = [
      (.bool, (0..<30).map { .bool($0 % 3 == 0) }),
      (.string, (0..<90).map { .string(["CH", "FR", "IR"][$0 % 7 % 3]) }),
      (.data, (0..<20).map { .data([UInt8($0 % 4)]) }),
    ]
    for (encoding, values) in cases {
      let histogram = try Histogram(of: ValueIndex(encoding, values), bins: 12)
      #expect(histogram.form == .keys)
      #expect(Set(histogram.bins.map(\.lower)) == Set(values))
      for bin in histogram.bins { #expect(bin.count == values.count { $0 == bin.lower }) }
    }
  }

  @Test("equal parts never cut a key, and a key with many entries stands alone")
  func equalParts() throws {
    let values: [KeyValue] = (0..<400).map { .string("k\($0)") } + Array(repeating: .string("k2000"), count: 300)
    let index = try ValueIndex(.string, values)
    let histogram = try Histogram(of: index, choice: .equalParts, bins: 20)
    #expect(histogram.bins.count <= 20 && histogram.bins.count > 8)
    #expect(histogram.bins.contains { $0.lower == .string("k2000") && $0.count == 300 })
    for bin in histogram.bins {
      let first = index.entries[bin.ranks.lowerBound].value
      #expect(bin.lower == first)
      if bin.ranks.lowerBound > 0 { #expect(index.entries[bin.ranks.lowerBound - 1].value != first) }
    }
    #expect(histogram.bins.reduce(0) { $0 + $1.count } == 700)
  }

  @Test("identifiers are counted by their first bits")
  func identifiers() throws {
    let values = Self.integers(500).map {
      KeyValue.uuid(UUIDBytes(high: UInt64(bitPattern: $0) &* 0x9E37_79B9_7F4A_7C15, low: 1))
    }
    let index = try ValueIndex(.uuid, values)
    let histogram = try Histogram(of: index, bins: 32)
    #expect((16...32).contains(histogram.bins.count))
    for (position, bin) in histogram.bins.enumerated() {
      guard case .uuid(let lower) = bin.lower else {
        Issue.record("\(bin.lower)")
        return
      }
      var upper: UUIDBytes?
      if position + 1 < histogram.bins.count, case .uuid(let next) = histogram.bins[position + 1].lower { upper = next }
      let expected = values.count { value in
        guard case .uuid(let bytes) = value else { return false }
        return bytes >= lower && (upper.map { bytes < $0 } ?? true)
      }
      #expect(bin.count == expected)
    }
  }

  @Test("the cost is that of the bins, not of the entries")
  func cost() throws {
    let index = try ValueIndex(.integer, Self.integers(5_000).map { .integer($0) })
    for choice in Histogram.Choice.allCases {
      let before = index.searches
      _ = try Histogram(of: index, choice: choice, bins: 60)
      #expect(index.searches - before < 60 * 5)
    }
  }

  @Test("round limits are round, and as many as there is room for")
  func roundLimits() {
    func linear(_ least: Double, _ greatest: Double, _ parts: Int, whole: Bool) -> String {
      let limits = RoundNumbers.linear(from: least, to: greatest, parts: parts, isWhole: whole)
      return limits.map(\.text).joined(separator: " ")
    }
    #expect(linear(3, 97, 10, whole: true) == "0 10 20 30 40 50 60 70 80 90 100")
    #expect(linear(0, 1, 5, whole: false) == "0 0.25 0.5 0.75 1 1.25")
    #expect(linear(1, 3, 60, whole: true) == "1 2 3 4")
    let limits = RoundNumbers.logarithmic(from: 100, to: 9_000, parts: 6, isWhole: true)
    #expect(limits.map(\.text).joined(separator: " ") == "100 200 500 1000 2000 5000 10000")
    #expect(RoundNumbers.linear(from: 1, to: .infinity, parts: 6, isWhole: true).isEmpty)
    #expect(!RoundNumbers.linear(from: -1e308, to: 1e308, parts: 6, isWhole: false).isEmpty)
    #expect(!RoundNumbers.linear(from: 0, to: .leastNonzeroMagnitude * 20, parts: 100, isWhole: false).isEmpty)
    #expect(!RoundNumbers.logarithmic(from: .leastNonzeroMagnitude, to: 1e308, parts: 6, isWhole: false).isEmpty)
  }

  private static let spans: [(Double, Int, CalendarLimits.Unit)] = [
    (90, 12, .second), (432_000, 10, .day), (3_456_000, 50, .day), (34_560_000, 20, .month),
    (777_600_000, 30, .year),
  ]

  @Test("dates are cut where the calendar has a limit", arguments: spans)
  func calendar(span: Double, parts: Int, unit: CalendarLimits.Unit) throws {
    let start = 1_700_000_000.0
    let calendar = try #require(CalendarLimits(from: start, to: start + span, parts: parts))
    #expect(calendar.unit == unit)
    let count = calendar.limits.count - 1
    #expect(count <= parts)
    #expect(count >= parts / 6)
    #expect(Double(calendar.limits[0]) <= start)
    #expect(Double(calendar.limits[1]) > start)
    let last = Double(try #require(calendar.limits.last))
    #expect(last > start + span)
    for limit in calendar.limits {
      let civil = CivilTime(secondsSince1970: limit)
      if unit == .month || unit == .year { #expect(civil.day == 1 && civil.hour == 0) }
      if unit == .year { #expect(civil.month == 1) }
      if unit == .day { #expect(civil.hour == 0 && civil.minute == 0 && civil.second == 0) }
    }
  }
}
