package import StrataDocuments

/// A condition on documents, as it is typed: `population > 1000000 and name ^= "San"`.
///
/// * Paths: `price`, `authors[0]`, `dims.w`, `."odd name"`; a path that leads nowhere is null. Through a list of objects it
///   leads to the values of all of them, and one that fits is enough: `authors.name = "Lem"`.
/// * Literals: `12`, `-0.5`, `"text"`, `'text'`, `true`, `false`, `null`, `2026-11-17`, `2026-11-17T09:30Z`.
/// * `= != < <= > >=` compare numbers by their exact value, texts by Swift's order, dates by time; values that cannot be compared are not
///   equal and have no order. `!=` is the opposite of `=`.
/// * `in (…, …)`, `^=` begins with, `$=` ends with, `*=` contains, `~ /…/` (with `i`: in either case) matches.
/// * The same as words: `between … and …`, also `= … .. …`, `contains`, `starts with`, `ends with`, `like "San%"` (`%` any text, `_` one
///   character); `=~ /…/` matches in either case.
/// * `has`: a list has an element, an object a member. `is null`, `is not null`, `not in`. A path alone: is true.
/// * `not`, then `and`, then `or`; brackets.
package struct Filter: Hashable, Sendable, CustomStringConvertible {
  /// As it was typed.
  package let text: String
  package let condition: Condition
  /// The parts of a document that it reads.
  package let selection: DocumentSelection
  /// Fields that are written as a text or a number, `"Order ID" = 1`: constants, unless records have fields with these names.
  package let namesInQuotes: [DocumentPath]

  package init(parsing text: String) throws(ExpressionError) {
    self.text = text
    var parser = FilterParser(text)
    condition = try parser.filter()
    namesInQuotes = parser.namesInQuotes
    selection = DocumentSelection(condition.paths)
  }

  /// Whether a document meets the condition. Never traps; takes time linear in the values looked at.
  package func matches(_ document: Document) -> Bool { condition.holds(for: document) }

  /// The paths that are conditions by themselves and keep the records in which they are true: `isOpen and …`.
  package var barePaths: [DocumentPath] {
    condition.parts.compactMap { if case .isTrue(.path(let path)) = $0 { path } else { nil } }
  }

  /// The paths that are compared with a constant other than a list or an object, and so find none of these.
  package var pathsOfPlainValues: [DocumentPath] {
    condition.parts.compactMap { part in
      switch part {
      case .compare(_, _, .literal(.array)), .compare(_, _, .literal(.object)): nil
      case .compare(.path(let path), _, .literal), .isOne(.path(let path), of: _), .text(.path(let path), _, _),
        .matches(.path(let path), _):
        path
      default: nil
      }
    }
  }

  /// The filter that keeps the records with this value at this place: `population = 12`, or with this element: `tags has "new"`.
  package static func text(of path: DocumentPath, being value: Document, isElement: Bool = false) -> String {
    let start = "\(path.shortText) \(isElement ? "has" : "=")"
    return switch value {
    case .null: "\(path.shortText) \(isElement ? "has" : "is") null"
    // These have no literals of their own. Seconds are compared with dates too.
    case .number(let number) where !number.isFinite && !isElement: "\(path.shortText) ~ /^\(number.text)$/"
    case .date(let date) where DateText.text(of: date).hasPrefix("Date("): "\(start) \(NumberText(date))"
    case .bool, .number, .string, .date: "\(start) \(value.literalText)"
    case .data(let bytes): "\(start) \(JSONWriter.literal(Base64.text(of: bytes)))"
    case .array, .object: "\(start) \(JSONWriter.literal(value.compactJSON))"
    }
  }

  package var description: String { text }

  package indirect enum Condition: Hashable, Sendable {
    case all([Condition])
    case any([Condition])
    case not(Condition)
    case isTrue(Operand)
    case isNull(Operand)
    case compare(Operand, Comparison, Operand)
    /// Through a list of objects the same value is to be not less than the first and to fit the second.
    case range(Operand, from: Operand, Comparison, Operand)
    case isOne(Operand, of: [Document])
    case has(Operand, Operand)
    case text(Operand, TextTest, Operand)
    case matches(Operand, Pattern)

    /// The conditions that are put together with `and`, `or` and `not`; the comparisons of a range.
    package var parts: [Condition] {
      switch self {
      case .range(let value, let low, let end, let high):
        [.compare(value, .greaterOrEqual, low), .compare(value, end, high)]
      case .all(let conditions), .any(let conditions): conditions.flatMap(\.parts)
      case .not(let inner): inner.parts
      default: [self]
      }
    }
  }

  package enum Operand: Hashable, Sendable {
    case path(DocumentPath)
    case literal(Document)
  }

  /// A comparison; its raw value is its symbol.
  package enum Comparison: String, Hashable, Sendable {
    case equal = "="
    case notEqual = "!="
    case less = "<"
    case lessOrEqual = "<="
    case greater = ">"
    case greaterOrEqual = ">="

    /// The same comparison with its sides exchanged.
    var mirrored: Comparison {
      switch self {
      case .equal, .notEqual: self
      case .less: .greater
      case .lessOrEqual: .greaterOrEqual
      case .greater: .less
      case .greaterOrEqual: .lessOrEqual
      }
    }
  }

  /// A test of a text; its raw value is its symbol.
  package enum TextTest: String, Hashable, Sendable, CaseIterable {
    case begins = "^="
    case ends = "$="
    case contains = "*="
  }
}

extension Document {
  /// The value as a literal of filters and assignments.
  package var literalText: String {
    if case .date(let value) = self { return DateText.text(of: value) }
    return compactJSON
  }
}
