#if PostgreSQL && canImport(PostgresStore)
  public import CodableDatastore
  import DatastoreModel
  #if canImport(FoundationEssentials)
    import FoundationEssentials
  #else
    import Foundation
  #endif
  import PostgresStore
  import StorageEngine

  /// A store on PostgreSQL, or on a distributed engine that speaks its protocol: many machines read and write it.
  ///
  /// ```swift
  /// let persistence = try await PostgresPersistence(readWriteURL: "postgres://app@db.example/app?schema=library")
  /// let books = BookFormat.datastore(in: persistence)
  /// try await books.persist(Book(title: "Ulysses"))
  /// ```
  ///
  /// Everything else is as with ``CodableDatastore/DiskPersistence``, but for this: transactions wait for nobody, and one that read what
  /// somebody else has changed meanwhile is not committed. Single calls, such as `persist`, are then made again by themselves; a
  /// closure is run again where it was begun with `.retriesConflicts`, and throws `TransactionConflict` otherwise. Keys whose order only
  /// the app knows, and keys of more than 1,000 bytes, are refused.
  public actor PostgresPersistence<AccessMode: _AccessMode>: Persistence {
    /// The store behind the persistence.
    public nonisolated let _store: _StoreHandle

    /// A persistence that reads and writes. The schema and its tables are made where there are none.
    ///
    /// - Parameter url: A URL as libpq takes it, and `schema=NAME` among its parameters for another schema than `strata`. Its password
    ///   is never shown.
    /// - Throws: `StoreError`: a text that is no such URL, no server, no rights, tables of something else, a newer format. One
    ///   sentence each.
    public init(readWriteURL url: String) async throws where AccessMode == ReadWrite {
      try await self.init(url, isReadOnly: false)
    }

    /// A persistence that only reads, and follows what others write. It creates nothing; a role that may only read is enough.
    ///
    /// - Throws: As ``init(readWriteURL:)``, and where there is no store.
    public init(readOnlyURL url: String) async throws where AccessMode == ReadOnly {
      try await self.init(url, isReadOnly: true)
    }

    /// One whose store is opened with its first use.
    package init(lazily url: String) throws where AccessMode == ReadWrite {
      _store = try Self.store(url, isReadOnly: false)
    }

    private init(_ text: String, isReadOnly: Bool) async throws {
      let store = try Self.store(text, isReadOnly: isReadOnly)
      _store = store
      try await store.open()
    }

    private static func store(_ text: String, isReadOnly: Bool) throws -> _StoreHandle {
      let url: ServerURL
      do {
        url = try ServerURL(parsing: text)
      } catch {
        throw StoreError(.server(.refused, reason: error.description))
      }
      return _StoreHandle(served: text, isReadOnly: isReadOnly) { forWriter in
        do throws(StorageError) {
          return try ServerStore.ofDatastores(
            url, creates: forWriter, isReadOnly: !forWriter,
            options: ServerOptions(
              program: ProcessInfo.processInfo.processName, author: currentUserName()))
        } catch {
          throw StoreError(error)
        }
      }
    }

    /// Closes the persistence; the connections too, with the last one of its store.
    public func close() async throws { try await _store.close() }

    /// Runs a transaction; programs call `perform` instead.
    ///
    /// - Throws: What the closure throws, unchanged.
    public func _withTransaction<T>(
      isolation actor: isolated (any Actor)? = #isolation, actionName: String?, options: UnsafeTransactionOptions,
      transaction: (_ transaction: any DatastoreInterfaceProtocol, _ isDurable: Bool) async throws -> T
    ) async throws -> T {
      try await _store.withTransaction(
        isolation: actor, actionName: actionName ?? "", options: options, transaction: transaction)
    }
  }
#endif
