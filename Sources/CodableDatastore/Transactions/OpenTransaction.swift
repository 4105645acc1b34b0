import StrataModel
import StrataLocks
import StrataEngine

/// An open transaction of the engine, shared by the outermost scope and its children.
final class OpenTransaction: Sendable {
  let connection: StoreConnection
  let transaction: any WriteTransaction
  /// Steps exclude each other, so that no task in the transaction reads a record without its index entries.
  let step = Mutex(())
  /// The number of reads and writes in it, and of the library's own jobs that are under way in it, such as a warm-up.
  let uses = Atomic<UInt64>(0)
  let libraryWork = Atomic(0)
  /// The datastores that were written to while they had no observer.
  let unheard = Mutex<Set<String>>([])
  /// Facts about datastores that this transaction has looked up, by the datastores' numbers.
  private let known = Mutex<[UInt64: KnownDatastore]>([:])

  /// A transaction in a file or in memory; see ``StoreConnection/begin(_:isKept:waits:)``.
  init(connection: StoreConnection, isKept: Bool, waits: Bool) async throws {
    self.connection = connection
    let store =
      connection.isOpenForWriting
      ? try connection.storeForWriting() : try await onThread { try connection.storeForWriting() }
    guard let store = store as? FileStore else { throw DiskPersistenceError.cannotWrite }
    transaction = try await connection.begin(store, isKept: isKept, waits: waits)
    connection.noticeBase(of: store)
  }

  /// A transaction on a server.
  ///
  /// - Parameters:
  ///   - prefetched: the keys that the transaction will look at first.
  ///   - isAlone: whether no other transaction commits until it ends.
  init(servedBy connection: StoreConnection, prefetching prefetched: [PrefetchKey], isAlone: Bool) async throws {
    self.connection = connection
    transaction = try await ServerThreads.blocking {
      let store = try connection.storeForWriting()
      return try throwingStoreErrors {
        isAlone ? try store.beginAlone() : try store.beginBlocking(prefetching: prefetched)
      }
    }
  }

  /// A transaction on a server that begins with the guess that the prefetched keys do not exist. Returns nil if there is no reason for the
  /// guess. Asks no server; see `Engine.beginOptimistically`.
  init?(optimisticallyOn connection: StoreConnection, _ prefetched: [PrefetchKey]) throws {
    guard connection.isServed, connection.isOpenForWriting else { return nil }
    let store = try connection.storeForWriting()
    guard let presuming = try throwingStoreErrors({ try store.beginOptimistically(prefetched) }) else { return nil }
    self.connection = connection
    transaction = presuming
  }

  /// Whether so much was written that appending it takes a noticeable time: a few milliseconds.
  var isLarge: Bool { transaction.changeCounts.contains { $0.inserted + $0.updated + $0.deleted > 1_000 } }

  /// Whether a write of something new, with its keys, need not ask a server. The first write of a datastore looks at its trees, too.
  func needsNoServer(writing keys: [PrefetchKey]) -> Bool {
    !keys.isEmpty && transaction.needsNoServer(writing: keys) && known.withLock { $0.values.allSatisfy(\.isPrepared) }
  }

  /// The facts that a write needs about its datastore, so that a transaction of many writes looks them up once.
  struct KnownDatastore: Sendable {
    /// Whether its trees exist and match the declaration.
    var isPrepared = false
    /// Whether an instance was kept under another identifier than its own.
    var hasForeign = false
    /// The names of indexes that do not match the declaration, and are not written.
    var behind: Set<String> = []
    var writer: DatastoreWriter?
  }

  func known(_ datastore: UInt64) -> KnownDatastore { known.withLock { $0[datastore] ?? KnownDatastore() } }

  func updateKnown(_ datastore: UInt64, _ change: (inout KnownDatastore) -> Void) {
    known.withLock { change(&$0[datastore, default: KnownDatastore()]) }
  }

  var writers: [DatastoreWriter] { known.withLock { $0.values.compactMap(\.writer) } }

  /// Makes the next write look everything up again, because trees may have come, gone or changed.
  func forgetDatastores() {
    known.withLock { known in
      for number in known.keys {
        known[number]?.isPrepared = false
        known[number]?.hasForeign = false
      }
    }
    for writer in writers { writer.forget() }
  }
}
