import Locks
package import StorageEngine

/// Changes that become one commit, or nothing.
///
/// It reads as of the view that it was begun on, and sees its own changes; what it read is remembered. Nothing is sent but reads until
/// `commit`, which sends everything in one flush, and throws `conflict` where somebody else has committed a change of what was
/// read. Several transactions of one process may be open at the same time; nothing is locked. Safe from any thread.
package final class ServerTransaction: Sendable {
  package let view: ServerView
  let store: ServerStore
  private let state: Mutex<State>
  let reads = RememberedReads()

  struct State: Sendable {
    var trees: [TreeName: TreeDraft] = [:]
    var treesRead: Set<TreeName> = []
    var readsCatalog = false
    var lease: Lease.Claim?
    var hasEnded = false
  }

  /// A tree as the transaction has it.
  struct TreeDraft: Sendable {
    var tree: Int32
    var kind: TreeKind
    var attributes: [UInt8]
    /// What the view has; nil where the tree is new.
    var stored: ServerCatalog.Row?
    /// Whether it has a number that it had before.
    var isAgain = false
    /// One that the view has under the name and that was dropped.
    var dropped: Int32?
    var isGone = false
    var writes = SortedWrites()

    var hasNewAttributes: Bool { stored.map { $0.attributes != attributes } ?? false }
  }

  init(_ store: ServerStore, on view: ServerView) {
    self.store = store
    self.view = view
    state = Mutex(State())
  }

  private func locked<R>(_ body: (inout State) throws(ServerError) -> R) throws(ServerError) -> R {
    try state.withLock { state throws(ServerError) in
      guard !state.hasEnded else { throw .transactionEnded }
      return try body(&state)
    }
  }

  // MARK: Trees

  /// The kind and attributes of a tree with the changes so far, or nil where there is none.
  package func tree(_ name: TreeName) throws(ServerError) -> (kind: TreeKind, attributes: [UInt8])? {
    try load(name).map { ($0.kind, $0.attributes) }
  }

  /// The names of the trees that begin with `prefix`, in their order.
  package func trees(prefix: [UInt8] = []) throws(ServerError) -> [TreeName] {
    var names = Set(try view.trees(prefix: prefix))
    try locked { state throws(ServerError) in
      state.readsCatalog = true
      for (name, tree) in state.trees where name.hasPrefix(prefix) {
        if tree.isGone { names.remove(name) } else { names.insert(name) }
      }
    }
    return names.sorted()
  }

  /// Makes an empty tree. One round trip, for its number.
  ///
  /// - Parameter order: `caller` is refused: a server orders bytes.
  package func createTree(
    _ name: TreeName, kind: TreeKind, order: TreeOrder = .bytes, attributes: [UInt8] = []
  ) throws(ServerError) {
    guard order == .bytes else { throw .unordered(name: name.description) }
    guard !name.bytes.isEmpty, name.bytes.count <= ServerLimits.key else {
      throw .keyTooLong(count: name.bytes.count, limit: ServerLimits.key)
    }
    let known = try load(name)
    guard known == nil else { throw .treeExists(name: name.description) }
    let number = try store.newTreeNumber()
    try locked { state throws(ServerError) in
      let before = state.trees[name]
      state.trees[name] = TreeDraft(
        tree: number, kind: kind, attributes: attributes, stored: nil, dropped: before?.stored?.tree ?? before?.dropped)
    }
  }

  /// Makes an empty tree in the place of one that was there before, under its number: it is the same one again.
  func createTree(_ name: TreeName, again tree: ServerTree) throws(ServerError) {
    try locked { state throws(ServerError) in
      let before = state.trees[name]
      state.trees[name] = TreeDraft(
        tree: tree.identifier, kind: tree.kind, attributes: tree.attributes, stored: nil, isAgain: true,
        dropped: before?.stored?.tree ?? before?.dropped)
    }
  }

  /// Takes a tree and all its entries out. Earlier commits keep it.
  package func dropTree(_ name: TreeName) throws(ServerError) {
    _ = try existing(name)
    try locked { state throws(ServerError) in
      state.trees[name]?.isGone = true
      state.trees[name]?.writes = SortedWrites()
    }
  }

  /// Replaces what the module above keeps with a tree.
  package func setAttributes(_ attributes: [UInt8], of name: TreeName) throws(ServerError) {
    _ = try existing(name)
    try locked { state throws(ServerError) in state.trees[name]?.attributes = attributes }
  }

  private func load(_ name: TreeName) throws(ServerError) -> TreeDraft? {
    if let known = try locked({ $0.trees[name] }) { return known.isGone ? nil : known }
    let draft = try unwritten(name)
    return try locked { state throws(ServerError) in
      state.treesRead.insert(name)
      if let draft { state.trees[name] = draft }
      return draft
    }
  }

  /// A tree as the view has it.
  private func unwritten(_ name: TreeName) throws(ServerError) -> TreeDraft? {
    try view.tree(name).map { stored in
      TreeDraft(tree: stored.identifier, kind: stored.kind, attributes: stored.attributes, stored: stored.row)
    }
  }

  private func existing(_ name: TreeName, kind: TreeKind? = nil) throws(ServerError) -> TreeDraft {
    guard let tree = try load(name) else { throw .noSuchTree(name: name.description) }
    if let kind, tree.kind != kind {
      throw .wrongTree(
        name: name.description,
        reason: kind == .records ? "it holds entries, not records" : "it holds records, not entries")
    }
    return tree
  }

  /// A tree as it is at this moment, or nil where there is none.
  func draft(of name: TreeName) throws(ServerError) -> DraftTree? { try load(name).map { draft($0, name) } }

  private func draft(_ tree: TreeDraft, _ name: TreeName) -> DraftTree {
    DraftTree(
      name: name, number: tree.tree, kind: tree.kind, attributes: tree.attributes,
      stored: tree.stored.map { ServerTree(store: store, row: $0, asOf: view.asOf) }, writes: tree.writes, reads: reads)
  }

  /// A tree as it was at a moment, whatever was written since, and after the transaction has ended.
  func draft(of name: TreeName, at moment: Savepoint) throws(ServerError) -> DraftTree? {
    if let known = moment.trees[name] { return known.isGone ? nil : draft(known, name) }
    // By then nothing of it was written.
    return try unwritten(name).map { draft($0, name) }
  }

  private func existingDraft(of name: TreeName) throws(ServerError) -> DraftTree {
    guard let tree = try draft(of: name) else { throw .noSuchTree(name: name.description) }
    return tree
  }

  // MARK: Reading

  /// The entries of keys, each in the place of its key, with the changes so far. At most one round trip.
  package func find(_ keys: [[UInt8]], in name: TreeName) throws(ServerError) -> [ServerEntry?] {
    try existingDraft(of: name).find(keys)
  }

  /// The entry of a key, with the changes so far.
  package func find(_ key: [UInt8], in name: TreeName) throws(ServerError) -> ServerEntry? {
    try find([key], in: name)[0]
  }

  /// Asks for keys of any trees that will be looked at: one round trip for all of them that are not known.
  func foresee(_ keys: [(tree: TreeName, key: [UInt8])]) throws(ServerError) {
    var places: [TreeKey] = []
    for (name, key) in keys {
      guard let tree = try load(name), tree.stored != nil, tree.writes[key] == nil else { continue }
      places.append(TreeKey(tree: tree.tree, key: key))
    }
    try reads.fetch(places, in: store, asOf: view.asOf)
  }

  /// Whether writing some keys asks no server: it is known that none of them is there, or the transaction has made their trees itself.
  func asksNobody(writing keys: [ForeseenKey]) -> Bool {
    state.withLock { state in
      keys.allSatisfy { key in
        guard let tree = state.trees[key.tree], !tree.isGone else { return false }
        if tree.stored == nil { return true }
        return tree.writes[key.key] == nil && reads.had(TreeKey(tree: tree.tree, key: key.key)) == false
      }
    }
  }

  /// The first entries of a range, or the last in falling order, with the changes so far. One round trip, or a few where much in the
  /// range was deleted by this transaction.
  package func page(
    _ range: KeyRange = KeyRange(), limit: Int, isReversed: Bool = false, in name: TreeName
  ) throws(ServerError) -> [ServerEntry] {
    try existingDraft(of: name).page(range, limit: limit, isReversed: isReversed)
  }

  /// How many entries there are in a range, with the changes so far.
  package func count(_ range: KeyRange = KeyRange(), in name: TreeName) throws(ServerError) -> UInt64 {
    try existingDraft(of: name).count(range)
  }

  /// How many entries lie before a key.
  package func rank(of key: [UInt8], in name: TreeName) throws(ServerError) -> UInt64 {
    try count(KeyRange(to: key), in: name)
  }

  // MARK: Writing

  /// Sets the value of a record.
  package func put(_ key: [UInt8], _ value: [UInt8], in name: TreeName) throws(ServerError) {
    guard value.count <= ServerLimits.value else {
      throw .valueTooLong(count: value.count, limit: ServerLimits.value)
    }
    try write(key, KeyWrite(payload: .bytes(value)), in: name, kind: .records)
  }

  /// Deletes a record; one that is not there stays so.
  package func delete(_ key: [UInt8], in name: TreeName) throws(ServerError) {
    try write(key, KeyWrite(), in: name, kind: .records)
  }

  /// Sets the payload of an entry. A record that this transaction writes is `.record(writtenBy: 0)`.
  package func insert(_ key: [UInt8], _ payload: ServerPayload = .none, in name: TreeName) throws(ServerError) {
    try Self.check(key, payload)
    try write(key, KeyWrite(payload: payload), in: name, kind: .entries)
  }

  private static func check(_ key: [UInt8], _ payload: ServerPayload) throws(ServerError) {
    guard key.count <= ServerLimits.key else { throw .keyTooLong(count: key.count, limit: ServerLimits.key) }
    if case .bytes(let bytes) = payload, bytes.count > Limits.payload {
      throw .valueTooLong(count: bytes.count, limit: Limits.payload)
    }
  }

  /// The same in a tree that the transaction has made itself, where nobody has to be asked: whether the key was not there. Nil in any other
  /// tree, in which nothing is done.
  func insertIfOwn(
    _ key: [UInt8], _ payload: ServerPayload, in name: TreeName
  ) throws(ServerError) -> Bool? {
    try Self.check(key, payload)
    return try locked { state throws(ServerError) in
      // No copy of the tree may live while it is written to.
      let isOwn = state.trees[name].map { $0.stored == nil && !$0.isGone && $0.kind == .entries }
      guard isOwn == true else { return nil }
      return state.trees[name]?.writes.set(KeyWrite(payload: payload), for: key)?.payload == nil
    }
  }

  /// Takes an entry out; one that is not there stays so.
  package func remove(_ key: [UInt8], in name: TreeName) throws(ServerError) {
    try write(key, KeyWrite(), in: name, kind: .entries)
  }

  /// Gives a key the state that an older commit has for it: nothing is written but that it is back.
  package func restore(_ key: [UInt8], to entry: ServerEntry?, in name: TreeName) throws(ServerError) {
    try write(key, KeyWrite(payload: entry?.payload, written: entry?.written), in: name, kind: nil)
  }

  private func write(
    _ key: [UInt8], _ write: KeyWrite, in name: TreeName, kind: TreeKind?
  ) throws(ServerError) {
    guard key.count <= ServerLimits.key else { throw .keyTooLong(count: key.count, limit: ServerLimits.key) }
    let tree = try existing(name, kind: kind)
    // What never was there and is taken out again is no change.
    let isNothing =
      write.payload == nil && (tree.stored == nil || reads.had(TreeKey(tree: tree.tree, key: key)) == false)
    try locked { state throws(ServerError) in
      if isNothing {
        state.trees[name]?.writes.remove(key)
      } else {
        state.trees[name]?.writes.set(write, for: key)
      }
    }
  }

  // MARK: Savepoints and leases

  /// A moment to go back to.
  package struct Savepoint: Sendable {
    let trees: [TreeName: TreeDraft]
  }

  package func savepoint() throws(ServerError) -> Savepoint { try locked { Savepoint(trees: $0.trees) } }

  /// Undoes every change since the savepoint. What was read since stays remembered: the caller may have gone by it.
  package func rollback(to savepoint: Savepoint) throws(ServerError) { try locked { $0.trees = savepoint.trees } }

  /// What the changes so far add up to in each tree of records, as far as what was there before is known.
  var changeCounts: [ChangeCounts] {
    state.withLock { $0.trees }.compactMap { name, tree in
      guard tree.kind == .records, !tree.isGone, !tree.writes.isEmpty else { return nil }
      var counts = ChangeCounts(
        tree: name, inserted: 0, updated: 0, deleted: 0, identifier: UInt32(bitPattern: tree.tree))
      tree.writes.forEach { key, write in
        let was = tree.stored != nil && reads.had(TreeKey(tree: tree.tree, key: key)) ?? true
        switch (was, write.payload != nil) {
        case (false, true): counts.inserted += 1
        case (true, true): counts.updated += 1
        case (true, false): counts.deleted += 1
        case (false, false): break
        }
      }
      return counts
    }
  }

  /// Commits only while a lease is still held.
  package func requires(_ lease: Lease) throws(ServerError) { try locked { $0.lease = lease.claim } }

  // MARK: Ending

  private static func hasChanges(_ state: State) -> Bool {
    state.trees.values.contains { tree in
      !tree.writes.isEmpty || (tree.stored == nil) != tree.isGone || tree.dropped != nil || tree.hasNewAttributes
    }
  }

  /// Forgets all changes.
  package func cancel() { state.withLock { $0.hasEnded = true } }

  /// Commits, holding the thread until the commit is durable. Nil where nothing was changed.
  @discardableResult
  package func commit(_ info: ServerCommitInfo = ServerCommitInfo()) throws(ServerError) -> ServerCommit? {
    guard let draft = try sealed(info) else { return nil }
    return try store.commits.commit(draft, of: store).get()
  }

  /// Commits, holding the thread for a millisecond at most.
  @discardableResult
  package nonisolated(nonsending) func commitAsync(
    _ info: ServerCommitInfo = ServerCommitInfo()
  ) async throws(ServerError) -> ServerCommit? {
    guard let draft = try sealed(info) else { return nil }
    return try await store.commits.commitAsync(draft, of: store).get()
  }

  /// Ends the transaction: what is to be flushed, or nil where nothing was changed.
  func sealed(_ info: ServerCommitInfo) throws(ServerError) -> CommitDraft? {
    for (name, number) in info.names {
      guard !name.isEmpty, name != "head", name.utf8.count <= Limits.name, !name.utf8.contains(0) else {
        throw .invalidText(what: "name of a commit")
      }
      if let number, number > 0 { _ = try store.commit(number) }
    }
    return try locked { state throws(ServerError) in
      state.hasEnded = true
      guard Self.hasChanges(state) || !info.names.isEmpty || info.restores != nil else { return nil }
      return draft(state, info)
    }
  }

  private func draft(_ state: State, _ info: ServerCommitInfo) -> CommitDraft {
    let keys = reads.keys
    var draft = CommitDraft(
      asOf: view.asOf, keysRead: keys, keysPresumed: reads.presumed, rangesRead: reads.ranges,
      treesRead: state.treesRead, readsCatalog: state.readsCatalog, lease: state.lease, info: info)
    // In the order in which they lie in the table.
    for (name, tree) in state.trees.sorted(by: { $0.value.tree < $1.value.tree }) {
      if let dropped = tree.dropped { draft.treeChanges.append(.drop(dropped)) }
      if tree.isGone {
        if let stored = tree.stored { draft.treeChanges.append(.drop(stored.tree)) }
        continue
      }
      if tree.stored == nil {
        draft.treeChanges.append(.create(tree.tree, name, tree.kind, attributes: tree.attributes))
        if tree.isAgain { draft.treesAgain.insert(tree.tree) }
      } else if tree.hasNewAttributes {
        draft.treeChanges.append(.setAttributes(tree.tree, name, tree.kind, tree.attributes))
      }
      tree.writes.forEach { key, write in
        let place = TreeKey(tree: tree.tree, key: key)
        // What was looked at is proved to be so still.
        let was = tree.stored == nil ? false : keys.contains(place) ? reads.had(place) : nil
        draft.writes.append(DraftWrite(place, write, isRecord: tree.kind == .records, was: was))
      }
    }
    return draft
  }
}

extension ServerStore {
  /// A number for a tree. One that is not used in the end stays unused.
  func newTreeNumber() throws(ServerError) -> Int32 {
    let rows = try pool.read([
      tables.statement(
        "update {store} set next_tree = next_tree + 1 where one and \(tables.boundsWaiting) returning next_tree - 1")
    ])
    guard rows[0].count == 1 else { throw .damaged(what: "the row of the store is missing") }
    return Int32(truncatingIfNeeded: rows[0].int(0, 0))
  }
}
