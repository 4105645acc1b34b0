package import StrataDocuments

extension Filter.Condition {
  func holds(for document: Document) -> Bool {
    switch self {
    case .all(let parts): parts.allSatisfy { $0.holds(for: document) }
    case .any(let parts): parts.contains { $0.holds(for: document) }
    case .not(let inner): !inner.holds(for: document)
    case .isTrue(let operand): operand.leads(in: document) { $0 == .bool(true) }
    case .isNull(let operand): !operand.leads(in: document) { $0 != .null }
    case .compare(let left, .notEqual, let right):
      !Self.compare(left, .equal, right).holds(for: document)
    case .compare(let left, let comparison, let right):
      left.leads(in: document) { left in right.leads(in: document) { comparison.holds(left, $0) } }
    case .range(let operand, let low, let end, let high):
      operand.leads(in: document) { value in
        low.leads(in: document) { Filter.Comparison.greaterOrEqual.holds(value, $0) }
          && high.leads(in: document) { end.holds(value, $0) }
      }
    case .isOne(let operand, let values):
      operand.leads(in: document) { value in values.contains { FilterOrder.of(value, $0) == .equal } }
    case .has(let operand, let part):
      operand.leads(in: document) { whole in part.leads(in: document) { Self.has(whole, $0) } }
    case .text(let operand, let test, let part):
      operand.leads(in: document) { text in part.leads(in: document) { Self.holds(test, text, $0) } }
    case .matches(let operand, let pattern): operand.leads(in: document) { Self.matches(pattern, $0) }
    }
  }

  private static func holds(_ test: Filter.TextTest, _ text: Document, _ part: Document) -> Bool {
    if case .string(let text) = text, case .string(let part) = part { test.holds(text, part) } else { false }
  }

  private static func matches(_ pattern: Pattern, _ value: Document) -> Bool {
    switch value {
    case .string(let text): pattern.occurs(in: text)
    case .number(let number): pattern.occurs(in: number.text)
    default: false
    }
  }

  private static func has(_ whole: Document, _ part: Document) -> Bool {
    switch (whole, part) {
    case (.array(let elements), _): elements.contains { FilterOrder.of($0, part) == .equal }
    case (.object, .string(let name)): whole[member: name] != nil
    default: false
    }
  }
}

extension Filter.Operand {
  /// Whether the operand leads to a value that passes. It is null if it leads nowhere; any value may pass if the path goes through a list
  /// of objects.
  func leads(in document: Document, to passes: (Document) -> Bool) -> Bool {
    switch self {
    case .literal(let value): return passes(value)
    case .path(let path):
      if let value = document[path] { return passes(value) }
      guard path.components.count > 1 else { return passes(.null) }
      let values = document.values(at: path)
      return values.isEmpty ? passes(.null) : values.contains(where: passes)
    }
  }
}

extension Document {
  /// All values that a path leads to: in a list, a name means that member of each element.
  package func values(at path: DocumentPath) -> [Document] { values(at: path.components[...]) }

  private func values(at components: ArraySlice<DocumentPath.Component>) -> [Document] {
    guard let first = components.first else { return [self] }
    switch (self, first) {
    case (.array(let elements), .member): return elements.flatMap { $0.values(at: components) }
    case (.array(let elements), .index(let index)):
      return elements.indices.contains(index) ? elements[index].values(at: components.dropFirst()) : []
    case (.object, .member(let name)): return self[member: name]?.values(at: components.dropFirst()) ?? []
    default: return []
    }
  }
}

extension Filter.Comparison {
  func holds(_ left: Document, _ right: Document) -> Bool {
    FilterOrder.of(left, right).map(holds) ?? (self == .notEqual)
  }

  /// Whether it holds for two values of this order.
  package func holds(_ order: FilterOrder) -> Bool {
    switch self {
    case .equal: order == .equal
    case .notEqual: order != .equal
    case .less: order == .less
    case .lessOrEqual: order != .greater && order != .unequal
    case .greater: order == .greater
    case .greaterOrEqual: order != .less && order != .unequal
    }
  }
}

