/// The nearest ASCII of a cell, for terminals that show nothing else (`LANG=C`, `--ascii`).
///
/// The result takes exactly the cell's columns, so that a drawn grid can be turned into ASCII without a new layout.
extension SafeText {
  /// The ASCII text for one canonical cell of `width` columns.
  package static func plainASCII(_ cell: String, width: Int) -> String {
    guard let first = cell.unicodeScalars.first else { return cell }
    if first.isASCII { return String(first) }
    let letter = symbols[first] ?? plainLetter(first.value) ?? lineDrawing(first.value) ?? "?"
    return String(repeating: letter, count: max(1, width))
  }

  private static func plainLetter(_ value: UInt32) -> String? {
    for run in WidthTable.plainLetters {
      guard value >= run.first, value < run.first + UInt32(run.letters.utf8CodeUnitCount) else { continue }
      let byte = run.letters.withUTF8Buffer { $0[Int(value - run.first)] }
      return String(Unicode.Scalar(byte))
    }
    return nil
  }

  private static func lineDrawing(_ value: UInt32) -> String? {
    switch value {
    case 0x2500, 0x2501, 0x2504, 0x2505, 0x2508, 0x2509, 0x254C, 0x254D, 0x2550: "-"
    case 0x2502, 0x2503, 0x2506, 0x2507, 0x250A, 0x250B, 0x254E, 0x254F, 0x2551: "|"
    case 0x250C...0x257F: "+"
    case 0x2588...0x258B: "#"
    case 0x258C...0x258F, 0x2590, 0x2595: "|"
    case 0x2591: "."
    case 0x2592, 0x2593: ":"
    case 0x2190: "<"
    case 0x2191: "^"
    case 0x2192, 0x2197: ">"
    case 0x2193: "v"
    case 0x2400...0x2426: "?"
    default: nil
    }
  }

  private static let symbols: [Unicode.Scalar: String] = [
    "…": ".", "·": ".", "•": "*", "●": "*", "○": "o", "◆": "*", "◇": "o", "▪": "*", "◌": "o", "□": "?",
    "▶": ">", "▸": ">", "›": ">", "»": ">", "◀": "<", "◂": "<", "‹": "<", "«": "<", "▲": "^", "▼": "v", "▾": "v",
    "▴": "^", "✓": "v", "✗": "x", "⚠": "!", "×": "x", "⏎": "<", "↵": "<", "⟳": "@", "⟨": "<", "⟩": ">",
    "“": "\"", "”": "\"", "„": "\"", "‘": "'", "’": "'", "–": "-", "—": "-", "−": "-", "±": "+", "≤": "<", "≥": ">",
    "≠": "!", "∅": "0", "▁": "_", "▂": ".", "▃": "-", "▄": "=", "▅": "+", "▆": "*", "▇": "#", "█": "#",
    "Δ": "~", "\u{A0}": " ", "\u{3000}": " ",
  ]
}
