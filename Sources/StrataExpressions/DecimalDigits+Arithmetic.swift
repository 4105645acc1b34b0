import StrataDocuments

/// Exact arithmetic in decimal digits, for numbers as people type them; quadratic in their length.
extension DecimalDigits {
  /// Results of more digits are refused, so that no exponent can fill the memory.
  static let digitLimit = 1000

  var negated: DecimalDigits {
    DecimalDigits(isNegative: !isNegative, coefficient: digits, scale: scale)
  }

  /// The power of ten of the last digit.
  private var scale: Int { exponent - digits.count }

  /// Returns nil if the result would have too many digits.
  func adding(_ other: DecimalDigits) -> DecimalDigits? {
    if digits.isEmpty { return other }
    if other.digits.isEmpty { return self }
    let scale = min(scale, other.scale)
    guard max(exponent, other.exponent) - scale <= Self.digitLimit else { return nil }
    let left = coefficient(scale: scale)
    let right = other.coefficient(scale: scale)
    if isNegative == other.isNegative {
      return DecimalDigits(isNegative: isNegative, coefficient: Self.sum(left, right), scale: scale)
    }
    let isLess = Self.isLess(left, right)
    return DecimalDigits(
      isNegative: isLess ? other.isNegative : isNegative,
      coefficient: isLess ? Self.difference(right, left) : Self.difference(left, right), scale: scale)
  }

  /// Returns nil if the result would have too many digits.
  func multiplied(by other: DecimalDigits) -> DecimalDigits? {
    guard digits.count + other.digits.count <= Self.digitLimit else { return nil }
    var columns = Array(repeating: 0, count: digits.count + other.digits.count)
    for (row, digit) in digits.enumerated() {
      for (column, factor) in other.digits.enumerated() { columns[row + column + 1] += Int(digit) * Int(factor) }
    }
    for column in columns.indices.reversed().dropLast() {
      columns[column - 1] += columns[column] / 10
      columns[column] %= 10
    }
    return DecimalDigits(
      isNegative: isNegative != other.isNegative, coefficient: columns.map { UInt8($0) }, scale: scale + other.scale)
  }

  /// The quotient, rounded to 34 digits if it does not end. `other` is not zero.
  func divided(by other: DecimalDigits) -> DecimalDigits? {
    let places = 35
    guard digits.count + other.digits.count <= Self.digitLimit, !other.digits.isEmpty else { return nil }
    // Ten times a rest, which is less than the divisor, fits into 128 bits.
    let divisor = other.rounded(to: 37)
    let unit = divisor.digits.reduce(UInt128(0)) { $0 * 10 + UInt128($1) }
    // Enough digits that the quotient has at least `places` of them.
    let added = max(0, places + divisor.digits.count - digits.count)
    var (rest, quotient) = (UInt128(0), [UInt8]())
    for digit in digits + Array(repeating: 0, count: added) {
      let (count, left) = (rest * 10 + UInt128(digit)).quotientAndRemainder(dividingBy: unit)
      quotient.append(UInt8(count))
      rest = left
    }
    let result = DecimalDigits(
      isNegative: isNegative != other.isNegative, coefficient: quotient, scale: scale - divisor.scale - added)
    return rest == 0 && result.digits.count <= 34 ? result : result.rounded(to: 34)
  }

  private func rounded(to count: Int) -> DecimalDigits {
    guard digits.count > count else { return self }
    var kept = Array(digits.prefix(count))
    if digits[count] >= 5 { kept = Self.sum(kept, [1]) }
    return DecimalDigits(isNegative: isNegative, coefficient: kept, scale: exponent - count)
  }

  /// The digits of the number in units of a power of ten that is not above its own.
  private func coefficient(scale: Int) -> [UInt8] { digits + Array(repeating: 0, count: self.scale - scale) }

  /// Whether a whole number is less than another; leading zeros do not count.
  private static func isLess(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    let left = left.drop { $0 == 0 }
    let right = right.drop { $0 == 0 }
    return left.count != right.count ? left.count < right.count : left.lexicographicallyPrecedes(right)
  }

  private static func sum(_ left: [UInt8], _ right: [UInt8]) -> [UInt8] {
    var result: [UInt8] = []
    var carry: UInt8 = 0
    for index in 0..<max(left.count, right.count) {
      let sum = digit(left, index) + digit(right, index) + carry
      result.append(sum % 10)
      carry = sum / 10
    }
    return (result + [carry]).reversed()
  }

  /// For whole numbers of which the left one is not less.
  private static func difference(_ left: [UInt8], _ right: [UInt8]) -> [UInt8] {
    var result: [UInt8] = []
    var borrowed: UInt8 = 0
    for index in 0..<max(left.count, right.count) {
      let taken = digit(right, index) + borrowed
      let own = digit(left, index)
      borrowed = own < taken ? 1 : 0
      result.append(own + borrowed * 10 - taken)
    }
    return result.reversed()
  }

  /// The digit at a place from the end.
  private static func digit(_ digits: [UInt8], _ index: Int) -> UInt8 {
    index < digits.count ? digits[digits.count - 1 - index] : 0
  }
}
