/// The picture as text, for tests, scripts and `--plain`.
extension CellGrid {
  /// Returns each row as text, including spaces at its end.
  package func lines() -> [String] {
    (0..<size.rows).map { row($0).map(\.text).joined() }
  }

  /// Returns all rows without the spaces at their ends, each followed by a line feed.
  package func text() -> String {
    lines().map { Self.trimmedEnd($0) + "\n" }.joined()
  }

  static func trimmedEnd(_ line: String) -> String {
    var rest = line[...]
    while rest.last == " " { rest.removeLast() }
    return String(rest)
  }

  /// Returns the styles of each row, one letter per column: `.` is plain; `styleLegend()` explains the others.
  ///
  /// Letters are assigned in the order in which styles first appear, so that equal pictures have equal letters.
  package func styleLines() -> [String] {
    let letters = styleLetters()
    return (0..<size.rows).map { row in
      String(self.row(row).map { letters[$0.style] ?? "?" })
    }
  }

  /// Returns the style of each letter of `styleLines()`: `a red on standard bold`.
  package func styleLegend() -> [String] {
    styleLetters().filter { $0.key != .plain }
      .sorted { $0.value < $1.value }
      .map { "\($0.value) \($0.key)" }
  }

  private func styleLetters() -> [Style: Character] {
    let alphabet = Array("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
    var letters: [Style: Character] = [.plain: "."]
    for cell in cells where letters[cell.style] == nil {
      letters[cell.style] = letters.count <= alphabet.count ? alphabet[letters.count - 1] : "?"
    }
    return letters
  }
}

extension Color: CustomStringConvertible {
  /// `standard`, `red`, `bright red`, `208`.
  package var description: String {
    let names = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"]
    switch self {
    case .standard: return "standard"
    case .ansi(let number) where number < 8: return names[Int(number)]
    case .ansi(let number): return "bright " + names[Int(number % 8)]
    case .indexed(let number): return "\(number)"
    }
  }
}

extension Style: CustomStringConvertible {
  /// `red on standard bold underline`.
  package var description: String {
    let names: [(Attributes, String)] = [
      (.bold, "bold"), (.dim, "dim"), (.reverse, "reverse"), (.underline, "underline"), (.strike, "strike"),
      (.italic, "italic"),
    ]
    return (["\(foreground) on \(background)"] + names.filter { attributes.contains($0.0) }.map(\.1))
      .joined(separator: " ")
  }
}
