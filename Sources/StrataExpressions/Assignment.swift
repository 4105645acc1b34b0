package import StrataDocuments

/// A change of one field, or a field that is computed, as it is typed: `price = price * 1.1`.
///
/// * Paths and literals as in filters; `null`.
/// * `+ - * /` and brackets, exact in decimal digits; an endless quotient is rounded to 34 digits. `+` also joins texts.
/// * `lower(X) upper(X) trim(X) length(X) replace(X, /RE/, "TEXT")` with `$1`…`$9` for groups.
/// * `date(X)` of a text or of seconds since 1970; a date minus a date is seconds. `if(CONDITION, X, Y)` with a condition of filters.
///
/// A result computed from null is null. A field of integers stays one: a result with a fraction is an error unless other
/// records have a fraction in the field.
package struct Assignment: Hashable, Sendable, CustomStringConvertible {
  /// As it was typed.
  package let text: String
  package let path: DocumentPath
  let value: Expression

  package init(parsing text: String) throws(DocumentError) {
    self.text = text
    do throws(ExpressionError) {
      var parser = AssignmentParser(text)
      (path, value) = try parser.assignment()
    } catch {
      throw .invalid(text: text, column: error.column, reason: error.message)
    }
  }

  indirect enum Expression: Hashable, Sendable {
    case literal(Document)
    case path(DocumentPath)
    case negative(Expression)
    case arithmetic(Expression, Operator, Expression)
    case call(Function, Expression)
    case replace(Expression, Pattern, with: String)
    case choice(Filter.Condition, Expression, Expression)
  }

  /// A function of one value; its raw value is its name.
  enum Function: String, CaseIterable { case lower, upper, trim, length, date }

  enum Operator: Hashable, Sendable { case plus, minus, times, divided }

  /// The document with the field set. Throws `DocumentError.refused` with the reason if the value cannot be computed.
  ///
  /// - Parameter hasFractions: called if the field has an integer and the result is none. Returns whether other records have a fraction in
  ///   the field, so that its integers are numbers that happen to be whole.
  package func apply(to document: Document, hasFractions: () -> Bool = { false }) throws(DocumentError) -> Document {
    let old = document[path]
    let new = try result(in: document, hasFractions: hasFractions)
    if new == .null, old == nil { return document }
    return try document.setting(path, to: new)
  }

  /// The value that the field of a document would be set to.
  package func result(in document: Document, hasFractions: () -> Bool = { false }) throws(DocumentError) -> Document {
    let result = try value.value(in: document)
    guard case .number(let number) = result, case .number(let old)? = document[path] else { return result }
    guard old.isInteger else {
      // A field of decimal numbers keeps its form. A number that the user wrote is stored as it was written.
      if case .literal = value { return result }
      return .number(number.isInteger ? NumberText(number.text + ".0") ?? number : number)
    }
    guard let digits = DecimalDigits(number.text), let text = digits.integerText, let whole = NumberText(text) else {
      if hasFractions() { return result }
      throw .refused(reason: "\(path) holds integers, and the result is \(number)")
    }
    guard whole.integer != nil || whole.unsigned != nil else {
      throw .refused(reason: "\(whole) is beyond the range of integers")
    }
    return .number(whole)
  }

  /// The paths that the value is computed from.
  package var paths: [DocumentPath] { value.paths }

  package var description: String { text }
}

// MARK: - Parsing

/// Reads an assignment: `* /` bind more than `+ -`.
private struct AssignmentParser {
  private static let depthLimit = 200

  private var scanner: ExpressionScanner
  private var depth = 0

  init(_ text: String) { scanner = ExpressionScanner(text) }

  mutating func assignment() throws(ExpressionError) -> (DocumentPath, Assignment.Expression) {
    guard let path = try scanner.path(), !path.isRoot else { throw scanner.expected("a field") }
    guard scanner.consume("=") else { throw scanner.expected("“=”") }
    let value = try sum()
    guard scanner.isAtEnd else { throw scanner.expected("an operator or the end") }
    return (path, value)
  }

  private mutating func sum() throws(ExpressionError) -> Assignment.Expression {
    var left = try product()
    while let symbol = symbol(["+": .plus, "-": .minus]) { left = .arithmetic(left, symbol, try product()) }
    return left
  }

  private mutating func product() throws(ExpressionError) -> Assignment.Expression {
    var left = try factor()
    while let symbol = symbol(["*": .times, "/": .divided]) { left = .arithmetic(left, symbol, try factor()) }
    return left
  }

  /// The operator that comes next, if it is one of these. Each makes the expression one level deeper.
  private mutating func symbol(_ symbols: KeyValuePairs<String, Assignment.Operator>) -> Assignment.Operator? {
    guard let found = symbols.first(where: { scanner.consume($0.key) }) else { return nil }
    depth += 1
    return found.value
  }

  private mutating func factor() throws(ExpressionError) -> Assignment.Expression {
    depth += 1
    defer { depth -= 1 }
    guard depth <= Self.depthLimit else {
      throw ExpressionError("more than \(Self.depthLimit) operators and brackets", column: scanner.column)
    }
    if scanner.consume("(") {
      let inner = try sum()
      guard scanner.consume(")") else { throw scanner.expected("“)”") }
      return inner
    }
    if let function = try function() { return function }
    if let literal = try scanner.literal() { return .literal(literal) }
    if scanner.consume("-") { return .negative(try factor()) }
    if let path = try scanner.path() { return .path(path) }
    throw scanner.expected("a field or a value")
  }

  private mutating func function() throws(ExpressionError) -> Assignment.Expression? {
    let before = scanner
    for function in Assignment.Function.allCases where scanner.consume(word: function.rawValue) {
      guard scanner.consume("(") else { break }
      let argument = try sum()
      guard scanner.consume(")") else { throw scanner.expected("“)”") }
      return .call(function, argument)
    }
    scanner = before
    if scanner.consume(word: "replace"), scanner.consume("(") {
      let argument = try sum()
      try comma()
      let pattern = try replacedPattern()
      try comma()
      guard let template = try scanner.string() else { throw scanner.expected("a text in quotes") }
      guard scanner.consume(")") else { throw scanner.expected("“)”") }
      return .replace(argument, pattern, with: template)
    }
    scanner = before
    if scanner.consume(word: "if"), scanner.consume("(") {
      var conditions = FilterParser(scanner)
      let condition = try conditions.alternatives()
      scanner = conditions.scanner
      try comma()
      let first = try sum()
      try comma()
      let second = try sum()
      guard scanner.consume(")") else { throw scanner.expected("“)”") }
      return .choice(condition, first, second)
    }
    // A field may have the name of a function.
    scanner = before
    return nil
  }

  /// A pattern between slashes, or in quotes the text itself.
  private mutating func replacedPattern() throws(ExpressionError) -> Pattern {
    if let text = try scanner.string() { return try Pattern(literally: text) }
    guard let pattern = try scanner.pattern() else { throw scanner.expected("a pattern, as /San.*/") }
    return pattern
  }

  private mutating func comma() throws(ExpressionError) {
    guard scanner.consume(",") else { throw scanner.expected("“,”") }
  }
}
