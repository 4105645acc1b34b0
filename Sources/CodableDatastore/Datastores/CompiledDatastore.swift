import DatastoreModel
import Dispatch
import StorageEngine
import Synchronization

/// What an app's own types tell to the model, so that edits and undos are checked by them and all indexes kept right.
struct CompiledDatastore<Format: DatastoreFormat>: CompiledFormat {
  let core: DatastoreCore<Format>

  var datastore: String { core.key }
  var version: String { core.coder.tag }
  var recordOrder: DatastoreModel.KeyOrder {
    if core.identifiers.order.isBytes { return .bytes }
    return order { try core.identifiers.order.place(of: $0) }
  }

  func order(ofIndex name: String) -> DatastoreModel.KeyOrder {
    guard let index = core.indexes.first(where: { $0.name == name }), index.order.treeOrder == .caller else {
      return .bytes
    }
    return order { key in
      guard let (value, identifier) = key.withUnsafeBytes({ EntryKey.split($0) }) else { return .bytes(key) }
      return try index.order.place(value: value, identifier: identifier)
    }
  }

  func keys(of content: RecordContent) throws(ModelError) -> (identifier: [UInt8], values: [String: [[UInt8]]]) {
    let record = Bytes(RecordBytes.make(version: content.version, content: content.bytes))
    do {
      return try waiting { [core] in
        let (identifier, instance) = try await core.coder.decode(record)
        let key = try core.key(of: identifier)
        let values = try core.values(of: instance, identifier: key)
        return (key, Dictionary(zip(core.indexes.map(\.name), values)) { first, _ in first })
      }
    } catch {
      let path = DecodingPath.text(of: error)
      throw .refused(reason: (path.isEmpty ? "" : "\(path): ") + DecodingPath.reason(of: error))
    }
  }

  private func order(_ place: @escaping @Sendable ([UInt8]) throws -> SoughtPlace) -> DatastoreModel.KeyOrder {
    DatastoreModel.KeyOrder(placement: { key in ((try? place(key)) ?? .bytes(key)).keptProbe })
  }

  /// Waits for a decoder, which may be asynchronous. Callers are threads of the model's own, which may wait.
  private func waiting<R: Sendable>(_ body: @escaping @Sendable () async throws -> R) throws -> R {
    let isDone = DispatchSemaphore(value: 0)
    let result = ResultBox<R>()
    Task.detached {
      do { result.set(.success(try await body())) } catch { result.set(.failure(error)) }
      isDone.signal()
    }
    isDone.wait()
    return try result.get()
  }
}

private final class ResultBox<R: Sendable>: Sendable {
  private let result = Mutex<Result<R, any Error>?>(nil)

  func set(_ new: Result<R, any Error>) { result.withLock { $0 = new } }

  func get() throws -> R {
    guard let result = result.withLock({ $0 }) else { throw CancellationError() }
    return try result.get()
  }
}
