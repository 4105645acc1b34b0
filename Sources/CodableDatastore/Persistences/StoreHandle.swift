import StorageEngine
import Synchronization

/// A persistence's hold on its store. It has no public members.
///
/// Persistences of one location share the connection; each may be closed by itself, and the last one closes the store.
public final class _StoreHandle: Sendable {
  let connection: StoreConnection
  let isReadOnly: Bool
  /// The datastores in use through this persistence.
  let registry = DatastoreRegistry()
  private let isClosed = Atomic(false)

  init(connection: StoreConnection, isReadOnly: Bool) {
    self.connection = connection
    self.isReadOnly = isReadOnly
    connection.addHandle()
  }

  deinit {
    if !isClosed.load(ordering: .acquiring) { connection.removeHandle() }
  }

  /// Fails once the persistence was closed.
  func requireOpen() throws {
    if isClosed.load(ordering: .acquiring) { throw StoreError.closed }
  }

  func close() throws {
    guard isClosed.compareExchange(expected: false, desired: true, ordering: .acquiringAndReleasing).exchanged else {
      return
    }
    if connection.removeHandle() { try connection.close() }
  }

  func createIfNecessary() throws {
    try requireOpen()
    _ = try connection.storeForWriting()
  }

  /// The newest state, outside of any transaction.
  func currentView() throws -> View? {
    try requireOpen()
    return try connection.currentView(forWriter: !isReadOnly)
  }
}
