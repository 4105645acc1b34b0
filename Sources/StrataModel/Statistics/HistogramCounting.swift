import StrataDocuments

struct HistogramCounting {
  private let index: any ReadableIndex
  private let shape: KeyShape
  private let wanted: Int
  /// Called between searches; throws to end the work.
  private let goOn: () throws(ModelError) -> Void
  /// The ranks whose values have a place on the axis.
  private(set) var ranks: Range<Int>
  private(set) var histogram: Histogram

  init(
    _ histogram: Histogram, of index: any ReadableIndex, bins: Int, goOn: @escaping () throws(ModelError) -> Void
  ) {
    self.histogram = histogram
    self.index = index
    self.goOn = goOn
    shape = KeyShape(index.descriptor.encoding)
    wanted = bins
    ranks = 0..<histogram.count
  }

  // MARK: Entries without a place on the axis

  mutating func setAside() throws(ModelError) {
    guard shape.isOrdered else { return }
    if shape.hasNull { try setAside(.null, "null") }
    switch shape.encoding {
    case .double, .float, .date:
      func value(_ number: Double) -> KeyValue { shape.encoding == .date ? .date(number) : .double(number) }
      try setAside(value(-.infinity), "−∞")
      try setAside(value(.nan), "nan")
      try setAside(value(.infinity), "∞")
    case .decimal: try setAside(.decimal("nan"), "nan")
    default: break
    }
  }

  private mutating func setAside(_ value: KeyValue, _ label: String) throws(ModelError) {
    try goOn()
    let whole = shape.whole(value)
    // Not every encoding of dates has these values.
    guard (try? index.descriptor.encoding.bound(before: whole)) != nil else { return }
    let found = try index.rank(of: .before(whole))..<index.rank(of: .after(whole))
    setAside(found, label, KeyInterval(lower: .including(whole), upper: .including(whole)))
  }

  private mutating func setAside(_ found: Range<Int>, _ label: String, _ interval: KeyInterval) {
    guard !found.isEmpty, !ranks.isEmpty else { return }
    if found.lowerBound == ranks.lowerBound {
      ranks = min(found.upperBound, ranks.upperBound)..<ranks.upperBound
    } else if found.upperBound == ranks.upperBound {
      ranks = ranks.lowerBound..<max(found.lowerBound, ranks.lowerBound)
    } else {
      return
    }
    histogram.asides.append(Histogram.Aside(label: label, ranks: found, interval: interval))
  }

  // MARK: Entries on the axis

  mutating func count(_ choice: Histogram.Choice) throws(ModelError) {
    if choice != .equalParts, shape.isOrdered {
      if shape.isNumber, try countNumbers(choice) { return }
      if shape.encoding == .date, try countDates() { return }
      if shape.encoding == .uuid, try countIdentifiers() { return }
      if shape.encoding == .string, try countDateTexts() { return }
      if !shape.isNumber, try countKeys() { return }
      if shape.encoding == .string, try countInitials() { return }
    }
    try countEqualParts()
  }

  private func part(at rank: Int) throws(ModelError) -> KeyValue? {
    try index.entries(at: rank..<rank + 1).first.map { shape.part($0.value) }
  }

  private var least: Int { shape.isDescending ? ranks.upperBound - 1 : ranks.lowerBound }
  private var greatest: Int { shape.isDescending ? ranks.lowerBound : ranks.upperBound - 1 }

  private mutating func countNumbers(_ choice: Histogram.Choice) throws(ModelError) -> Bool {
    guard let first = try part(at: least).flatMap(shape.number), let last = try part(at: greatest).flatMap(shape.number)
    else { return false }
    var isLogarithmic = choice == .logarithmic
    if choice == .automatic, first >= 0,
      let middle = try part(at: ranks.lowerBound + ranks.count / 2).flatMap(shape.number)
    {
      isLogarithmic = middle > 0 && last - middle > 10 * (middle - first)
    }
    if isLogarithmic, let positive = try leastAboveZero() {
      let limits = RoundNumbers.logarithmic(from: positive, to: last, parts: wanted, isWhole: shape.isWhole)
      return try count(limits, .logarithmic)
    }
    let limits = RoundNumbers.linear(from: first, to: last, parts: wanted, isWhole: shape.isWhole)
    return try count(limits, .linear)
  }

