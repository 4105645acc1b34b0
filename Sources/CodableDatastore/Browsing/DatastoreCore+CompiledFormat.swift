import StrataModel
import StrataEngine

// The types of a datastore as tools without types use them. All of it blocks the calling thread, which must not be one
// of the cooperative pool: a decoder may be asynchronous.

extension DatastoreCore {
  var datastore: String { key }

  var version: String { coder.tag }

  var recordOrder: KeyOrder { identifiers.order }

  func order(ofIndex name: String) -> EntryOrder { indexes.first { $0.name == name }?.order ?? .bytes }

  func keys(of content: RecordContent) throws(ModelError) -> (identifier: [UInt8], values: [String: [[UInt8]]]) {
    try decoding {
      let (identifier, instance) = try coder.decodeBlocking(Self.record(content))
      let key = try self.key(of: identifier)
      let values = try self.values(of: instance, in: indexes, identifier: key)
      return (key, Dictionary(zip(indexes.map(\.name), values)) { first, _ in first })
    }
  }

  func lifted(_ content: RecordContent) throws(ModelError) -> RecordContent {
    let record = try decoding {
      let instance = try coder.decodeBlocking(Self.record(content)).instance
      return try CallingThread.run { try await coder.record(of: instance) }
    }
    guard let record else { throw .refused(reason: "\(Format.Instance.self) encodes it as nothing") }
    return RecordContent(version: coder.tag, bytes: coder.content(of: record.bytes))
  }

  func createTrees(for content: RecordContent, in transaction: any WriteTransaction) throws(ModelError) {
    let record = Self.record(content)
    let (identifier, instance) = try decoding { try coder.decodeBlocking(record) }
    try onStorage {
      let key = try self.key(of: identifier)
      let prepared = PreparedRecord(
        identifier: identifier, key: key, record: record.array,
        values: try values(of: instance, in: indexes, identifier: key),
        isForeign: ownIdentifier.map { instance[keyPath: $0] != identifier } ?? false)
      try prepareTrees(for: prepared, in: transaction)
    }
  }

  static func record(_ content: RecordContent) -> Bytes {
    Bytes(RecordBytes.make(version: content.version, content: content.bytes))
  }

  private func decoding<Value>(_ body: () throws -> Value) throws(ModelError) -> Value {
    do {
      return try body()
    } catch {
      throw .refused(reason: "it does not decode as \(Format.Instance.self): \(DecodingPath.sentence(for: error))")
    }
  }
}
