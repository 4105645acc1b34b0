/// The characters that charts are made of.
package enum ChartForm: String, Hashable, Sendable, CaseIterable {
  /// Braille patterns: two dots across and four down in a cell.
  case braille
  /// Blocks of eighths and quarters.
  case block
  case ascii

  /// Dots across in a cell of a picture made of dots.
  package var dotsAcross: Int { self == .ascii ? 1 : 2 }

  /// Dots down in a cell of a picture made of dots.
  package var dotsDown: Int {
    switch self {
    case .braille: 4
    case .block: 2
    case .ascii: 1
    }
  }

  /// The next form in turn.
  package var next: ChartForm {
    let all = Self.allCases
    return all[((all.firstIndex(of: self) ?? 0) + 1) % all.count]
  }
}
