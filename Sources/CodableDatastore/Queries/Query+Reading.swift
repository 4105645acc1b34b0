import StrataEngine
import StrataFoundation
import StrataModel

extension Query {
  /// The number of instances that meet the condition, whatever the limit. None is read if the indexes know the number.
  ///
  /// - Throws: ``UnindexedQueryError`` if no index serves and the query is not ``Query/scanning()``; ``StoreError`` if the store
  ///   cannot be read; the error of a decoder.
  public var count: Int {
    get async throws {
      try await whole {
        var run = try await everything.run()
        return try await run?.count() ?? 0
      }
    }
  }

  /// The first instance of the answer, or nil.
  ///
  /// - Throws: ``UnindexedQueryError`` if no index serves and the query is not ``Query/scanning()``; ``StoreError`` if the store
  ///   cannot be read; the error of a decoder.
  public var first: Format.Instance? {
    get async throws {
      try check()
      var query = self
      query.most = 1
      var run = try await query.run()
      return try await run?.next()?.instance
    }
  }

  /// Whether any instance meets the condition.
  ///
  /// - Throws: ``UnindexedQueryError`` if no index serves and the query is not ``Query/scanning()``; ``StoreError`` if the store
  ///   cannot be read; the error of a decoder.
  public var exists: Bool { get async throws { try await first != nil } }

  /// The least value of a property among the instances that meet the condition, nil left out; one look-up if an index has it.
  ///
  /// - Throws: ``UnindexedQueryError`` if no index serves the condition and ``Query/scanning()`` was not called; ``StoreError``
  ///   if the store cannot be read; the error of evaluating the predicate.
  public func min<Value: Indexable>(of property: KeyPath<Format.Instance, Value>) async throws -> Value? {
    try await end(of: property, .ascending)
  }

  /// The least value of a property that may be nil, nil left out; as ``min(of:)`` of one that may not.
  ///
  /// - Throws: As ``min(of:)`` of a property that may not be nil.
  public func min<Value: Indexable>(of property: KeyPath<Format.Instance, Value?>) async throws -> Value? {
    try await having(property).end(of: property, .ascending).flatMap(\.self)
  }

  /// The greatest value of a property among the instances that meet the condition, nil left out; one look-up if an index has it.
  ///
  /// - Throws: ``UnindexedQueryError`` if no index serves the condition and ``Query/scanning()`` was not called; ``StoreError``
  ///   if the store cannot be read; the error of evaluating the predicate.
  public func max<Value: Indexable>(of property: KeyPath<Format.Instance, Value>) async throws -> Value? {
    try await end(of: property, .descending)
  }

  /// The greatest value of a property that may be nil, nil left out; as ``max(of:)`` of one that may not.
  ///
  /// - Throws: As ``max(of:)`` of a property that may not be nil.
  public func max<Value: Indexable>(of property: KeyPath<Format.Instance, Value?>) async throws -> Value? {
    try await having(property).end(of: property, .descending).flatMap(\.self)
  }

  /// The instances whose property is not nil.
  private func having<Value: Indexable>(_ property: KeyPath<Format.Instance, Value?>) -> Self {
    let path = property as any KeyPath<Format.Instance, Value?> & Sendable
    return `where`(
      Predicate {
        PredicateExpressions.NotEqual(
          lhs: PropertyAtPath(root: $0, keyPath: path), rhs: PredicateExpressions.Value(Value?.none))
      })
  }

  private func end<Value: Indexable>(
    of property: KeyPath<Format.Instance, Value>, _ order: RangeOrder
  ) async throws -> Value? {
    var query = self
    (query.sorts, query.offset, query.cursor, query.takesAnyTie) = ([], 0, nil, true)
    return try await query.sorted(by: property, order).first?[keyPath: property]
  }

  /// How the query is answered, as one line: the index with its range and entries, what is tested on each instance, and
  /// whether there is something to sort. Its first word is INDEX, UNION, INTERSECT or SCAN. `DECODE` names members whose values an
  /// `init(from:)` changes, so that conditions on them are tested on instances alone. Reads no instance.
  ///
  /// - Throws: ``StoreError`` if the store cannot be read; as a read does if the query needs an index that cannot be built. A query that no
  ///   index serves is explained as the scan that it would be.
  public func explain() async throws -> String {
    let text = try await core.reading { state in
      let prepared = try prepared(state)
      // An index that is not built yet may serve it.
      if core.view == nil, try !core.fits(state) { try requireServed(prepared) }
      return prepared.plan.text
    }
    let changed = core.changedMembers(in: predicates)
    return changed.isEmpty ? text : "\(text) · DECODE \(changed.joined(separator: ", "))"
  }

