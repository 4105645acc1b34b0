import StrataDocuments

/// Takes words, symbols, paths and literals off the front of an expression.
extension ExpressionScanner {
  var isAtEnd: Bool {
    mutating get {
      skipSpaces()
      return at == scalars.count
    }
  }

  /// Takes a symbol, whatever follows it.
  mutating func consume(_ symbol: String) -> Bool {
    skipSpaces()
    guard scalars[at...].starts(with: symbol.unicodeScalars) else { return false }
    at += symbol.unicodeScalars.count
    return true
  }

  /// Takes a word, in lower or upper case, that is not the beginning of a longer one.
  mutating func consume(word: String) -> Bool {
    skipSpaces()
    let end = at + word.unicodeScalars.count
    guard end <= scalars.count, end == scalars.count || !DocumentPath.isNamePart(scalars[end]) else { return false }
    guard text(at..<end).lowercased() == word else { return false }
    at = end
    return true
  }

  var column: Int {
    mutating get {
      skipSpaces()
      return at + 1
    }
  }

  /// The next token, for a message.
  var found: String {
    mutating get {
      skipSpaces()
      guard at < scalars.count else { return "the end" }
      var end = at
      while end < scalars.count, end < at + 20, DocumentPath.isNamePart(scalars[end]) { end += 1 }
      return "“\(text(at..<max(end, at + 1)))”"
    }
  }

  mutating func expected(_ what: String, hint: String = "") -> ExpressionError {
    let found = found
    return ExpressionError("expected \(what), not \(found)\(hint)", column: column)
  }

  /// The name with hyphens that was cut at the hyphen that comes next, as in `unit-price > 3`; nil if there is none.
  var hyphenatedName: String? {
    func isPart(_ index: Int) -> Bool { DocumentPath.isNamePart(scalars[index]) || scalars[index] == "-" }
    guard at > 0, at + 1 < scalars.count, scalars[at] == "-", DocumentPath.isNamePart(scalars[at - 1]),
      DocumentPath.isNamePart(scalars[at + 1])
    else { return nil }
    var (start, end) = (at, at)
    while start > 0, isPart(start - 1) { start -= 1 }
    while end < scalars.count, isPart(end) { end += 1 }
    return text(start..<end)
  }

  // MARK: Paths

  /// A path, if one comes next; a reserved word is a path only behind a point or in quotes.
  mutating func path() throws(ExpressionError) -> DocumentPath? {
    skipSpaces()
    guard at < scalars.count else { return nil }
    var first: [DocumentPath.Component] = []
    if DocumentPath.isNameStart(scalars[at]) {
      let start = at
      let name = try name()
      if DocumentPath.reservedWords.contains(name.lowercased()) {
        at = start
        return nil
      }
      first = [.member(name)]
    } else if scalars[at] == "." {
      guard at + 1 < scalars.count,
        DocumentPath.isNameStart(scalars[at + 1]) || "\"[".unicodeScalars.contains(scalars[at + 1])
      else {
        at += 1
        return .root
      }
      if scalars[at + 1] == "[" { at += 1 }
    } else {
      return nil
    }
    return DocumentPath(try steps(after: first))
  }

  // MARK: Literals

  /// A literal, if one comes next: a text in double or single quotes, a number, a date, `true`, `false`, `null`.
  mutating func literal() throws(ExpressionError) -> Document? {
    skipSpaces()
    guard at < scalars.count else { return nil }
    if let text = try string() { return .string(text) }
    if let date = date() { return .date(date) }
    if let number = try number() { return .number(number) }
    if consume(word: "true") { return .bool(true) }
    if consume(word: "false") { return .bool(false) }
    if consume(word: "null") || consume(word: "nil") { return .null }
    return nil
  }

  /// `2026-11-17`, `2026-11-17T09:30:00Z`.
  private mutating func date() -> Double? {
    var end = at
    while end < scalars.count, end < at + 40,
      "0"..."9" ~= scalars[end] || "-:.+TZ".unicodeScalars.contains(scalars[end])
    {
      // A range, as 2026-11-17..2026-11-18.
      if scalars[end...].starts(with: "..".unicodeScalars) { break }
      end += 1
    }
    guard end - at >= 10, scalars[at + 4] == "-", scalars[at + 7] == "-", let date = DateText.parse(text(at..<end))
    else {
      return nil
    }
    at = end
    return date
  }

  /// A number, also with a minus sign, with `_` between digits, and with k, M or G right behind it for thousands, millions and billions.
  mutating func number() throws(ExpressionError) -> NumberText? {
    skipSpaces()
    let start = at
    var digits = ""
    var isAfterExponent = false
    while at < scalars.count {
      let scalar = scalars[at]
      switch scalar {
      case "." where at + 1 < scalars.count && scalars[at + 1] == ".": return try finished(digits, from: start)
      case "0"..."9", ".": digits.unicodeScalars.append(scalar)
      case "_" where at > start: break
      case "-" where at == start || isAfterExponent, "+" where isAfterExponent: digits.unicodeScalars.append(scalar)
      case "e" where at > start, "E" where at > start: digits.unicodeScalars.append("e")
      default:
        guard let power = DecimalDigits.power(ofSuffix: scalar), isLastOfWord else {
          return try finished(digits, from: start)
        }
        at += 1
        return try finished(digits, scaledBy: power, from: start)
      }
      isAfterExponent = scalar == "e" || scalar == "E"
      at += 1
    }
    return try finished(digits, from: start)
  }

  /// Whether no further character of a word follows the next one.
  private var isLastOfWord: Bool { at + 1 == scalars.count || !DocumentPath.isNamePart(scalars[at + 1]) }

  private mutating func finished(
    _ digits: String, scaledBy power: Int = 0, from start: Int
  ) throws(ExpressionError) -> NumberText? {
    guard digits.utf8.contains(where: \.isDigit) else {
      at = start
      return nil
    }
    if power == 0, let number = NumberText(digits) { return number }
    // People read `007` and `5.` as numbers.
    if digits.utf8.count <= 30,
      let number = DecimalDigits(digits).flatMap({ NumberText($0.scaled(by: power).description) })
    {
      return number
    }
    throw ExpressionError("“\(text(start..<at))” is not a number", column: start + 1)
  }

  // MARK: Patterns

  /// A pattern between slashes, with `i` behind it to ignore case, or a pattern as a text in quotes.
  mutating func pattern(ignoringCase: Bool = false) throws(ExpressionError) -> Pattern? {
    skipSpaces()
    let start = at
    guard consume("/") else {
      guard let text = try string() else { return nil }
      do { return try Pattern(text, ignoresCase: ignoringCase) } catch {
        throw ExpressionError(error.message, column: min(start + 1 + error.column, at))
      }
    }
    var source = String.UnicodeScalarView()
    // A slash in brackets is a character of theirs.
    var isInBrackets = false
    while at < scalars.count, isInBrackets || scalars[at] != "/" {
      if scalars[at] == "[" || scalars[at] == "]" { isInBrackets = scalars[at] == "[" }
      if scalars[at] == "\\", at + 1 < scalars.count {
        if scalars[at + 1] != "/" { source.append(scalars[at]) }
        at += 1
      }
      source.append(scalars[at])
      at += 1
    }
    guard consume("/") else { throw ExpressionError("the pattern does not end", column: start + 1) }
    let ignoresCase = consume(word: "i") || ignoringCase
    do {
      return try Pattern(String(source), ignoresCase: ignoresCase)
    } catch {
      throw ExpressionError(error.message, column: start + 1 + error.column)
    }
  }
}
