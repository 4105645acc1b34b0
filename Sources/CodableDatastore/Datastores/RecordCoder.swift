import StrataDocuments
import StrataEngine
import StrataFoundation
import StrataModel

final class RecordCoder<Format: DatastoreFormat>: Sendable {
  typealias Instance = Format.Instance
  typealias Identifier = Format.Identifier
  typealias Decoder = @Sendable (Data) async throws -> (id: Identifier, instance: Instance)

  /// The library's own coders. They work on the caller's thread, without a copy of the bytes.
  struct DirectCoders: Sendable {
    let decoder: StandardJSONDecoder
    /// Nil if an app's encoder makes the records.
    let encoder: StandardJSONEncoder?
    let identifier: @Sendable (Instance) -> Identifier
  }

  let version: Format.Version
  let tag: String
  /// The coding of the contents; nil if an app's own coder makes them.
  let coding: RecordCoding?
  /// The beginning of each record that is written.
  let head: [UInt8]
  private let encoder: @Sendable (Instance) async throws -> Data
  /// Which `encoder` asks, if the library made that.
  private let jsonEncoder: JSONEncoder?
  private let current: Decoder?
  /// Used instead of `current` if no closure of the app decodes the current version.
  private let direct: DirectCoders?
  private let decoders: [String: Decoder]

  init(
    version: Format.Version, coding: RecordCoding?, encoder: @escaping @Sendable (Instance) async throws -> Data,
    jsonEncoder: JSONEncoder?, decoders: [Format.Version: Decoder], direct: DirectCoders? = nil
  ) {
    self.version = version
    self.coding = coding
    self.encoder = if let jsonEncoder { { try jsonEncoder.encode($0) } } else { encoder }
    self.jsonEncoder = jsonEncoder
    tag = VersionTag<Format>.text(of: version)
    head = RecordBytes.head(version: tag)
    current = decoders[version]
    self.direct = direct
    self.decoders = Dictionary(
      decoders.map { (VersionTag<Format>.text(of: $0.key), $0.value) }, uniquingKeysWith: { first, _ in first })
  }

  /// The user info of the encoder that the library asks; nil if the app has a coder of its own.
  var userInfo: [CodingUserInfoKey: any Sendable]? { coding == nil ? nil : jsonEncoder?.userInfo ?? [:] }

  func hasDecoder(for tag: String) -> Bool { decoders[tag] != nil }

  /// The record of an instance; nil if the encoder makes nothing of it.
  ///
  /// - Parameter decodes: Whether to decode the record as well, if this needs no reading of it: by the library's own coders.
  func record(of instance: Instance, decodes: Bool = false) async throws -> (bytes: [UInt8], decoded: Instance?)? {
    if let direct,
      let record = try direct.encoder?.record(
        of: instance, behind: head, decodingBy: decodes ? direct.decoder : nil)
    {
      return record
    }
    let content = try await encoder(instance)
    guard !content.isEmpty else { return nil }
    var record: [UInt8] = []
    record.reserveCapacity(head.count + content.count)
    record.append(contentsOf: head)
    content.withUnsafeBytes { record.append(contentsOf: $0) }
    return (record, nil)
  }

  /// The instance of a record, converted if it is of an older version.
  func decode(_ record: Bytes) async throws -> (id: Identifier, instance: Instance) {
    if let decoded = decodedNow(record) { return decoded }
    return try await decodeByClosure(record)
  }

  /// As `decode`, but blocks the thread, which must not be one of the cooperative pool. Starts no task for the library's own coders.
  func decodeBlocking(_ record: Bytes) throws -> (id: Identifier, instance: Instance) {
    if let decoded = decodedNow(record) { return decoded }
    return try CallingThread.run { try await self.decodeByClosure(record) }
  }

  private func decodedNow(_ record: Bytes) -> (id: Identifier, instance: Instance)? {
    var instance: Instance?
    guard let direct, decodeNow(record, into: &instance), let instance else { return nil }
    return (direct.identifier(instance), instance)
  }

  private func decodeByClosure(_ record: Bytes) async throws -> (id: Identifier, instance: Instance) {
    let (decoder, content): (Decoder, Data) = try record.withUnsafeBytes { bytes in
      if let current, let content = RecordBytes.content(of: bytes, after: head) { return (current, Self.data(content)) }
      return try self.decoder(for: bytes)
    }
    return try await decoder(content)
  }

  /// Decodes a record of the current version that no closure of the app decodes, on the caller's thread. Returns false for any other
  /// record, and for one that does not decode. A result of a type that depends on the instance's would cost each caller a look-up of it.
  func decodeNow(_ record: Bytes, into instance: inout Instance?) -> Bool {
    guard let direct else { return false }
    return record.withUnsafeBytes { bytes in
      guard let text = RecordBytes.content(of: bytes, after: head) else { return false }
      return direct.decoder.decode(text, into: &instance)
    }
  }

  /// Whether records are JSON that the library's own decoder reads, with no closure of the app beside.
  var hasStandardText: Bool { direct?.decoder.isStandard == true }

  /// Calls `body` with the text of a record of the current version; returns nil for any other record.
  func withText<Value>(of record: Bytes, _ body: (UnsafeRawBufferPointer) throws -> Value?) rethrows -> Value? {
    try record.withUnsafeBytes { bytes in try RecordBytes.content(of: bytes, after: head).flatMap(body) }
  }

  /// The places of the stored properties in the texts of records; nil if another record is needed to find them.
  func layout(of record: Bytes) -> StoredLayout? {
    withText(of: record) { direct?.decoder.traced(Instance.self, from: $0) }.map {
      StoredLayout(of: $0.value, $0.trace)
    }
  }

  func tag(of record: Bytes) -> String? {
    record.withUnsafeBytes { bytes in
      RecordBytes.layout(bytes).map { layout in
        String(decoding: UnsafeRawBufferPointer(rebasing: bytes[layout.version]), as: UTF8.self)
      }
    }
  }

  /// The content of a record that `record(of:)` made.
  func content(of record: [UInt8]) -> [UInt8] { Array(record.dropFirst(head.count)) }

  private func decoder(for bytes: UnsafeRawBufferPointer) throws -> (Decoder, Data) {
    guard let layout = RecordBytes.layout(bytes) else {
      throw StoreError(.damaged, bytes.isEmpty ? "The record is damaged." : "A record has no version.")
    }
    let tag = String(decoding: UnsafeRawBufferPointer(rebasing: bytes[layout.version]), as: UTF8.self)
    guard let decoder = decoders[tag] else {
      _ = try VersionTag<Format>.version(of: tag)
      throw DatastoreError.missingDecoder(version: tag)
    }
    return (decoder, Self.data(UnsafeRawBufferPointer(rebasing: bytes[layout.content...])))
  }

  /// A copy in one piece; `Data` takes slices byte by byte.
  private static func data(_ bytes: UnsafeRawBufferPointer) -> Data {
    guard let start = bytes.baseAddress else { return Data() }
    return Data(bytes: start, count: bytes.count)
  }
}
