import StrataDocuments

/// Reads a filter: `or` binds least, then `and`, then `not`.
struct FilterParser {
  /// The depth to which brackets and `not` may be nested.
  private static let depthLimit = 200

  private(set) var scanner: ExpressionScanner
  private var depth = 0
  /// Texts and numbers at places where only a field is possible.
  private(set) var namesInQuotes: [DocumentPath] = []

  init(_ text: String) { scanner = ExpressionScanner(text) }

  /// Reads a condition within another expression.
  init(_ scanner: ExpressionScanner) { self.scanner = scanner }

  mutating func filter() throws(ExpressionError) -> Filter.Condition {
    let condition = try alternatives()
    guard scanner.isAtEnd else {
      let hint = scanner.hyphenatedName.map { "; a field of that name is written .\"\($0)\"" }
      throw scanner.expected("“and”, “or” or the end", hint: hint ?? "")
    }
    return condition
  }

  mutating func alternatives() throws(ExpressionError) -> Filter.Condition {
    var parts = [try conjunction()]
    while scanner.consume(word: "or") || scanner.consume("||") { parts.append(try conjunction()) }
    return parts.count == 1 ? parts[0] : .any(parts)
  }

  private mutating func conjunction() throws(ExpressionError) -> Filter.Condition {
    var parts = [try negation()]
    while scanner.consume(word: "and") || scanner.consume("&&") { parts.append(try negation()) }
    return parts.count == 1 ? parts[0] : .all(parts)
  }

  private mutating func negation() throws(ExpressionError) -> Filter.Condition {
    depth += 1
    defer { depth -= 1 }
    guard depth <= Self.depthLimit else {
      throw ExpressionError("nested deeper than \(Self.depthLimit)", column: scanner.column)
    }
    if scanner.consume(word: "not") || scanner.consume("!") { return .not(try negation()) }
    guard scanner.consume("(") else { return try comparison() }
    let inner = try alternatives()
    guard scanner.consume(")") else { throw scanner.expected("“)”") }
    return inner
  }

  private mutating func comparison() throws(ExpressionError) -> Filter.Condition {
    let column = scanner.column
    let left = try operand()
    if scanner.consume(word: "is") {
      let isNegative = scanner.consume(word: "not")
      let left = try field(left, column)
      guard scanner.consume(word: "null") || scanner.consume(word: "nil") else { throw scanner.expected("“null”") }
      return isNegative ? .not(.isNull(left)) : .isNull(left)
    }
    let isNegative = scanner.consume(word: "not")
    if scanner.consume(word: "in") {
      let isOne = Filter.Condition.isOne(try field(left, column), of: try list())
      return isNegative ? .not(isOne) : isOne
    }
    if isNegative { throw scanner.expected("“in”") }
    if let words = try words(after: left, column) { return words }
    if scanner.consume(word: "has") { return .has(try field(left, column), try operand()) }
    for (symbol, ignoresCase) in [("=~", true), ("~", false)] where scanner.consume(symbol) {
      guard let pattern = try scanner.pattern(ignoringCase: ignoresCase) else {
        throw scanner.expected("a pattern, as /San.*/")
      }
      return .matches(try field(left, column), pattern)
    }
    for test in Filter.TextTest.allCases where scanner.consume(test.rawValue) {
      return try text(left, column, test)
    }
    for (symbol, comparison) in Self.comparisons where scanner.consume(symbol) {
      let right = try operand()
      if comparison == .equal, let end = Self.rangeEnds.first(where: { scanner.consume($0.0) }) {
        let field = try field(left, column)
        return Self.range(field, right, end.1, try operand())
      }
      return Self.compare(try subject(left, column, beside: right), comparison, right)
    }
    if case .path = left { return .isTrue(left) }
    if case .literal(.bool) = left { return .isTrue(left) }
    throw scanner.expected("a comparison")
  }

  private mutating func text(
    _ left: Filter.Operand, _ column: Int, _ test: Filter.TextTest
  ) throws(ExpressionError) -> Filter.Condition {
    let part = try textOperand()
    return .text(try subject(left, column, beside: part), test, part)
  }

  /// The comparisons that are words: `between a and b`, `contains`, `starts with`, `ends with`, `like`.
  private mutating func words(
    after left: Filter.Operand, _ column: Int
  ) throws(ExpressionError) -> Filter.Condition? {
    if scanner.consume(word: "between") {
      let low = try operand()
      guard scanner.consume(word: "and") else { throw scanner.expected("“and”") }
      let high = try operand()
      let left = try subject(left, column, beside: low, high)
      return Self.range(left, low, .lessOrEqual, high)
    }
    if scanner.consume(word: "contains") { return try text(left, column, .contains) }
    for (word, test) in [("starts", Filter.TextTest.begins), ("ends", .ends)] where scanner.consume(word: word) {
      guard scanner.consume(word: "with") else { throw scanner.expected("“with”") }
      return try text(left, column, test)
    }
    if scanner.consume(word: "like") {
      guard let pattern = try scanner.string() else { throw scanner.expected("a text in quotes") }
      return try Self.like(field(left, column), pattern)
    }
    return nil
  }

