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

  /// What was found out about datastores in this transaction, by their numbers.
  private let known = Mutex<[UInt64: KnownDatastore]>([:])

  init(connection: StoreConnection) async throws {
    self.connection = connection
    let store = try connection.storeForWriting()
    do {
      transaction = try await store.begin()
    } catch {
      throw StoreError(error)
    }
    connection.noticeBase(of: store)
  }
}

extension OpenWork {
  /// What a write needs to know of its datastore, so that a transaction of many looks it up once.
  struct KnownDatastore: Sendable {
    /// Whether its trees are there and as the declaration says.
    var isPrepared = false
    /// Whether no record was left out of the indexes.
    var isWhole = false
  }

  func known(_ datastore: UInt64) -> KnownDatastore { known.withLock { $0[datastore] ?? KnownDatastore() } }

  func note(_ datastore: UInt64, _ change: (inout KnownDatastore) -> Void) {
    known.withLock { change(&$0[datastore, default: KnownDatastore()]) }
  }

  /// Has everything looked up again, because trees may have come, gone or changed.
  func forgetDatastores() { known.withLock { $0 = [:] } }
}

/// A value of an index that may belong to one record only.
struct UniqueValue: Hashable, Sendable {
  var index: TreeName
  var value: [UInt8]
}
