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
    for (number, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
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

  private static let dark = ThemeFile(
    parsing: """
      focusedBorder = 44
      header = 75 bold
      key = 75
      marked = 213 bold
      found = 213 bold
      foundBar = 213
      changed = 214 bold
      warning = 214 bold
      inserted = 77 bold
      deleted = 203 strike
      problem = 203 bold
      string = 114
      number = 80
      bar = 80
      constant = 177
      date = 177
      blob = 177
      """
  ).roles

  private static let light = ThemeFile(
    parsing: """
      focusedBorder = 30
      header = 19 bold
      key = 19
      marked = 90 bold
      found = 90 bold
      foundBar = 90
      changed = 88 bold
      warning = 88 bold
      inserted = 22 bold
      deleted = 124 strike
      problem = 124 bold
      string = 22
      number = 24
      bar = 24
      constant = 90
      date = 90
      blob = 90
      """
  ).roles

  private static let contrast = ThemeFile(
    parsing: """
      dim = default
      border = default
      focusedBorder = bold
      header = bold underline
      key = bold
      selected = black on yellow bold
      marked = white on magenta bold
      found = black on cyan bold
      foundBar = bold
      changed = black on yellow bold
      inserted = black on green bold
      deleted = white on red strike
      warning = black on yellow bold
      problem = white on red bold
      string = default
      number = default
      bar = default
      constant = default
      date = default
      blob = default
      """
  ).roles
}
