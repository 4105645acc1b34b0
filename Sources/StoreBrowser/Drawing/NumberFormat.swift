/// Numbers as people read them.
enum NumberFormat {
  /// `12 408`.
  static func count(_ value: some BinaryInteger) -> String {
    let digits = String(value.magnitude)
    var text = ""
    for (position, digit) in digits.enumerated() {
      if position > 0, (digits.count - position).isMultiple(of: 3) { text += " " }
      text.append(digit)
    }
    return value < 0 ? "-" + text : text
  }

  /// `12 408`, `0.25`: whole numbers without a point.
  static func number(_ value: Double) -> String { Int64(exactly: value).map { count($0) } ?? "\(value)" }

  /// `1 commit`, `12 408 commits`; with `plural` for nouns that do not just take an s.
  static func counted(_ value: some BinaryInteger, _ noun: String, _ plural: String? = nil) -> String {
    "\(count(value)) \(value == 1 ? noun : plural ?? noun + "s")"
  }

  /// `412 B`, `1.9 KB`, `79 MB`: powers of 1000.
  static func bytes(_ value: some BinaryInteger) -> String {
    var amount = Double(value)
    var unit = "B"
    for next in ["KB", "MB", "GB", "TB"] where amount >= 1000 {
      amount /= 1000
      unit = next
    }
    return unit == "B" ? "\(value) B" : "\(fixed(amount, digits: amount < 10 ? 1 : 0)) \(unit)"
  }

  /// `57.3 %`.
  static func percent(_ done: Int, of total: Int) -> String {
    total > 0 ? "\(fixed(Double(done) * 100 / Double(total), digits: 1)) %" : "— %"
  }

  /// A number with so many digits after the point.
  static func fixed(_ value: Double, digits: Int) -> String {
    guard value.isFinite, abs(value) < 1e15 else { return "\(value)" }
    var factor = 1.0
    for _ in 0..<digits { factor *= 10 }
    let scaled = Int64((abs(value) * factor).rounded())
    let sign = value < 0 && scaled > 0 ? "-" : ""
    guard digits > 0 else { return "\(sign)\(scaled)" }
    var text = String(scaled)
    while text.count <= digits { text = "0" + text }
    let split = text.index(text.endIndex, offsetBy: -digits)
    return "\(sign)\(text[..<split]).\(text[split...])"
  }
}
