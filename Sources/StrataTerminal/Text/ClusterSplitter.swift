/// Turns one grapheme cluster into canonical cells.
///
/// A cluster usually is one cell. It becomes several if its scalars have columns of their own (conjuncts of Indic scripts). A cluster that
/// only some terminals join is drawn as this terminal does it; if that is not known, it is shortened to its first scalar and a dot.
struct ClusterSplitter {
  private var cell = ""
  private var cellScalars = 0
  private var cellWidth = 0
  private var cellIsStandIn = false

  /// Calls `body` with the cells of `character`. Returns `false` as soon as `body` does.
  static func split(
    _ character: Character, joining: SafeText.Joining = SafeText.joining, _ body: (SafeText.Cluster) -> Bool
  ) -> Bool {
    if let whole = joined(character, joining) { return body(whole) }
    var splitter = ClusterSplitter()
    var saysDot = false
    scalars: for scalar in character.unicodeScalars {
      switch ScalarKind(scalar) {
      case .printable(let width):
        guard splitter.finishCell(body) else { return false }
        splitter.begin(scalar, width: width)
      case .mark:
        splitter.add(scalar)
      case .selector:
        continue
      case .spacingMark where joining.vowelSigns == .apart:
        guard splitter.finishCell(body) else { return false }
        splitter.begin(scalar, width: 1)
      case .spacingMark:
        saysDot = true
      case .joiner where joining.emoji == .apart && scalar.value == 0x200D:
        continue
      case .modifier where joining.skinColors == .apart:
        guard splitter.finishCell(body) else { return false }
        splitter.begin(scalar, width: 2)
      case .joiner where !splitter.cell.isEmpty, .modifier where !splitter.cell.isEmpty:
        saysDot = true
        break scalars
      case .modifier:
        splitter.begin(scalar, width: 2)
      case .regional(let letter):
        guard splitter.finishCell(body) else { return false }
        splitter.begin(letter, width: 1, isStandIn: true)
      case .joiner, .hidden:
        guard splitter.finishCell(body), spell(scalar, body) else { return false }
      case .unknown:
        guard splitter.finishCell(body) else { return false }
        splitter.begin("□", width: 1, isStandIn: true)
      }
    }
    guard splitter.finishCell(body) else { return false }
    return saysDot ? body(SafeText.Cluster(text: "·", width: 1, isStandIn: true)) : true
  }

  /// Returns the whole character as one cell, if the terminal joins its parts.
  private static func joined(_ character: Character, _ joining: SafeText.Joining) -> SafeText.Cluster? {
    let scalars = Array(character.unicodeScalars)
    guard scalars.count > 1, scalars.count <= 16, case .printable(let width) = ScalarKind(scalars[0]) else {
      return nil
    }
    var isJoined = false
    for (place, scalar) in scalars.enumerated().dropFirst() {
      switch ScalarKind(scalar) {
      case .mark, .selector: break
      case .spacingMark where joining.vowelSigns == .together: isJoined = true
      case .joiner where scalar.value == 0x200D && joining.emoji == .together && width == 2: isJoined = true
      case .modifier where joining.skinColors == .together: isJoined = true
      case .printable where scalars[place - 1].value == 0x200D && isJoined: break
      default: return nil
      }
    }
    return isJoined ? SafeText.Cluster(text: String(character), width: width) : nil
  }

  private mutating func begin(_ scalar: Unicode.Scalar, width: Int, isStandIn: Bool = false) {
    cell = String(scalar)
    cellScalars = 1
    cellWidth = width
    cellIsStandIn = isStandIn
  }

  private mutating func add(_ mark: Unicode.Scalar) {
    if cell.isEmpty { begin("◌", width: 1, isStandIn: true) }
    guard cellScalars < SafeText.scalarLimit else {
      cellIsStandIn = true
      return
    }
    cell.unicodeScalars.append(mark)
    cellScalars += 1
  }

  private mutating func finishCell(_ body: (SafeText.Cluster) -> Bool) -> Bool {
    guard !cell.isEmpty else { return true }
    defer { cell = "" }
    return body(SafeText.Cluster(text: cell, width: cellWidth, isStandIn: cellIsStandIn))
  }

