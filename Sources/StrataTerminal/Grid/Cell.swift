import StrataSystem

/// One cell of the screen: a glyph, its width and its style in twelve bytes without gaps, so that rows of cells can be compared as memory.
package struct Cell: Hashable, Sendable {
  private var glyph: Glyph
  private var look: PackedStyle
  private var columns: UInt32

  /// Makes a cell; `text` must be one canonical cluster of `width` columns.
  package init(text: String = " ", width: UInt8 = 1, style: Style = .plain) {
    glyph = Glyph(text)
    look = PackedStyle(style)
    columns = UInt32(width)
  }

  /// A cell of a printable ASCII character.
  init(ascii byte: UInt8, look: PackedStyle) {
    glyph = Glyph(ascii: byte)
    self.look = look
    columns = 1
  }

  /// The printed text: one canonical cluster; empty for the second column of a wide one.
  package var text: String {
    get { glyph.text }
    set { glyph = Glyph(newValue) }
  }

  /// Columns: 1, 2, or 0 for the second column of a wide cluster.
  package var width: UInt8 {
    get { UInt8(truncatingIfNeeded: columns) }
    set { columns = UInt32(newValue) }
  }

  package var style: Style {
    get { look.style }
    set { look = PackedStyle(newValue) }
  }

  /// A space in the terminal's own colours.
  package static let blank = Cell()

  /// The scalars of the text, one after the other.
  package func forEachScalar(_ body: (UInt32) -> Void) { glyph.forEachScalar(body) }

  /// Whether two rows of cells are equal; their counts must be equal.
  package static func areSame(_ left: ArraySlice<Cell>, _ right: ArraySlice<Cell>) -> Bool {
    left.withUnsafeBytes { left in
      right.withUnsafeBytes { right in
        guard left.count == right.count else { return false }
        guard let first = left.baseAddress, let second = right.baseAddress else { return true }
        return memcmp(first, second, left.count) == 0
      }
    }
  }
}

/// A style in 32 bits: two colours of ten bits and the attributes.
struct PackedStyle: Hashable, Sendable {
  private let bits: UInt32

  init(_ style: Style) {
    bits =
      Self.number(style.foreground) | Self.number(style.background) << 10
      | UInt32(style.attributes.rawValue) << 20
  }

  var style: Style {
    Style(
      Self.color(bits & 0x3FF), on: Self.color(bits >> 10 & 0x3FF),
      Attributes(rawValue: UInt8(truncatingIfNeeded: bits >> 20)))
  }

  private static func number(_ color: Color) -> UInt32 {
    switch color {
    case .standard: 0
    case .ansi(let number): 0x100 | UInt32(number)
    case .indexed(let number): 0x200 | UInt32(number)
    }
  }

  private static func color(_ number: UInt32) -> Color {
    let index = UInt8(truncatingIfNeeded: number)
    return switch number & 0x300 {
    case 0x100: .ansi(index)
    case 0x200: .indexed(index)
    default: .standard
    }
  }
}
