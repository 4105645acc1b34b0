#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

extension Persistence {
  /// The persistence for code that is not async: scripts, command-line tools, callbacks.
  ///
  /// ```swift
  /// let cities = try DiskPersistence(readOnlyURL: url).blocking.datastore(CityFormat.self)
  /// for city in try cities.load(0..., from: \.population) { print(city.name) }
  /// ```
  ///
  /// Each call holds its thread until it is done. Reads run on it from their beginning to their end; writes wait in the same queue
  /// as those of async code. Code that is async cannot call it.
  @available(*, noasync)
  public nonisolated var blocking: BlockingPersistence<Self> { BlockingPersistence(persistence: self) }
}

/// A persistence whose calls return when they are done: see ``Persistence/blocking``.
public struct BlockingPersistence<Base: Persistence>: Sendable {
  /// The persistence behind it.
  public let persistence: Base

  /// The datastore of a format whose instances are JSON of one version.
  ///
  /// - Parameters:
  ///   - format: What is declared.
  ///   - key: The name of the datastore in the store.
  /// - Throws: ``IndexDeclarationError`` where the format declares what no store can keep.
  @available(*, noasync)
  public func datastore<Format: DatastoreFormat>(
    _ format: Format.Type = Format.self, key: DatastoreKey = Format.defaultKey
  ) throws -> BlockingDatastore<Format, Base.AccessMode>
  where Format.Instance: Identifiable, Format.Instance.ID == Format.Identifier {
    let datastore = persistence.datastore(format, key: key)
    try datastore.core.requireSoundDeclaration()
    return BlockingDatastore(datastore: datastore)
  }

  /// Runs several reads and writes as one: all of them are kept, or none. Blocking calls in the closure join.
  ///
  /// - Parameters:
  ///   - actionName: What is done, for the history of the store.
  ///   - options: How the transaction behaves.
  ///   - transaction: What to do.
  /// - Returns: What the closure returns, once it is durable.
  /// - Throws: What the closure throws, unchanged; then nothing was written. ``StoreError`` of kind `refused` within a
  ///   transaction whose closure is async.
  @available(*, noasync)
  @discardableResult
  public func perform<Value>(
    actionName: String? = nil, options: TransactionOptions = [], transaction: () throws -> Value
  ) throws -> Value {
    try call {
      try await Transactions.run(
        isolation: nil, store: persistence._store, actionName: actionName ?? "",
        options: UnsafeTransactionOptions(options)
      ) { _, _ in
        try Blocking.joining(transaction)
      }
    }
  }

  /// The first of the instances that an async call of the persistence gives, one after the other.
  @available(*, noasync)
  public func walk<Instances: AsyncInstances>(_ instances: (Base) throws -> Instances) rethrows -> BlockingWalk<
    Instances.Element
  > {
    BlockingWalk(persistence._store, try instances(persistence))
  }

  func call<Value>(_ body: () async throws -> Value) throws -> Value {
    try Blocking.call(persistence._store, body)
  }
}

// The history, as ``Persistence`` has it.

extension BlockingPersistence {
  /// All commits, newest first.
  @available(*, noasync)
  public func commits() throws -> [Commit] {
    try call { try await persistence.commits.collectInstances(upTo: .infinity) }
  }

  /// The commits from one on backwards.
  @available(*, noasync)
  public func commits(from newest: Commit.Number, limit: Int = .max) throws -> [Commit] {
    try call { try await persistence.commits(from: newest).collectInstances(upTo: limit) }
  }

  /// The newest commit; nil where there is none.
  @available(*, noasync)
  public var head: Commit? { get throws { try call { try await persistence.head } } }

  /// A commit by its number.
  @available(*, noasync)
  public func commit(_ number: Commit.Number) throws -> Commit { try call { try await persistence.commit(number) } }

  /// The newest commit that is not later than a date.
  @available(*, noasync)
  public func commit(notLaterThan date: Date) throws -> Commit {
    try call { try await persistence.commit(notLaterThan: date) }
  }

  /// The commits that have names.
  @available(*, noasync)
  public var namedCommits: [String: Commit.Number] { get throws { try call { try await persistence.namedCommits } } }
}

extension BlockingPersistence where Base.AccessMode == ReadWrite {
  /// Makes the store, or one datastore, what it was at a commit, as a new commit.
  @available(*, noasync)
  @discardableResult
  public func restore(
    _ commit: Commit.Number, datastore: DatastoreKey? = nil, actionName: String? = nil
  ) throws -> Commit.Number {
    try call { try await persistence.restore(commit, datastore: datastore, actionName: actionName) }
  }

  /// Takes a commit back, as a new one; the newest by default.
  @available(*, noasync)
  @discardableResult
  public func undo(_ commit: Commit.Number? = nil, actionName: String? = nil) throws -> Commit.Number? {
    try call { try await persistence.undo(commit, actionName: actionName) }
  }

  /// Takes the newest undo back.
  @available(*, noasync)
  @discardableResult
  public func redo(actionName: String? = nil) throws -> Commit.Number? {
    try call { try await persistence.redo(actionName: actionName) }
  }

  /// Names a commit; the newest by default.
  @available(*, noasync)
  public func name(_ name: String, commit: Commit.Number? = nil) throws {
    try call { try await persistence.name(name, commit: commit) }
  }

  /// Takes a name away.
  @available(*, noasync)
  public func removeName(_ name: String) throws { try call { try await persistence.removeName(name) } }
}

// What a store on disk has besides.

extension BlockingPersistence {
  /// Lets the store go: see ``DiskPersistence/close()``.
  @available(*, noasync)
  public func close<Mode>() throws where Base == DiskPersistence<Mode> { try call { try await persistence.close() } }

  /// Copies the newest state to another place: see ``DiskPersistence/backUp(to:)``.
  @available(*, noasync)
  public func backUp<Mode>(to url: URL) throws where Base == DiskPersistence<Mode> {
    try call { try await persistence.backUp(to: url) }
  }

  /// Creates an empty store where there is none.
  @available(*, noasync)
  public func createPersistenceIfNecessary() throws where Base == DiskPersistence<ReadWrite> {
    try call { try await persistence.createPersistenceIfNecessary() }
  }

  /// Leaves out history that is no longer wanted: see ``DiskPersistence/shortenHistory(keeping:)``.
  @available(*, noasync)
  @discardableResult
  public func shortenHistory(keeping retention: HistoryRetention) throws -> HistoryReport
  where Base == DiskPersistence<ReadWrite> {
    try call { try await persistence.shortenHistory(keeping: retention) }
  }
}
