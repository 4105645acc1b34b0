import Documents
import DatastoreModel
#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import StorageEngine

/// How instances become records and records instances.
final class RecordCoder<Format: DatastoreFormat>: Sendable {
  typealias Instance = Format.Instance
  typealias Identifier = Format.Identifier
  typealias Decoder = @Sendable (Data) async throws -> (id: Identifier, instance: Instance)
  /// Decodes on the caller's thread, without a copy of the bytes.
  typealias DirectDecoder = @Sendable (UnsafeRawBufferPointer) throws -> (id: Identifier, instance: Instance)

  let version: Format.Version
  /// The tag of `version`.
  let tag: String
  /// What the contents are; nil where an app's own coder makes them.
  let coding: RecordCoding?
  /// The beginning of each record that is written.
  private let head: [UInt8]
  private let encoder: @Sendable (Instance) async throws -> Data
  private let current: Decoder?
  /// In its place where no closure of the app decodes the current version.
  private let direct: DirectDecoder?
  private let decoders: [String: Decoder]

  init(
    version: Format.Version, coding: RecordCoding?, encoder: @escaping @Sendable (Instance) async throws -> Data,
    decoders: [Format.Version: Decoder], direct: DirectDecoder? = nil
  ) {
    self.version = version
    self.coding = coding
    self.encoder = encoder
    tag = VersionTag<Format>.text(of: version)
    head = RecordBytes.head(version: tag)
    current = decoders[version]
    self.direct = direct
    self.decoders = Dictionary(
      decoders.map { (VersionTag<Format>.text(of: $0.key), $0.value) }, uniquingKeysWith: { first, _ in first })
  }

  /// Whether instances of a version can be read.
  func hasDecoder(for tag: String) -> Bool { decoders[tag] != nil }

  /// The record of an instance; nil where the encoder makes nothing of it.
  func record(of instance: Instance) async throws -> [UInt8]? {
    let content = try await encoder(instance)
    guard !content.isEmpty else { return nil }
    var record: [UInt8] = []
    record.reserveCapacity(head.count + content.count)
    record.append(contentsOf: head)
    content.withUnsafeBytes { record.append(contentsOf: $0) }
    return record
  }

  /// The instance of a record, converted where it is of an older version.
  func decode(_ record: Bytes) async throws -> (id: Identifier, instance: Instance) {
    if let decoded = try decodedNow(record) { return decoded }
    let (decoder, content): (Decoder, Data) = try record.withUnsafeBytes { bytes in
      if let current, let content = Self.content(of: bytes, after: head) { return (current, Self.data(content)) }
      return try self.decoder(for: bytes)
    }
    return try await decoder(content)
  }

  /// The instance of a record of the current version that no closure of the app decodes; nil of any other.
  func decodedNow(_ record: Bytes) throws -> (id: Identifier, instance: Instance)? {
    guard let direct else { return nil }
    return try record.withUnsafeBytes { bytes in
      guard let content = Self.content(of: bytes, after: head) else { return nil }
      return try direct(content)
    }
  }

  /// The tag under which a record was written.
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
      throw StoreError(.damaged, "A record has no version.")
    }
    let tag = String(decoding: UnsafeRawBufferPointer(rebasing: bytes[layout.version]), as: UTF8.self)
    guard let decoder = decoders[tag] else {
      _ = try VersionTag<Format>.version(of: tag)
      throw DatastoreError.missingDecoder(version: tag)
    }
    return (decoder, Self.data(UnsafeRawBufferPointer(rebasing: bytes[layout.content...])))
  }

  /// What follows the head of a record; nil where it begins otherwise.
  private static func content(of bytes: UnsafeRawBufferPointer, after head: [UInt8]) -> UnsafeRawBufferPointer? {
    guard bytes.count >= head.count else { return nil }
    let start = UnsafeRawBufferPointer(rebasing: bytes[..<head.count])
    guard head.withUnsafeBytes({ compareKeys(start, $0) == 0 }) else { return nil }
    return UnsafeRawBufferPointer(rebasing: bytes[head.count...])
  }

  /// A copy in one piece; `Data` takes slices byte by byte.
  private static func data(_ bytes: UnsafeRawBufferPointer) -> Data {
    guard let start = bytes.baseAddress else { return Data() }
    return Data(bytes: start, count: bytes.count)
  }
}
