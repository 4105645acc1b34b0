import StrataDocuments
import StrataSystem

/// Numbers on axes; `NumberFormat.fitting` fits those in columns.
enum ScaledNumber {
  private static let units: [(name: String, size: Double)] = [
    ("E", 1e18), ("P", 1e15), ("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3),
  ]

  static func logarithm(_ value: Double) -> Double { log(value) }

  /// Returns a limit of an axis: `100 000`, `2.5 M`, `1 700 000 040`; a text that is not a number stays unchanged. Never rounded: the
  /// limits beside it may differ in the last digit alone.
  static func axis(_ text: String) -> String {
    guard let value = Double(text), value.isFinite else { return text }
    if abs(value) >= 1e21 { return text }
    guard abs(value) >= 1e6 else { return Int64(exactly: value).map { NumberFormat.count($0) } ?? text }
    for (name, size) in units where abs(value) >= size {
      let exact = (0..<5).lazy.map { NumberFormat.fixed(value / size, digits: $0) }.first { Double($0) == value / size }
      return exact.map { "\($0) \(name)" } ?? NumberText(text).map(NumberFormat.exact) ?? text
    }
    return text
  }

  /// Returns a position on an axis with enough digits to distinguish it from one a step away.
  static func measured(_ value: Double, step: Double) -> String {
    guard value.isFinite, step > 0 else { return "\(value)" }
    let places = max(0, min(9, Int(-log10(step).rounded(.down))))
    return NumberFormat.fixed(value, digits: places)
  }
}
