import StrataTerminal

/// The meaning of a cell; a theme gives its style.
enum Role: String, Sendable, Hashable, CaseIterable {
  case text, dim, title, border, focusedBorder, header
  /// The selected line, in the focused pane and elsewhere.
  case selected, selectedElsewhere
  case marked, changed, inserted, deleted, warning, problem
  case key, string, number, constant, date, blob
  case timeTravel, bar, foundBar, found
}

/// The styles of roles. Meaning is never in the colour alone: signs and attributes show it, too.
package struct Theme: Sendable, Hashable {
  package enum Name: String, Sendable, CaseIterable {
    /// The terminal's 16 colours on its own background.
    case standard
    /// The 256-colour refinement of the same.
    case refined
    /// 256 colours for a dark and for a light background, and few strong ones for those who see little.
    case dark, light, contrast
    /// Attributes only: for `NO_COLOR` and monochrome terminals.
    case plain
  }

  package var name = Name.standard
  /// The styles of a theme file. They replace those of the named theme.
  var roles: [Role: Style] = [:]
  /// Borders and signs in ASCII.
  package var isASCII = false
  /// Whether the terminal shows braille patterns.
  package var hasBraille = true

  func style(_ role: Role) -> Style {
    if name != .plain {
      if !roles.isEmpty, let own = roles[role] { return own }
      if let built = ThemeFile.builtIn(name)[role] { return built }
    }
    var style = Style(.standard, attributes(role))
    if name != .plain, let color = color(role) { style.foreground = color }
    return style
  }

  private func attributes(_ role: Role) -> Attributes {
    switch role {
    // The focused border is heavy and its title bold; more would cost bytes in every row.
    case .title, .header, .marked, .changed, .inserted, .warning, .problem, .found: .bold
    case .dim: .dim
    case .selected, .timeTravel: .reverse
    case .selectedElsewhere: [.bold, .underline]
    case .deleted: .strike
    default: []
    }
  }

  private func color(_ role: Role) -> Color? {
    switch role {
    case .focusedBorder: .ansi(6)
    case .header, .key: name == .standard ? .ansi(4) : .indexed(67)
    case .marked, .found, .foundBar: .ansi(5)
    case .changed, .warning: .ansi(3)
    case .inserted: .ansi(2)
    case .deleted, .problem: .ansi(1)
    case .string: name == .standard ? .ansi(2) : .indexed(65)
    case .number, .bar: name == .standard ? .ansi(6) : .indexed(67)
    case .constant, .date, .blob: name == .standard ? .ansi(5) : .indexed(133)
    default: nil
    }
  }

  // MARK: Signs

  var cursor: String { isASCII ? ">" : "▶" }
  var mark: String { isASCII ? "*" : "●" }
  var warningSign: String { isASCII ? "!" : "⚠" }
  var problemSign: String { isASCII ? "x" : "✗" }
  var check: String { isASCII ? "ok" : "✓" }
  var folded: String { isASCII ? "+" : "▸" }
  var unfolded: String { isASCII ? "v" : "▾" }
  var chosen: String { isASCII ? "#" : "▪" }
  var pinned: String { isASCII ? "^" : "◆" }
  var arrow: String { isASCII ? "->" : "→" }
  var unseen: String { isASCII ? "<" : "◂" }
  var separator: String { isASCII ? ">" : "▸" }
  var dot: String { isASCII ? "-" : "·" }
  var enterKey: String { isASCII ? "Enter" : "⏎" }
  var live: String { isASCII ? "live" : "⟳ live" }
}
