import StrataModel
import StrataDocuments

/// A value of each instance: that of a stored property, which the text of a record may give, or one and the same for all instances.
struct Column<Instance: Sendable, Value>: @unchecked Sendable {
  // `@unchecked`: the functions capture types, key paths and what may be sent; the types of a dynamic cast are not known to be sendable.

  /// Nil of a constant.
  let property: (any PartialKeyPath<Instance> & Sendable)?
  let value: (Instance) throws -> Value
  /// The value of a member of a text; nil if only the instance has it.
  let read: (StoredMember) -> Value?
  let isEqual: (Value, Value) -> Bool
  /// The value for a key of the property in an index; nil if the key does not determine it.
  let keyed: (KeyValue) -> Value?
}

extension Column where Value: Sendable {
  init(_ property: KeyPath<Instance, Value>) {
    // A key path between `Sendable` types is immutable and may be sent, see `Indexable.swift`.
    let property = property as any KeyPath<Instance, Value> & Sendable
    let isEqual = Self.equality
    let (key, other) = (Self.keyReader, Self.decodingReader)
    self.init(
      property: property, value: { $0[keyPath: property] },
      // Without `==` nothing shows whether the texts give what the instances have.
      read: { member in isEqual == nil ? nil : key?(member) ?? other?(member) },
      isEqual: isEqual ?? { _, _ in false }, keyed: Self.keyMeaning ?? { _ in nil })
  }

  init(constant: Value) {
    self.init(
      property: nil, value: { _ in constant }, read: { _ in constant }, isEqual: { _, _ in true },
      keyed: { _ in constant })
  }

  func map<Result: Equatable & Sendable>(_ transform: @escaping @Sendable (Value) throws -> Result) -> Column<
    Instance, Result
  > {
    let (value, read, keyed) = (value, read, keyed)
    return Column<Instance, Result>(
      property: property, value: { try transform(value($0)) }, read: { read($0).flatMap { try? transform($0) } },
      isEqual: { $0 == $1 }, keyed: { keyed($0).flatMap { try? transform($0) } })
  }

  // The types of the inner functions are those that are cast to: they are called with the type itself.

  private static var equality: ((Value, Value) -> Bool)? {
    func equality<Own: Equatable>(_ type: Own.Type) -> Any {
      let isEqual: (Own, Own) -> Bool = { $0 == $1 }
      return isEqual
    }
    return (Value.self as? any Equatable.Type).flatMap { equality($0) as? (Value, Value) -> Bool }
  }

  /// Reads integers, doubles, texts and optionals of these in their common forms.
  private static var keyReader: ((StoredMember) -> Value?)? {
    func reader<Key: ByteOrderedKey>(_ type: Key.Type) -> Any {
      let encoding = Key.keyEncoding
      let read: (StoredMember) -> Key? = { member in
        KeyValue(member.token, in: member.text, encoding).flatMap { Key($0) }
      }
      return read
    }
    return (Value.self as? any ByteOrderedKey.Type).flatMap { reader($0) as? (StoredMember) -> Value? }
  }

  /// Makes a value of its key in an index; nil of a type that no index has.
  private static var keyMeaning: ((KeyValue) -> Value?)? {
    func meaning<Key: Indexable>(_ type: Key.Type) -> Any {
      let coder = KeyCoder<Key>.make()
      let value: (KeyValue) -> Key? = { coder.decode($0) }
      return value
    }
    let ofBoolean: (KeyValue) -> Bool? = { IndexedBool($0)?.value }
    let ofOptionalBoolean: (KeyValue) -> Bool?? = { IndexedBool?($0).map { $0?.value } }
    if let meaning = (ofBoolean as Any) as? (KeyValue) -> Value? ?? (ofOptionalBoolean as Any) as? (KeyValue) -> Value?
    {
      return meaning
    }
    return (Value.self as? any Indexable.Type).flatMap { meaning($0) as? (KeyValue) -> Value? }
  }

  private static var decodingReader: ((StoredMember) -> Value?)? {
    func reader<Own: Decodable>(_ type: Own.Type) -> Any {
      let read: (StoredMember) -> Own? = { member in
        var value: Own?
        return StoredMember.decoder.decode(member.content, into: &value) ? value : nil
      }
      return read
    }
    return (Value.self as? any Decodable.Type).flatMap { reader($0) as? (StoredMember) -> Value? }
  }
}

struct StoredMember {
  /// As good as any: only texts are read that a decoder without a changed strategy decodes.
  fileprivate static let decoder = StandardJSONDecoder()

  let token: JSONToken
  let text: UnsafeRawBufferPointer

  /// A member that is not there, and stands for nil.
  static var null: StoredMember {
    let text: StaticString = "null"
    return StoredMember(token: .null, text: UnsafeRawBufferPointer(start: text.utf8Start, count: 4))
  }

  fileprivate var content: UnsafeRawBufferPointer {
    let quote = token.kind == .text ? 1 : 0
    return UnsafeRawBufferPointer(rebasing: text[Int(token.start) - quote..<Int(token.end) + quote])
  }
}

extension JSONToken {
  /// The token of a missing member that stands for nil.
  static var null: JSONToken {
    JSONToken(start: 0, end: 4, next: 0, count: 0, cursor: 0, kind: .null, isPlain: true)
  }
}
