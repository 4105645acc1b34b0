import StrataDocuments
import StrataTerminal

/// Numbers as people read them.
enum NumberFormat {
  /// `12 408`.
  static func count(_ value: some BinaryInteger) -> String {
    let digits = String(value.magnitude).utf8
    var text = ""
    for (position, digit) in digits.enumerated() {
      if position > 0, (digits.count - position).isMultiple(of: 3) { text += " " }
      text.unicodeScalars.append(Unicode.Scalar(digit))
    }
    return value < 0 ? "-" + text : text
  }

  /// `12 408`, `-1 250.5`: all digits of a number, whole ones in groups.
  static func exact(_ number: NumberText) -> String {
    let sign = number.text.hasPrefix("-") ? "-" : ""
    let digits = number.text.dropFirst(sign.utf8.count)
    let whole = digits.prefix { $0.isNumber }
    guard !digits.contains(where: { $0 == "e" || $0 == "E" }), let value = UInt128(whole) else { return number.text }
    return sign + count(value) + digits.dropFirst(whole.count)
  }

  /// A number as above, anything else as a cell shows it.
  static func exact(_ value: Document) -> String {
    if case .number(let number) = value { exact(number) } else { ValueText(cell: value).visible.text }
  }

  /// The same in a number of columns: a number that is too wide is scaled.
  static func exact(_ value: Document, in width: Int) -> String {
    let text = exact(value)
    // A number beyond the doubles has no scale.
    guard SafeText.width(text) > width, case .number(let number) = value, number.double.isFinite else { return text }
    return scaled(number.double, in: width)
  }

  /// The cells of a number from its decimal point on; 0 for a whole number, and for one that is scaled.
  static func fraction(_ text: String) -> Int {
    let fraction = text.utf8.drop { $0 != UInt8(ascii: ".") }
    return fraction.dropFirst().allSatisfy { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 } ? fraction.count : 0
  }

  /// Measures a column of figures.
  static func measure(_ figures: some Sequence<Document>) -> ColumnExtent {
    figures.reduce(into: ColumnExtent()) { extent, figure in
      let text = exact(figure)
      extent.widen(to: ColumnExtent(SafeText.width(text), fraction: fraction(text)))
    }
  }

  /// A number with spaces for the digits that others in its column have after the point, as far as there is room.
  static func aligned(_ text: String, fraction: Int, in width: Int) -> String {
    let room = min(fraction - Self.fraction(text), width - SafeText.width(text))
    return room > 0 ? text + String(repeating: " ", count: room) : text
  }

  /// A figure of a group as lists show it: a mean, whose digits may never end, to four places, or to four digits if it is small.
  ///
  /// - Parameter name: `mean(price)`.
  static func figure(_ value: Document, of name: String) -> Document {
    guard name.hasPrefix("mean("), case .number(let number) = value, let point = number.text.firstIndex(of: "."),
      !number.text.contains("e")
    else { return value }
    let zeros = abs(number.double) < 1 ? number.text[point...].dropFirst().prefix { $0 == "0" }.count : 0
    guard number.text[point...].count - 1 > zeros + 4, zeros < 12 else { return value }
    return NumberText(fixed(number.double, digits: zeros + 4)).map(Document.number) ?? value
  }

  /// `1 commit`, `12 408 commits`; with `plural` for nouns whose plural is irregular.
  static func counted(_ value: some BinaryInteger, _ noun: String, _ plural: String? = nil) -> String {
    "\(count(value)) \(value == 1 ? noun : plural ?? noun + "s")"
  }

  /// `412 B`, `1.9 KB`, `1 MB`, `79 MB`: powers of 1000, below 10 with one digit after the point unless that is 0.
  static func bytes(_ value: some BinaryInteger) -> String {
    var (amount, unit) = (abs(Double(value)), "B")
    for next in ["KB", "MB", "GB", "TB"] where amount.rounded() >= 1000 {
      amount /= 1000
      unit = next
    }
    let text = fixed(amount, digits: amount < 10 ? 1 : 0)
    return "\(value < 0 ? "-" : "")\(text.hasSuffix(".0") ? text.dropLast(2) : text[...]) \(unit)"
  }

  /// `57.3 %`.
  static func percent(_ done: Int, of total: Int) -> String {
    total > 0 ? "\(fixed(Double(done) * 100 / Double(total), digits: 1)) %" : "— %"
  }

  /// Returns a number with `digits` digits after the decimal point.
  static func fixed(_ value: Double, digits: Int) -> String {
    var factor = 1.0
    for _ in 0..<digits { factor *= 10 }
    guard abs(value) < 1e15, abs(value) * factor < 9e18 else { return "\(value)" }
    let scaled = Int64((abs(value) * factor).rounded())
    let sign = value < 0 && scaled > 0 ? "-" : ""
    guard digits > 0 else { return "\(sign)\(scaled)" }
    var text = String(scaled)
    while text.count <= digits { text = "0" + text }
    let split = text.index(text.endIndex, offsetBy: -digits)
    return "\(sign)\(text[..<split]).\(text[split...])"
  }

  /// Returns a number in at most `width` cells: in full if it fits, otherwise scaled, with the scale (`1.53 M`), and with as many digits as
  /// there is room for. Never cut: `#` if not even that fits.
  static func fitting(_ text: String, in width: Int) -> String {
    guard text.utf8.count > width, let number = Double(text), number.isFinite else { return text }
    return scaled(number, in: width)
  }

  private static func scaled(_ number: Double, in width: Int) -> String {
    let size = abs(number)
    let units: [(Double, String)] = [(1, ""), (1e3, " k"), (1e6, " M"), (1e9, " G"), (1e12, " T"), (1e15, " P")]
    let unit = units.last { size >= $0.0 } ?? units[0]
    for digits in [3, 2, 1, 0] {
      let scaled =
        size < 1e18 && size >= 1e-3 ? fixed(number / unit.0, digits: digits) + unit.1 : exponent(number, digits)
      if scaled.utf8.count <= width { return scaled }
    }
    return String(repeating: "#", count: max(0, width))
  }

  private static func exponent(_ number: Double, _ digits: Int) -> String {
    guard number != 0 else { return "0" }
    var (mantissa, power) = (number, 0)
    while abs(mantissa) >= 10 { (mantissa, power) = (mantissa / 10, power + 1) }
    while abs(mantissa) < 1 { (mantissa, power) = (mantissa * 10, power - 1) }
    return "\(fixed(mantissa, digits: digits))e\(power)"
  }
}

/// The width of a column in cells, before its decimal points and from them on: they stand below each other.
struct ColumnExtent: Sendable, Hashable {
  private var whole = 0
  private(set) var fraction = 0

  var width: Int { whole + fraction }

  init(_ width: Int = 0, fraction: Int = 0) { (whole, self.fraction) = (width - fraction, fraction) }

  init(_ text: ValueText, width: Int) {
    self.init(width, fraction: text.kind == .number ? NumberFormat.fraction(text.text) : 0)
  }

  mutating func widen(to other: Self) { (whole, fraction) = (max(whole, other.whole), max(fraction, other.fraction)) }
}

extension ValueText {
  /// The text for `width` cells. A longer text is cut when it is drawn, but a number is not.
  func fitting(_ width: Int) -> String { kind == .number ? NumberFormat.fitting(text, in: width) : text }
}
