extension Color {
  /// The number to send to a terminal that has `colors`, and whether the text must be bold to look bright.
  ///
  /// - Parameter colors: 0, 8, 16, or 256 and more.
  /// - Returns: -1 for the terminal's own colour.
  package func number(among colors: Int) -> (number: Int, isBright: Bool) {
    switch self {
    case .standard:
      return (-1, false)
    case .ansi(let number):
      if colors >= 16 { return (Int(number & 15), false) }
      return colors >= 8 ? (Int(number & 7), number & 8 != 0) : (-1, false)
    case .indexed(let number):
      if colors >= 256 { return (Int(number), false) }
      return Color.ansi(Self.nearestNamed(number)).number(among: colors)
    }
  }

  /// The named colour that looks most like number `index` of xterm's 256.
  static func nearestNamed(_ index: UInt8) -> UInt8 {
    guard index >= 16 else { return index }
    let wanted = parts(index)
    func distance(_ number: UInt8) -> Int {
      let named = parts(number)
      return square(wanted.red - named.red) + square(wanted.green - named.green) + square(wanted.blue - named.blue)
    }
    return (UInt8(0)..<16).map { ($0, distance($0)) }.min { $0.1 < $1.1 }?.0 ?? 0
  }

  /// Red, green and blue, 0 … 255, of one of xterm's 256 colours.
  package static func parts(_ index: UInt8) -> (red: Int, green: Int, blue: Int) {
    let number = Int(index)
    switch number {
    case 0..<16:
      return named[number]
    case 16..<232:
      let level = [0, 95, 135, 175, 215, 255]
      let cube = number - 16
      return (level[cube / 36], level[cube / 6 % 6], level[cube % 6])
    default:
      let grey = 8 + (number - 232) * 10
      return (grey, grey, grey)
    }
  }

  private static func square(_ number: Int) -> Int { number * number }

  private static let named: [(red: Int, green: Int, blue: Int)] = [
    (0, 0, 0), (205, 0, 0), (0, 205, 0), (205, 205, 0), (0, 0, 238), (205, 0, 205), (0, 205, 205), (229, 229, 229),
    (127, 127, 127), (255, 0, 0), (0, 255, 0), (255, 255, 0), (92, 92, 255), (255, 0, 255), (0, 255, 255),
    (255, 255, 255),
  ]
}
