package import StrataDocuments

/// A range of an index's values, as it is typed and as Swift writes it.
///
/// `"Ca" ..< "Le"` leaves out the upper bound, `1...5` has both, `1 ..> 5` leaves out the lower one, `1 >..< 5` (which Swift spells as an
/// `IndexRange`) both. Either side may be missing (`..<5`, `5...`, `5 ..>` everything above). `...` or nothing is all; a value alone is
/// just that. Ends in the wrong order are an error. People also write `1 .. 5` for `1 ..< 5`, `1 ..= 5` for `1 ... 5`, `> 5`, `>= 5`,
/// `< 5` and `<= 5`, and numbers as `1,000,000` and `2M`.
package struct KeyInterval: Hashable, Sendable, CustomStringConvertible {
  package enum Bound: Hashable, Sendable {
    case open
    case including(KeyValue)
    case excluding(KeyValue)

    var value: KeyValue? {
      switch self {
      case .open: nil
      case .including(let value), .excluding(let value): value
      }
    }
  }

  package var lower: Bound
  package var upper: Bound

  package init(lower: Bound = .open, upper: Bound = .open) {
    self.lower = lower
    self.upper = upper
  }

  /// Parses a typed range, with values of the index's encoding.
  package init(parsing text: String, encoding: KeyEncoding) throws(ExpressionError) {
    let scalars = Array(text.unicodeScalars)
    if let compared = try Self.comparison(scalars, encoding) {
      self = compared
      return
    }
    guard let (place, symbol) = Self.operatorPlace(in: scalars) else {
      let isAll = scalars.allSatisfy(\.properties.isWhitespace)
      let value: Bound = isAll ? .open : .including(try Self.value(scalars[...], encoding))
      self.init(lower: value, upper: value)
      return
    }
    let excludesBoth = symbol == "..<" && place > 0 && scalars[place - 1] == ">"
    let left = scalars[..<(excludesBoth ? place - 1 : place)]
    let length = symbol.unicodeScalars.count
    let right = scalars[(place + length)...]
    if let second = Self.operatorPlace(in: Array(right)) {
      throw ExpressionError("a second “\(second.symbol)”", column: place + length + 1 + second.place)
    }
    self.init()
    if !left.allSatisfy(\.properties.isWhitespace) {
      let value = try Self.value(left, encoding)
      lower = symbol == "..>" || excludesBoth ? .excluding(value) : .including(value)
    }
    if !right.allSatisfy(\.properties.isWhitespace) {
      let value = try Self.value(right, encoding)
      upper = symbol == "..<" || symbol == ".." ? .excluding(value) : .including(value)
    } else if symbol == "..<" {
      throw ExpressionError("the upper bound is missing", column: scalars.count + 1)
    }
    if let (low, high) = reversedEnds(encoding) {
      let column = place + length + 1 + right.prefix { $0.properties.isWhitespace }.count
      throw ExpressionError(
        "the ends are the wrong way round: \(high) comes before \(low) in this order", column: column)
    }
  }

  /// The ends, if the upper one comes before the lower one. This is not known for orders that only the app knows.
  private func reversedEnds(_ encoding: KeyEncoding) -> (lower: KeyValue, upper: KeyValue)? {
    guard encoding.isByteOrdered, let low = lower.value, let high = upper.value,
      let first = try? encoding.bound(before: low), let last = try? encoding.bound(before: high),
      last.lexicographicallyPrecedes(first)
    else { return nil }
    return (low, high)
  }

  /// The meaning of the range, written out: `1 ≤ key < 5`, with `<=` in ASCII; `5 ≥ key > 1` if the keys descend.
  package func reading(isASCII: Bool = false, isDescending: Bool = false) -> String {
    let less = isDescending ? ">" : "<"
    let orEqual = isASCII ? "\(less)=" : isDescending ? "≥" : "≤"
    if case .including(let value) = lower, lower == upper { return "key = \(value)" }
    var text = "key"
    switch lower {
    case .including(let value): text = "\(value) \(orEqual) key"
    case .excluding(let value): text = "\(value) \(less) key"
    case .open: break
    }
    switch upper {
    case .including(let value): text += " \(orEqual) \(value)"
    case .excluding(let value): text += " \(less) \(value)"
    case .open: if lower == .open { text = "all keys" }
    }
    return text
  }

  /// The place before the first entry of the interval.
  package var start: KeyBound {
    switch lower {
    case .open: .start
    case .including(let value): .before(value)
    case .excluding(let value): .after(value)
    }
  }

  /// The place after the last entry of the interval.
  package var end: KeyBound {
    switch upper {
    case .open: .end
    case .including(let value): .after(value)
    case .excluding(let value): .before(value)
    }
  }

  /// The places before the first and after the last entry of the interval, which is one of the tier after some that are equal to `prefix`.
  package func bounds(after prefix: [KeyValue], isCompound: Bool) -> (lower: KeyBound, upper: KeyBound) {
    func whole(_ bound: KeyBound) -> KeyBound {
      switch bound {
      case .before(let value): .before(.compound(prefix + [value]))
      case .after(let value): .after(.compound(prefix + [value]))
      case .start: prefix.isEmpty ? .start : .before(.compound(prefix))
      case .end: prefix.isEmpty ? .end : .after(.compound(prefix))
      }
    }
    return isCompound ? (whole(start), whole(end)) : (start, end)
  }

  /// Finds the operator outside quotes and brackets.
  private static func operatorPlace(in scalars: [Unicode.Scalar]) -> (place: Int, symbol: String)? {
    var isQuoted = false
    var depth = 0
    var at = 0
    while at < scalars.count {
      switch scalars[at] {
      case "\\" where isQuoted: at += 1
      case "\"": isQuoted.toggle()
      case "[", "{": depth += isQuoted ? 0 : 1
      case "]", "}": depth -= isQuoted ? 0 : 1
      case "." where !isQuoted && depth <= 0 && at + 2 < scalars.count && scalars[at + 1] == ".":
        for (last, symbol) in [("<", "..<"), (".", "..."), (">", "..>")] as [(Unicode.Scalar, String)]
        where scalars[at + 2] == last { return (at, symbol) }
        return scalars[at + 2] == "=" ? (at, "..=") : (at, "..")
      case "." where !isQuoted && depth <= 0 && at + 2 == scalars.count && scalars[at + 1] == ".": return (at, "..")
      default: break
      }
      at += 1
    }
    return nil
  }

  /// Reads `> 5`, `>= 5`, `< 5`, `<= 5`; nil if the text begins with none of these operators.
  private static func comparison(
    _ scalars: [Unicode.Scalar], _ encoding: KeyEncoding
  ) throws(ExpressionError) -> KeyInterval? {
    let start = scalars.prefix { $0.properties.isWhitespace }.count
    guard start < scalars.count, scalars[start] == ">" || scalars[start] == "<" else { return nil }
    let takesBound = start + 1 < scalars.count && scalars[start + 1] == "="
    let bound = try value(scalars[(start + (takesBound ? 2 : 1))...], encoding)
    let end: Bound = takesBound ? .including(bound) : .excluding(bound)
    return (scalars[start] == ">") == encoding.isDescending ? KeyInterval(upper: end) : KeyInterval(lower: end)
  }

  private static func value(_ part: ArraySlice<Unicode.Scalar>, _ encoding: KeyEncoding) throws(ExpressionError)
    -> KeyValue
  {
    let leading = part.prefix { $0.properties.isWhitespace }.count
    var text = String.UnicodeScalarView()
    text.append(contentsOf: part)
    do {
      let typed = String(text).trimmingSpaces
      return try encoding.parse(encoding.isNumber ? Self.spelledOut(typed) : typed)
    } catch {
      guard case .invalid(_, let column, let reason) = error else {
        throw ExpressionError(error.description, column: part.startIndex + leading + 1)
      }
      throw ExpressionError(reason, column: part.startIndex + leading + (column ?? 1))
    }
  }

  /// Returns `1000000` for `1,000,000` and `1M`; anything else unchanged.
  private static func spelledOut(_ text: String) -> String {
    let groups = text.split(separator: ",", omittingEmptySubsequences: false).dropFirst()
    guard groups.allSatisfy({ $0.prefix { $0.isNumber }.count == 3 }) else { return text }
    let digits = text.replacing(",", with: "")
    guard let power = digits.unicodeScalars.last.flatMap(DecimalDigits.power(ofSuffix:)) else { return digits }
    return DecimalDigits(String(digits.dropLast()))?.scaled(by: power).description ?? text
  }

  /// As it is typed: `"Ca" ..< "Le"`, `1 ... 5`, `..<5`, `5` for a single value, `...` for all.
  package var description: String {
    switch (lower, upper) {
    case (.including(let left), .including(let right)) where left == right: left.description
    case (.excluding(let left), .excluding(let right)): "\(left) >..< \(right)"
    case (.excluding(let left), .open): "\(left) ..>"
    default: text(around: lower == .open || upper == .open ? "" : " ") { $0.description }
    }
  }

  /// The range as an expression of the library: `"Ca"..<"Le"`, `IndexRange(only: 5)`, `...`.
  package var swiftText: String {
    switch (lower, upper) {
    case (.including(let left), .including(let right)) where left == right: "IndexRange(only: \(left.swiftText))"
    case (.excluding(let left), .excluding(let right)):
      "IndexRange(lower: .excluding(\(left.swiftText)), upper: .excluding(\(right.swiftText)))"
    default: text(around: "") { $0.swiftText }
    }
  }

  private func text(around space: String, _ shown: (KeyValue) -> String) -> String {
    var symbol = "..."
    if case .excluding = lower { symbol = "..>" }
    if case .excluding = upper { symbol = "..<" }
    return "\(lower.value.map(shown) ?? "")\(space)\(symbol)\(space)\(upper.value.map(shown) ?? "")"
  }

  /// The call that loads the range: `load("Ca"..<"Le", from: \.author)`; of the primary order without `from:`.
  package func swiftCall(from keyPath: String?) -> String {
    var keyPath = keyPath
    // The name of a path through an optional ends in a mark that code does not have.
    while keyPath?.last == "?" { keyPath?.removeLast() }
    return "load(\(swiftText)\(keyPath.map { ", from: \\\($0.hasPrefix(".") ? $0 : "." + $0)" } ?? ""))"
  }
}

