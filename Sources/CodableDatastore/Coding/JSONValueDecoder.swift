import StrataDocuments

/// Decodes one value: the decoder that a type's `init(from:)` receives.
///
/// Integers of 128 bits have functions of their own: the standard library has defaults for them, which go before a generic function.
struct JSONValueDecoder: Decoder, SingleValueDecodingContainer {
  let reading: JSONReading
  let value: JSONValue

  @inline(__always)
  init(_ reading: JSONReading, _ value: JSONValue) {
    self.reading = reading
    self.value = value
  }

  var codingPath: [any CodingKey] { value.askedPath }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    guard value.isObject else { throw value.mismatch([String: Any].self) }
    let container = JSONKeyedContainer<Key>(reading: reading, object: value)
    guard value.token.isPlain || container.hasReadableNames else { throw value.uncertain(Key.self) }
    if value.context.pointee.isTraced { reading.trace.open(value.index, keys: type) }
    return KeyedDecodingContainer(container)
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    guard value.isList else { throw value.mismatch([Any].self) }
    traceOther()
    return JSONUnkeyedContainer(reading, value)
  }

  func singleValueContainer() throws -> any SingleValueDecodingContainer {
    traceOther()
    return self
  }

  private func traceOther() { if value.context.pointee.isTraced { reading.trace.addOther(value.index) } }

  func decodeNil() -> Bool { value.isNull }
  func decode(_ type: Bool.Type) throws -> Bool { try value.bool() }
  func decode(_ type: String.Type) throws -> String { try value.text() }
  func decode(_ type: Double.Type) throws -> Double { try value.double() }
  func decode(_ type: Float.Type) throws -> Float { try value.float() }
  func decode(_ type: Int128.Type) throws -> Int128 { try value.integer(type) }
  func decode(_ type: UInt128.Type) throws -> UInt128 { try value.integer(type) }
  func decode<T: FixedWidthInteger & Decodable>(_ type: T.Type) throws -> T { try value.integer(type) }
  func decode<T: Decodable>(_ type: T.Type) throws -> T { try value.decode(type, in: reading) }
}

