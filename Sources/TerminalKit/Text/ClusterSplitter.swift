/// Turns one grapheme cluster into canonical cells.
///
/// A cluster usually is one cell. It becomes several where its scalars have columns of their own (conjuncts of Indic
/// scripts), and is shortened to its first scalar and a dot where it is joined to something that only some terminals
/// merge.
struct ClusterSplitter {
  private var cell = ""
  private var cellScalars = 0
  private var cellWidth = 0
  private var cellIsStandIn = false

  /// Calls `body` with the cells of `character`; `false` as soon as `body` answers so.
  static func split(_ character: Character, _ body: (SafeText.Cluster) -> Bool) -> Bool {
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
      case .spacingMark:
        saysDot = true
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

  /// A picture for what must never reach a terminal: `␛` for the old controls, `⟨U+202E⟩` for the others.
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

/// How a scalar takes part in a cell.
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
      self = Self.inTables(value)
    }
  }

  /// The columns of a scalar that neither joins what stands before it nor is joined by another such: of ASCII, Latin,
  /// lines and blocks, and Chinese, which most texts are made of. Nil for all others.
  static func widthAlone(_ scalar: Unicode.Scalar) -> Int? {
    switch scalar.value {
    case 0x20...0x7E, 0xA0...0xAC, 0xAF...0x2FF, 0x2500...0x25A1: 1
    case 0x4E00...0x9FFC: 2
    default: nil
    }
  }

  static func standsAlone(_ scalar: Unicode.Scalar) -> Bool { scalar.isASCII || widthAlone(scalar) != nil }

  private static func inTables(_ value: UInt32) -> ScalarKind {
    if WidthTable.contains(value, in: WidthTable.marks) { return .mark }
    if WidthTable.contains(value, in: WidthTable.wide) { return .printable(width: 2) }
    if WidthTable.contains(value, in: WidthTable.hidden) { return .hidden }
    if WidthTable.contains(value, in: WidthTable.unknown) { return .unknown }
    if WidthTable.contains(value, in: WidthTable.spacingMarks) { return .spacingMark }
    return .printable(width: 1)
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