extension Filter.TextTest {
  /// By the composed form, so that the same characters are found whichever way they were typed.
  func holds(_ text: String, _ part: String) -> Bool {
    TextSearch.withComposed(text) { text in
      TextSearch.withComposed(part) { part in
        guard part.count <= text.count else { return false }
        return switch self {
        case .begins: text.prefix(part.count).elementsEqual(part)
        case .ends: text.suffix(part.count).elementsEqual(part)
        case .contains: TextSearch.contains(text, part)
        }
      }
    }
  }
}

/// The order of two values in a filter.
package enum FilterOrder {
  case less, equal, greater
  /// Not equal, and in no order.
  case unequal

  /// Returns nil if the values are of kinds that cannot be compared.
  static func of(_ left: Document, _ right: Document) -> FilterOrder? {
    switch (left, right) {
    case (.null, .null): .equal
    case (.number(let left), .number(let right)): of(left, right)
    case (.string(let left), .string(let right)): left == right ? .equal : left < right ? .less : .greater
    case (.bool(let left), .bool(let right)): left == right ? .equal : left ? .greater : .less
    case (.date(let left), .date(let right)): of(left, right)
    // If the coding has no dates, a date is stored as text or as seconds since 2001.
    case (.string(let text), .date(let right)): DateText.parse(text).flatMap { of($0, right) }
    case (.date(let left), .string(let text)): DateText.parse(text).flatMap { of(left, $0) }
    case (.number(let left), .date(let right)): of(left.double, right)
    case (.date(let left), .number(let right)): of(left, right.double)
    case (.data(let left), .data(let right)): left == right ? .equal : .unequal
    case (.data, .string(let text)): left == Base64.bytes(of: text).map { .data($0) } ? .equal : .unequal
    case (.array, .array), (.object, .object): left == right ? .equal : .unequal
    // A list or an object is written in a filter as its JSON.
    case (.array, .string(let text)), (.object, .string(let text)):
      (try? JSONParser.parse(text)) == left ? .equal : .unequal
    default: nil
    }
  }

  private static func of(_ left: Double, _ right: Double) -> FilterOrder? {
    left < right ? .less : left > right ? .greater : left == right ? .equal : nil
  }

  /// By the exact numbers.
  private static func of(_ left: NumberText, _ right: NumberText) -> FilterOrder? {
    if let left = left.integer, let right = right.integer {
      return left < right ? .less : left > right ? .greater : .equal
    }
    // Rounding keeps the order, so only numbers that round to the same need their digits compared.
    let rough = of(left.double, right.double)
    guard rough == .equal, left.text != right.text else { return rough }
    guard let left = DecimalDigits(left.text), let right = DecimalDigits(right.text) else { return rough }
    return left < right ? .less : left == right ? .equal : .greater
  }
}

/// Finding a text in another by bytes.
package enum TextSearch {
  /// Whether a text has the bytes of another. Unlike `String.contains` it prepares nothing, so that a search of many texts costs no more
  /// for a long part.
  package static func contains(_ text: String, _ part: String) -> Bool {
    var (text, part) = (text, part)
    return text.withUTF8 { text in part.withUTF8 { contains(text, $0) } }
  }

  static func withComposed<Result>(_ text: String, _ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
    var composed = NormalForm.composed(text)
    return composed.withUTF8(body)
  }

  static func contains(_ text: UnsafeBufferPointer<UInt8>, _ part: UnsafeBufferPointer<UInt8>) -> Bool {
    guard let first = part.first else { return true }
    guard text.count >= part.count else { return false }
    var at = 0
    let last = text.count - part.count
    while at <= last {
      if text[at] == first {
        var length = 1
        while length < part.count, text[at + length] == part[length] { length += 1 }
        if length == part.count { return true }
      }
      at += 1
    }
    return false
  }
}
