package import Expressions
package import Documents

/// A part of a filter that must hold for every record it keeps, in a form that an index can answer.
package struct IndexableTerm: Hashable, Sendable {
  package var path: DocumentPath
  /// Whether it asks for an element of a list (`has`): only for indexes with several values per record.
  package var isElement: Bool
  let test: Test

  enum Test: Hashable, Sendable {
    case compare(Filter.Comparison, Document)
    case isOne(of: [Document])
    case begins(String)
  }

  /// The intervals of an index of these keys in which all records lie that meet the term; nil where the index cannot
  /// tell. What lies in them may still not meet the filter: test each record.
  package func intervals(in encoding: KeyEncoding) -> [KeyInterval]? {
    guard encoding.isByteOrdered else { return nil }
    guard path.components.count > 1 else { return ownIntervals(in: encoding) }
    // Through a list of objects such a path has many values, where an index by one value has null and others nothing.
    guard !isElement, let intervals = ownIntervals(in: encoding) else { return nil }
    guard encoding.isOptional else { return intervals }
    let nulls = KeyInterval(lower: .including(.null), upper: .including(.null))
    return intervals.contains(nulls) ? intervals : intervals + [nulls]
  }

  private func ownIntervals(in encoding: KeyEncoding) -> [KeyInterval]? {
    if case .descending(let inner) = encoding {
      // Its first entries are the greatest.
      return ownIntervals(in: inner)?.map { KeyInterval(lower: $0.upper, upper: $0.lower) }
    }
    switch test {
    case .compare(let comparison, let value): return interval(comparison, value, in: encoding).map { [$0] }
    case .isOne(let values):
      var intervals: [KeyInterval] = []
      for value in values {
        guard let interval = interval(.equal, value, in: encoding) else { return nil }
        if !intervals.contains(interval) { intervals.append(interval) }
      }
      return intervals
    case .begins(let text):
      guard encoding.content == .string else { return nil }
      return [KeyInterval(lower: .including(.string(text)), upper: Self.end(ofPrefix: text))]
    }
  }

  private func interval(
    _ comparison: Filter.Comparison, _ value: Document, in encoding: KeyEncoding
  ) -> KeyInterval? {
    guard let key = encoding.keyValue(from: value), key != .null || value == .null else { return nil }
    // A filter sees exact numbers; one that the index had to round is on both sides of its bound.
    let isExact = key.decimalDigits == nil || Document.exactDigits(value) == key.decimalDigits
    let lowest: KeyInterval.Bound = encoding.isOptional ? .excluding(.null) : .open
    switch comparison {
    case .equal: return KeyInterval(lower: .including(key), upper: .including(key))
    case .less where isExact: return KeyInterval(lower: lowest, upper: .excluding(key))
    case .less, .lessOrEqual: return KeyInterval(lower: lowest, upper: .including(key))
    case .greater where isExact: return KeyInterval(lower: .excluding(key))
    case .greater, .greaterOrEqual: return KeyInterval(lower: .including(key))
    case .notEqual: return nil
    }
  }

  /// A bound behind all texts that begin with this one.
  private static func end(ofPrefix text: String) -> KeyInterval.Bound {
    var scalars = Array(NormalForm.composed(text).unicodeScalars)
    while let last = scalars.popLast() {
      // The next character that does not compose with anything, so that the bound stays what it is.
      for code in (last.value + 1)...(last.value + 1024) {
        guard let scalar = Unicode.Scalar(code) else { continue }
        var end = String.UnicodeScalarView()
        end.append(contentsOf: scalars + [scalar])
        var bound = String(end)
        if bound.withUTF8({ NormalForm.isEvident($0) }) { return .excluding(.string(bound)) }
      }
    }
    return .open
  }
}

extension Filter {
  /// The terms that every kept record meets: those joined by `and` at the top that compare a field with a literal.
  package var indexableTerms: [IndexableTerm] {
    if case .all(let parts) = condition { return parts.compactMap(Self.term) }
    return [condition].compactMap(Self.term)
  }

  private static func term(_ condition: Condition) -> IndexableTerm? {
    switch condition {
    case .compare(.path(let path), let comparison, .literal(let value)) where comparison != .notEqual && value.isScalar:
      IndexableTerm(path: path, isElement: false, test: .compare(comparison, value))
    case .isNull(.path(let path)): IndexableTerm(path: path, isElement: false, test: .compare(.equal, .null))
    case .isTrue(.path(let path)): IndexableTerm(path: path, isElement: false, test: .compare(.equal, .bool(true)))
    case .isOne(.path(let path), let values) where values.allSatisfy(\.isScalar):
      IndexableTerm(path: path, isElement: false, test: .isOne(of: values))
    case .has(.path(let path), .literal(let value)) where value.isScalar:
      IndexableTerm(path: path, isElement: true, test: .compare(.equal, value))
    case .text(.path(let path), .begins, .literal(.string(let text))) where !text.isEmpty:
      IndexableTerm(path: path, isElement: false, test: .begins(text))
    default: nil
    }
  }
}

extension Document {
  fileprivate var isScalar: Bool {
    switch self {
    case .null, .bool, .number, .string, .date: true
    case .data, .array, .object: false
    }
  }

  fileprivate static func exactDigits(_ value: Document) -> DecimalDigits? {
    if case .number(let number) = value { DecimalDigits(number.text) } else { nil }
  }
}

extension KeyEncoding {
  fileprivate var isOptional: Bool {
    switch self {
    case .optional: true
    case .descending(let inner): inner.isOptional
    default: false
    }
  }

  /// The encoding of what is not null.
  fileprivate var content: KeyEncoding {
    switch self {
    case .optional(let inner): inner.content
    default: self
    }
  }
}
