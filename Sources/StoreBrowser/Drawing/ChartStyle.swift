import StrataTerminal

/// The characters of charts: chosen by the terminal's abilities, or by the user (`gs`), and remembered.
extension Session {
  var dotForm: ChartForm {
    if theme.isASCII { return .ascii }
    let chosen = remembered.charts.flatMap(ChartForm.init(rawValue:)) ?? .braille
    return chosen == .braille && !theme.hasBraille ? .block : chosen
  }

  /// For charts made of bars, which blocks can draw in more steps than dots.
  var barForm: ChartForm {
    if theme.isASCII { return .ascii }
    let chosen = remembered.charts.flatMap(ChartForm.init(rawValue:)) ?? .block
    return chosen == .braille && !theme.hasBraille ? .block : chosen
  }

  mutating func stepChartForm() {
    guard !theme.isASCII else { return warn("this terminal shows charts in ASCII only") }
    var next = dotForm.next
    if next == .braille, !theme.hasBraille { next = next.next }
    remember { $0.charts = next.rawValue }
    say("charts in \(next.rawValue)")
  }
}

extension Theme {
  /// The style of a cell of dots: `shade` from few points to many.
  func dots(shade: Int) -> Style {
    switch (name, shade) {
    case (.plain, 0), (.contrast, 0): .dim
    case (.plain, 1), (.contrast, 1): .plain
    case (.plain, _), (.contrast, _): .bold
    case (.refined, 0), (.dark, 0): Style(.indexed(24))
    case (.refined, 1), (.dark, 1): Style(.indexed(31))
    case (.refined, 2), (.dark, 2): Style(.indexed(80))
    case (.refined, _), (.dark, _): Style(.indexed(229), .bold)
    case (.light, 0): Style(.indexed(110))
    case (.light, 1): Style(.indexed(31))
    case (.light, 2): Style(.indexed(24))
    case (.light, _): Style(.indexed(88), .bold)
    case (.standard, 0): Style(.ansi(6), .dim)
    case (.standard, 1): Style(.ansi(6))
    case (.standard, 2): Style(.ansi(6), .bold)
    case (.standard, _): Style(.standard, .bold)
    }
  }

  /// The style of a series; no red beside green, no dark blue.
  func series(_ series: Int) -> Style {
    let colors: [Color]
    switch name {
    case .plain, .contrast: return series.isMultiple(of: 2) ? .plain : .bold
    case .standard: colors = [.ansi(6), .ansi(3), .ansi(5), .ansi(7), .standard, .ansi(8)]
    case .light: colors = [.indexed(24), .indexed(130), .indexed(90), .standard, .indexed(88), .indexed(242)]
    case .refined, .dark:
      colors = [.indexed(80), .indexed(220), .indexed(176), .indexed(255), .indexed(208), .indexed(245)]
    }
    return Style(colors[series % colors.count])
  }
}

extension Style {
  init(_ foreground: Color, _ attributes: Attributes) { self.init(foreground, on: .standard, attributes) }
}
