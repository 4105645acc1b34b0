#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import Locks

/// The library's own JSON decoder, with the meaning of Foundation's and several times its speed.
///
/// It reads what an encoder writes; whatever it refuses or is not sure of, Foundation's decoder decodes anew. So each value, and each
/// error with its coding path, is the one that Foundation gives. If a strategy is changed, Foundation's decoder does all of the work.
final class StandardJSONDecoder: JSONDecoder, @unchecked Sendable {
  // `@unchecked`: the superclass is Sendable; what is added is an atomic and a lock.
  private let isChanged = Atomic(false)
  private let readings = Mutex<[JSONReading]>([])

  override func decode<T: Decodable>(_ type: T.Type, from data: Data) throws -> T {
    if !isChanged.load(ordering: .relaxed), let value = data.withUnsafeBytes({ value(type, $0) }) { return value }
    return try super.decode(type, from: data)
  }

  /// Decodes bytes where they lie.
  func decode<T: Decodable>(_ type: T.Type, from bytes: UnsafeRawBufferPointer) throws -> T {
    if !isChanged.load(ordering: .relaxed), let value = value(type, bytes) { return value }
    return try super.decode(type, from: Data(bytes))
  }

  /// The value of a text; nil if Foundation's decoder is to decide.
  private func value<T: Decodable>(_ type: T.Type, _ bytes: UnsafeRawBufferPointer) -> T? {
    var reading = readings.withLock { $0.popLast() } ?? JSONReading()
    defer {
      reading.end()
      // A decoder that is kept beyond its call must not see the next text.
      if isKnownUniquelyReferenced(&reading) {
        readings.withLock { [reading] in if $0.count < 8 { $0.append(reading) } }
      }
    }
    guard reading.begin(bytes.assumingMemoryBound(to: UInt8.self)),
      let value = try? JSONValue(reading.context, 0).decode(type, in: reading), !reading.context.pointee.isUncertain
    else { return nil }
    return value
  }

  /// Whether a value is decoded without Foundation's decoder, for tests.
  func hasDecoded<T: Decodable>(_ type: T.Type, from data: Data) -> Bool {
    data.withUnsafeBytes { value(type, $0) } != nil
  }

  private func noteChange() { isChanged.store(true, ordering: .relaxed) }
  override var dateDecodingStrategy: DateDecodingStrategy { didSet { noteChange() } }
  override var dataDecodingStrategy: DataDecodingStrategy { didSet { noteChange() } }
  override var nonConformingFloatDecodingStrategy: NonConformingFloatDecodingStrategy { didSet { noteChange() } }
  override var keyDecodingStrategy: KeyDecodingStrategy { didSet { noteChange() } }
  override var allowsJSON5: Bool { didSet { noteChange() } }
  override var assumesTopLevelDictionary: Bool { didSet { noteChange() } }
  override var userInfo: [CodingUserInfoKey: any Sendable] { didSet { noteChange() } }
}

/// The library's own JSON encoder: the bytes that Foundation's encoder writes with sorted members, at several times its speed, with one
/// exception. The elements of a `Set`, and of a `Dictionary` that is written as a list, are in the order of their texts, so that equal
/// values have equal bytes in every process. If a strategy is changed, Foundation's encoder does all of the work.
final class StandardJSONEncoder: JSONEncoder, @unchecked Sendable {
  // `@unchecked`: the superclass is Sendable; what is added is an atomic and a lock.
  private let isChanged = Atomic(false)
  private let writings = Mutex<[JSONWriting]>([])

  override init() {
    super.init()
    super.outputFormatting = [.sortedKeys]
  }

  override func encode<T: Encodable>(_ value: T) throws -> Data { try text(of: value) ?? super.encode(value) }

  /// Returns the text of a value, or nil if Foundation's encoder has to decide.
  private func text<T: Encodable>(of value: T) -> Data? {
    guard !isChanged.load(ordering: .relaxed) else { return nil }
    var writing = writings.withLock { $0.popLast() } ?? JSONWriting()
    defer {
      // An encoder that is kept beyond its call must not write to the next text.
      if isKnownUniquelyReferenced(&writing) {
        writings.withLock { [writing] in if $0.count < 8 { $0.append(writing) } }
      }
    }
    writing.begin()
    guard (try? JSONValueEncoder(writing, 0).encode(value)) != nil, writing.hasContent,
      !writing.context.pointee.isUncertain
    else { return nil }
    return writing.text { Data($0) }
  }

  private func noteChange() { isChanged.store(true, ordering: .relaxed) }
  override var outputFormatting: OutputFormatting { didSet { noteChange() } }
  override var dateEncodingStrategy: DateEncodingStrategy { didSet { noteChange() } }
  override var dataEncodingStrategy: DataEncodingStrategy { didSet { noteChange() } }
  override var nonConformingFloatEncodingStrategy: NonConformingFloatEncodingStrategy { didSet { noteChange() } }
  override var keyEncodingStrategy: KeyEncodingStrategy { didSet { noteChange() } }
  override var userInfo: [CodingUserInfoKey: any Sendable] { didSet { noteChange() } }
}