extension KeyValue {
  /// The value as a Swift expression: `"Ca"`, `12`, `nil`, `Date(timeIntervalSinceReferenceDate: 60.0)`.
  package var swiftText: String {
    switch self {
    case .null: "nil"
    case .bool, .integer, .unsigned: description
    case .double(let value):
      value.isNaN ? ".nan" : value.isInfinite ? (value < 0 ? "-.infinity" : ".infinity") : "\(value)"
    case .string(let text): Self.swiftLiteral(text)
    case .data(let bytes): "Data([\(bytes.map(String.init).joined(separator: ", "))])"
    case .uuid(let value): "UUID(uuidString: \"\(value)\")!"
    case .date(let value): "Date(timeIntervalSinceReferenceDate: \(value))"
    case .decimal(let text): text == "nan" ? "Decimal.nan" : "Decimal(string: \"\(text)\")!"
    case .duration(let seconds, 0): ".seconds(\(seconds))"
    case .duration(let seconds, let attoseconds):
      "Duration(secondsComponent: \(seconds), attosecondsComponent: \(attoseconds))"
    case .compound(let values): "(\(values.map(\.swiftText).joined(separator: ", ")))"
    case .document(.string(let text)): Self.swiftLiteral(text)
    case .document(let document): document.compactJSON
    }
  }

  private static func swiftLiteral(_ text: String) -> String {
    var literal = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": literal += "\\\""
      case "\\": literal += "\\\\"
      case "\n": literal += "\\n"
      case "\r": literal += "\\r"
      case "\t": literal += "\\t"
      case "\0": literal += "\\0"
      default:
        if scalar.properties.generalCategory == .control || scalar.properties.generalCategory == .format {
          literal += "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
        } else {
          literal.unicodeScalars.append(scalar)
        }
      }
    }
    return literal + "\""
  }
}
