import StrataTerminal

/// A theme as text: a line for each role with its colours and attributes. Other roles have the style of the theme that `like` names.
///
///     like = dark
///     selected = black on 229 bold
///     dim = 244
struct ThemeFile: Sendable {
  private(set) var base: Theme.Name?
  private(set) var roles: [Role: Style] = [:]
  private(set) var problems: [(line: Int, reason: String)] = []

  init(parsing text: String) {
    for (number, line) in TextLines.split(text).enumerated() {
      // A comment: `#ff0000` behind a role is none, but a mistake.
      let words = line.split { $0.isWhitespace || $0 == "=" }.map(String.init).prefix { $0 != "#" }
      guard let name = words.first, !name.hasPrefix("#") else { continue }
      if let reason = read(name, Array(words.dropFirst())) { problems.append((number + 1, reason)) }
    }
  }

  /// Takes a line. Returns why it is invalid, or nil.
  private mutating func read(_ name: String, _ words: [String]) -> String? {
    if name == "like" {
      base = words.first.flatMap(Theme.Name.init(rawValue:))
      return base == nil ? "like names one of \(Theme.Name.allCases.map(\.rawValue).joined(separator: ", "))" : nil
    }
    guard let role = Role(rawValue: name) else {
      return "there is no role “\(name)”; there are \(Role.allCases.map(\.rawValue).joined(separator: ", "))"
    }
    guard !words.isEmpty else { return "“\(name)” needs a colour or an attribute; default is the terminal's colour" }
    var (style, isBackground) = (Style.plain, false)
    for word in words {
      if word == "on" {
        isBackground = true
      } else if let attribute = Self.attributes[word] {
        style.attributes.formUnion(attribute)
      } else if let color = Self.color(word) {
        if isBackground { style.background = color } else { style.foreground = color }
      } else {
        return "“\(word)” is neither a colour (\(Self.colors.joined(separator: ", ")), 0 to 255) nor an attribute"
      }
    }
    roles[role] = style
    return nil
  }

  private static func color(_ word: String) -> Color? {
    if word == "default" { return .standard }
    if let number = colors.firstIndex(of: word) { return .ansi(UInt8(number)) }
    return UInt8(word).map { $0 < 16 ? .ansi($0) : .indexed($0) }
  }

  private static let colors = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"]
  private static let attributes: [String: Attributes] = [
    "bold": .bold, "dim": .dim, "reverse": .reverse, "underline": .underline, "strike": .strike, "italic": .italic,
  ]

  // MARK: Built in

  /// The styles of a theme that is made as a file makes one; empty for the others.
  static func builtIn(_ name: Theme.Name) -> [Role: Style] {
    switch name {
    case .dark: dark
    case .light: light
    case .contrast: contrast
    default: [:]
    }
  }

  private static let dark = styles(inColumn: 1)
  private static let light = styles(inColumn: 2)
  private static let contrast = styles(inColumn: 3)

  private static func styles(inColumn column: Int) -> [Role: Style] {
    let cells = TextLines.split(table).map { $0.split(separator: "|").map { String($0).trimmed } }
    let lines = cells.filter { $0[column] != "-" }.map { "\($0[0]) = \($0[column])\n" }
    return ThemeFile(parsing: lines.joined()).roles
  }

  /// Each role in the dark, the light and the contrast theme; a dash leaves the style of the standard theme.
  private static let table = """
    dim           | -            | -            | default
    border        | -            | -            | default
    focusedBorder | 44           | 30           | bold
    header        | 75 bold      | 19 bold      | bold underline
    key           | 75           | 19           | bold
    selected      | -            | -            | black on yellow bold
    marked        | 213 bold     | 90 bold      | white on magenta bold
    found         | 213 bold     | 90 bold      | black on cyan bold
    foundBar      | 213          | 90           | bold
    changed       | 214 bold     | 88 bold      | black on yellow bold
    inserted      | 77 bold      | 22 bold      | black on green bold
    deleted       | 203 strike   | 124 strike   | white on red strike
    warning       | 214 bold     | 88 bold      | black on yellow bold
    problem       | 203 bold     | 124 bold     | white on red bold
    string        | 114          | 22           | default
    number        | 80           | 24           | default
    bar           | 80           | 24           | default
    constant      | 177          | 90           | default
    date          | 177          | 90           | default
    blob          | 177          | 90           | default
    """
}
