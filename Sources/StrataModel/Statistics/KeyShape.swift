import StrataDocuments

/// The shape of an index's values for a chart: the part that is counted, and the direction of the index.
struct KeyShape {
  /// Without optional, descending and further tiers.
  let encoding: KeyEncoding
  /// Whether large values come first.
  let isDescending: Bool
  let hasNull: Bool
  /// Whether the value is the first of several in a key.
  let isTier: Bool
  /// Whether the rank of a value can be searched.
  let isOrdered: Bool

  init(_ encoding: KeyEncoding) {
    var (inner, isDescending, hasNull, isTier) = (encoding, false, false, false)
    unwrapping: while true {
      switch inner {
      case .optional(let value): (inner, hasNull) = (value, true)
      case .descending(let value): (inner, isDescending) = (value, !isDescending)
      case .compound(let tiers) where !isTier && !tiers.isEmpty: (inner, isTier) = (tiers[0], true)
      default: break unwrapping
      }
    }
    self.encoding = inner
    self.isDescending = isDescending
    self.hasNull = hasNull
    self.isTier = isTier
    isOrdered = encoding.isByteOrdered
  }

  /// Returns the part of an entry's value that is counted.
  func part(_ value: KeyValue) -> KeyValue {
    if isTier, case .compound(let tiers) = value, let first = tiers.first { first } else { value }
  }

  /// Returns a value of the index that begins with a part.
  func whole(_ part: KeyValue) -> KeyValue { isTier ? .compound([part]) : part }

  /// Returns a value's position on a scale of numbers, or nil if it is not a number. Dates are seconds since 1970.
  func number(_ value: KeyValue) -> Double? {
    switch part(value) {
    case .integer(let number): Double(number)
    case .unsigned(let number): Double(number)
    case .double(let number): number
    case .decimal(let text): Double(text)
    case .date(let seconds): seconds + Double(DateText.referenceSeconds)
    case .duration(let seconds, let attoseconds): Double(seconds) + Double(attoseconds) / 1e18
    default: nil
    }
  }

  var isWhole: Bool { encoding == .integer || encoding == .unsigned }

  var isNumber: Bool {
    switch encoding {
    case .integer, .unsigned, .double, .float, .decimal, .duration: true
    default: false
    }
  }

  func value(_ number: RoundNumber) -> KeyValue? {
    let text = encoding == .duration ? number.text + " s" : number.text
    return try? encoding.parse(text)
  }
}