  /// `%` matches any text and `_` one character; all other characters match themselves.
  private static func like(_ left: Filter.Operand, _ pattern: String) throws(ExpressionError) -> Filter.Condition {
    let body = pattern.dropFirst(pattern.first == "%" ? 1 : 0).dropLast(pattern.last == "%" ? 1 : 0)
    if !pattern.isEmpty, pattern != "%", !body.contains(where: { $0 == "%" || $0 == "_" }) {
      let text = Filter.Operand.literal(.string(String(body)))
      switch (pattern.first == "%", pattern.last == "%") {
      case (false, false): return .compare(left, .equal, text)
      case (false, true): return .text(left, .begins, text)
      case (true, false): return .text(left, .ends, text)
      case (true, true): return .text(left, .contains, text)
      }
    }
    var source = "^"
    for scalar in pattern.unicodeScalars {
      switch scalar {
      case "%": source += "(?:.|[\\n\\r])*"
      case "_": source += "(?:.|[\\n\\r])"
      default:
        if "\\.[]{}()*+?|^$/".unicodeScalars.contains(scalar) { source += "\\" }
        source.unicodeScalars.append(scalar)
      }
    }
    // A pattern matches numbers too; the forms above are those of texts.
    return .all([.text(left, .contains, .literal(.string(""))), .matches(left, try Pattern(source + "$"))])
  }

  private static let comparisons: [(String, Filter.Comparison)] = [
    ("==", .equal), ("=", .equal), ("!=", .notEqual), ("<>", .notEqual), ("<=", .lessOrEqual), ("<", .less),
    (">=", .greaterOrEqual), (">", .greater),
  ]

  /// The symbols of a range behind `=`, as for the keys of an index.
  private static let rangeEnds: [(String, Filter.Comparison)] = [
    ("...", .lessOrEqual), ("..=", .lessOrEqual), ("..<", .less), ("..", .less),
  ]

  private static func range(
    _ value: Filter.Operand, _ low: Filter.Operand, _ end: Filter.Comparison, _ high: Filter.Operand
  ) -> Filter.Condition {
    // Only a path of several steps leads to more than one value.
    if case .path(let path) = value, path.components.count > 1 { return .range(value, from: low, end, high) }
    return .all([compare(value, .greaterOrEqual, low), compare(value, end, high)])
  }

  private static func compare(
    _ left: Filter.Operand, _ comparison: Filter.Comparison, _ right: Filter.Operand
  ) -> Filter.Condition {
    switch (left, comparison, right) {
    case (.literal, _, .path): compare(right, comparison.mirrored, left)
    case (_, .equal, .literal(.null)): .isNull(left)
    case (_, .notEqual, .literal(.null)): .not(.isNull(left))
    case (_, .notEqual, _): .not(.compare(left, .equal, right))
    default: .compare(left, comparison, right)
    }
  }

  /// The field that a text or a number names if there is no field to compare it with.
  private mutating func field(_ operand: Filter.Operand, _ column: Int) throws(ExpressionError) -> Filter.Operand {
    let name: String
    switch operand {
    case .path: return operand
    case .literal(.string(let text)): name = text
    case .literal(.number(let number)): name = number.text
    case .literal: throw ExpressionError("a constant is compared with a constant", column: column)
    }
    let path = DocumentPath([.member(name)])
    namesInQuotes.append(path)
    return .path(path)
  }

  /// The left operand, or the field that it names if no other operand is one.
  private mutating func subject(
    _ left: Filter.Operand, _ column: Int, beside others: Filter.Operand...
  ) throws(ExpressionError) -> Filter.Operand {
    for case .path in others { return left }
    return try field(left, column)
  }

  private mutating func operand() throws(ExpressionError) -> Filter.Operand {
    if let path = try scanner.path() { return .path(path) }
    if let literal = try scanner.literal() { return .literal(literal) }
    throw scanner.expected("a field or a value")
  }

  private mutating func textOperand() throws(ExpressionError) -> Filter.Operand {
    let column = scanner.column
    let operand = try operand()
    if case .literal(let value) = operand {
      guard case .string = value else { throw ExpressionError("expected a text in quotes", column: column) }
    }
    return operand
  }

  private mutating func list() throws(ExpressionError) -> [Document] {
    guard let (_, close) = [("(", ")"), ("[", "]")].first(where: { scanner.consume($0.0) }) else {
      throw scanner.expected("a list, as (1, 2)")
    }
    var values: [Document] = []
    if scanner.consume(close) { return values }
    repeat {
      guard let value = try scanner.literal() else { throw scanner.expected("a value") }
      values.append(value)
    } while scanner.consume(",")
    guard scanner.consume(close) else { throw scanner.expected("“,” or “\(close)”") }
    return values
  }
}
