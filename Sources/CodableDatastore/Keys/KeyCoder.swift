import StrataModel
import StrataDocuments
import StrataLocks

/// Converts values of one type to keys, and knows the order of those keys.
///
/// It is made once per index, so that writing a key need not examine the type.
struct KeyCoder<Value: Indexable>: Sendable {
  let encoding: KeyEncoding
  /// Nil if byte order is the order of the values.
  let comparator: ComparatorOrder<Value>?
  /// Makes the key of a value. Throws `NotOrdered`, or any error of the value's encoding.
  let encode: @Sendable (Value) throws -> [UInt8]
  /// Makes the value of a key; nil if the key does not determine one.
  let decode: @Sendable (KeyValue) -> Value?

  /// The key of a value. Throws `NotOrdered`, or any error of the value's encoding.
  func key(of value: Value) throws -> [UInt8] { try encode(value) }

  func value(of key: [UInt8]) -> Value? {
    if let comparator { return try? comparator.value(of: key) }
    return (try? encoding.decode(key)).flatMap { decode($0) }
  }

  var order: KeyOrder { comparator.map { .comparator($0) } ?? .bytes }

  /// Chooses the order that the type asks for: bytes if it or its form has them, comparison otherwise.
  static func make() -> Self {
    if let leaf = Value.self as? any ByteOrderedKey.Type, let coder = byteOrdered(leaf) { return coder }
    if let ordered = Value.self as? any OrderedKey.Type, let coder = formOrdered(ordered) { return coder }
    let comparator = ComparatorOrder<Value>()
    return Self(
      encoding: .comparator(String(describing: Value.self)), comparator: comparator,
      encode: { try comparator.key(of: $0) }, decode: { try? comparator.value(of: $0.document.canonicalBytes) })
  }

  private static func byteOrdered<Leaf: ByteOrderedKey>(_ leaf: Leaf.Type) -> Self? {
    // `Leaf` is `Value`: the types are the same, and so are the closures' types.
    let encode: @Sendable (Leaf) throws -> [UInt8] = { value in
      var encoder = KeyEncoder(reservingCapacity: 24)
      try value.append(to: &encoder)
      return encoder.bytes
    }
    let encoding = Leaf.keyEncoding
    let decode: @Sendable (KeyValue) -> Leaf? = { Leaf($0) }
    guard let encode = encode as? @Sendable (Value) throws -> [UInt8],
      let decode = decode as? @Sendable (KeyValue) -> Value?
    else { return nil }
    return Self(encoding: encoding, comparator: nil, encode: encode, decode: decode)
  }

  private static func formOrdered<Ordered: OrderedKey>(_ type: Ordered.Type) -> Self? {
    guard Ordered.KeyForm.self != Ordered.self else { return nil }
    let form = KeyCoder<Ordered.KeyForm>.make()
    guard form.comparator == nil else { return nil }
    let agreement = OrderAgreement<Ordered>()
    let encode: @Sendable (Ordered) throws -> [UInt8] = { value in
      let key = try form.key(of: value.keyForm)
      try agreement.check(value, key)
      return key
    }
    let decode: @Sendable (KeyValue) -> Ordered? = { key in form.decode(key).flatMap { Ordered(keyForm: $0) } }
    guard let encode = encode as? @Sendable (Value) throws -> [UInt8],
      let decode = decode as? @Sendable (KeyValue) -> Value?
    else { return nil }
    return Self(encoding: form.encoding, comparator: nil, encode: encode, decode: decode)
  }
}

/// Checks that the `<` of an ``OrderedKey`` agrees with its bytes: each key is compared with the one before.
private final class OrderAgreement<Value: OrderedKey>: Sendable {
  private let last = Mutex<(value: Value, key: [UInt8])?>(nil)

  func check(_ value: Value, _ key: [UInt8]) throws {
    let before = last.withLock { last in
      defer { last = (value, key) }
      return last
    }
    guard let before else { return }
    let (isLess, isGreater) = (value < before.value, before.value < value)
    if isLess == key.lexicographicallyPrecedes(before.key), isGreater == before.key.lexicographicallyPrecedes(key) {
      return
    }
    // Swift's `<` leaves some pairs of texts in different normal forms without an order, in the forms too.
    let (form, formBefore) = (value.keyForm, before.value.keyForm)
    guard isLess == (form < formBefore), isGreater == (formBefore < form) else {
      throw NotOrdered(
        description: "\(before.value) and \(value), whose “<” disagrees with the order of their key forms")
    }
  }
}
