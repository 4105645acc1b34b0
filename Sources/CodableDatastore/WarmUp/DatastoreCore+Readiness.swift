import StrataModel
import StrataLocks
import StrataEngine

extension DatastoreCore {
  /// The state to read from. If the store does not fit the declaration, it is warmed up first.
  ///
  /// - Parameters:
  ///   - foresight: the entries that will be read: a server returns them along with its newest state.
  ///   - takesAsItIs: whether to accept a state that does not fit if the warm-up would have to wait for another writer. Its
  ///     records are decoded by their versions then, and indexes that differ from the declaration cannot be read.
  ///   - forced: what a warm-up does in any case.
  func ready(
    prefetching foresight: Prefetch? = nil, takesAsItIs: Bool = false, forced: WarmUpPlan = WarmUpPlan()
  ) async throws -> ReadState {
    try await store.prepare()
    if forced.mending.isEmpty, let state = try readyNow(prefetching: foresight) { return state }
    if takesAsItIs, let state = try await warmUpIfFree() { return state }
    do {
      try await warmUp(forced: forced)
    } catch let error as UnreadableInstanceError {
      guard takesAsItIs, let state = try stateAsItIs() else { throw error }
      return state
    }
    return try Transactions.readState(for: store)
  }

  /// Reads a state, which may be one that does not fit. If `body` fails on such a state, waits for the warm-up and tries again.
  func reading<R>(prefetching foresight: Prefetch? = nil, _ body: (ReadState) throws -> R) async throws -> R {
    let state = try await ready(prefetching: foresight, takesAsItIs: true)
    do {
      return try body(state)
    } catch {
      guard try view == nil && !fits(state) else { throw error }
      return try body(try await ready())
    }
  }

  /// The state after a warm-up, or as it is if the warm-up would have to wait or the store cannot be written. Nil if the caller must
  /// wait: in a transaction that writes, which has the turn; on a server; and if identifiers are kept in another way.
  private func warmUpIfFree() async throws -> ReadState? {
    let connection = store.connection
    guard !connection.isServed, Transactions.scope(for: store)?.isReading ?? true else { return nil }
    if try connection.storeForReading(forWriter: true)?.writer == nil {
      do {
        try await warmUp(waits: false)
      } catch is TurnUnavailable {
      } catch is UnreadableInstanceError {
      } catch let error as StoreError where error.kind == .readOnly {}
    }
    return try stateAsItIs()
  }

  /// The state without a warm-up; nil if its identifiers are kept in another way.
  private func stateAsItIs() throws -> ReadState? {
    let state = try Transactions.readState(for: store)
    guard let tree = try state.tree(recordsTree) else { return state }
    return try plan(for: descriptor(of: tree), isEmpty: tree.isWithoutEntries).rekeys ? nil : state
  }

  /// The newest state outside of transactions, or the one that is looked at.
  func currentView() throws -> View? { if let view { view } else { try store.currentView() } }

  /// The state to read from. Nil if the store must be warmed up first.
  ///
  /// A read transaction that has already fixed its view goes on with that view, even if it lacks indexes.
  func readyNow(prefetching foresight: Prefetch? = nil) throws -> ReadState? {
    try requireSoundDeclaration()
    if let view { return .view(view) }
    guard Transactions.current != nil else { return try visibleState(prefetching: foresight) }
    let scope = Transactions.scope(for: store)
    if let scope, scope.converts(key) { return try scope.readState() }
    if let scope, scope.isReading, scope.isUnfixed, !isReadOnly {
      guard try fits(ReadState(store.currentView())) else { return nil }
    }
    let state = try Transactions.readState(for: store)
    if scope?.isReading == true { return state }
    return try fits(state) ? state : nil
  }