  /// Shows a picture for a scalar that must never reach a terminal: `␛` for the old controls, `⟨U+202E⟩` for the others.
  private static func spell(_ scalar: Unicode.Scalar, _ body: (SafeText.Cluster) -> Bool) -> Bool {
    let text: String
    switch scalar.value {
    case 0..<0x20: text = Unicode.Scalar(0x2400 + scalar.value).map { String($0) } ?? "□"
    case 0x7F: text = "␡"
    default: text = "⟨\(SafeText.codePoint(scalar))⟩"
    }
    for character in text where !body(SafeText.Cluster(text: String(character), width: 1, isStandIn: true)) {
      return false
    }
    return true
  }
}

/// The role of a scalar in a cell.
enum ScalarKind: Equatable {
  case printable(width: Int)
  case mark
  case spacingMark
  case selector
  case joiner
  case modifier
  case regional(letter: Unicode.Scalar)
  case hidden
  case unknown

  init(_ scalar: Unicode.Scalar) {
    let value = scalar.value
    switch value {
    case 0x20...0x7E, 0xA0...0xAC, 0xAE...0x2FF, 0x2500...0x25A1:
      self = .printable(width: 1)
    case 0x4E00...0x9FFC, 0xAC00...0xD7A3:
      self = .printable(width: 2)
    case 0x180B...0x180D, 0xFE00...0xFE0F, 0xE0100...0xE01EF:
      self = .selector
    case 0x200C, 0x200D, 0xE0020...0xE007F:
      self = .joiner
    case 0x1F3FB...0x1F3FF:
      self = .modifier
    case 0x1F1E6...0x1F1FF:
      self = .regional(letter: Unicode.Scalar(UInt8(0x41 + value - 0x1F1E6)))
    default:
      self = Self.ofCategory(scalar)
    }
  }

  /// Returns the columns of a scalar that joins neither the one before it nor another such one: ASCII, Latin, lines and blocks, and
  /// Chinese, which make up most texts. Returns nil for all others.
  static func widthAlone(_ scalar: Unicode.Scalar) -> Int? {
    switch scalar.value {
    case 0x20...0x7E, 0xA0...0xAC, 0xAF...0x2FF, 0x2500...0x25A1: 1
    case 0x4E00...0x9FFC: 2
    default: nil
    }
  }

  static func standsAlone(_ scalar: Unicode.Scalar) -> Bool { scalar.isASCII || widthAlone(scalar) != nil }

  /// Decides by the category of the scalar; scalars newer than the table of widths are unknown.
  private static func ofCategory(_ scalar: Unicode.Scalar) -> ScalarKind {
    let properties = scalar.properties
    guard let age = properties.age, age <= WidthTable.version else { return .unknown }
    // The first two are narrow by Unicode and wide to glibc; vowels and finals of conjoining Hangul join the cells of the consonant
    // before them; the last became a spacing mark in a later version.
    switch scalar.value {
    case 0x3248...0x324F, 0x4DC0...0x4DFF: return .unknown
    case 0x1160...0x11FF, 0xD7B0...0xD7FF, 0x1171E: return .mark
    default: break
    }
    switch properties.generalCategory {
    case .unassigned, .privateUse, .surrogate: return .unknown
    case .control, .format, .lineSeparator, .paragraphSeparator: return .hidden
    case .nonspacingMark, .enclosingMark: return .mark
    case .spacingMark: return .spacingMark
    default: return .printable(width: WidthTable.contains(scalar.value, in: WidthTable.wide) ? 2 : 1)
    }
  }
}

extension WidthTable {
  /// Whether `value` lies in one of the table's ranges; a binary search.
  static func contains(_ value: UInt32, in table: [UInt32]) -> Bool {
    var low = 0
    var high = table.count / 2
    while low < high {
      let middle = (low + high) / 2
      if value > table[middle * 2 + 1] {
        low = middle + 1
      } else if value < table[middle * 2] {
        high = middle
      } else {
        return true
      }
    }
    return false
  }
}
