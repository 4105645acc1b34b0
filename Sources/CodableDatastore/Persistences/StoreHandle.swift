import StrataLocks
package import StrataEngine

/// A persistence's hold on its store. It has no public members.
///
/// Persistences of one location share the connection; each may be closed by itself, and the last one closes the store.
public final class _StoreHandle: Sendable {
  let connection: StoreConnection
  let isReadOnly: Bool
  /// The datastores in use through this persistence.
  let registry = DatastoreRegistry()
  let inbox = InboxApplier()
  private let isClosed = Atomic(false)
  /// Whether the location was checked for a folder that must be converted.
  private let isPrepared = Atomic(false)

  /// A hold on a store on a server.
  package convenience init(
    served location: String, isReadOnly: Bool, opening: @escaping @Sendable (_ forWriter: Bool) throws -> any Engine
  ) {
    self.init(connection: .toServer(location, opening), isReadOnly: isReadOnly)
  }

  convenience init(connection: StoreConnection, isReadOnly: Bool) {
    self.init(connection: connection, isReadOnly: isReadOnly) { _, _ in }
  }

  /// - Parameter configure: See ``StoreConnection/addHandle(_:)``.
  init(
    connection: StoreConnection, isReadOnly: Bool,
    configure: (inout StoreConfiguration, _ hasOthers: Bool) throws -> Void
  ) rethrows {
    try connection.addHandle(configure)
    self.connection = connection
    self.isReadOnly = isReadOnly
  }

  deinit {
    if !isClosed.load(ordering: .acquiring) { connection.removeHandle() }
  }

  func requireOpen() throws {
    if isClosed.load(ordering: .acquiring) { throw StoreError.closed }
  }

  /// Reports the changes of a datastore to an observer until the persistence is closed.
  func add(_ observer: ChangeBuffer, for datastore: String) throws {
    connection.publication.add(observer, for: datastore, of: self)
    // If it was closed meanwhile, nothing would end the observer.
    try requireOpen()
  }

  /// Waits for the transactions that have begun, without blocking a thread. Then it closes, and ends the observations; the last handle also
  /// closes the store.
  ///
  /// The persistence is closed even if the task is cancelled: otherwise the lock would stay held.
  package func close() async throws {
    if Transactions.scope(for: self) != nil {
      throw StoreError.withinTransaction("The persistence cannot be closed")
    }
    // A process that is prepared for suspension already has the turn.
    let store = connection.suspension.isComplete ? nil : connection.openFile
    try await Task { try await store?.writing.acquireTurn() }.value
    let isFirst = isClosed.compareExchange(expected: false, desired: true, ordering: .acquiringAndReleasing).exchanged
    store?.writing.passTurn()
    guard isFirst else { return }
    defer {
      connection.publication.endObservers(of: self)
      inbox.close()
    }
    guard let stores = connection.removeClosedHandle() else { return }
    await connection.resume()
    try await onThread { [connection] in try connection.close(stores) }
  }

  /// The engine's store, opened for writing.
  package func engine() throws -> any Engine {
    try requireOpen()
    return try isReadOnly
      ? connection.storeForReading(forWriter: false) ?? connection.storeForWriting() : connection.storeForWriting()
  }

  /// Opens the store now, on a thread that may block, so that its errors are thrown here.
  package func open() async throws {
    try await onThread { [connection, isReadOnly] in _ = try connection.storeForReading(forWriter: !isReadOnly) }
  }

  /// Lets other tasks run if the current task has called in a loop for a while.
  func yieldTask() async {
    if connection.slices.isUsedUp() { await connection.slices.yieldTask() }
  }

  /// Converts a folder of the original library at the location of the store, on a thread of no actor; see
  /// ``StoreConfiguration/oldFolders``. A read without this call converts the folder on the caller's thread.
  func prepare() async throws {
    guard !isPrepared.load(ordering: .acquiring) else { return }
    if needsPreparing { try await open() }
    isPrepared.store(true, ordering: .releasing)
    if !isReadOnly, connection.configuration.appliesInbox, let path = connection.path {
      inbox.start(for: self, at: path)
    }
  }

  /// Whether a folder must be converted before anything is read.
  var needsPreparing: Bool {
    !isPrepared.load(ordering: .acquiring) && connection.hasOldFolder(forWriter: !isReadOnly)
  }

  /// The newest state, outside of any transaction.
  func currentView(prefetching foresight: Prefetch? = nil) throws -> View? {
    try requireOpen()
    return try connection.currentView(forWriter: !isReadOnly, prefetching: foresight)
  }
}
