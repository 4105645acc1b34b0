package import StrataExpressions
package import StrataDocuments

/// A part of a filter that must hold for every matching record, in a form that an index can serve.
package struct IndexableTerm: Hashable, Sendable {
  package var subject: QuerySubject
  /// Whether it requires an element of a list (`has`): only for indexes with several values per record.
  package var isElement: Bool
  package var test: Test

  package enum Test: Hashable, Sendable {
    case compare(Filter.Comparison, Document)
    case isOne(of: [Document])
    case begins(String)
    /// By keys of one encoding, as the typed library has them; `isExact` says that no further test is needed.
    case keys([KeyInterval], KeyEncoding, isExact: Bool)
  }

  package init(_ subject: QuerySubject, isElement: Bool = false, _ test: Test) {
    self.subject = subject
    self.isElement = isElement
    self.test = test
  }

  /// Returns the intervals of `intervals(in:)`, and whether everything in them meets the term.
  func answer(in encoding: KeyEncoding, comparators: Bool) -> (intervals: [KeyInterval], isExact: Bool)? {
    if case .keys(let intervals, let own, let isExact) = test {
      guard encoding.isByteOrdered || comparators else { return nil }
      guard case .descending(let inner) = encoding else { return encoding == own ? (intervals, isExact) : nil }
      return inner == own ? (intervals.map { KeyInterval(lower: $0.upper, upper: $0.lower) }, isExact) : nil
    }
    return intervals(in: encoding).map { ($0, isExact(in: encoding)) }
  }

  func equalValue(in encoding: KeyEncoding, comparators: Bool) -> (value: KeyValue, isExact: Bool)? {
    guard let (intervals, isExact) = answer(in: encoding, comparators: comparators), intervals.count == 1,
      intervals[0].isOneValue, case .including(let value) = intervals[0].lower
    else { return nil }
    return (value, isExact)
  }

  /// Whether the keys of an encoding compare in the same way as a filter compares the fields.
  private func isExact(in encoding: KeyEncoding) -> Bool {
    guard case .path(let path) = subject, path.components.count == 1 else { return false }
    if case .begins = test { return false }
    switch encoding.content {
    case .integer, .unsigned, .string, .bool: return true
    case .descending(let inner): return isExact(in: inner)
    default: return false
    }
  }

  /// Returns the intervals of an index of these keys that contain all records that meet the term, or nil if the index cannot give them.
  /// Records in them may still not meet the filter: test each one.
  package func intervals(in encoding: KeyEncoding) -> [KeyInterval]? {
    guard encoding.isByteOrdered else { return nil }
    guard case .path(let path) = subject, path.components.count > 1 else { return ownIntervals(in: encoding) }
    // If such a path passes a list of objects, it has many values, but an index of one value has null there, and others nothing.
    guard !isElement, let intervals = ownIntervals(in: encoding) else { return nil }
    guard encoding.isOptional else { return intervals }
    let nulls = KeyInterval(lower: .including(.null), upper: .including(.null))
    return intervals.contains(nulls) ? intervals : intervals + [nulls]
  }

  private func ownIntervals(in encoding: KeyEncoding) -> [KeyInterval]? {
    if case .descending(let inner) = encoding {
      // The first entries of a descending index are the greatest.
      return ownIntervals(in: inner)?.map { KeyInterval(lower: $0.upper, upper: $0.lower) }
    }
    switch test {
    case .compare(let comparison, let value): return interval(comparison, value, in: encoding).map { [$0] }
    case .isOne(let values):
      var intervals: [KeyInterval] = []
      var seen: Set<KeyInterval> = []
      for value in values {
        guard let interval = interval(.equal, value, in: encoding) else { return nil }
        if seen.insert(interval).inserted { intervals.append(interval) }
      }
      return intervals
    case .keys: return nil
    case .begins(let text):
      guard encoding.content == .string else { return nil }
      return [KeyInterval(lower: .including(.string(text)), upper: Self.end(ofPrefix: text))]
    }
  }

  private func interval(
    _ comparison: Filter.Comparison, _ value: Document, in encoding: KeyEncoding
  ) -> KeyInterval? {
    guard let key = encoding.keyValue(from: value), key != .null || value == .null else { return nil }
    // A number beyond those that the index can hold has no place among its keys.
    if case .number = value, (try? encoding.encode(key)) == nil { return nil }
    // A filter compares texts as texts, although those of dates, UUIDs or data have an order of their own in the index.
    if case .string = value, comparison != .equal, encoding.content != .string { return nil }
    // A filter compares exact numbers. A number that the index had to round may be on either side of its bound.
    let isExact = key.isExactly(value) && !encoding.content.rounds(to: key)
    let lowest: KeyInterval.Bound = encoding.isOptional ? .excluding(.null) : .open
    switch comparison {
    case .less where key == .null, .greater where key == .null: return nil
    case .equal,
      .lessOrEqual where key == .null, .greaterOrEqual where key == .null:
      return KeyInterval(lower: .including(key), upper: .including(key))
    case .less where isExact: return KeyInterval(lower: lowest, upper: .excluding(key))
    case .less, .lessOrEqual: return KeyInterval(lower: lowest, upper: .including(key))
    case .greater where isExact: return KeyInterval(lower: .excluding(key))
    case .greater, .greaterOrEqual: return KeyInterval(lower: .including(key))
    case .notEqual: return nil
    }
  }

  private static func end(ofPrefix text: String) -> KeyInterval.Bound {
    var scalars = Array(NormalForm.composed(text).unicodeScalars)
    while let last = scalars.popLast() {
      // The next character that does not compose with any other, so that the bound is not changed by composition.
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
  static func term(_ condition: Condition) -> IndexableTerm? {
    switch condition {
    case .compare(.path(let path), let comparison, .literal(let value)) where comparison != .notEqual && value.isScalar:
      IndexableTerm(.path(path), .compare(comparison, value))
    case .isNull(.path(let path)): IndexableTerm(.path(path), .compare(.equal, .null))
    case .isTrue(.path(let path)): IndexableTerm(.path(path), .compare(.equal, .bool(true)))
    case .isOne(.path(let path), let values) where values.allSatisfy(\.isScalar):
      IndexableTerm(.path(path), .isOne(of: values))
    case .has(.path(let path), .literal(let value)) where value.isScalar:
      IndexableTerm(.path(path), isElement: true, .compare(.equal, value))
    case .text(.path(let path), .begins, .literal(.string(let text))) where !text.isEmpty:
      IndexableTerm(.path(path), .begins(text))
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
}

extension KeyValue {
  /// Whether the key of a number has all its digits.
  fileprivate func isExactly(_ value: Document) -> Bool {
    let key: KeyValue = if case .date(let seconds) = self { .double(seconds) } else { self }
    guard case .number(let number) = value, let digits = key.decimalDigits else { return true }
    return DecimalDigits(number.text) == digits
  }
}

extension KeyEncoding {
  package var isOptional: Bool {
    switch self {
    case .optional: true
    case .descending(let inner): inner.isOptional
    default: false
    }
  }

  /// Whether other numbers with as many digits as people write have this key: 9007199254740993 and 0.30000000000000000001 are rounded in an
  /// index of doubles. Small whole numbers are left out, because many records can have one of them and all would be read.
  fileprivate func rounds(to key: KeyValue) -> Bool {
    switch key {
    case .double(let number), .date(let number):
      number.rounded() != number || abs(number) >= (self == .float ? 0x1p24 : 0x1p53)
    default: false
    }
  }

  /// The encoding of the values that are not null.
  package var content: KeyEncoding {
    switch self {
    case .optional(let inner): inner.content
    default: self
    }
  }
}