  /// The state that is visible outside of transactions. Nil if it does not fit the declaration. While the store does not
  /// change, the view is neither taken nor compared again.
  private func visibleState(prefetching foresight: Prefetch?) throws -> ReadState? {
    try store.requireOpen()
    let number = store.connection.visibleState(forWriter: !store.isReadOnly)
    if let number, let state = recent.visible(number)?.state { return state }
    if store.needsPreparing { return nil }
    let state = ReadState(try store.currentView(prefetching: foresight))
    guard try fits(state) else { return nil }
    if let number { recent.keep(state, number: number) }
    return state
  }

  /// Makes the store fit before a write begins. In a transaction that writes, each write does so for itself.
  func readyForWriting() async throws {
    if store.isReadOnly { throw DiskPersistenceError.cannotWrite }
    if let scope = Transactions.scope(for: store) {
      if let datastore = scope.conversion { throw StoreError.writing(whileConverting: datastore) }
      if !scope.isReading { return try requireSoundDeclaration() }
    }
    do {
      guard store.connection.isServed, Transactions.current == nil else {
        return try await store.asking { _ = try await ready() }
      }
      // A server reports a newer state when the transaction begins, which checks again. A state that has fitted is compared here, as bytes.
      if fitting.withLock({ $0 != nil }), try fitsAsKnown() { return }
      try await store.asking { if try !fitsAsKnown() { _ = try await ready() } }
    } catch is UnreadableInstanceError {
      // The write goes on without the indexes that cannot be built.
    }
  }

  /// Whether the newest state that this process knows fits the declaration. Does not ask the disk or a server for a newer one.
  private func fitsAsKnown() throws -> Bool {
    try requireSoundDeclaration()
    guard let view = try store.connection.storeForReading(forWriter: true)?.head else { return false }
    return try fits(.view(view))
  }

  /// Whether the store is as the declaration says. Mostly a comparison of bytes.
  func fits(_ state: ReadState) throws -> Bool {
    guard !isReadOnly, let tree = try recent.tree(recordsTree, of: state) else { return true }
    return try fits(tree)
  }

  /// Whether a tree of records, and what belongs to it, is as the declaration says.
  func fits(_ tree: Tree) throws -> Bool {
    let attributes = tree.attributes
    if fitting.withLock({ $0 }) == attributes { return true }
    let isEmpty = try tree.isWithoutEntries
    guard try plan(for: descriptor(of: tree), isEmpty: isEmpty).isEmpty else { return false }
    if !isEmpty { fitting.withLock { $0 = attributes } }
    return true
  }

  /// The records, and an index if this declaration can read it, of one moment.
  func trees(of index: IndexPlan<Instance>, in state: ReadState) throws -> (records: Tree?, index: Tree?) {
    let name = try tree(recordsTree, of: state).flatMap { try treeName(of: index, in: $0) }
    let state = try state.moment(of: [recordsTree] + [name].compactMap(\.self))
    return (try tree(recordsTree, of: state), try name.flatMap { try tree($0, of: state) })
  }

  /// A tree of a state. On a server it is not taken from an earlier read, because it holds the entries that were prefetched for this one.
  func tree(_ name: TreeName, of state: ReadState) throws -> Tree? {
    store.connection.isServed ? try state.tree(name) : try recent.tree(name, of: state)
  }

  /// The descriptor of a tree of records; of the tree that was asked for last, it is not read again.
  ///
  /// - Throws: ``StoreError`` if the key is one of blobs.
  func descriptor(of records: Tree) throws -> DatastoreDescriptor {
    let attributes = records.attributes
    if let known = described.withLock({ $0 }), known.attributes == attributes { return known.descriptor }
    let descriptor = try DatastoreDescriptor(bytes: attributes.array)
    if descriptor.keepsBlobs, declaration.instanceType != descriptor.instanceType {
      throw StoreError(
        .refused, "\(key) holds blobs: instances of \(declaration.instanceType) need a key of their own.")
    }
    described.withLock { $0 = (attributes, descriptor) }
    return descriptor
  }

