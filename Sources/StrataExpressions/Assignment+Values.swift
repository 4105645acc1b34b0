import StrataDocuments

extension Assignment.Expression {
  var paths: [DocumentPath] {
    switch self {
    case .literal: []
    case .path(let path): [path]
    case .negative(let inner), .call(_, let inner), .replace(let inner, _, _): inner.paths
    case .arithmetic(let left, _, let right): left.paths + right.paths
    case .choice(let condition, let first, let second): condition.paths + first.paths + second.paths
    }
  }

  func value(in document: Document) throws(DocumentError) -> Document {
    switch self {
    case .literal(let value): return value
    case .path(let path): return document[path] ?? .null
    case .negative(let inner): return try Self.compute(.number(NumberText(0)), .minus, inner.value(in: document))
    case .arithmetic(let left, let symbol, let right):
      return try Self.compute(left.value(in: document), symbol, right.value(in: document))
    case .call(.lower, let inner): return try Self.changeText(inner.value(in: document)) { $0.lowercased() }
    case .call(.upper, let inner): return try Self.changeText(inner.value(in: document)) { $0.uppercased() }
    case .call(.trim, let inner): return try Self.changeText(inner.value(in: document)) { $0.trimmingSpaces }
    case .call(.length, let inner): return try Self.length(of: inner.value(in: document))
    case .call(.date, let inner): return try Self.date(of: inner.value(in: document))
    case .choice(let condition, let first, let second):
      return try (condition.holds(for: document) ? first : second).value(in: document)
    case .replace(let inner, let pattern, let template):
      return try Self.changeText(inner.value(in: document)) { pattern.replacing(in: $0, with: template) }
    }
  }

  private static func compute(
    _ left: Document, _ symbol: Assignment.Operator, _ right: Document
  ) throws(DocumentError) -> Document {
    switch (left, right) {
    case (.null, _), (_, .null): return .null
    case (.string(let left), .string(let right)) where symbol == .plus: return .string(left + right)
    case (.date(let date), .number(let seconds)) where symbol == .plus: return .date(date + seconds.double)
    case (.date(let date), .number(let seconds)) where symbol == .minus: return .date(date - seconds.double)
    case (.date(let left), .date(let right)) where symbol == .minus:
      return .number(try compute(NumberText(left), .minus, NumberText(right)))
    case (.number(let left), .number(let right)): return .number(try compute(left, symbol, right))
    default:
      let wrong = if case .number = left { right } else { left }
      throw .refused(reason: "\(wrong.compactText(limit: 20)) is not a number")
    }
  }

  private static func compute(
    _ left: NumberText, _ symbol: Assignment.Operator, _ right: NumberText
  ) throws(DocumentError) -> NumberText {
    guard let leftDigits = DecimalDigits(left.text), let rightDigits = DecimalDigits(right.text) else {
      throw .refused(reason: "there is no arithmetic with \(left.isFinite ? right : left)")
    }
    let result: DecimalDigits?
    switch symbol {
    case .plus: result = leftDigits.adding(rightDigits)
    case .minus: result = leftDigits.adding(rightDigits.negated)
    case .times: result = leftDigits.multiplied(by: rightDigits)
    case .divided:
      guard !rightDigits.digits.isEmpty else { throw .refused(reason: "division by zero") }
      result = leftDigits.divided(by: rightDigits)
    }
    guard let result, let number = NumberText(result.description) else {
      throw .refused(reason: "the result has more than \(DecimalDigits.digitLimit) digits")
    }
    return number
  }

  private static func changeText(
    _ value: Document, _ change: (String) -> String?
  ) throws(DocumentError) -> Document {
    switch value {
    case .null: return .null
    case .string(let text):
      guard let changed = change(text) else {
        throw .refused(reason: "the pattern takes too long on this text")
      }
      return .string(changed)
    default: throw .refused(reason: "\(value.compactText(limit: 20)) is not a text")
    }
  }

  private static func date(of value: Document) throws(DocumentError) -> Document {
    switch value {
    case .null, .date: return value
    case .number(let seconds): return .date(seconds.double - Double(DateText.referenceSeconds))
    case .string(let text): if let date = DateText.parse(text) { return .date(date) }
    default: break
    }
    throw .refused(reason: "\(value.compactText(limit: 20)) is not a date")
  }

  private static func length(of value: Document) throws(DocumentError) -> Document {
    switch value {
    case .null: .null
    case .string(let text): .number(NumberText(text.count))
    case .data(let bytes): .number(NumberText(bytes.count))
    case .array(let elements): .number(NumberText(elements.count))
    case .object(let members): .number(NumberText(members.count))
    default: throw .refused(reason: "\(value.compactText(limit: 20)) has no length")
    }
  }
}
