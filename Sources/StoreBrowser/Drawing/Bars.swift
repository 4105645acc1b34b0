/// Small pictures made of block characters.
enum Bars {
  private static let eighths = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"]
  private static let heights = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"]
  private static let asciiHeights = [".", ":", "-", "=", "+", "*", "#", "@"]

  /// A bar of `done` in `total` over `width` cells; whole cells only in ASCII.
  static func progress(_ done: Int, of total: Int, width: Int, isASCII: Bool, empty: Character = "░") -> String {
    guard width > 0 else { return "" }
    let part = total > 0 ? min(1, max(0, Double(done) / Double(total))) : 0
    let eighth = Int((part * Double(width * 8)).rounded(.down))
    let whole = eighth / 8
    if isASCII { return String(repeating: "#", count: whole) + String(repeating: "-", count: width - whole) }
    let rest = whole < width ? eighths[eighth % 8] : ""
    return String(repeating: "█", count: whole) + rest
      + String(repeating: empty, count: width - whole - (rest.isEmpty ? 0 : 1))
  }

  /// The same without the empty part.
  static func bar(_ value: Int, largest: Int, width: Int, isASCII: Bool) -> String {
    guard width > 0, largest > 0, value > 0 else { return "" }
    let eighth = max(1, Int(Double(value) / Double(largest) * Double(width * 8)))
    if isASCII { return String(repeating: "#", count: max(1, eighth / 8)) }
    return String(repeating: "█", count: eighth / 8) + eighths[eighth % 8]
  }

  /// One character a value, its height the value's part of the largest; zero is a blank.
  static func spark(_ values: [Double], isASCII: Bool) -> String {
    let signs = isASCII ? asciiHeights : heights
    let largest = values.max() ?? 0
    return values.map { value in
      guard value > 0, largest > 0 else { return " " }
      return signs[max(0, min(7, Int((value / largest * 8).rounded(.up)) - 1))]
    }.joined()
  }
}
