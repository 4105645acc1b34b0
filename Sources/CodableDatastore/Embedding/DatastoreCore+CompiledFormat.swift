import DatastoreModel
import StorageEngine

// The types of a datastore as tools without types use them. All of it blocks the calling thread, which must not be one
// of the cooperative pool: a decoder may be asynchronous.

extension DatastoreCore: CompiledFormat {
  var datastore: String { key }

  var version: String { coder.tag }

  var recordOrder: DatastoreModel.KeyOrder {
    guard !identifiers.order.isBytes else { return .bytes }
    let order = identifiers.order
    return DatastoreModel.KeyOrder { key in (try? order.place(of: key))?.probe ?? .bytes(key) }
  }

  func order(ofIndex name: String) -> DatastoreModel.KeyOrder {
    guard let index = indexes.first(where: { $0.name == name }), index.order.treeOrder == .caller else { return .bytes }
    let order = index.order
    return DatastoreModel.KeyOrder { key in
      guard let parts = key.withUnsafeBytes({ EntryKey.split($0) }) else { return .bytes(key) }
      return (try? order.place(value: parts.value, identifier: parts.identifier))?.probe ?? .bytes(key)
    }
  }

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

extension SoughtPlace {
  /// The engine's form of the place, for callers that cannot hear of stored keys that cannot be read.
  fileprivate var probe: KeyProbe {
    switch self {
    case .bytes(let key): .bytes(key)
    case .compare(let place): .compare { (try? place($0)) ?? 0 }
    }
  }
}
