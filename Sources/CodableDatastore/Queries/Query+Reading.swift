import DatastoreModel
#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import StorageEngine

extension Query {
  /// How many instances meet the condition, whatever the limit. None is read where indexes tell.
  ///
  /// - Throws: ``UnindexedQueryError`` where no index serves and the query is not ``Query/scanning()``; ``StoreError`` where the store
  ///   cannot be read; what a decoder throws.
  public var count: Int {
    get async throws {
      var query = self
      (query.most, query.offset, query.cursor, query.sorts) = (nil, 0, nil, [])
      var run = try await query.run()
      return try await run?.count() ?? 0
    }
  }

  /// The first instance of the answer, or nil.
  ///
  /// - Throws: ``UnindexedQueryError`` where no index serves and the query is not ``Query/scanning()``; ``StoreError`` where the store
  ///   cannot be read; what a decoder throws.
  public var first: Format.Instance? {
    get async throws {
      var query = self
      query.most = 1
      var run = try await query.run()
      return try await run?.next()?.instance
    }
  }

  /// Whether any instance meets the condition.
  ///
  /// - Throws: ``UnindexedQueryError`` where no index serves and the query is not ``Query/scanning()``; ``StoreError`` where the store
  ///   cannot be read; what a decoder throws.
  public var exists: Bool { get async throws { try await first != nil } }

  /// The least value of a property among the instances that meet the condition; one look where an index has it.
  ///
  /// - Throws: ``UnindexedQueryError`` where no index serves the condition and ``Query/scanning()`` was not called; ``StoreError``
  ///   where the store cannot be read; what evaluating the predicate throws.
  public func min<Value: Indexable>(of property: KeyPath<Format.Instance, Value>) async throws -> Value? {
    try await end(of: property, .ascending)
  }

  /// The greatest value of a property among the instances that meet the condition; one look where an index has it.
  ///
  /// - Throws: ``UnindexedQueryError`` where no index serves the condition and ``Query/scanning()`` was not called; ``StoreError``
  ///   where the store cannot be read; what evaluating the predicate throws.
  public func max<Value: Indexable>(of property: KeyPath<Format.Instance, Value>) async throws -> Value? {
    try await end(of: property, .descending)
  }

  private func end<Value: Indexable>(
    of property: KeyPath<Format.Instance, Value>, _ order: RangeOrder
  ) async throws -> Value? {
    var query = self
    (query.sorts, query.offset, query.cursor, query.takesAnyTie) = ([], 0, nil, true)
    return try await query.sorted(by: property, order).first?[keyPath: property]
  }

  /// How the query is answered, as one line: the index with its range and entries, what is tested on each instance, and
  /// whether there is something to sort. Its first word is INDEX, UNION, INTERSECT or SCAN. Reads no instance.
  ///
  /// - Throws: ``StoreError`` where the store cannot be read. A query that no index serves is explained as the scan that it would be.
  public func explain() async throws -> String {
    try prepared(try await core.ready()).plan.text
  }

  /// The whole answer, and again after each commit that changes it.
  ///
  /// The answer is read as the query reads it, and no more than it is held. Then each changed instance is decoded once and put
  /// in its place; the query is asked again only where something that is not held may have come into a limited answer, or
  /// what is left out before it may have changed. Reading runs on no actor. Begun within a transaction it shows what is
  /// committed.
  ///
  /// - Parameter policy: How many answers wait for a reader that is slower than the writers. One where nothing is said: who is
  ///   slow gets the newest. Whatever is said, no change is lost: what is too much for an answer of its own is part of the next.
  /// - Throws: What a query throws when it is read, ``UnindexedQueryError`` among it; what a condition throws for a changed
  ///   instance. The next step after an error reads the whole answer again.
  public func live(
    bufferingPolicy policy: ObservationBufferingPolicy = .bufferingNewest(1)
  ) -> some AsyncInstances<[Format.Instance]> {
    LiveQuery(query: self, policy: policy)
  }
}

extension Query where AccessMode == ReadWrite {
  /// Deletes the instances of the answer, in one transaction.
  ///
  /// - Returns: How many were deleted.
  /// - Throws: ``UnindexedQueryError`` where no index serves the condition and ``Query/scanning()`` was not called; ``StoreError``
  ///   where the store cannot be written; what evaluating the predicate throws. Then none is deleted.
  @discardableResult
  public func delete() async throws -> Int {
    try await write(named: "delete \(core.key)") { found, scope in
      try await scope.turns.take()
      defer { scope.turns.pass() }
      return try await core.delete(core.identifiers.value(of: found.key), key: found.key, in: scope) != nil
    }
  }

  /// Changes the instances of the answer, in one transaction. Where the closure throws, nothing is changed.
  ///
  /// - Parameter change: Changes an instance. Its identifier stays.
  /// - Returns: How many instances were changed; one that is equal afterwards is not written, and counts.
  @discardableResult
  public func update(_ change: (inout Format.Instance) async throws -> Void) async throws -> Int {
    try await write(named: "update \(core.key)") { found, scope in
      guard let identifier = core.identifiers.value(of: found.key) else {
        throw DatastoreInterfaceError.instanceNotFound
      }
      var instance = found.instance
      try await change(&instance)
      let prepared = try await core.prepare(instance, identifier: identifier)
      try await scope.turns.take()
      defer { scope.turns.pass() }
      _ = try await core.persist(prepared, in: scope)
      return true
    }
  }

  private func write(
    named action: String, _ body: (TypedQueryRun<Format>.Found, TransactionScope) async throws -> Bool
  ) async throws -> Int {
    try await core.readyForWriting()
    return try await Transactions.run(store: core.store, actionName: action, options: []) { scope, _ in
      if scope.isReading { throw DiskPersistenceError.cannotWrite }
      var changed = 0
      // The answer is that of the beginning, whatever the writing does to it.
      var run = try await self.run()
      while let found = try await run?.next() {
        try Task.checkCancellation()
        if try await body(found, scope) { changed += 1 }
      }
      return changed
    }
  }
}
