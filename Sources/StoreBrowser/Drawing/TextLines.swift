import StrataTerminal

/// Splits text into lines by its bytes, because a value of many megabytes must open at once.
enum TextLines {
  /// The lines of a text, however long each is.
  static func split(_ text: String) -> [String] {
    var text = text
    return text.withUTF8 { bytes in
      bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map {
        String(decoding: $0, as: UTF8.self)
      }
    }
  }

  /// Splits a line into pieces of at most `columns` cells, so that all of it is visible.
  static func folded(_ line: String, to columns: Int) -> [String] {
    // A pane may be narrower than its border.
    let columns = max(1, columns)
    guard line.utf8.count > columns else { return [line] }
    var line = line
    let plain = line.withUTF8 { bytes -> [String]? in
      guard bytes.allSatisfy({ (0x20..<0x7F).contains($0) }) else { return nil }
      return stride(from: 0, to: bytes.count, by: columns).map {
        String(decoding: bytes[$0..<min(bytes.count, $0 + columns)], as: UTF8.self)
      }
    }
    if let plain { return plain }
    var pieces = [""]
    var used = 0
    for character in line {
      let width = SafeText.width(String(character))
      if used + width > columns, used > 0 {
        pieces.append("")
        used = 0
      }
      pieces[pieces.count - 1].append(character)
      used += width
    }
    return pieces
  }
}
