/// A record's content as a tree, decoded from JSON or a property list.
///
/// Equality is canonical: the order of an object's members does not count, and numbers are equal when they are the same decimal
/// number (`1`, `1.0`, `1e0`). Strings are equal when their UTF-8 is: the stored bytes are compared.
package enum Document: Sendable {
  case null
  case bool(Bool)
  case number(NumberText)
  case string(String)
  /// Seconds since 2001-01-01 00:00 UTC; only property lists have it.
  case date(Double)
  /// Only property lists have it; opaque records are one.
  case data([UInt8])
  case array([Document])
  /// Members in the order in which they are stored. If a name occurs twice, the last counts, as in most readers of JSON. An app's types
  /// get the first, as from Foundation's decoder.
  case object([Member])

  package struct Member: Sendable {
    package var name: String
    package var value: Document

    package init(_ name: String, _ value: Document) {
      self.name = name
      self.value = value
    }
  }

  /// The value of an object's member; nil if there is none, or if this is not an object. Linear in the members.
  package subscript(member name: String) -> Document? {
    guard case .object(let members) = self, let place = members.lastIndex(where: { $0.name == name }) else {
      return nil
    }
    return members[place].value
  }

  /// Whether it has no parts: anything but a list or an object that has elements.
  package var isLeaf: Bool {
    switch self {
    case .array(let elements): elements.isEmpty
    case .object(let members): members.isEmpty
    default: true
    }
  }
}

extension Document: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
  ExpressibleByBooleanLiteral, ExpressibleByNilLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
  package init(stringLiteral value: String) { self = .string(value) }
  package init(integerLiteral value: Int64) { self = .number(NumberText(value)) }
  package init(floatLiteral value: Double) { self = .number(NumberText(value)) }
  package init(booleanLiteral value: Bool) { self = .bool(value) }
  package init(nilLiteral: ()) { self = .null }
  package init(arrayLiteral elements: Document...) { self = .array(elements) }
  package init(dictionaryLiteral elements: (String, Document)...) {
    self = .object(elements.map { Member($0.0, $0.1) })
  }
}
