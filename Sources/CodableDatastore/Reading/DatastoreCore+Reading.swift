import StrataModel
import StrataLocks
import StrataEngine

extension DatastoreCore {
  func count() async throws -> Int {
    await store.yieldTask()
    return try await store.asking {
      let state: ReadState
      do { state = try await ready(takesAsItIs: true) } catch is UnreadableInstanceError {
        // Records are counted even while their identifiers cannot be read.
        state = try Transactions.readState(for: store)
      }
      guard let tree = try recent.tree(recordsTree, of: state) else { return 0 }
      try requireOwnKeys(in: tree, orAny: true)
      return Int(clamping: try tree.entryCount)
    }
  }

  func load(_ identifier: Identifier) async throws -> Instance? {
    if store.connection.slices.isUsedUp() { await store.connection.slices.yieldTask() }
    let key = try key(of: identifier)
    guard store.connection.isServed else { return try await loadHere(key) }
    let foresight = Prefetch.keys([PrefetchKey(tree: recordsTree, key: key)])
    let asked = try ask(foresight)
    // Most answers are there before another thread was.
    if let asked, asked.isAnswered { return try await loadServed(key, .asked(asked)) }
    return try await ServerThreads.run { try await loadServed(key, asked.map { .asked($0) } ?? foresight) }
  }

  /// Asks a server for what will be read of its newest state, where that is all that will be asked.
  func ask(_ foresight: Prefetch) throws -> (any PendingRead)? {
    guard view == nil, Transactions.current == nil, fitting.withLock({ $0 != nil }) else { return nil }
    try store.requireOpen()
    return try store.connection.storeForReading(forWriter: !store.isReadOnly)?.ask(foresight)
  }

  /// The newest state and the record come together.
  private func loadServed(_ key: [UInt8], _ foresight: Prefetch) async throws -> Instance? {
    let state = try await ready(prefetching: foresight, takesAsItIs: true)
    guard let tree = try state.tree(recordsTree) else { return nil }
    try requireOwnKeys(in: tree)
    guard let record = try tree.record(at: identifiers.order.place(of: key)) else { return nil }
    return try await instance(of: record, key: key)
  }

  private func loadHere(_ key: [UInt8]) async throws -> Instance? {
    let tree: Tree?
    if let known = try recordsAtHand() { tree = known } else { tree = try await records() }
    guard let tree, let record = try tree.record(at: identifiers.order.place(of: key)) else { return nil }
    var decoded: Instance?
    if coder.decodeNow(record, into: &decoded) { return decoded }
    return try await instance(of: record, key: key)
  }

  /// The records as a read that begins now sees them, where an earlier read of the same state has looked them up.
  private func recordsAtHand() throws -> Tree?? {
    guard view == nil, Transactions.current == nil else { return nil }
    try store.requireOpen()
    try requireSoundDeclaration()
    return store.connection.visibleState(forWriter: !store.isReadOnly).flatMap { recent.visible($0)?.records }
  }

  /// The records as a read that begins now sees them.
  private func records() async throws -> Tree? {
    let isNewest = view == nil && Transactions.current == nil
    let number = isNewest ? store.connection.visibleState(forWriter: !store.isReadOnly) : nil
    let tree = try recent.tree(recordsTree, of: try await ready(takesAsItIs: true))
    if let tree { try requireOwnKeys(in: tree) }
    if let number { recent.keep(records: tree, number: number) }
    return tree
  }

  func instances<Mode: _AccessMode>(
    _ range: some IndexRangeExpression<Identifier>, order: RangeOrder
  ) -> Selection<Format, Mode> {
    let order = range.order.combined(with: order)
    let isWhole = range is WholeRange<Identifier>
    let stored = StoredRange(self, isWhole: isWhole, isDescending: order == .descending) { core in
      try EntryBounds(of: range, key: { try core.key(of: $0) }) { key, after in
        try core.identifiers.order.bound(of: key, after: after)
      }
    }
    return Selection(core: self, range: stored)
  }

  func instances<Value: Indexable, Index: RetrievableIndexRepresentation<Instance, Value>, Mode: _AccessMode>(
    _ range: some IndexRangeExpression<Value>, order: RangeOrder, from path: KeyPath<Format, Index>
  ) -> Selection<Format, Mode> {
    let order = range.order.combined(with: order)
    return Selection(
      core: self,
      range: StoredRange(self, indexAt: path, isDescending: order == .descending) { core, index in
        guard let coder = index.coder as? KeyCoder<Value> else { throw DatastoreError.missingIndex }
        return try EntryBounds(
          of: range, key: { value in try core.ordering(index: index.name) { try coder.key(of: value) } }
        ) { key, after in
          try index.order.bound(of: key, after: after)
        }
      })
  }

  func instances<Index: IndexRepresentation<Instance>, Mode: _AccessMode>(
    order: RangeOrder, from path: KeyPath<Format, Index>
  ) -> Selection<Format, Mode> {
    Selection(
      core: self,
      range: StoredRange(self, indexAt: path, isWhole: true, isDescending: order == .descending) { _, _ in EntryBounds()
      })
  }

  /// The first instance of a value, by identifier.
  func first<Value: Indexable, Index: RetrievableIndexRepresentation<Instance, Value>>(
    _ value: Value, from path: KeyPath<Format, Index>
  ) async throws -> Instance? {
    let selection: Selection<Format, ReadOnly> = instances(IndexRange(only: value), order: .ascending, from: path)
    return try await selection.firstInstance
  }
}