  /// Sets aside the values that have no logarithm.
  private mutating func leastAboveZero() throws(ModelError) -> Double? {
    guard let zero = shape.value(RoundNumber(coefficient: 0, exponent: 0)).map(shape.whole) else { return nil }
    let below: Range<Int>
    if shape.isDescending {
      below = max(ranks.lowerBound, try index.rank(of: .before(zero)))..<ranks.upperBound
    } else {
      below = ranks.lowerBound..<min(ranks.upperBound, max(ranks.lowerBound, try index.rank(of: .after(zero))))
    }
    guard below.count < ranks.count else { return nil }
    if !below.isEmpty, let lowest = try part(at: least).map(shape.whole) {
      let (far, near) = (KeyInterval.Bound.including(lowest), KeyInterval.Bound.including(zero))
      setAside(
        below, "≤ 0",
        shape.isDescending ? KeyInterval(lower: near, upper: far) : KeyInterval(lower: far, upper: near))
    }
    return try part(at: least).flatMap(shape.number)
  }

  private mutating func count(_ limits: [RoundNumber], _ form: Histogram.Form) throws(ModelError) -> Bool {
    let values = limits.map { ($0.text, shape.value($0)) }
    // A limit beyond the last number of its type is not a value; the bin that ends there ends with the index.
    var places = values.compactMap { text, value in value.map { (text, $0) } }
    guard places.count >= values.count - 2, values.count >= 2, places.count >= 2 || values.last?.1 == nil else {
      return false
    }
    if values.first?.1 == nil {
      guard let lowest = try part(at: least) else { return false }
      places.insert((values[0].0, lowest), at: 0)
    }
    let hasEnd = values.last?.1 != nil
    try count(places: places, endLabel: hasEnd ? nil : values.last?.0, form)
    return true
  }

  private mutating func countDates() throws(ModelError) -> Bool {
    guard let first = try part(at: least).flatMap(shape.number),
      let last = try part(at: greatest).flatMap(shape.number),
      let calendar = CalendarLimits(from: first, to: last, parts: wanted)
    else { return false }
    let places = calendar.limits.map { limit in
      (calendar.text(of: limit), KeyValue.date(Double(limit - DateText.referenceSeconds)))
    }
    try count(places: places, endLabel: nil, .calendar(calendar.unit))
    return true
  }

  /// Counts texts that are dates of one spelling and zone, whose order is that of the times; other texts are counted beside the axis.
  private mutating func countDateTexts() throws(ModelError) -> Bool {
    guard !shape.isDescending, let lowest = try part(at: least), let highest = try part(at: greatest) else {
      return false
    }
    let (zero, behindNine) = (KeyValue.string("0"), KeyValue.string(":"))
    let lower = max(ranks.lowerBound, try index.rank(of: .before(shape.whole(zero))))
    let upper = min(ranks.upperBound, try index.rank(of: .before(shape.whole(behindNine))))
    guard upper - lower > ranks.count / 2 else { return false }
    var found: [CivilText] = []
    for place in 0...8 {
      try goOn()
      guard case .string(let text)? = try part(at: lower + (upper - lower - 1) * place / 8), let date = CivilText(text),
        found.isEmpty || found[0].spelling == date.spelling
      else { return false }
      found.append(date)
    }
    guard let calendar = CalendarLimits(from: found[0].seconds, to: found[8].seconds, parts: wanted) else {
      return false
    }
    setAside(
      ranks.lowerBound..<lower, "text",
      KeyInterval(lower: .including(shape.whole(lowest)), upper: .excluding(shape.whole(zero))))
    setAside(
      upper..<ranks.upperBound, "text",
      KeyInterval(lower: .including(shape.whole(behindNine)), upper: .including(shape.whole(highest))))
    let places = calendar.limits.map { limit in
      (calendar.text(of: limit), KeyValue.string(found[0].text(of: limit, calendar.unit)))
    }
    try count(places: places, endLabel: nil, .calendar(calendar.unit))
    return true
  }