/// The members of an object.
///
/// The members of a stored record are in ascending order, each name once. Then a search continues behind the member that was found last. In
/// other objects it begins at the first member; if a name occurs twice, the first counts, as in Foundation's decoder.
struct JSONKeyedContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let reading: JSONReading
  let object: JSONValue

  var codingPath: [any CodingKey] { object.askedPath }

  var allKeys: [Key] {
    traceOther()
    var seen: Set<String> = []
    let isPlain = object.token.isPlain
    return names.compactMap { name in
      guard let text = object.sibling(name).anyText, isPlain || seen.insert(text).inserted else { return nil }
      return Key(stringValue: text)
    }
  }

  private func traceOther() { if object.context.pointee.isTraced { reading.trace.addOther(object.index) } }

  /// Whether each name is a text. An escape in it may be invalid.
  var hasReadableNames: Bool { names.allSatisfy { object.sibling($0).anyText != nil } }

  private var names: [Int] {
    let token = object.token
    var (names, at) = ([Int](), object.index + 1)
    names.reserveCapacity(Int(token.count))
    for _ in 0..<token.count {
      names.append(at)
      at = Int(object.context.pointee.tokens[at + 1].next)
    }
    return names
  }

  // MARK: Finding a member

  @inline(__always)
  private func find(_ key: Key) -> JSONValue? {
    let token = object.token
    guard case .object = token.kind, token.count > 0 else { return nil }
    var name = key.stringValue
    guard token.isPlain else { return findAny(name) }
    return name.withUTF8 { find($0, token) }
  }

  @inline(__always)
  private func find(_ name: UnsafeBufferPointer<UInt8>, _ token: JSONToken) -> JSONValue? {
    let tokens = object.context.pointee.tokens
    let bytes = object.context.pointee.bytes
    let first = object.index &+ 1
    var at = Int(token.cursor)
    for _ in 0..<token.count {
      if at >= Int(token.next) { at = first }
      let candidate = tokens[at]
      let following = Int(tokens[at &+ 1].next)
      if Int(candidate.end &- candidate.start) == name.count, Self.isEqual(bytes + Int(candidate.start), name) {
        tokens[object.index].cursor = UInt32(truncatingIfNeeded: following)
        return object.sibling(at &+ 1)
      }
      at = following
    }
    return nil
  }

  @inline(__always)
  private static func isEqual(_ bytes: UnsafePointer<UInt8>, _ name: UnsafeBufferPointer<UInt8>) -> Bool {
    var index = 0
    while index < name.count {
      if bytes[index] != name[index] { return false }
      index &+= 1
    }
    return true
  }

  @inline(never)
  private func findAny(_ name: String) -> JSONValue? {
    let context = object.context
    if context.pointee.places[object.index] == nil {
      let named = names.compactMap { place in object.sibling(place).anyText.map { ($0, place) } }
      context.pointee.places[object.index] = Dictionary(named, uniquingKeysWith: { first, _ in first })
    }
    return context.pointee.places[object.index]?[name].map { object.sibling($0 + 1) }
  }

  @inline(__always)
  private func member(_ key: Key, _ type: Any.Type = Never.self) throws -> JSONValue {
    let value = find(key)
    if object.context.pointee.isTraced { reading.trace.addMember(key, type, value, of: object.index) }
    guard let value else {
      throw DecodingError.keyNotFound(
        key, .init(codingPath: object.path, debugDescription: "No value is associated with key \(key)."))
    }
    return value
  }

  @inline(__always)
  private func present<T>(_ key: Key, _ type: T.Type) -> JSONValue? {
    let value = find(key)
    if object.context.pointee.isTraced { reading.trace.addMember(key, T?.self, value, of: object.index) }
    guard let value, !value.isNull else { return nil }
    return value
  }

  // MARK: Decoding

  func contains(_ key: Key) -> Bool {
    traceOther()
    return find(key) != nil
  }

  func decodeNil(forKey key: Key) throws -> Bool { try member(key).isNull }

  func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try member(key, type).bool() }
  func decode(_ type: String.Type, forKey key: Key) throws -> String { try member(key, type).text() }
  func decode(_ type: Double.Type, forKey key: Key) throws -> Double { try member(key, type).double() }
  func decode(_ type: Float.Type, forKey key: Key) throws -> Float { try member(key, type).float() }
  func decode(_ type: Int128.Type, forKey key: Key) throws -> Int128 { try member(key, type).integer(type) }
  func decode(_ type: UInt128.Type, forKey key: Key) throws -> UInt128 { try member(key, type).integer(type) }

  // Inlined: the compiler does not specialise a generic function in a container that is generic itself.
  @inline(__always)
  func decode<T: FixedWidthInteger & Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
    try member(key, type).integer(type)
  }

  func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
    try member(key, type).decode(type, in: reading)
  }

  // Each integer has a function of its own: the standard library has a default for each, which goes before a generic function.
  func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? { try present(key, type)?.bool() }
  func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? { try present(key, type)?.text() }
  func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? { try present(key, type)?.double() }
  func decodeIfPresent(_ type: Float.Type, forKey key: Key) throws -> Float? { try present(key, type)?.float() }
  func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? { try present(key, type)?.integer(type) }
  func decodeIfPresent(_ type: Int8.Type, forKey key: Key) throws -> Int8? { try present(key, type)?.integer(type) }
  func decodeIfPresent(_ type: Int16.Type, forKey key: Key) throws -> Int16? { try present(key, type)?.integer(type) }
  func decodeIfPresent(_ type: Int32.Type, forKey key: Key) throws -> Int32? { try present(key, type)?.integer(type) }
  func decodeIfPresent(_ type: Int64.Type, forKey key: Key) throws -> Int64? { try present(key, type)?.integer(type) }
  func decodeIfPresent(_ type: Int128.Type, forKey key: Key) throws -> Int128? { try present(key, type)?.integer(type) }
  func decodeIfPresent(_ type: UInt.Type, forKey key: Key) throws -> UInt? { try present(key, type)?.integer(type) }
  func decodeIfPresent(_ type: UInt8.Type, forKey key: Key) throws -> UInt8? { try present(key, type)?.integer(type) }
  func decodeIfPresent(_ type: UInt16.Type, forKey key: Key) throws -> UInt16? { try present(key, type)?.integer(type) }
  func decodeIfPresent(_ type: UInt32.Type, forKey key: Key) throws -> UInt32? { try present(key, type)?.integer(type) }
  func decodeIfPresent(_ type: UInt64.Type, forKey key: Key) throws -> UInt64? { try present(key, type)?.integer(type) }
  func decodeIfPresent(_ type: UInt128.Type, forKey key: Key) throws -> UInt128? {
    try present(key, type)?.integer(type)
  }
  func decodeIfPresent<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T? {
    try present(key, type)?.decode(type, in: reading)
  }

  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<Nested> { try JSONValueDecoder(reading, member(key)).container(keyedBy: type) }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    try JSONValueDecoder(reading, member(key)).unkeyedContainer()
  }

  func superDecoder() throws -> any Decoder {
    guard let key = Key(stringValue: "super") else { return try superDecoder(named: "super") }
    return try superDecoder(forKey: key)
  }

  func superDecoder(forKey key: Key) throws -> any Decoder { try superDecoder(named: key.stringValue) }

  /// Foundation's decoder has a meaning of its own for a missing member here.
  private func superDecoder(named name: String) throws -> any Decoder {
    traceOther()
    guard let value = findAny(name) else { throw object.uncertain((any Decoder).self) }
    return JSONValueDecoder(reading, value)
  }
}

