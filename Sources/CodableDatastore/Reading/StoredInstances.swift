import DatastoreModel
import Locks
import StorageEngine

/// A run of instances as they were when the sequence was made, or on a server, outside of transactions, when it was first read: a query whose
/// range is known from the start.
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
  /// On a server: what the first reading found.
  private let shown: ShownState?
  /// What a server will be asked for first, where that is known before its state is.
  private let firstPage: @Sendable () -> PageRequest?
  private let plan: @Sendable (ReadState) throws -> PlannedQuery?

  fileprivate init(
    _ core: DatastoreCore<Format>, firstPage: @escaping @Sendable () -> PageRequest?,
    plan: @escaping @Sendable (ReadState) throws -> PlannedQuery?
  ) {
    self.core = core
    self.firstPage = firstPage
    self.plan = plan
    scope = Transactions.scope(for: core.store)
    shown = core.store.connection.isServed ? ShownState() : nil
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
          served = try await instances.runServed()
        } else {
          run = try await instances.run()
        }
      }
      instances.scope?.work?.uses.add(1, ordering: .relaxed)
      do {
        if let served { return try await served.next()?.instance }
        return try await run?.next()?.instance
      } catch {
        (run, served) = (nil, nil)
        throw error
      }
    }
  }

  /// The walk on a server, which is asked for the first page from here: mostly that is there before another thread was.
  private func runServed() async throws -> ServedRun<Format>? {
    guard let asked = try askFirst() else {
      return try await ServerThreads.run { try await run().map { ServedRun($0) } }
    }
    if asked.isAnswered { return try await run(foreseeing: .asked(asked)).map { ServedRun($0, isAnswered: true) } }
    return try await ServerThreads.run { try await run(foreseeing: .asked(asked)).map { ServedRun($0) } }
  }

  /// Asks for the newest state with the first page of it, where that is what the walk begins with.
  private func askFirst() throws -> (any AskedServer)? {
    guard scope == nil, moment == nil, prepared == nil, shown?.isKnown == false else { return nil }
    return try firstPage().flatMap { try core.ask(.page($0)) }
  }

  /// A walk over the run, with the keys of the identifiers; nil where there is no datastore yet.
  ///
  /// - Parameter foresight: what a server was asked for already.
  func run(foreseeing foresight: Foresight? = nil) async throws -> TypedQueryRun<Format>? {
    if let scope, scope.wasRolledBack { throw DatastoreInterfaceError.transactionInactive }
    let planned =
      if let prepared {
        try prepared.get()
      } else if let moment {
        try plan(moment)
      } else if let shown {
        try plan(try await shown.state { try await core.ready(foreseeing: foresight ?? pageOfNewest) })
      } else {
        try await core.reading(foreseeing: foresight ?? pageOfNewest, plan)
      }
    return planned.map { TypedQueryRun(core, $0) }
  }

  private var pageOfNewest: Foresight? { core.view == nil ? firstPage().map { .page($0) } : nil }
}

/// The state that a sequence shows which begins when it is first read: each later reading finds the same.
private final class ShownState: Sendable {
  private let known = Mutex<ReadState?>(nil)

  var isKnown: Bool { known.withLock { $0 != nil } }

  /// Of several first readings at once the one that ends first tells.
  func state(orBy newest: () async throws -> ReadState) async throws -> ReadState {
    if let known = known.withLock({ $0 }) { return known }
    let found = try await newest()
    return known.withLock { known in
      let first = known ?? found
      known = first
      return first
    }
  }
}

extension StoredInstances {
  /// A run of records in the order of their identifiers.
  init(
    _ core: DatastoreCore<Format>, isDescending: Bool,
    bounds: @escaping @Sendable (DatastoreCore<Format>) throws -> EntryBounds
  ) {
    let page: @Sendable (EntryBounds) -> PageRequest? = { bounds in
      bounds.page(of: core.recordsTree, isDescending: isDescending, records: nil)
    }
    self.init(core, firstPage: { (try? bounds(core)).flatMap(page) }) { state in
      guard let tree = try core.tree(core.recordsTree, of: state) else { return nil }
      let entries = TypedEntries(tree: tree, order: nil, identifiers: core.identifiers.order)
      let bounds = try bounds(core)
      return try PlannedQuery(
        along: "", within: bounds, at: page(bounds), isDescending: isDescending, records: tree, entries: entries)
    }
  }

  /// A run of records in the order of an index.
  init<Index: IndexRepresentation<Format.Instance>>(
    _ core: DatastoreCore<Format>, indexAt path: KeyPath<Format, Index>, isDescending: Bool,
    bounds: @escaping @Sendable (DatastoreCore<Format>, IndexPlan<Format.Instance>) throws -> EntryBounds
  ) {
    let index = Result { try core.index(at: path) }
    let page: @Sendable (EntryBounds, IndexPlan<Format.Instance>) -> PageRequest? = { bounds, index in
      bounds.page(of: index.tree, isDescending: isDescending, records: core.recordsTree)
    }
    self.init(
      core,
      firstPage: {
        guard let index = try? index.get(), let bounds = try? bounds(core, index) else { return nil }
        return page(bounds, index)
      }
    ) { state in
      let index = try index.get()
      let (records, tree) = try core.trees(of: index, in: state)
      guard let records else { return nil }
      guard let tree, try core.canRead(index, in: records) else { throw core.missing(index) }
      let entries = TypedEntries(
        tree: tree, order: index.order, identifiers: core.identifiers.order, records: records)
      let bounds = try bounds(core, index)
      return try PlannedQuery(
        along: index.name, within: bounds, at: page(bounds, index), isDescending: isDescending, records: records,
        entries: entries)
    }
  }
}

extension PlannedQuery {
  /// The entries of one range, in their order or in the exact reverse of it. An instance with several values comes once for each.
  ///
  /// In a file they are counted, which costs two searches; a server is asked for pages of what lies between the bounds.
  fileprivate init(
    along name: String, within bounds: EntryBounds, at page: PageRequest?, isDescending: Bool, records: Tree,
    entries: TypedEntries
  ) throws {
    var entries = entries
    let ranks: Range<Int>
    if entries.tree.isServed, let page {
      entries.page = page
      ranks = 0..<Int.max
    } else {
      let counted = try bounds.ranks(in: entries.tree)
      ranks = Int(clamping: counted.lowerBound)..<Int(clamping: counted.upperBound)
    }
    plan = .entries(of: name, at: ranks, isReversed: isDescending, rows: ranks.count)
    self.records = records
    trees = [name: entries]
  }
}
