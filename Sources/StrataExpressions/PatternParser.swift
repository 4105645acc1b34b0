import StrataDocuments

/// The syntax tree of a pattern, before it is compiled.
indirect enum PatternTree {
  case scalar(Unicode.Scalar)
  case set(PatternSet)
  case assertion(PatternAssertion)
  case sequence([PatternTree])
  case choice([PatternTree])
  /// `number` is nil for a group that captures nothing.
  case group(PatternTree, number: Int?)
  case repetition(PatternTree, least: Int, most: Int?, isLazy: Bool)
}

enum PatternAssertion {
  case start
  case end
  case wordBoundary
  case noWordBoundary
}

struct PatternSet: Sendable {
  enum Kind: Sendable { case digit, word, space }

  var ranges: [ClosedRange<UInt32>] = []
  var kinds: [(kind: Kind, isOpposite: Bool)] = []
  var isOpposite = false

  /// `.`: everything but the end of a line.
  static let any = PatternSet(ranges: [10...10, 13...13], isOpposite: true)

  func contains(_ scalar: Unicode.Scalar) -> Bool {
    let isListed =
      ranges.contains { $0.contains(scalar.value) }
      || kinds.contains { Self.has($0.kind, scalar) != $0.isOpposite }
    return isListed != isOpposite
  }

  static func has(_ kind: Kind, _ scalar: Unicode.Scalar) -> Bool {
    switch kind {
    case .digit: scalar.isASCII ? "0"..."9" ~= scalar : scalar.properties.generalCategory == .decimalNumber
    case .space: scalar.properties.isWhitespace
    case .word:
      scalar == "_" || scalar.properties.isAlphabetic || has(.digit, scalar)
        || scalar.properties.generalCategory == .nonspacingMark
    }
  }
}

struct PatternParser {
  /// The depth to which groups may be nested, and the count to which `{n}` may repeat.
  private static let depthLimit = 100
  private static let repetitionLimit = 1000

  private let scalars: [Unicode.Scalar]
  private var at = 0
  private var depth = 0
  private(set) var groups = 0

  init(_ text: String) { scalars = Array(NormalForm.composed(text).unicodeScalars) }

  mutating func pattern() throws(ExpressionError) -> PatternTree {
    let tree = try choice()
    guard at == scalars.count else { throw error("“)” without “(”") }
    return tree
  }

  private mutating func choice() throws(ExpressionError) -> PatternTree {
    var branches = [try sequence()]
    while consume("|") { branches.append(try sequence()) }
    return branches.count == 1 ? branches[0] : .choice(branches)
  }

  private mutating func sequence() throws(ExpressionError) -> PatternTree {
    var parts: [PatternTree] = []
    while at < scalars.count, scalars[at] != "|", scalars[at] != ")" { parts.append(try repeated()) }
    return parts.count == 1 ? parts[0] : .sequence(parts)
  }

  private mutating func repeated() throws(ExpressionError) -> PatternTree {
    var tree = try atom()
    while let (least, most) = try quantifier() {
      if case .assertion = tree { throw error("a place cannot be repeated", at: at - 1) }
      if case .repetition = tree { throw error("a repetition cannot be repeated without brackets", at: at - 1) }
      if at < scalars.count, scalars[at] == "+" { throw error("possessive repetition is not supported") }
      tree = .repetition(tree, least: least, most: most, isLazy: consume("?"))
    }
    return tree
  }

  private mutating func quantifier() throws(ExpressionError) -> (Int, Int?)? {
    if consume("*") { return (0, nil) }
    if consume("+") { return (1, nil) }
    if consume("?") { return (0, 1) }
    guard at < scalars.count, scalars[at] == "{" else { return nil }
    let start = at
    at += 1
    guard let least = number() else { throw error("expected a number after “{”", at: start) }
    var most: Int? = least
    if consume(",") { most = number() }
    guard consume("}") else { throw error("expected “}”") }
    guard least <= Self.repetitionLimit, most ?? least <= Self.repetitionLimit else {
      throw error("no more than \(Self.repetitionLimit) repetitions", at: start)
    }
    if let most, most < least { throw error("the numbers stand the wrong way round", at: start) }
    return (least, most)
  }

  private mutating func number() -> Int? {
    var digits = ""
    while at < scalars.count, "0"..."9" ~= scalars[at], digits.utf8.count < 9 {
      digits.unicodeScalars.append(scalars[at])
      at += 1
    }
    return Int(digits)
  }

  private mutating func atom() throws(ExpressionError) -> PatternTree {
    let scalar = scalars[at]
    at += 1
    switch scalar {
    case ".": return .set(.any)
    case "^": return .assertion(.start)
    case "$": return .assertion(.end)
    case "(": return try group()
    case "[": return .set(try set())
    case "\\": return try escaped()
    case "*", "+", "?": throw error("nothing stands before “\(scalar)”", at: at - 1)
    case "{": throw error("nothing stands before “{”; a bracket itself is “\\{”", at: at - 1)
    default: return .scalar(scalar)
    }
  }

