#if PostgreSQL && canImport(StrataPostgres)
  public import CodableDatastore
  import StrataEngine
  import StrataFoundation
  import StrataModel
  import StrataPostgres

  /// A store on PostgreSQL, or on a distributed engine that speaks its protocol: many machines read and write it.
  ///
  /// ```swift
  /// let persistence = try await PostgresPersistence(readWriteURL: "postgres://app@db.example/app?schema=library")
  /// let books = BookFormat.datastore(in: persistence)
  /// try await books.persist(Book(title: "Ulysses"))
  /// ```
  ///
  /// Everything else is as with ``CodableDatastore/DiskPersistence``, except that transactions do not wait for each other, and a
  /// transaction is not committed if another writer has changed meanwhile what it read. The library then repeats single calls, such as
  /// `persist`. It runs a closure again if that was begun with `.retriesConflicts`; otherwise it throws `TransactionConflict`. Keys whose
  /// order only the app knows, and keys of more than 1,000 bytes, are refused.
  public actor PostgresPersistence<AccessMode: _AccessMode>: Persistence {
    /// The store behind the persistence.
    public nonisolated let _store: _StoreHandle

    /// A persistence that reads and writes. The schema and its tables are made if there are none.
    ///
    /// - Parameter url: A URL as libpq takes it, and `schema=NAME` among its parameters for another schema than `strata`. Its password is
    ///   never shown.
    /// - Throws: `StoreError`, one sentence each: the text is not such a URL, there is no server, the role lacks rights, the tables belong
    ///   to something else, or the format is newer.
    public init(readWriteURL url: String) async throws where AccessMode == ReadWrite {
      try await self.init(url, isReadOnly: false)
    }

    /// A persistence that only reads, and follows the commits of others. It creates nothing; a role that may only read is enough.
    ///
    /// - Throws: As ``init(readWriteURL:)``, and if there is no store.
    public init(readOnlyURL url: String) async throws where AccessMode == ReadOnly {
      try await self.init(url, isReadOnly: true)
    }

    /// A persistence whose store is opened with its first use.
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

    /// Closes the persistence; the last one of its store closes the connections, too.
    public func close() async throws { try await _store.close() }
  }
#endif
