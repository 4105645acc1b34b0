import StrataDocuments
import StrataFoundation

/// One decoding of a JSON text: its tape, and whether anything came up that only Foundation's decoder can judge.
///
/// Decoders and containers are small values that refer to a reading and to the index of a token. A reading is used for one text after
/// another. If a caller keeps a decoder longer than its `init(from:)` runs, the reading is not used again, and the decoder finds no
/// token any more.
final class JSONReading: @unchecked Sendable {
  // `@unchecked`: one call uses it at a time. A coder hands it out, and takes it back only if nothing else refers to it.
  /// The state that the values of a reading use. It lies outside of the object because each access to a variable of an object is checked
  /// for exclusivity, which took a third of the time of a decoding.
  struct Context {
    var bytes: UnsafePointer<UInt8>
    var tokens: UnsafeMutablePointer<JSONToken>
    var count: Int
    var isUncertain = false
    var isTraced = false
    /// Of objects whose names are not all plain, in which a member was looked for: the place of each name.
    var places: [Int: [String: Int]] = [:]
    /// The values that the text was made of, if it was written just now.
    var kept = JSONKeptTexts()
  }

  let context: UnsafeMutablePointer<Context>
  /// The requests of the decoding, if the context says that it is traced.
  var trace = DecodingTrace()
  private var tape = JSONTape()

  init() {
    context = .allocate(capacity: 1)
    context.initialize(to: Context(bytes: Self.none, tokens: tape.tokens, count: 0))
  }

  deinit {
    context.deinitialize(count: 1)
    context.deallocate()
  }

  /// Begins with a text, which the caller keeps until `end`. Returns false if Foundation's decoder has to read it.
  func begin(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
    guard let start = text.baseAddress, tape.read(text) else { return false }
    context.pointee = Context(bytes: start, tokens: tape.tokens, count: tape.count)
    return true
  }

  /// Begins with the text that a writing has just handed over, which stays as it is until `end`. Returns false if the text has to be read.
  func begin(_ writing: JSONWriting, _ text: UnsafeBufferPointer<UInt8>) -> Bool {
    guard let start = text.baseAddress, let tokens = writing.tokens, let first = tokens.baseAddress else {
      return false
    }
    context.pointee = Context(
      bytes: start, tokens: first, count: tokens.count, kept: writing.context.pointee.kept)
    return true
  }

  /// No text: without tokens its bytes are never read.
  private static var none: UnsafePointer<UInt8> { UnsafePointer(bitPattern: 16).unsafelyUnwrapped }

  /// Ends with the text. From then on nothing can be decoded.
  func end() {
    tape.clear()
    context.pointee = Context(bytes: Self.none, tokens: tape.tokens, count: 0)
  }
}

/// A value of a reading, by the index of its token. It does not keep the reading alive: decoders and containers do.
struct JSONValue {
  let context: UnsafeMutablePointer<JSONReading.Context>
  let index: Int

  @inline(__always)
  init(_ context: UnsafeMutablePointer<JSONReading.Context>, _ index: Int) {
    self.context = context
    self.index = index
  }

  /// The token; if the reading has ended, a token of a kind from which nothing can be decoded.
  @inline(__always)
  var token: JSONToken {
    guard index < context.pointee.count else { return Self.ended }
    return context.pointee.tokens[index]
  }

  // Patterns instead of `==`, which is a call into the module of the token.
  var isNull: Bool { if case .null = token.kind { true } else { false } }
  var isObject: Bool { if case .object = token.kind { true } else { false } }
  var isList: Bool { if case .list = token.kind { true } else { false } }

  private static let ended = JSONToken(
    start: 0, end: 0, next: 0, count: 0, cursor: 0, kind: .name, isPlain: false)

  @inline(__always)
  func sibling(_ index: Int) -> JSONValue { JSONValue(context, index) }

  @inline(__always)
  func content(_ token: JSONToken) -> UnsafeBufferPointer<UInt8> {
    UnsafeBufferPointer(start: context.pointee.bytes + Int(token.start), count: Int(token.end &- token.start))
  }

  // MARK: Errors

  /// An error that Foundation's decoder throws for the same value, too. Only its kind counts: the caller of the decoder receives
  /// Foundation's own error.
  func mismatch(_ type: Any.Type) -> DecodingError {
    let context = DecodingError.Context(codingPath: path, debugDescription: "Expected \(type).")
    return isNull ? .valueNotFound(type, context) : .typeMismatch(type, context)
  }

  /// Leaves the decision to Foundation's decoder, which may accept the value.
  @inline(never)
  func uncertain(_ type: Any.Type) -> DecodingError {
    context.pointee.isUncertain = true
    return mismatch(type)
  }

  /// The path for a type that asks. Only Foundation's decoder keeps the keys themselves, which may have a number.
  var askedPath: [any CodingKey] {
    context.pointee.isUncertain = true
    return path
  }

  /// The names and positions that lead from the whole text to this value.
  var path: [any CodingKey] {
    var path: [any CodingKey] = []
    var at = 0
    while at < index, at < context.pointee.count {
      let container = context.pointee.tokens[at]
      var (child, position) = (at + 1, 0)
      while child < Int(container.next) {
        let value = sibling(at).isObject ? child + 1 : child
        if index < Int(context.pointee.tokens[value].next) {
          path.append(
            sibling(at).isObject
              ? JSONKey(stringValue: sibling(child).anyText ?? "") : JSONKey(intValue: position))
          at = value
          break
        }
        (child, position) = (Int(context.pointee.tokens[value].next), position + 1)
      }
      if child >= Int(container.next) { break }
    }
    return path
  }