  /// Counts identifiers by their first bits, in powers of two.
  private mutating func countIdentifiers() throws(ModelError) -> Bool {
    guard case .uuid(let first)? = try part(at: least), case .uuid(let last)? = try part(at: greatest),
      let shift = (0..<64).first(where: { Int(clamping: (last.high >> $0) - (first.high >> $0)) < wanted })
    else { return false }
    let places = (first.high >> shift...last.high >> shift).map { place in
      let limit = UUIDBytes(high: place << shift, low: 0)
      return (String(limit.description.prefix(8)), KeyValue.uuid(limit))
    }
    try count(places: places, endLabel: String(last.description.prefix(8)), .linear)
    return true
  }

  /// Counts bins between values. Without `endLabel` the last value is the end of the last bin, otherwise its beginning.
  private mutating func count(
    places: [(label: String, value: KeyValue)], endLabel: String?, _ form: Histogram.Form
  ) throws(ModelError) {
    var borders: [Int] = []
    for (position, place) in places.enumerated() {
      try goOn()
      let border: Int
      if position == 0 {
        border = shape.isDescending ? ranks.upperBound : ranks.lowerBound
      } else if endLabel == nil, position == places.count - 1 {
        border = shape.isDescending ? ranks.lowerBound : ranks.upperBound
      } else {
        let whole = shape.whole(place.value)
        let found = try index.rank(of: shape.isDescending ? .after(whole) : .before(whole))
        border = min(max(found, ranks.lowerBound), ranks.upperBound)
      }
      borders.append(border)
    }
    if endLabel != nil { borders.append(shape.isDescending ? ranks.lowerBound : ranks.upperBound) }
    histogram.form = form
    histogram.bins = zip(zip(borders, borders.dropFirst()), places).map { borders, place in
      let (one, other) = borders
      return Histogram.Bin(
        ranks: min(one, other)..<max(one, other), lower: shape.whole(place.value), label: place.label)
    }
    histogram.endsWithLimit = endLabel == nil
    histogram.endLabel = endLabel ?? places.last?.label ?? ""
    histogram.end =
      try endLabel == nil ? places.last.map { shape.whole($0.value) } : part(at: greatest).map(shape.whole)
  }

  /// Counts one bin per key. Returns false if there are more keys than bins.
  private mutating func countKeys() throws(ModelError) -> Bool {
    var starts: [(Int, KeyValue)] = []
    var rank = ranks.lowerBound
    while rank < ranks.upperBound {
      guard starts.count < wanted, let value = try part(at: rank) else { return false }
      try goOn()
      starts.append((rank, value))
      rank = max(rank + 1, try index.rank(of: .after(shape.whole(value))))
    }
    try fill(.keys, starts)
    return true
  }

  /// Counts texts by the character after their common prefix. Returns false if there are more such characters than bins.
  private mutating func countInitials() throws(ModelError) -> Bool {
    guard case .string(let first)? = try part(at: ranks.lowerBound),
      case .string(let last)? = try part(at: ranks.upperBound - 1)
    else { return false }
    let common = zip(first.unicodeScalars, last.unicodeScalars).prefix { $0 == $1 }.map(\.0)
    var starts: [(Int, KeyValue)] = []
    var rank = ranks.lowerBound
    while rank < ranks.upperBound {
      guard starts.count < wanted, case .string(let text)? = try part(at: rank) else { return false }
      try goOn()
      var prefix = String.UnicodeScalarView(common)
      let next: Int
      if let scalar = text.unicodeScalars.dropFirst(common.count).first {
        prefix.append(scalar)
        next = try end(of: prefix)
      } else {
        next = try index.rank(of: .after(shape.whole(.string(text))))
      }
      // If combining characters move a limit, the run does not match its initial.
      guard next > rank, case .string(let latest)? = try part(at: min(next, ranks.upperBound) - 1),
        latest.unicodeScalars.starts(with: prefix)
      else { return false }
      starts.append((rank, .string(String(prefix))))
      rank = next
    }
    try fill(.initials, starts)
    return true
  }

