package import StrataDocuments

/// The count, the ends and the sum of numbers and dates. Whole and decimal numbers of up to 38 digits are never converted to doubles.
package struct NumberSummary: Sendable {
  package var count: Int { total.count }
  package private(set) var least: Document?
  package private(set) var greatest: Document?
  private var (leastDouble, greatestDouble) = (Double.infinity, -Double.infinity)
  private var total = DecimalSum()

  package init() {}

  /// Takes a number or a date into account, `times` times. Other values, and values that are not finite, are ignored.
  package mutating func add(_ value: Document, times: Int = 1) {
    switch value {
    case .number(let number):
      let nearest = number.double
      add(value, nearest, ExactNumber(number), times: times)
    case .date(let seconds): add(value, seconds, ExactNumber(NumberText(seconds)), times: times)
    default: break
    }
  }

  mutating func add(_ value: Document, _ nearest: Double, _ exact: ExactNumber?, times: Int = 1) {
    guard times > 0 else { return }
    if !nearest.isFinite {
      // A number that is written with digits is finite, also beyond the range of doubles.
      guard case .number(let number) = value, number.isFinite else { return }
    }
    if count == 0 { (least, leastDouble, greatest, greatestDouble) = (value, nearest, value, nearest) }
    total.add(exact, value, times: times)
    if precedes(value, nearest, least, leastDouble) { (least, leastDouble) = (value, nearest) }
    if precedes(greatest, greatestDouble, value, nearest) { (greatest, greatestDouble) = (value, nearest) }
  }

  /// Whether a number is less than another; the digits decide if the nearest doubles are equal.
  private func precedes(_ left: Document?, _ leftDouble: Double, _ right: Document?, _ rightDouble: Double) -> Bool {
    if leftDouble != rightDouble { return leftDouble < rightDouble }
    guard case .number(let one)? = left, case .number(let other)? = right, one.text != other.text,
      one.text.utf8.count > 15 || other.text.utf8.count > 15 || leftDouble.isInfinite,
      let one = DecimalDigits(one.text), let other = DecimalDigits(other.text)
    else { return false }
    return one < other
  }

  /// The sum; nil without numbers.
  package var sum: NumberText? { total.sum }
  /// The mean with all of its digits, or rounded to 17 and at least six after the decimal point; nil without numbers.
  package var mean: NumberText? { total.mean }
  /// Whether sum and mean are those of rounded numbers.
  package var isRounded: Bool { total.isRounded }
}

/// A decimal number of at most 38 digits: `coefficient × 10^scale`. As read, the last digit is not zero, so equal numbers are equal.
struct ExactNumber: Hashable {
  var coefficient: Int128
  var scale: Int

  /// Reads a number. Returns nil if it has more digits or is not finite.
  init?(_ number: NumberText) {
    var text = number.text
    guard let parts = text.withUTF8(Self.parts) else { return nil }
    self = parts
  }

  fileprivate init(coefficient: Int128, scale: Int) {
    self.coefficient = coefficient
    self.scale = coefficient == 0 ? 0 : scale
  }

