import DatastoreModel
import StorageEngine

// The types of a datastore as tools without types use them. All of it blocks the calling thread, which must not be one
// of the cooperative pool: a decoder may be asynchronous.

extension DatastoreCore: CompiledFormat {
  var datastore: String { key }

  var version: String { coder.tag }

  var recordOrder: KeyOrder { identifiers.order }

  func order(ofIndex name: String) -> EntryOrder { indexes.first { $0.name == name }?.order ?? .bytes }

  func keys(of content: RecordContent) throws(ModelError) -> (identifier: [UInt8], values: [String: [[UInt8]]]) {
    let record = Bytes(RecordBytes.make(version: content.version, content: content.bytes))
    do {
      let (identifier, instance) = try waiting { [coder] in try await coder.decode(record) }
      let key = try self.key(of: identifier)
      let values = try self.values(of: instance, identifier: key)
      return (key, Dictionary(zip(indexes.map(\.name), values)) { first, _ in first })
    } catch {
      let path = DecodingPath.text(of: error)
      throw ModelError.refused(
        reason: "it does not decode as \(Format.Instance.self): \(DecodingPath.reason(of: error))"
          + (path.isEmpty ? "" : " at \(path)"))
    }
  }
}
