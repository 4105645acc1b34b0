import StorageEngine
import Synchronization

/// An open transaction of the engine, shared by the outermost scope and its children.
final class OpenWork: Sendable {
  let connection: StoreConnection
  let transaction: WriteTransaction
  /// Steps exclude each other, so that nobody in the transaction reads a record without its index entries.
  let step = Mutex(())
  /// What must hold when the transaction is committed.
  let checks = Mutex<[UniqueValue: @Sendable (WriteTransaction) throws -> Void]>([:])

  init(connection: StoreConnection) async throws {
    self.connection = connection
    let store = try connection.storeForWriting()
    do {
      transaction = try await store.begin()
    } catch {
      throw StoreError(error)
    }
  }
}

/// A value of an index that may belong to one record only.
struct UniqueValue: Hashable, Sendable {
  var index: TreeName
  var value: [UInt8]
}