  /// Returns the rank after the texts with a prefix.
  private func end(of prefix: String.UnicodeScalarView) throws(ModelError) -> Int {
    guard let last = prefix.last else { return ranks.upperBound }
    let following = last.value == 0xD7FF ? 0xE000 : last.value + 1
    guard let scalar = Unicode.Scalar(following) else { return ranks.upperBound }
    var limit = prefix
    limit.removeLast()
    if shape.isDescending {
      // After them come the texts that are less than the prefix itself.
      return try index.rank(of: .after(shape.whole(.string(String(prefix)))))
    }
    limit.append(scalar)
    return min(ranks.upperBound, try index.rank(of: .before(shape.whole(.string(String(limit))))))
  }

  private mutating func countEqualParts() throws(ModelError) {
    var parts = min(wanted, ranks.count)
    while true {
      let starts = try equalParts(parts)
      if starts.count <= wanted || parts == 1 { return try fill(.equalParts, starts) }
      parts = max(1, parts * 2 / 3)
    }
  }

  private func equalParts(_ parts: Int) throws(ModelError) -> [(Int, KeyValue)] {
    var starts: [(Int, KeyValue)] = []
    var next = ranks.lowerBound
    for place in 0..<parts {
      let rank = max(next, ranks.lowerBound + ranks.count * place / parts)
      guard rank < ranks.upperBound else { break }
      try goOn()
      guard let value = try part(at: rank) else { break }
      guard shape.isOrdered else {
        starts.append((rank, value))
        next = rank + 1
        continue
      }
      let start = max(ranks.lowerBound, try index.rank(of: .before(shape.whole(value))))
      if starts.last.map({ $0.0 < start }) ?? true { starts.append((starts.isEmpty ? ranks.lowerBound : start, value)) }
      // A part ends with a key that fills it.
      let end = max(rank + 1, try index.rank(of: .after(shape.whole(value))))
      next = end
      if end - start >= ranks.count / parts, end < ranks.upperBound, let following = try part(at: end) {
        starts.append((end, following))
      }
    }
    return starts
  }

  /// Makes bins that begin at ranks with the keys there, in the order of the index.
  private mutating func fill(_ form: Histogram.Form, _ starts: [(rank: Int, value: KeyValue)]) throws(ModelError) {
    let ends = starts.dropFirst().map(\.rank) + [ranks.upperBound]
    histogram.form = form
    histogram.bins = zip(starts, ends).map { start, end in
      Histogram.Bin(
        ranks: start.rank..<end, lower: shape.whole(start.value), label: Self.label(of: start.value))
    }
    histogram.end = try part(at: ranks.upperBound - 1).map(shape.whole)
    histogram.endLabel = histogram.end.map { Self.label(of: shape.part($0)) } ?? ""
    histogram.endsWithLimit = false
    // In a descending index, the key at the start of a bin is the greatest value there.
    if shape.isDescending { try turn() }
  }

  /// Puts bins that were counted from the greatest value down into ascending order; each then begins with its least key.
  private mutating func turn() throws(ModelError) {
    let greatest = histogram.bins.first?.lower
    var turned: [Histogram.Bin] = []
    for bin in histogram.bins.reversed() {
      guard let lowest = try part(at: bin.ranks.upperBound - 1) else { continue }
      turned.append(
        Histogram.Bin(
          ranks: bin.ranks, lower: shape.whole(lowest),
          label: histogram.form == .initials ? bin.label : Self.label(of: lowest)))
    }
    histogram.bins = turned
    histogram.end = try part(at: ranks.lowerBound).map(shape.whole) ?? greatest
    histogram.endLabel = histogram.end.map { Self.label(of: shape.part($0)) } ?? ""
  }

  private static func label(of value: KeyValue) -> String {
    if case .string(let text) = value { text } else { value.description }
  }
}