  private static func parts(_ bytes: UnsafeBufferPointer<UInt8>) -> ExactNumber? {
    var (coefficient, zeros, digits, scale) = (Int128(0), 0, 0, 0)
    var (isNegative, hasPoint) = (false, false)
    for (place, byte) in bytes.enumerated() {
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"):
        if hasPoint { scale -= 1 }
        if byte == UInt8(ascii: "0") {
          if digits > 0 { zeros += 1 }
          continue
        }
        digits += zeros + 1
        guard digits <= 38 else { return nil }
        coefficient = coefficient * powerOfTen(zeros + 1) + Int128(byte - UInt8(ascii: "0"))
        zeros = 0
      case UInt8(ascii: "."): hasPoint = true
      case UInt8(ascii: "-") where place == 0: isNegative = true
      case UInt8(ascii: "e"), UInt8(ascii: "E"):
        let rest = String(decoding: bytes[(place + 1)...], as: UTF8.self)
        guard rest.utf8.count < 10, let exponent = Int(rest) else { return nil }
        return ExactNumber(coefficient: isNegative ? -coefficient : coefficient, scale: scale + zeros + exponent)
      default: return nil
      }
    }
    return ExactNumber(coefficient: isNegative ? -coefficient : coefficient, scale: scale + zeros)
  }

  /// From 1 to 10^38, which 128 bits hold.
  private static let powers = (0..<38).reduce(into: [Int128(1)]) { powers, place in powers.append(powers[place] * 10) }

  static func powerOfTen(_ exponent: Int) -> Int128 { powers[exponent] }

  /// Returns the coefficient for a scale that is not greater, or nil if it does not fit.
  private func coefficient(at other: Int) -> Int128? {
    guard coefficient != 0, other != scale else { return coefficient }
    guard scale - other <= 38 else { return nil }
    let (product, overflow) = coefficient.multipliedReportingOverflow(by: Self.powerOfTen(scale - other))
    return overflow ? nil : product
  }

  /// The number as an integer, if it is one that fits into 128 bits.
  var whole: Int128? { scale < 0 ? nil : coefficient(at: 0) }

  /// Returns the sum with a number taken `times` times, or nil if it has too many digits.
  func adding(_ number: ExactNumber, times: Int) -> ExactNumber? {
    let scale = coefficient == 0 ? number.scale : number.coefficient == 0 ? scale : min(scale, number.scale)
    guard let one = coefficient(at: scale), let other = number.coefficient(at: scale) else { return nil }
    let (product, isTooLarge) = other.multipliedReportingOverflow(by: Int128(times))
    let (sum, overflow) = one.addingReportingOverflow(product)
    return isTooLarge || overflow ? nil : ExactNumber(coefficient: sum, scale: scale)
  }

  /// Reads a number of any length, rounded down to 36 digits.
  fileprivate init?(shortening value: Document) {
    guard case .number(let number) = value, let all = DecimalDigits(number.text) else { return nil }
    let digits = all.digits.prefix(36)
    let coefficient = digits.reduce(Int128(0)) { $0 * 10 + Int128($1) }
    self.init(coefficient: all.isNegative ? -coefficient : coefficient, scale: all.exponent - digits.count)
  }

  /// The exponent of the first digit.
  private var exponent: Int {
    coefficient == 0 ? .min / 2 : scale + (Self.powers.firstIndex { $0.magnitude > coefficient.magnitude } ?? 39)
  }

  /// Returns the coefficient for a scale, rounded if that is greater.
  private func rounded(at other: Int) -> Int128 {
    guard other > scale else { return coefficient(at: other) ?? 0 }
    guard other - scale <= 38 else { return 0 }
    let unit = Self.powerOfTen(other - scale)
    let (quotient, rest) = coefficient.quotientAndRemainder(dividingBy: unit)
    return rest.magnitude >= unit.magnitude - rest.magnitude ? quotient + coefficient.signum() : quotient
  }

  /// Returns the number with at most `count` digits.
  func shortened(to count: Int) -> ExactNumber {
    let scale = max(scale, exponent - count)
    return ExactNumber(coefficient: rounded(at: scale), scale: scale)
  }

  /// Returns the sum with a number taken `times` times, rounded to 36 digits.
  func addingRounded(_ number: ExactNumber, times: Int) -> ExactNumber {
    let one = number.shortened(to: 37 - String(times).utf8.count)
    let many = ExactNumber(coefficient: one.coefficient * Int128(times), scale: one.scale).shortened(to: 36)
    let scale = max(min(self.scale, many.scale), max(exponent, many.exponent) - 36)
    return ExactNumber(coefficient: rounded(at: scale) + many.rounded(at: scale), scale: scale)
  }

  /// Returns the number divided by `count`: with all whole digits, and six decimal places or as many as make 17 digits.
  func quotient(by count: Int) -> ExactNumber {
    let divisor = UInt128(count)
    let dividend = scale > 0 ? (coefficient(at: 0) ?? coefficient) : coefficient
    var place = scale > 0 && coefficient(at: 0) != nil ? 0 : scale
    var (quotient, rest) = dividend.magnitude.quotientAndRemainder(dividingBy: divisor)
    while rest > 0, place > -6 || quotient < 10_000_000_000_000_000, quotient < UInt128(1) << 100 {
      let digit = (rest * 10).quotientAndRemainder(dividingBy: divisor)
      (quotient, rest, place) = (quotient * 10 + digit.quotient, digit.remainder, place - 1)
    }
    if rest * 2 >= divisor { quotient += 1 }
    return ExactNumber(coefficient: Int128(quotient) * (coefficient < 0 ? -1 : 1), scale: place)
  }

  var text: NumberText {
    let digits = String(coefficient.magnitude).utf8.map { $0 - UInt8(ascii: "0") }
    return NumberText(
      unchecked: DecimalDigits(isNegative: coefficient < 0, coefficient: digits, scale: scale).description)
  }
}

/// The count and the sum of decimal numbers. The sum is exact while it has at most 38 digits; beyond that it is rounded, and reports it.
struct DecimalSum: Sendable {
  private(set) var count = 0
  private var total = ExactNumber(coefficient: 0, scale: 0)
  private(set) var isRounded = false

  /// Takes a number into account, unless it is not finite.
  mutating func add(_ number: NumberText) {
    if number.isFinite { add(ExactNumber(number), .number(number), times: 1) }
  }

  /// - Parameter value: the number that `number` is, which is nil if it has too many digits.
  mutating func add(_ number: ExactNumber?, _ value: Document, times: Int) {
    count += times
    if number == nil { isRounded = true }
    if let number = number ?? ExactNumber(shortening: value) { add(number, times: times) }
  }

  private mutating func add(_ number: ExactNumber, times: Int) {
    if let exact = total.adding(number, times: times) { return total = exact }
    (total, isRounded) = (total.addingRounded(number, times: times), true)
  }

  mutating func add(_ other: DecimalSum) {
    count += other.count
    if other.isRounded { isRounded = true }
    add(other.total, times: 1)
  }

  /// Nil without numbers.
  var sum: NumberText? { count == 0 ? nil : written(total) }

  /// Nil without numbers.
  var mean: NumberText? { count == 0 ? nil : written(total.quotient(by: count)) }

  /// A rounded result has the digits of a double.
  private func written(_ number: ExactNumber) -> NumberText { (isRounded ? number.shortened(to: 17) : number).text }
}