  // MARK: Texts

  /// The text of a text or name token; nil if an escape is not one.
  var anyText: String? {
    let token = token
    let content = content(token)
    if token.isPlain || !content.contains(UInt8(ascii: "\\")) { return String(decoding: content, as: UTF8.self) }
    return JSONEscapes.text(content)
  }

  @inline(__always)
  func text(_ type: Any.Type = String.self) throws -> String {
    let token = token
    guard case .text = token.kind else { throw mismatch(type) }
    // The number of the text that was encoded.
    if token.count > 0 { return context.pointee.kept.texts[Int(token.count) - 1] }
    if token.isPlain { return String(decoding: content(token), as: UTF8.self) }
    guard let text = anyText else { throw uncertain(type) }
    return text
  }

  /// Decodes a list of texts as `[String].init(from:)` does, without a container.
  private func texts() throws -> [String] {
    let token = token
    guard isList else { throw mismatch([Any].self) }
    // The list that was encoded, by its number.
    if !token.isPlain { return context.pointee.kept.lists[Int(token.cursor) - 1] }
    var texts: [String] = []
    texts.reserveCapacity(Int(token.count))
    var at = index &+ 1
    for _ in 0..<token.count {
      texts.append(try sibling(at).text())
      at &+= 1
    }
    return texts
  }

  // MARK: Numbers

  func integer<T: FixedWidthInteger>(_ type: T.Type) throws -> T {
    let token = token
    guard case .number = token.kind else { throw mismatch(type) }
    let bytes = content(token)
    let first = bytes[0] == UInt8(ascii: "-") ? 1 : 0
    guard bytes.count > first, bytes.count &- first <= 19,
      bytes[first] != UInt8(ascii: "0") || bytes.count == first &+ 1
    else {
      throw uncertain(type)
    }
    // Nineteen digits fit into 64 bits.
    var magnitude: UInt64 = 0
    for index in first..<bytes.count {
      let digit = bytes[index] &- UInt8(ascii: "0")
      guard digit < 10 else { throw uncertain(type) }
      magnitude = magnitude &* 10 &+ UInt64(digit)
    }
    let value = first == 0 ? T(exactly: magnitude) : T(exactly: 0 - Int128(magnitude))
    guard let value else { throw uncertain(type) }
    return value
  }

  func double() throws -> Double {
    let token = token
    guard case .number = token.kind else { throw mismatch(Double.self) }
    guard let value = JSONNumber.double(content(token)) else { throw uncertain(Double.self) }
    return value
  }

  func float() throws -> Float {
    let token = token
    guard case .number = token.kind else { throw mismatch(Float.self) }
    let bytes = content(token)
    if let value = JSONNumber.shortDouble(bytes), value == 0 { return Float(value) }
    // Foundation's decoder refuses a number that is too small for a float.
    guard JSONNumber.length(in: bytes, at: 0) == bytes.count,
      let value = Float(String(decoding: bytes, as: UTF8.self)), value.isNormal
    else { throw uncertain(Float.self) }
    return value
  }

  func bool() throws -> Bool {
    switch token.kind {
    case .yes: return true
    case .no: return false
    default: throw mismatch(Bool.self)
    }
  }

  private func decimal() throws -> Decimal {
    let token = token
    guard case .number = token.kind else { throw mismatch(Decimal.self) }
    let bytes = content(token)
    guard JSONNumber.length(in: bytes, at: 0) == bytes.count, bytes.count <= 30,
      let value = Decimal(string: String(decoding: bytes, as: UTF8.self))
    else { throw uncertain(Decimal.self) }
    return value
  }

  // MARK: Any type

  /// Decodes a value of any type. The types that Foundation's decoder treats in a way of its own come first.
  func decode<T: Decodable>(_ type: T.Type, in reading: JSONReading) throws -> T {
    if type == String.self { return unsafeBitCast(try text(), to: T.self) }
    if type == Int.self { return unsafeBitCast(try integer(Int.self), to: T.self) }
    if type == Double.self { return unsafeBitCast(try double(), to: T.self) }
    if type == Bool.self { return unsafeBitCast(try bool(), to: T.self) }
    if type == [String].self {
      if context.pointee.isTraced { reading.trace.addOther(index) }
      return unsafeBitCast(try texts(), to: T.self)
    }
    if type == Date.self {
      return unsafeBitCast(Date(timeIntervalSinceReferenceDate: try double()), to: T.self)
    }
    if type == Data.self {
      guard let data = Data(base64Encoded: try text(type)) else { throw uncertain(type) }
      return unsafeBitCast(data, to: T.self)
    }
    if type == URL.self {
      guard let url = URL(string: try text(type)) else { throw uncertain(type) }
      return unsafeBitCast(url, to: T.self)
    }
    if type == Decimal.self { return unsafeBitCast(try decimal(), to: T.self) }
    return try T(from: JSONValueDecoder(reading, self))
  }
}

/// A name or a position on the way to a value.
struct JSONKey: CodingKey {
  let stringValue: String
  let intValue: Int?

  /// The name of a member. A dictionary's keys have a number if their name is one.
  init(stringValue: String) { (self.stringValue, intValue) = (stringValue, Int(stringValue)) }

  init(intValue: Int) {
    stringValue = "Index \(intValue)"
    self.intValue = intValue
  }
}
