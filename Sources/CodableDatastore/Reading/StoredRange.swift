import StrataModel
import StrataLocks
import StrataEngine

/// A range of the entries of an index, or of the records, in the order of these or in the exact reverse of it.
///
/// Iterated as it is, it shows the instances as they were when it was made, or on a server, outside of transactions, when it was first
/// read. It may be read several times, by several tasks, or not at all; it holds up no writer.
struct StoredRange<Format: DatastoreFormat>: Sendable {
  private let core: DatastoreCore<Format>
  /// The plan, made with the range; nil if the datastore must be warmed up first, and on a server.
  private let prepared: Result<PlannedQuery?, any Error>?
  /// The state that a transaction on a server had written when the range was made; the plan for it is made when it is read.
  private let moment: ReadState?
  let scope: TransactionScope?
  /// On a server: the state that the first reading found.
  private let shown: ShownState?
  /// The request that a server gets first, if that is known before its state is.
  private let firstPage: @Sendable () -> PageRequest?
  /// The entries in a state; nil if there is no datastore yet.
  let entries: @Sendable (ReadState) throws -> EntryRange?
  /// If the range has all instances, each once: the sorts that have its order.
  let whole: [QuerySortKey<Format.Instance>]?

  private init(
    _ core: DatastoreCore<Format>, whole: [QuerySortKey<Format.Instance>]?,
    firstPage: @escaping @Sendable () -> PageRequest?, entries: @escaping @Sendable (ReadState) throws -> EntryRange?
  ) {
    (self.core, self.whole, self.firstPage, self.entries) = (core, whole, firstPage, entries)
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
        prepared = try core.readyNow().map { state in .success(try entries(state)?.planned()) }
      }
    } catch {
      prepared = .failure(error)
    }
    (self.prepared, self.moment) = (prepared, moment)
  }

  /// The walk on a server, which is asked for the first page from here: mostly that is there before another thread was.
  func runServed() async throws -> ServedRun<Format>? {
    guard scope == nil, moment == nil, prepared == nil, let shown, shown.known == nil,
      let asked = try firstPage().flatMap({ try core.ask(.page($0)) })
    else {
      return try await ServerThreads.run { try await run().map { ServedRun($0) } }
    }
    if asked.isAnswered { return try await run(prefetching: .asked(asked)).map { ServedRun($0, isAnswered: true) } }
    return try await ServerThreads.run { try await run(prefetching: .asked(asked)).map { ServedRun($0) } }
  }

  /// A walk over the range; nil if there is no datastore yet.
  ///
  /// - Parameter foresight: what a server was asked for already.
  func run(prefetching foresight: Prefetch? = nil) async throws -> TypedQueryRun<Format>? {
    try scope?.requireReadable()
    let planned =
      if let prepared {
        try prepared.get()
      } else if let moment {
        try entries(moment)?.planned()
      } else if let known = shown?.known {
        try entries(known)?.planned()
      } else {
        try await core.reading(
          prefetching: foresight ?? (core.view == nil ? firstPage().map { .page($0) } : nil)
        ) { state in
          let planned = try entries(state)?.planned()
          return if let other = shown?.fix(state) { try entries(other)?.planned() } else { planned }
        }
      }
    return planned.map { TypedQueryRun(core, $0, scope: scope) }
  }

  init(
    _ core: DatastoreCore<Format>, isWhole: Bool, isDescending: Bool,
    bounds: @escaping @Sendable (DatastoreCore<Format>) throws -> EntryBounds
  ) {
    self.init(
      core, whole: isWhole ? core.ties(areDescending: isDescending) : nil,
      firstPage: { (try? bounds(core))?.page(of: core.recordsTree, isDescending: isDescending, records: nil) }
    ) { state in
      guard let tree = try core.tree(core.recordsTree, of: state) else { return nil }
      try core.requireOwnKeys(in: tree, orAny: isWhole)
      let entries = TypedEntries(tree: tree, order: nil, identifiers: core.identifiers.order)
      return EntryRange(
        index: "", bounds: try bounds(core), isDescending: isDescending, hasManyValues: false, records: tree,
        entries: entries)
    }
  }

  init<Index: IndexRepresentation<Format.Instance>>(
    _ core: DatastoreCore<Format>, indexAt path: KeyPath<Format, Index>, isWhole: Bool = false, isDescending: Bool,
    bounds: @escaping @Sendable (DatastoreCore<Format>, IndexPlan<Format.Instance>) throws -> EntryBounds
  ) {
    let index = Result { try core.index(at: path) }
    let sort =
      isWhole
      ? (core.format[keyPath: path] as? any IndexValues)?.sortKey(isDescending: isDescending, in: core.key) : nil
    let ties = core.ties(areDescending: isDescending)
    self.init(
      core, whole: (sort as? QuerySortKey<Format.Instance>).flatMap { sort in ties.map { [sort] + $0 } },
      firstPage: {
        guard let index = try? index.get(), let bounds = try? bounds(core, index) else { return nil }
        return bounds.page(of: index.tree, isDescending: isDescending, records: core.recordsTree)
      }
    ) { state in
      let index = try index.get()
      let (records, tree) = try core.trees(of: index, in: state)
      guard let records else { return nil }
      guard let tree else { throw core.missing(index) }
      let entries = TypedEntries(
        tree: tree, order: index.order, identifiers: core.identifiers.order, records: records)
      return EntryRange(
        index: index.name, bounds: try bounds(core, index), isDescending: isDescending,
        hasManyValues: index.descriptor.kind.hasManyValues, records: records, entries: entries)
    }
  }
}

