/// A colour of a terminal.
package enum Color: Hashable, Sendable {
  /// The colour that the terminal's owner chose for text or background; the background is never painted over it.
  case standard
  /// One of the 16 named colours: 0 black, 1 red, 2 green, 3 yellow, 4 blue, 5 magenta, 6 cyan, 7 white; 8–15 brighter.
  case ansi(UInt8)
  /// One of 256; shown as the nearest named colour if the terminal has fewer.
  case indexed(UInt8)
}

/// Weight, slant and lines of text. Colour alone carries no meaning, so every meaning also has one of these or a sign.
package struct Attributes: OptionSet, Hashable, Sendable {
  /// The attributes as bits.
  package let rawValue: UInt8

  /// Makes attributes from bits.
  package init(rawValue: UInt8) { self.rawValue = rawValue }

  /// Heavier.
  package static let bold = Attributes(rawValue: 1)
  /// Fainter.
  package static let dim = Attributes(rawValue: 2)
  /// Text and background exchanged.
  package static let reverse = Attributes(rawValue: 4)
  package static let underline = Attributes(rawValue: 8)
  /// Struck through; dim if the terminal's description has no strike-through.
  package static let strike = Attributes(rawValue: 16)
  /// Slanted.
  package static let italic = Attributes(rawValue: 32)
}

/// The style of a cell.
package struct Style: Hashable, Sendable {
  /// Colour of the text.
  package var foreground: Color
  /// Colour behind it.
  package var background: Color
  /// Weight, slant and lines.
  package var attributes: Attributes

  /// Makes a style; omitted parts are the terminal's own.
  package init(
    _ foreground: Color = .standard, on background: Color = .standard, _ attributes: Attributes = []
  ) {
    self.foreground = foreground
    self.background = background
    self.attributes = attributes
  }

  /// The terminal's own colours, no attributes.
  package static let plain = Style()
  /// Heavier text.
  package static let bold = Style(.standard, .bold)
  /// Fainter text.
  package static let dim = Style(.standard, .dim)

  /// The same with further attributes.
  package func with(_ more: Attributes) -> Style {
    var style = self
    style.attributes.formUnion(more)
    return style
  }
}