struct JSONUnkeyedContainer: UnkeyedDecodingContainer {
  private let reading: JSONReading
  private let list: JSONValue
  private var at: Int
  private var position = 0

  init(_ reading: JSONReading, _ list: JSONValue) {
    self.reading = reading
    self.list = list
    at = list.index &+ 1
  }

  var codingPath: [any CodingKey] { list.askedPath }
  var count: Int? { Int(list.token.count) }
  var isAtEnd: Bool { position >= Int(list.token.count) }
  var currentIndex: Int { position }

  /// The next element, without advancing: a value that could not be decoded is the next one again.
  private func next(_ type: Any.Type) throws -> JSONValue {
    guard !isAtEnd else {
      throw DecodingError.valueNotFound(
        type, .init(codingPath: list.path, debugDescription: "Unkeyed container is at end."))
    }
    return list.sibling(at)
  }

  @inline(__always)
  private mutating func element<T>(_ body: (JSONValue) throws -> T) throws -> T {
    let value = try next(T.self)
    let result = try body(value)
    at = Int(value.token.next)
    position &+= 1
    return result
  }

  mutating func decodeNil() throws -> Bool {
    guard try next(Never.self).isNull else { return false }
    at &+= 1
    position &+= 1
    return true
  }

  mutating func decode(_ type: Bool.Type) throws -> Bool { try element { try $0.bool() } }
  mutating func decode(_ type: String.Type) throws -> String { try element { try $0.text() } }
  mutating func decode(_ type: Double.Type) throws -> Double { try element { try $0.double() } }
  mutating func decode(_ type: Float.Type) throws -> Float { try element { try $0.float() } }
  mutating func decode(_ type: Int128.Type) throws -> Int128 { try element { try $0.integer(type) } }
  mutating func decode(_ type: UInt128.Type) throws -> UInt128 { try element { try $0.integer(type) } }
  mutating func decode<T: FixedWidthInteger & Decodable>(_ type: T.Type) throws -> T {
    try element { try $0.integer(type) }
  }
  mutating func decode<T: Decodable>(_ type: T.Type) throws -> T {
    try element { [reading] in try $0.decode(type, in: reading) }
  }

  /// As Foundation's decoder does, it counts on behind the last element.
  @inline(__always)
  private mutating func present<T>(_ body: (JSONValue) throws -> T) throws -> T? {
    if isAtEnd { position &+= 1 }
    return try position > Int(list.token.count) || decodeNil() ? nil : element(body)
  }

  // None for integers of 128 bits: for them Foundation's decoder has the default of the standard library.
  mutating func decodeIfPresent(_ type: Bool.Type) throws -> Bool? { try present { try $0.bool() } }
  mutating func decodeIfPresent(_ type: String.Type) throws -> String? { try present { try $0.text() } }
  mutating func decodeIfPresent(_ type: Double.Type) throws -> Double? { try present { try $0.double() } }
  mutating func decodeIfPresent(_ type: Float.Type) throws -> Float? { try present { try $0.float() } }
  mutating func decodeIfPresent(_ type: Int.Type) throws -> Int? { try present { try $0.integer(type) } }
  mutating func decodeIfPresent(_ type: Int8.Type) throws -> Int8? { try present { try $0.integer(type) } }
  mutating func decodeIfPresent(_ type: Int16.Type) throws -> Int16? { try present { try $0.integer(type) } }
  mutating func decodeIfPresent(_ type: Int32.Type) throws -> Int32? { try present { try $0.integer(type) } }
  mutating func decodeIfPresent(_ type: Int64.Type) throws -> Int64? { try present { try $0.integer(type) } }
  mutating func decodeIfPresent(_ type: UInt.Type) throws -> UInt? { try present { try $0.integer(type) } }
  mutating func decodeIfPresent(_ type: UInt8.Type) throws -> UInt8? { try present { try $0.integer(type) } }
  mutating func decodeIfPresent(_ type: UInt16.Type) throws -> UInt16? { try present { try $0.integer(type) } }
  mutating func decodeIfPresent(_ type: UInt32.Type) throws -> UInt32? { try present { try $0.integer(type) } }
  mutating func decodeIfPresent(_ type: UInt64.Type) throws -> UInt64? { try present { try $0.integer(type) } }
  mutating func decodeIfPresent<T: Decodable>(_ type: T.Type) throws -> T? {
    try present { [reading] in try $0.decode(type, in: reading) }
  }

  mutating func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type
  ) throws -> KeyedDecodingContainer<Nested> {
    try element { [reading] in try JSONValueDecoder(reading, $0).container(keyedBy: type) }
  }

  mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
    try element { [reading] in try JSONValueDecoder(reading, $0).unkeyedContainer() }
  }

  mutating func superDecoder() throws -> any Decoder { try element { [reading] in JSONValueDecoder(reading, $0) } }
}