/// The state that a sequence shows which begins when it is first read: each later reading finds the same.
private final class ShownState: Sendable {
  private let state = Mutex<ReadState?>(nil)

  var known: ReadState? { state.withLock { $0 } }

  /// Fixes the state that a first reading has found. Returns another one if several run at once, and that one was found before.
  func fix(_ found: ReadState) -> ReadState? {
    state.withLock { state in
      if state != nil { return state }
      state = found
      return nil
    }
  }
}

extension DatastoreCore {
  /// The sort by identifier of instances that are equal in all others; nil if instances do not tell their identifiers.
  fileprivate func ties(areDescending: Bool) -> [QuerySortKey<Instance>]? {
    areDescending ? ownIdentifier.map { [QuerySortKey($0, isDescending: true, in: key)] } : []
  }
}

extension IndexValues {
  /// The sort that has the order of the index, if each instance has the value of one property in it.
  fileprivate func sortKey(isDescending: Bool, in datastore: String) -> Any? {
    guard !kind.hasManyValues, keyPaths.count == 1, let path = keyPaths[0] as? KeyPath<Instance, Value> else {
      return nil
    }
    // A key path between `Sendable` types is immutable and may be sent, see `Indexable.swift`.
    return QuerySortKey(path as any KeyPath<Instance, Value> & Sendable, isDescending: isDescending, in: datastore)
  }
}

struct EntryRange {
  /// The index; empty for the records themselves.
  let index: String
  let bounds: EntryBounds
  let isDescending: Bool
  let hasManyValues: Bool
  let records: Tree
  var entries: TypedEntries

  /// The entries in their order or in the exact reverse of it. An instance with several values comes once for each.
  ///
  /// In a file they are counted, which costs two searches; a server is asked for pages of what lies between the bounds.
  func planned() throws -> PlannedQuery {
    var (entries, ranks) = (entries, 0..<Int.max)
    if entries.tree.isServed {
      entries.page = bounds.page(of: entries.tree.name, isDescending: isDescending, records: entries.records?.name)
    }
    if entries.page == nil { ranks = try bounds.ranks(in: entries.tree) }
    return PlannedQuery(
      plan: .entries(of: index, at: ranks, isReversed: isDescending, rows: ranks.count), records: records,
      trees: [index: entries])
  }

  /// The plan of a query of these entries, in which each instance comes once.
  func lead() throws -> QueryPlan {
    let ranks = try bounds.ranks(in: entries.tree)
    return .entries(
      of: index, at: ranks, isReversed: isDescending, rows: ranks.count, oncePerRecord: hasManyValues)
  }
}
