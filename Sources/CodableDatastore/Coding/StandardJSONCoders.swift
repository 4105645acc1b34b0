import StrataFoundation
import StrataLocks

/// The library's own JSON decoder, with the meaning of Foundation's and several times its speed.
///
/// It reads the output of encoders. Whatever it refuses or is not sure of, Foundation's decoder decodes again. So each value, and each
/// error with its coding path, is the one that Foundation gives. If a strategy is changed, Foundation's decoder does all of the work.
final class StandardJSONDecoder: JSONDecoder, @unchecked Sendable {
  // `@unchecked`: the superclass is Sendable; this class adds an atomic and a pool.
  private let isChanged = Atomic(false)
  private let readings = ObjectPool { JSONReading() }

  override func decode<T: Decodable>(_ type: T.Type, from data: Data) throws -> T {
    var value: T?
    if data.withUnsafeBytes({ decode($0, into: &value) }), let value { return value }
    return try super.decode(type, from: data)
  }

  /// Decodes bytes without copying them. Returns false if Foundation's decoder is to decide.
  func decode<T: Decodable>(_ bytes: UnsafeRawBufferPointer, into value: inout T?) -> Bool {
    decode(into: &value) { $0.begin(bytes.assumingMemoryBound(to: UInt8.self)) }
  }

  /// Decodes a text that was just written, without reading it. Returns false if it has to be read.
  fileprivate func decode<T: Decodable>(
    _ text: UnsafeBufferPointer<UInt8>, of writing: JSONWriting, into value: inout T?
  ) -> Bool {
    decode(into: &value) { $0.begin(writing, text) }
  }

  @inline(__always)
  private func decode<T: Decodable>(into value: inout T?, beginning begin: (JSONReading) -> Bool) -> Bool {
    guard isStandard else { return false }
    // A decoder that is kept beyond its call does not see the next text: the pool gives up a reading that is still in use.
    return readings.withObject { reading in
      defer { reading.end() }
      guard begin(reading), let decoded = try? JSONValue(reading.context, 0).decode(T.self, in: reading),
        !reading.context.pointee.isUncertain
      else { return false }
      value = decoded
      return true
    }
  }

  /// Whether the library's own decoder does the work.
  var isStandard: Bool { !isChanged.load(ordering: .relaxed) }

  /// Decodes a value, and returns the requests of its type; nil if Foundation's decoder is to decide.
  func traced<T: Decodable>(_ type: T.Type, from bytes: UnsafeRawBufferPointer) -> (value: T, trace: DecodingTrace)? {
    let reading = JSONReading()
    defer { reading.end() }
    guard isStandard, reading.begin(bytes.assumingMemoryBound(to: UInt8.self)) else { return nil }
    reading.context.pointee.isTraced = true
    guard let value = try? JSONValue(reading.context, 0).decode(type, in: reading), !reading.context.pointee.isUncertain
    else { return nil }
    return (value, reading.trace)
  }

  private func markChanged() { isChanged.store(true, ordering: .relaxed) }
  override var dateDecodingStrategy: DateDecodingStrategy { didSet { markChanged() } }
  override var dataDecodingStrategy: DataDecodingStrategy { didSet { markChanged() } }
  override var nonConformingFloatDecodingStrategy: NonConformingFloatDecodingStrategy { didSet { markChanged() } }
  override var keyDecodingStrategy: KeyDecodingStrategy { didSet { markChanged() } }
  override var allowsJSON5: Bool { didSet { markChanged() } }
  override var assumesTopLevelDictionary: Bool { didSet { markChanged() } }
  override var userInfo: [CodingUserInfoKey: any Sendable] { didSet { markChanged() } }
}

/// The library's own JSON encoder: the bytes that Foundation's encoder writes with sorted members, at several times its speed, with one
/// exception. The elements of a `Set`, and of a `Dictionary` that is written as a list, are in the order of their texts, so that equal
/// values have equal bytes in every process. If a strategy is changed, Foundation's encoder does all of the work.
final class StandardJSONEncoder: JSONEncoder, @unchecked Sendable {
  // `@unchecked`: the superclass is Sendable; this class adds an atomic and a pool.
  private let isChanged = Atomic(false)
  private let writings = ObjectPool { JSONWriting() }

  override init() {
    super.init()
    super.outputFormatting = [.sortedKeys]
  }

  override func encode<T: Encodable>(_ value: T) throws -> Data {
    try written(value, keepsTexts: false) { writing in writing.text { Data($0) } } ?? super.encode(value)
  }

  /// A record of a value, and the value that a decoder makes of it; nil if Foundation's encoder has to decide.
  ///
  /// The decoder's value is nil if the text would have to be read for it.
  func record<T: Codable>(
    of value: T, behind head: [UInt8], decodingBy decoder: StandardJSONDecoder?
  ) throws -> (bytes: [UInt8], decoded: T?)? {
    try written(value, keepsTexts: decoder != nil) { writing in
      writing.text { text in
        let record = [UInt8](unsafeUninitializedCapacity: head.count + text.count) { bytes, count in
          count = head.count + text.count
          _ = bytes.initialize(from: head)
          _ = bytes[head.count...].initialize(from: text)
        }
        var decoded: T?
        return (record, decoder?.decode(text, of: writing, into: &decoded) == true ? decoded : nil)
      }
    }
  }

  /// Writes a value, and returns the result of `body`; nil if Foundation's encoder has to decide.
  private func written<T: Encodable, Result>(
    _ value: T, keepsTexts: Bool, _ body: (JSONWriting) -> Result
  ) throws -> Result? {
    guard !isChanged.load(ordering: .relaxed) else { return nil }
    // An encoder that is kept beyond its call does not write to the next text: the pool gives up a writing that is still in use.
    return try writings.withObject { writing in
      writing.begin(keepsTexts: keepsTexts)
      do {
        try JSONValueEncoder(writing, 0).encode(value)
      } catch _ where writing.context.pointee.isUncertain {
        return nil
      }
      guard writing.hasContent, !writing.context.pointee.isUncertain else { return nil }
      defer { writing.end() }
      return body(writing)
    }
  }

  private func markChanged() { isChanged.store(true, ordering: .relaxed) }
  override var outputFormatting: OutputFormatting { didSet { markChanged() } }
  override var dateEncodingStrategy: DateEncodingStrategy { didSet { markChanged() } }
  override var dataEncodingStrategy: DataEncodingStrategy { didSet { markChanged() } }
  override var nonConformingFloatEncodingStrategy: NonConformingFloatEncodingStrategy { didSet { markChanged() } }
  override var keyEncodingStrategy: KeyEncodingStrategy { didSet { markChanged() } }
  override var userInfo: [CodingUserInfoKey: any Sendable] { didSet { markChanged() } }
}
