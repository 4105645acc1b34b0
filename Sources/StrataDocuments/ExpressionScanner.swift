/// Takes paths and texts in quotes off the front of an expression.
package struct ExpressionScanner {
  package let scalars: [Unicode.Scalar]
  package var at = 0

  package init(_ text: String) { scalars = Array(text.unicodeScalars) }

  package mutating func skipSpaces() {
    while at < scalars.count, scalars[at].properties.isWhitespace { at += 1 }
  }

  package func text(_ range: Range<Int>) -> String {
    var view = String.UnicodeScalarView()
    // The standard library's `append(contentsOf:)` is not specialised, and looks its types up.
    for scalar in scalars[range] { view.append(scalar) }
    return String(view)
  }

  private func error(_ message: String) -> ExpressionError { ExpressionError(message, column: at + 1) }

  // MARK: Paths

  /// The path that the whole text is. Here a bare name may have any characters but points, brackets, quotes and spaces, so that
  /// `postal-code` needs no quotes on a command line.
  mutating func wholePath() throws(ExpressionError) -> [DocumentPath.Component] {
    func isNamePart(_ scalar: Unicode.Scalar) -> Bool {
      !".[]\"".unicodeScalars.contains(scalar) && !scalar.properties.isWhitespace
    }
    guard let start = scalars.first else { throw error("the path is empty") }
    if scalars == ["."] { return [] }
    if start == ".", scalars[1] == "[" { at = 1 }
    let first: [DocumentPath.Component] = start == "." || start == "[" ? [] : [.member(try name(isNamePart))]
    let components = try steps(after: first, isNamePart)
    guard at == scalars.count else { throw error("expected “.” or “[”") }
    return components
  }

  /// The steps of a path, those that come next behind the first ones.
  package mutating func steps(
    after first: [DocumentPath.Component], _ isNamePart: (Unicode.Scalar) -> Bool = DocumentPath.isNamePart
  ) throws(ExpressionError) -> [DocumentPath.Component] {
    var components = first
    while at < scalars.count {
      guard components.count < JSONParser.depthLimit else { throw error("nested deeper than \(JSONParser.depthLimit)") }
      switch scalars[at] {
      case ".":
        at += 1
        components.append(.member(try name(isNamePart)))
      case "[": components.append(try subscripted())
      default: return components
      }
    }
    return components
  }

  /// A name, bare or in quotes.
  package mutating func name(
    _ isNamePart: (Unicode.Scalar) -> Bool = DocumentPath.isNamePart
  ) throws(ExpressionError) -> String {
    if at < scalars.count, scalars[at] == "\"", let name = try string() { return name }
    let start = at
    while at < scalars.count, isNamePart(scalars[at]) { at += 1 }
    guard at > start else { throw error("the name is missing") }
    return text(start..<at)
  }

  private mutating func subscripted() throws(ExpressionError) -> DocumentPath.Component {
    at += 1
    let component: DocumentPath.Component
    if at < scalars.count, scalars[at] == "\"", let name = try string() {
      component = .member(name)
    } else {
      let start = at
      while at < scalars.count, "0"..."9" ~= scalars[at] { at += 1 }
      guard let index = Int(text(start..<at)) else {
        throw ExpressionError("expected a position from 0 or a name in quotes", column: start + 1)
      }
      component = .index(index)
    }
    guard at < scalars.count, scalars[at] == "]" else { throw error("expected “]”") }
    at += 1
    return component
  }

  // MARK: Texts

  /// A text in double or single quotes, if one comes next.
  package mutating func string() throws(ExpressionError) -> String? {
    skipSpaces()
    guard at < scalars.count, scalars[at] == "\"" || scalars[at] == "'" else { return nil }
    let start = at
    let quote = scalars[at]
    at += 1
    var content = String.UnicodeScalarView()
    while at < scalars.count, scalars[at] != quote {
      if scalars[at] == "\\" {
        content.append(try escape())
      } else {
        content.append(scalars[at])
        at += 1
      }
    }
    guard at < scalars.count else { throw ExpressionError("the text does not end", column: start + 1) }
    at += 1
    return String(content)
  }

  private mutating func escape() throws(ExpressionError) -> Unicode.Scalar {
    let start = at
    at += 2
    guard at <= scalars.count else { throw ExpressionError("the text does not end", column: start + 1) }
    switch scalars[at - 1] {
    case "\"", "'", "\\", "/": return scalars[at - 1]
    case "n": return "\n"
    case "r": return "\r"
    case "t": return "\t"
    case "b": return "\u{8}"
    case "f": return "\u{C}"
    case "0": return "\0"
    case "u":
      let isBraced = at < scalars.count && scalars[at] == "{"
      if isBraced { at += 1 }
      guard var code = hexadecimal(isBraced ? 8 : 4) else { break }
      if !isBraced, 0xD800..<0xDC00 ~= code, scalars[at...].starts(with: "\\u".unicodeScalars) {
        at += 2
        guard let low = hexadecimal(4), 0xDC00..<0xE000 ~= low else { break }
        code = 0x10000 + (code - 0xD800) << 10 + (low - 0xDC00)
      }
      guard let scalar = Unicode.Scalar(code) else { break }
      guard isBraced else { return scalar }
      guard at < scalars.count, scalars[at] == "}" else { break }
      at += 1
      return scalar
    default: break
    }
    throw ExpressionError("unknown escape", column: start + 1)
  }

  private mutating func hexadecimal(_ most: Int) -> UInt32? {
    let start = at
    while at < scalars.count, at < start + most, scalars[at].properties.isASCIIHexDigit { at += 1 }
    return UInt32(text(start..<at), radix: 16)
  }
}
