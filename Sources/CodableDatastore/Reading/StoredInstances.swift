import DatastoreModel
import StorageEngine

/// A run of instances as they were when the sequence was made: a query whose range is known from the start.
///
/// It may be read several times, by several tasks, or not at all; it holds up nobody. Instances are decoded as they are
/// asked for.
struct StoredInstances<Format: DatastoreFormat>: AsyncInstances {
  typealias Element = Format.Instance

  private let core: DatastoreCore<Format>
  /// The fixed plan; nil where the datastore must be warmed first.
  private let prepared: Result<PlannedQuery?, any Error>?
  /// What a transaction on a server had written when the sequence was made, of which the plan is made when it is read.
  private let moment: ReadState?
  private let scope: TransactionScope?
  private let plan: @Sendable (ReadState) throws -> PlannedQuery?

  fileprivate init(_ core: DatastoreCore<Format>, plan: @escaping @Sendable (ReadState) throws -> PlannedQuery?) {
    self.core = core
    self.plan = plan
    scope = Transactions.scope(for: core.store)
    var prepared: Result<PlannedQuery?, any Error>?
    var moment: ReadState?
    do {
      if core.store.connection.isServed {
        // A server would have to be asked, for which the caller is not suspended here.
        moment =
          Transactions.current == nil
          ? nil : try core.readyNow()?.moment(of: [core.recordsTree] + core.indexes.map(\.tree))
      } else {
        prepared = try core.readyNow().map { state in .success(try plan(state)) }
      }
    } catch {
      prepared = .failure(error)
    }
    (self.prepared, self.moment) = (prepared, moment)
  }

  func makeAsyncIterator() -> Iterator { Iterator(instances: self) }

  struct Iterator: AsyncIteratorProtocol {
    private let instances: StoredInstances
    private var run: TypedQueryRun<Format>?
    /// In its place on a server.
    private var served: ServedRun<Format>?
    private var isOpened = false

    fileprivate init(instances: StoredInstances) { self.instances = instances }

    /// On the caller's own executor: a change of threads takes longer than to read and decode an instance. Others run there
    /// between, after each slice.
    mutating func next(isolation actor: isolated (any Actor)?) async throws(any Error) -> Element? {
      try Task.checkCancellation()
      if !isOpened {
        isOpened = true
        let instances = instances
        if instances.core.store.connection.isServed {
          served = try await ServerThreads.run { try await instances.run().map { ServedRun($0) } }
        } else {
          run = try await instances.run()
        }
      }
      do {
        if let served { return try await served.next()?.instance }
        return try await run?.next()?.instance
      } catch {
        (run, served) = (nil, nil)
        throw error
      }
    }
  }

  /// A walk over the run, with the keys of the identifiers; nil where there is no datastore yet.
  func run() async throws -> TypedQueryRun<Format>? {
    if let scope, scope.wasRolledBack { throw DatastoreInterfaceError.transactionInactive }
    let planned =
      if let prepared {
        try prepared.get()
      } else if let moment {
        try plan(moment)
      } else {
        try plan(try await core.ready())
      }
    return planned.map { TypedQueryRun(core, $0) }
  }
}

extension StoredInstances {
  /// A run of records in the order of their identifiers.
  init(
    _ core: DatastoreCore<Format>, isDescending: Bool,
    ranks: @escaping @Sendable (DatastoreCore<Format>, Tree) throws -> Range<UInt64>
  ) {
    self.init(core) { state in
      guard let tree = try core.recent.tree(core.recordsTree, of: state) else { return nil }
      let entries = TypedEntries(tree: tree, order: nil, identifiers: core.identifiers.order)
      return PlannedQuery(
        along: "", at: try ranks(core, tree), isDescending: isDescending, records: tree, entries: entries)
    }
  }

  /// A run of records in the order of an index.
  init<Index: IndexRepresentation<Format.Instance>>(
    _ core: DatastoreCore<Format>, indexAt path: KeyPath<Format, Index>, isDescending: Bool,
    ranks: @escaping @Sendable (DatastoreCore<Format>, Tree, IndexPlan<Format.Instance>) throws -> Range<UInt64>
  ) {
    let index = Result { try core.index(at: path) }
    self.init(core) { state in
      let index = try index.get()
      let (records, tree) = try core.trees(of: index, in: state)
      guard let records else { return nil }
      guard let tree, try core.canRead(index, in: records) else { throw core.missing(index) }
      let entries = TypedEntries(
        tree: tree, order: index.order, identifiers: core.identifiers.order, records: records)
      return PlannedQuery(
        along: index.name, at: try ranks(core, tree, index), isDescending: isDescending, records: records,
        entries: entries)
    }
  }
}

extension PlannedQuery {
  /// The entries of one range, in their order or in the exact reverse of it. An instance with several values comes once for each.
  fileprivate init(
    along name: String, at ranks: Range<UInt64>, isDescending: Bool, records: Tree, entries: TypedEntries
  ) {
    plan = .entries(
      of: name, at: Int(clamping: ranks.lowerBound)..<Int(clamping: ranks.upperBound), isReversed: isDescending,
      rows: ranks.count)
    self.records = records
    trees = [name: entries]
  }
}
