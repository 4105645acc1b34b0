/// Text as lines, by its bytes: a value of many megabytes must open at once.
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

  /// The lines of a text, the long ones in pieces that fit most screens.
  static func wrapped(_ text: String) -> [String] { split(text).flatMap(pieces) }

  private static let width = 72

  private static func pieces(of line: String) -> [String] {
    guard line.utf8.count > 100 else { return [line] }
    var line = line
    let plain = line.withUTF8 { bytes -> [String]? in
      guard bytes.allSatisfy({ $0 < 0x80 }) else { return nil }
      return stride(from: 0, to: bytes.count, by: width).map {
        String(decoding: bytes[$0..<min(bytes.count, $0 + width)], as: UTF8.self)
      }
    }
    if let plain { return plain }
    var pieces: [String] = []
    var rest = Substring(line)
    while !rest.isEmpty {
      pieces.append(String(rest.prefix(width)))
      rest = rest.dropFirst(width)
    }
    return pieces
  }
}