  /// The tree of an index; nil if this declaration cannot read it. Until a warm-up moves a renamed index, it is that of the former name.
  func treeName(of index: IndexPlan<Instance>, in records: Tree) throws -> TreeName? {
    if fitting.withLock({ $0 }) == records.attributes { return index.tree }
    let stored = try descriptor(of: records)
    guard let found = stored.index(renamedIndex(index, in: stored) ?? index.name),
      Self.fits(found, index.descriptor),
      // Today's code may compute other values than the older code that built the index. A read-only program cannot rebuild it.
      isReadOnly || !VersionTag<Format>.isOlder(found.version, than: coder.version)
    else { return nil }
    return .index(found.name, of: key)
  }

  /// Whether every record lies under the identifier that it names as its own, so that their order is that of a property.
  func hasOwnIdentifiers(_ records: Tree) throws -> Bool {
    try isIdentifiable && descriptor(of: records).identifierPath == ".id" && hasOwnKeys(records)
  }

  /// Whether identifiers are kept as this declaration keeps them. Otherwise, the state is one of the past, or no warm-up has changed it yet.
  private func hasOwnKeys(_ records: Tree) throws -> Bool {
    try descriptor(of: records).identifierEncoding == identifiers.encoding || records.isWithoutEntries
  }

  /// Throws if the records are blobs, or if no identifier would be found because they are kept in another way.
  func requireOwnKeys(in records: Tree, orAny takesAny: Bool = false) throws {
    if try hasOwnKeys(records) || takesAny { return }
    let reason = "The identifiers of \(key) are of another type in this state: read it by load(...) or by an index"
    throw StoreError(.refused, view == nil ? "\(reason), or warm it up in a program that writes." : "\(reason).")
  }

  /// Makes the store fit, as a transaction of its own or as a part of the one that this is called in.
  ///
  /// - Parameter waits: whether to wait for other writers; otherwise it throws ``TurnUnavailable`` if another transaction has the turn.
  func warmUp(forced: WarmUpPlan = WarmUpPlan(), waits: Bool = true) async throws {
    if let scope = Transactions.scope(for: store), !scope.isReading {
      var report = try await Transactions.runChild(of: scope) { scope, _ in
        try await WarmUp(core: self, scope: scope, forced: forced).run()
      }
      await report?.complete()
      return
    }
    let action = forced.rewritesOlderThan == nil ? "warm up" : "migrate"
    var report = try await Transactions.$current.withValue(nil) {
      try await store.leased("warm up \(key)") { lease in
        while true {
          do {
            return try await Transactions.write(
              to: store, actionName: "\(action) \(key)", flags: .maintenance, waits: waits
            ) { scope in
              if let lease { try scope.step { try $0.require(lease) } }
              return try await WarmUp(core: self, scope: scope, forced: forced).run()
            }
          } catch is WarmUpSuspended {}
        }
      }
    }
    await report?.complete()
  }

  /// Warms the store up and reports the progress to a listener.
  func warm(listener: WarmUpListener, forced: WarmUpPlan = WarmUpPlan()) async throws {
    listeners.add(listener)
    defer { listeners.remove(listener) }
    let state: ReadState
    do {
      state = try await ready(forced: forced)
    } catch let error as UnreadableInstanceError {
      throw error.thrown
    }
    let records = try state.tree(recordsTree)
    if let records {
      // The version that last wrote the records needs a decoder.
      let version = try descriptor(of: records).version
      guard try coder.hasDecoder(for: version) || records.isWithoutEntries else {
        throw DatastoreError.missingDecoder(version: version)
      }
    }
    await listener.hear(.evaluating)
    guard !listener.hasEnded else { return }
    let count = Int(clamping: try records?.entryCount ?? 0)
    await listener.hear(.complete(total: count))
    await listener.detailed?(
      WarmUpProgress(steps: [], rate: 0, remainingSeconds: 0, failures: [], isComplete: true))
  }
}
