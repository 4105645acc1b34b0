package import StrataModel

/// The Swift type of an identifier or of an index's values, as far as its name shows.
///
/// The folder stores no order, only the entries in it. For the types listed here the order is known, so that a reader may search. For all
/// others only the app's code has it, and only the stored order counts.
package struct ValueType: Hashable, Sendable {
  /// As the folder names it: `Int`, `Optional<String>`, `Color`.
  package var name: String
  /// The encoding of its values as keys; `.comparator` if only the app knows the order.
  package var encoding: KeyEncoding

  package init(named name: String) {
    self.name = name
    self.encoding = Self.encoding(of: name, depth: 0) ?? .comparator(name)
  }

  /// A type whose values are not of the named type: an app's own type called `Data` or `Date`.
  package static func unknown(_ name: String) -> ValueType {
    var type = ValueType(named: name)
    type.encoding = .comparator(name)
    return type
  }

  /// Whether the order of the values is known without the app.
  package var isKnown: Bool { encoding.isByteOrdered }

  /// Whether the values are dates, of which the folder keeps milliseconds only.
  package var isDate: Bool { encoding == .date || encoding == .optional(.date) }

  private static func encoding(of name: String, depth: Int) -> KeyEncoding? {
    if let known = known[name] { return known }
    guard depth < 4, name.hasPrefix("Optional<"), name.hasSuffix(">") else { return nil }
    let wrapped = encoding(of: String(name.dropFirst("Optional<".count).dropLast()), depth: depth + 1)
    guard let wrapped else { return nil }
    if case .optional = wrapped { return wrapped }
    return .optional(wrapped)
  }

  private static let known: [String: KeyEncoding] = [
    "Int": .integer, "Int8": .integer, "Int16": .integer, "Int32": .integer, "Int64": .integer, "Int128": .integer,
    "UInt": .unsigned, "UInt8": .unsigned, "UInt16": .unsigned, "UInt32": .unsigned, "UInt64": .unsigned,
    "UInt128": .unsigned, "Double": .double, "Float": .float, "Bool": .bool, "String": .string, "UUID": .uuid,
    "Date": .date, "Decimal": .decimal, "Duration": .duration, "Data": .data,
  ]
}

/// Kind and value type of an index, from its `type`: `ManyToManyIndex(Optional<Int>)`.
package struct IndexType: Hashable, Sendable {
  package var kind: IndexKind
  package var value: ValueType

  /// The first releases wrote the value type alone; that is a plain index.
  package init(parsing text: String) {
    for kind in IndexKind.allCases where kind != .primary {
      let prefix = kind.typeName + "("
      guard text.hasPrefix(prefix), text.hasSuffix(")") else { continue }
      self.kind = kind
      self.value = ValueType(named: String(text.dropFirst(prefix.count).dropLast()))
      return
    }
    self.kind = .oneToMany
    self.value = ValueType(named: text)
  }
}
