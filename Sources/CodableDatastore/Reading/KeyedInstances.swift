import DatastoreModel
import StorageEngine

/// A run of instances with the keys of their identifiers.
struct KeyedInstances<Format: DatastoreFormat> {
  fileprivate let instances: StoredInstances<Format, Format.Instance>

  func makeWalk() async throws -> Walk? {
    guard let (walk, isIndex) = try await instances.openWalk() else { return nil }
    return Walk(walk: walk, isIndex: isIndex, coder: instances.core.coder, store: instances.core.store)
  }

  struct Walk {
    fileprivate var walk: RecordWalk
    fileprivate let isIndex: Bool
    fileprivate let coder: RecordCoder<Format>
    fileprivate let store: _StoreHandle

    mutating func next() async throws -> (key: [UInt8], instance: Format.Instance)? {
      await store.giveWay()
      guard let (entryKey, record) = try walk.next() else { return nil }
      let key =
        isIndex
        ? entryKey.withUnsafeBytes { key in EntryKey.identifierRange(key).map { Array(key[$0]) } ?? [] }
        : entryKey.array
      return (key, try await coder.decode(record).instance)
    }
  }
}

extension StoredInstances where Element == Format.Instance {
  /// The same run with keys.
  var keyed: KeyedInstances<Format> { KeyedInstances(instances: self) }
}
