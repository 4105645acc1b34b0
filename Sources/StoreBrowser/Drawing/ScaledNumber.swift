#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Numbers in the room that there is: whole, or scaled and marked as such by a unit. Never cut, for a number without its
/// end is another number.
enum ScaledNumber {
  private static let units: [(name: String, size: Double)] = [
    ("E", 1e18), ("P", 1e15), ("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3),
  ]

  /// A number as it is written, in at most `width` cells: as it is, then `~35.43` with fewer places, then `1.53 M`, then
  /// `2e6`; `#` where nothing tells it.
  static func fitted(_ text: String, width: Int) -> String {
    guard text.utf8.count > width else { return text }
    guard let value = Double(text), value.isFinite else { return text.utf8.count <= width ? text : filler(width) }
    if text.contains("."), abs(value) < 1e15 {
      for places in stride(from: 6, through: 0, by: -1) {
        let rounded = "~" + NumberFormat.fixed(value, digits: places)
        if rounded.utf8.count <= width, places > 0 || abs(value) >= 1 { return rounded }
      }
    }
    for (name, size) in units where abs(value) >= size {
      for places in [2, 1, 0] {
        let scaled = "\(NumberFormat.fixed(value / size, digits: places)) \(name)"
        if scaled.utf8.count <= width { return scaled }
      }
      let tight = NumberFormat.fixed(value / size, digits: 0) + name
      if tight.utf8.count <= width { return tight }
    }
    let exponent = abs(value) > 0 ? Int(log10(abs(value)).rounded(.down)) : 0
    let short = "\(value < 0 ? "-" : "")\(Int((abs(value) / pow(10, Double(exponent))).rounded()))e\(exponent)"
    return short.utf8.count <= width ? short : filler(width)
  }

  /// Of the natural kind.
  static func logarithm(_ value: Double) -> Double { log(value) }

  private static func filler(_ width: Int) -> String { String(repeating: "#", count: max(0, width)) }

  /// A limit of an axis: `100 000`, `2.5 M`; a text that is no number as it is.
  static func axis(_ text: String) -> String {
    guard let value = Double(text), value.isFinite else { return text }
    guard abs(value) >= 1e6 else { return Int64(exactly: value).map { NumberFormat.count($0) } ?? text }
    for (name, size) in units where abs(value) >= size {
      for places in 0...3 {
        let scaled = NumberFormat.fixed(value / size, digits: places)
        if Double(scaled) == value / size { return "\(scaled) \(name)" }
      }
      return "\(NumberFormat.fixed(value / size, digits: 3)) \(name)"
    }
    return text
  }

  /// A place on an axis with the digits that tell it from one a step away.
  static func measured(_ value: Double, step: Double) -> String {
    guard value.isFinite, step > 0 else { return "\(value)" }
    let places = max(0, min(9, Int(-log10(step).rounded(.down))))
    return NumberFormat.fixed(value, digits: places)
  }
}
