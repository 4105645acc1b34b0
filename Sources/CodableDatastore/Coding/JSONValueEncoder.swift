import StrataFoundation

/// Encodes one value: the encoder that a type's `encode(to:)` receives.
///
/// Integers of 128 bits have functions of their own: the standard library has defaults for them, which go before a generic function.
struct JSONValueEncoder: Encoder, SingleValueEncodingContainer {
  let writing: JSONWriting
  let context: UnsafeMutablePointer<JSONWriting.Context>
  let entry: Int

  @inline(__always)
  init(_ writing: JSONWriting, _ entry: Int) {
    self.writing = writing
    context = writing.context
    self.entry = entry
  }

  var codingPath: [any CodingKey] { context.pointee.path(to: entry) }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    KeyedEncodingContainer(JSONKeyedEncoding<Key>(writing, context.pointee.container(of: entry, isObject: true)))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    JSONUnkeyedEncoding(writing, context.pointee.container(of: entry, isObject: false))
  }

  func singleValueContainer() -> any SingleValueEncodingContainer { self }

  func encodeNil() { context.pointee.write(entry, plain: "null") }
  func encode(_ value: Bool) { context.pointee.write(entry, plain: value ? "true" : "false") }
  func encode(_ value: String) { context.pointee.write(entry, value) }
  func encode(_ value: Double) { context.pointee.write(entry, number: value) }
  func encode(_ value: Float) { context.pointee.write(entry, number: value) }
  func encode(_ value: Int128) { context.pointee.write(entry, integer: value) }
  func encode(_ value: UInt128) { context.pointee.write(entry, integer: value) }
  func encode<T: FixedWidthInteger & Encodable>(_ value: T) { context.pointee.write(entry, integer: value) }

  /// Encodes a list of texts as `[String].encode(to:)` does, without a container.
  private func encode(_ texts: [String]) {
    let list = context.pointee.container(of: entry, isObject: false)
    if context.pointee.keepsTexts { context.pointee.entries[entry].kept = context.pointee.kept.keep(texts) }
    for text in texts { context.pointee.write(context.pointee.element(of: list), text, isKept: false) }
  }

  /// Encodes a value of any type. The types that Foundation's encoder treats in a way of its own come first.
  func encode<T: Encodable>(_ value: T) throws {
    let type = T.self
    if type == String.self { return encode(unsafeBitCast(value, to: String.self)) }
    if type == Int.self { return encode(unsafeBitCast(value, to: Int.self)) }
    if type == Double.self { return encode(unsafeBitCast(value, to: Double.self)) }
    if type == [String].self { return encode(unsafeBitCast(value, to: [String].self)) }
    if type == Date.self { return encode(unsafeBitCast(value, to: Date.self).timeIntervalSinceReferenceDate) }
    if type == Data.self { return encode(unsafeBitCast(value, to: Data.self).base64EncodedString()) }
    if type == URL.self { return encode(unsafeBitCast(value, to: URL.self).absoluteString) }
    if type == Decimal.self {
      let number = unsafeBitCast(value, to: Decimal.self)
      // Foundation's encoder writes NaN, which no decoder reads.
      guard !number.isNaN else {
        let error = EncodingError.Context(codingPath: codingPath, debugDescription: "JSON has no form for NaN.")
        context.pointee.isUncertain = false
        throw EncodingError.invalidValue(number, error)
      }
      return context.pointee.write(entry, plain: number.description)
    }
    try value.encode(to: self)
    if case .container(let container) = context.pointee.entries[entry].content,
      !context.pointee.containers[container].isObject, let form = (type as? any UnorderedValue.Type)?.form
    {
      context.pointee.containers[container].unorderedStep = form == "set" ? 1 : 2
    }
  }
}

struct JSONKeyedEncoding<Key: CodingKey>: KeyedEncodingContainerProtocol {
  private let writing: JSONWriting
  private let context: UnsafeMutablePointer<JSONWriting.Context>
  private let object: Int

  init(_ writing: JSONWriting, _ object: Int) {
    self.writing = writing
    context = writing.context
    self.object = object
  }

  var codingPath: [any CodingKey] { context.pointee.path(to: context.pointee.containers[object].entry) }

  @inline(__always)
  private func member(_ key: Key) -> JSONValueEncoder {
    JSONValueEncoder(writing, context.pointee.member(key, of: object))
  }

  func encodeNil(forKey key: Key) { member(key).encodeNil() }
  func encode(_ value: Bool, forKey key: Key) { member(key).encode(value) }
  func encode(_ value: String, forKey key: Key) { member(key).encode(value) }
  func encode(_ value: Double, forKey key: Key) { member(key).encode(value) }
  func encode(_ value: Float, forKey key: Key) { member(key).encode(value) }
  func encode(_ value: Int128, forKey key: Key) { member(key).encode(value) }
  func encode(_ value: UInt128, forKey key: Key) { member(key).encode(value) }
  func encode<T: Encodable>(_ value: T, forKey key: Key) throws { try member(key).encode(value) }

  // Inlined: the compiler does not specialise a generic function in a container that is generic itself.
  @inline(__always)
  func encode<T: FixedWidthInteger & Encodable>(_ value: T, forKey key: Key) { member(key).encode(value) }

  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) -> KeyedEncodingContainer<Nested> {
    JSONValueEncoder(writing, context.pointee.memberForContainer(key, of: object)).container(keyedBy: type)
  }

  func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
    JSONValueEncoder(writing, context.pointee.memberForContainer(key, of: object)).unkeyedContainer()
  }

  func superEncoder() -> any Encoder {
    JSONValueEncoder(writing, context.pointee.member(JSONKey(stringValue: "super"), of: object))
  }

  func superEncoder(forKey key: Key) -> any Encoder { member(key) }
}

struct JSONUnkeyedEncoding: UnkeyedEncodingContainer {
  private let writing: JSONWriting
  private let context: UnsafeMutablePointer<JSONWriting.Context>
  private let list: Int

  init(_ writing: JSONWriting, _ list: Int) {
    self.writing = writing
    context = writing.context
    self.list = list
  }

  var codingPath: [any CodingKey] { context.pointee.path(to: context.pointee.containers[list].entry) }
  var count: Int { context.pointee.containers[list].count }

  @inline(__always)
  private func element() -> JSONValueEncoder { JSONValueEncoder(writing, context.pointee.element(of: list)) }

  func encodeNil() { element().encodeNil() }
  func encode(_ value: Bool) { element().encode(value) }
  func encode(_ value: String) { element().encode(value) }
  func encode(_ value: Double) { element().encode(value) }
  func encode(_ value: Float) { element().encode(value) }
  func encode(_ value: Int128) { element().encode(value) }
  func encode(_ value: UInt128) { element().encode(value) }
  func encode<T: FixedWidthInteger & Encodable>(_ value: T) { element().encode(value) }
  func encode<T: Encodable>(_ value: T) throws { try element().encode(value) }

  func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedEncodingContainer<Nested> {
    element().container(keyedBy: type)
  }

  func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { element().unkeyedContainer() }
  func superEncoder() -> any Encoder { element() }
}