  /// The whole answer, and again after each commit that changes it.
  ///
  /// The answer is read as the query reads it, and only the answer is held. After that, each changed instance is decoded once and
  /// put in its place. The query runs again only if an instance that is not held may belong to a limited answer now, or if the
  /// skipped instances before the answer may have changed. Reading runs on no actor. If it begins within a transaction, it shows
  /// the committed state.
  ///
  /// - Parameter policy: How many answers wait for a reader that is slower than the writers; by default one, so that a slow reader
  ///   gets the newest. No policy loses a change: changes that get no answer of their own are part of the next answer.
  /// - Throws: The errors of reading a query, ``UnindexedQueryError`` among them; the error of a condition for a changed
  ///   instance. The next step after an error reads the whole answer again.
  public func live(
    bufferingPolicy policy: ObservationBufferingPolicy = .bufferingNewest(1)
  ) -> some AsyncInstances<[Format.Instance]> {
    var query = self
    query.leaveWholeRange(sortedAlike: true)
    return LiveQuery(query: query, policy: policy)
  }
}

extension Query where AccessMode == ReadWrite {
  /// Deletes the instances of the answer, in one transaction. A query without conditions also deletes an instance that does not decode.
  ///
  /// - Returns: How many were deleted.
  /// - Throws: ``UnindexedQueryError`` if no index serves the query and it is not ``Query/scanning()``; ``StoreError``, and the errors
  ///   of the decoder and of the conditions. Then none is deleted.
  @discardableResult
  public func delete() async throws -> Int {
    try await write(named: "delete \(core.key)", runsOwnCode: false) { run, scope in
      guard let key = try await run.nextKey() else { return nil }
      return try await delete(key, in: scope)
    }
  }

  /// Deletes the instances of the answer that meet a condition, in one transaction.
  ///
  /// - Parameter condition: Is asked for each instance; a predicate of the query is asked by indexes instead.
  /// - Returns: How many were deleted.
  /// - Throws: As ``Query/delete()``, and the error of the condition. Then none is deleted.
  @discardableResult
  public func delete(where condition: (Format.Instance) async throws -> Bool) async throws -> Int {
    // Writes beside it in a transaction are not refused: most deletions have no condition that could wait for them.
    let isOutermost = Transactions.scope(for: core.store) == nil
    return try await write(named: "delete \(core.key)", runsOwnCode: isOutermost) { run, scope in
      guard let found = try await run.next() else { return nil }
      return if try await condition(found.instance) { try await delete(found.key, in: scope) } else { false }
    }
  }

  private func delete(_ key: [UInt8], in scope: TransactionScope) async throws -> Bool {
    try await scope.turns.acquire()
    defer { scope.turns.pass() }
    return try await core.delete(core.identifiers.value(of: key), key: key, in: scope) != nil
  }

  /// Changes the instances of the answer, in one transaction. If the closure throws, nothing is changed.
  ///
  /// - Parameter change: Changes an instance. Its identifier must stay.
  /// - Returns: The number of instances that `change` was called for; one that is equal afterwards counts, but is not written.
  /// - Throws: As reading the query; the error of the closure; ``InvalidKeyError`` if it changes an identifier, or for a value that has no
  ///   place in an index. Then nothing is changed.
  @discardableResult
  public func update(_ change: (inout Format.Instance) async throws -> Void) async throws -> Int {
    try await write(named: "update \(core.key)", options: [], runsOwnCode: true) { run, scope in
      guard let found = try await run.next() else { return nil }
      guard let identifier = core.identifiers.value(of: found.key) else {
        throw DatastoreInterfaceError.instanceNotFound
      }
      var instance = found.instance
      try await change(&instance)
      try core.requireSameIdentifier(of: instance, as: found.instance)
      let prepared = try await core.prepare(instance, identifier: identifier)
      try await scope.turns.acquire()
      defer { scope.turns.pass() }
      _ = try await core.persist(prepared, in: scope)
      return true
    }
  }

  /// Changes the instances of the answer.
  ///
  /// - Parameter body: Takes the next instance of the run, and returns whether it was changed; nil at the end.
  private func write(
    named action: String, options: UnsafeTransactionOptions = .retriesConflicts, runsOwnCode: Bool,
    _ body: (inout TypedQueryRun<Format>, TransactionScope) async throws -> Bool?
  ) async throws -> Int {
    try await core.readyForWriting()
    return try await whole { try await writeOnce(named: action, options, runsOwnCode: runsOwnCode, body) }
  }

  private func writeOnce(
    named action: String, _ options: UnsafeTransactionOptions, runsOwnCode: Bool,
    _ body: (inout TypedQueryRun<Format>, TransactionScope) async throws -> Bool?
  ) async throws -> Int {
    try await Transactions.run(
      store: core.store, actionName: action, options: options, runsOwnCode: runsOwnCode
    ) { scope, _ in
      if scope.isReading { throw DiskPersistenceError.cannotWrite }
      var changed = 0
      // The answer is that of the beginning, whatever the writing does to it.
      guard var run = try await self.run() else { return 0 }
      while let isChanged = try await body(&run, scope) {
        try Task.checkCancellation()
        if isChanged { changed += 1 }
      }
      return changed
    }
  }
}