  private mutating func group() throws(ExpressionError) -> PatternTree {
    let start = at - 1
    var number: Int?
    if consume("?") {
      guard consume(":") else { throw error("only “(?:” is supported", at: start) }
    } else {
      groups += 1
      number = groups
    }
    depth += 1
    guard depth <= Self.depthLimit else { throw error("groups are nested deeper than \(Self.depthLimit)", at: start) }
    let tree = try choice()
    depth -= 1
    guard consume(")") else { throw error("the group does not end", at: start) }
    return .group(tree, number: number)
  }

  private mutating func escaped() throws(ExpressionError) -> PatternTree {
    guard at < scalars.count else { throw error("nothing stands after “\\”", at: at - 1) }
    switch scalars[at] {
    case "b":
      at += 1
      return .assertion(.wordBoundary)
    case "B":
      at += 1
      return .assertion(.noWordBoundary)
    case "1"..."9": throw error("references to groups are not supported", at: at - 1)
    default: break
    }
    if let kind = kind() { return .set(PatternSet(kinds: [kind])) }
    return .scalar(try character())
  }

  /// The class that a letter after a backslash names.
  private mutating func kind() -> (kind: PatternSet.Kind, isOpposite: Bool)? {
    let kind: PatternSet.Kind
    switch scalars[at] {
    case "d", "D": kind = .digit
    case "w", "W": kind = .word
    case "s", "S": kind = .space
    default: return nil
    }
    defer { at += 1 }
    return (kind, isOpposite: scalars[at].properties.isUppercase)
  }

  /// The character that an escape names.
  private mutating func character() throws(ExpressionError) -> Unicode.Scalar {
    let scalar = scalars[at]
    at += 1
    switch scalar {
    case "n": return "\n"
    case "r": return "\r"
    case "t": return "\t"
    case "f": return "\u{C}"
    case "x": return try hexadecimal(2)
    case "u":
      guard consume("{") else { return try hexadecimal(4) }
      let result = try hexadecimal(nil)
      guard consume("}") else { throw error("expected “}”") }
      return result
    case "a"..."z", "A"..."Z", "0"..."9": throw error("unknown escape “\\\(scalar)”", at: at - 2)
    default: return scalar
    }
  }

  private mutating func hexadecimal(_ width: Int?) throws(ExpressionError) -> Unicode.Scalar {
    let start = at
    var code: UInt32 = 0
    while at < scalars.count, at - start < width ?? 6, scalars[at].isASCII,
      let digit = UInt8(ascii: scalars[at]).hexDigitValue
    {
      code = code << 4 | UInt32(digit)
      at += 1
    }
    guard at > start, width == nil || at - start == width, let scalar = Unicode.Scalar(code) else {
      throw error("not a character's number", at: start)
    }
    return scalar
  }

  private mutating func set() throws(ExpressionError) -> PatternSet {
    let start = at - 1
    var set = PatternSet(isOpposite: consume("^"))
    var isFirst = true
    while at < scalars.count, scalars[at] != "]" || isFirst {
      isFirst = false
      if scalars[at] == "[", at + 1 < scalars.count, scalars[at + 1] == ":" {
        throw error("named classes are not supported")
      }
      guard let low = try setCharacter(into: &set) else { continue }
      guard at + 1 < scalars.count, scalars[at] == "-", scalars[at + 1] != "]" else {
        set.ranges.append(low.value...low.value)
        continue
      }
      at += 1
      let dash = at - 1
      guard let high = try setCharacter(into: &set), low <= high else { throw error("the range is empty", at: dash) }
      set.ranges.append(low.value...high.value)
    }
    guard consume("]") else { throw error("the class does not end", at: start) }
    return set
  }

  /// The next character of a class; nil if the escape is a class itself, which is added.
  private mutating func setCharacter(into set: inout PatternSet) throws(ExpressionError) -> Unicode.Scalar? {
    guard consume("\\") else {
      at += 1
      return scalars[at - 1]
    }
    guard at < scalars.count else { throw error("nothing stands after “\\”", at: at - 1) }
    if let kind = kind() {
      set.kinds.append(kind)
      return nil
    }
    return try character()
  }

  private mutating func consume(_ scalar: Unicode.Scalar) -> Bool {
    guard at < scalars.count, scalars[at] == scalar else { return false }
    at += 1
    return true
  }

  private func error(_ message: String, at place: Int? = nil) -> ExpressionError {
    ExpressionError(message, column: (place ?? at) + 1)
  }
}
