import DatastoreModel
import StorageEngine

/// A run of instances as they were when the sequence was made.
///
/// It may be read several times, by several tasks, or not at all; it holds up nobody. Instances are decoded as they are
/// asked for.
struct StoredInstances<Format: DatastoreFormat, Element: Sendable>: AsyncInstances {
  /// Where the instances lie.
  struct Run: Sendable {
    var tree: Tree
    var source: RecordSource
    var ranks: Range<UInt64>
    /// Whether it is a run of an index.
    var isIndex: Bool
  }

  let core: DatastoreCore<Format>
  private let isDescending: Bool
  /// The fixed run; nil where the datastore must be warmed first.
  private let prepared: Result<Run?, any Error>?
  private let scope: TransactionScope?
  private let run: @Sendable (ReadState) throws -> Run?
  private let transform: @Sendable (Format.Instance) throws -> Element

  fileprivate init(
    core: DatastoreCore<Format>, isDescending: Bool, run: @escaping @Sendable (ReadState) throws -> Run?,
    transform: @escaping @Sendable (Format.Instance) throws -> Element
  ) {
    self.core = core
    self.isDescending = isDescending
    self.run = run
    self.transform = transform
    scope = Transactions.scope(for: core.store)
    do {
      prepared = try core.readyNow().map { state in .success(try run(state)) }
    } catch {
      prepared = .failure(error)
    }
  }

  func makeAsyncIterator() -> Iterator { Iterator(instances: self) }

  struct Iterator: AsyncIteratorProtocol {
    private let instances: StoredInstances
    private let slices: TimeSlices
    private var walk: RecordWalk?
    private var isOpened = false

    fileprivate init(instances: StoredInstances) {
      self.instances = instances
      slices = instances.core.store.connection.slices
    }

    /// On the caller's own executor: a change of threads takes longer than to read and decode an instance. Others run there
    /// between, after each slice.
    mutating func next(isolation actor: isolated (any Actor)?) async throws(any Error) -> Element? {
      try Task.checkCancellation()
      if slices.isUsedUp() { await slices.giveWay() }
      if !isOpened {
        walk = try await instances.open()
        isOpened = true
      }
      guard let (_, record) = try walk?.next() else { return nil }
      do {
        return try instances.transform(try await instances.core.coder.decode(record).instance)
      } catch {
        walk = nil
        throw error
      }
    }
  }

  fileprivate func open() async throws -> RecordWalk? { try await openWalk()?.walk }

  /// A walk over the run, and whether its keys are those of an index.
  func openWalk() async throws -> (walk: RecordWalk, isIndex: Bool)? {
    if let scope, scope.wasRolledBack { throw DatastoreInterfaceError.transactionInactive }
    let run =
      if let prepared { try prepared.get() } else { try self.run(try await core.ready()) }
    return run.map { run in
      let walk = RecordWalk(tree: run.tree, source: run.source, ranks: run.ranks, isDescending: isDescending)
      return (walk, run.isIndex)
    }
  }
}

extension StoredInstances where Element == Format.Instance {
  /// A run of records in the order of their identifiers.
  init(
    _ core: DatastoreCore<Format>, index: Never?, isDescending: Bool,
    ranks: @escaping @Sendable (DatastoreCore<Format>, Tree) throws -> Range<UInt64>
  ) {
    self.init(core: core, isDescending: isDescending) { state in
      guard let tree = try core.recent.tree(core.recordsTree, of: state) else { return nil }
      return Run(tree: tree, source: .itself, ranks: try ranks(core, tree), isIndex: false)
    } transform: {
      $0
    }
  }

  /// A run of records in the order of an index.
  init<Index: IndexRepresentation<Format.Instance>>(
    _ core: DatastoreCore<Format>, indexAt path: KeyPath<Format, Index>, isDescending: Bool,
    ranks: @escaping @Sendable (DatastoreCore<Format>, Tree, IndexPlan<Format.Instance>) throws -> Range<UInt64>
  ) {
    let index = Result { try core.index(at: path) }
    self.init(core: core, isDescending: isDescending) { state in
      let index = try index.get()
      let (records, tree) = try core.trees(of: index, in: state)
      guard let records else { return nil }
      guard let tree, try core.canRead(index, in: records) else { throw core.missing(index) }
      let source: RecordSource = index.isDirect ? .itself : .records(records, core.identifiers.order)
      return Run(tree: tree, source: source, ranks: try ranks(core, tree, index), isIndex: true)
    } transform: {
      $0
    }
  }
}
