import StrataLocks
package import StrataEngine

/// Changes that become one commit, or nothing.
///
/// It reads as of the view that it was begun on, and sees its own changes; it remembers what it read. It sends only reads until `commit`,
/// which sends everything in one flush, and throws `conflict` if another transaction has committed a change of what was read. Several
/// transactions of one process may be open at the same time; nothing is locked. Safe from any thread.
///
/// It reads before it changes, to return the previous value. A caller that knows ahead which keys it will touch says so (`prefetch`); then
/// one round trip asks for all of them.
package final class ServerTransaction: WriteTransaction {
  package let view: ServerView
  let store: ServerStore
  let reads = RememberedReads()
  let state = Mutex(State())
  /// The tree of a record that is presumed to be new.
  let presumed: TreeName?
  /// Commits over a connection that has locked the row of the store; nil if others may commit before this transaction, and after its end.
  let alone: Mutex<FlushWorker?>

  struct State: Sendable {
    var trees: [TreeName: TreeDraft] = [:]
    var treesRead: Set<TreeName> = []
    var readsCatalog = false
    var lease: Lease.Claim?
    var restores: UInt64?
    /// Whether a tree of records came or went, or has other attributes.
    var hasOtherRecords = false
    var hasEnded = false

    var hasChanges: Bool {
      trees.values.contains { tree in
        !tree.writes.isEmpty || (tree.stored == nil) != tree.isGone || tree.dropped != nil || tree.hasNewAttributes
      }
    }

    /// The writes of a tree that the transaction has made itself; nil if it is none.
    func ownWrites(_ name: TreeName) -> SortedWrites? { trees[name].flatMap { $0.isOwn ? $0.writes : nil } }
  }

  struct TreeDraft: Sendable {
    var tree: Int32
    var kind: TreeKind
    var attributes: [UInt8]
    /// The tree of the view; nil if the tree is new.
    var stored: ServerCatalog.Row?
    /// Whether it has a number that it had before.
    var isAgain = false
    /// The tree of the view under this name, if it was dropped.
    var dropped: ServerCatalog.Row?
    var isGone = false
    var writes = SortedWrites()

    var hasNewAttributes: Bool { stored.map { $0.attributes != attributes } ?? false }

    /// Whether the transaction has made the tree itself: then the server knows nothing of its keys.
    var isOwn: Bool { stored == nil && !isGone }

    /// Sets an entry in an own tree, and returns whether it is new; returns nil for all other trees.
    mutating func insertIfOwn(_ key: UnsafeRawBufferPointer, _ payload: ServerPayload) -> Bool? {
      isOwn && kind == .entries ? writes.set(KeyWrite(payload: payload), for: key)?.payload == nil : nil
    }
  }

  init(
    _ store: ServerStore, on view: ServerView, presuming presumed: TreeName? = nil, over alone: FlushWorker? = nil
  ) {
    (self.store, self.view, self.presumed) = (store, view, presumed)
    self.alone = Mutex(alone)
  }

  deinit { cancel() }

  package var base: CommitRecord { view.commit.record }
  package var headNumber: UInt64 { view.commit.number }
  package var origin: UInt64 { store.origin }

  func locked<R>(_ body: (inout State) throws(StorageError) -> R) throws(StorageError) -> R {
    try state.withLock { state throws(StorageError) in
      guard !state.hasEnded else { throw .transactionEnded }
      return try body(&state)
    }
  }

  // MARK: Trees

  package func tree(_ name: TreeName) throws(StorageError) -> Tree? { try served(name)?.tree }

  /// A tree as it is at this moment; nil if there is none.
  package func served(_ name: TreeName) throws(StorageError) -> ServerTree? {
    guard let tree = try load(name) else { return nil }
    return served(tree, name, try locked { $0.trees })
  }

  private func served(_ tree: TreeDraft, _ name: TreeName, _ moment: [TreeName: TreeDraft]) -> ServerTree {
    let stored = tree.stored.map { StoredTree(store: store, row: $0, asOf: view.asOf, isOfTransaction: true) }
    return ServerTree(tree, name, stored, .init(writes: tree.writes, reads: reads), of: store) {
      [self] name throws(StorageError) in
      // Later writes do not count, nor does the end of the transaction. A tree that the moment lacks had no writes by then.
      if let known = moment[name] { return known.isGone ? nil : served(known, name, moment) }
      return try unwritten(name).map { served($0, name, moment) }
    }
  }

  private func existing(_ name: TreeName) throws(StorageError) -> ServerTree {
    guard let tree = try served(name) else { throw .noSuchTree(name) }
    return tree
  }

  package func trees(prefix: [UInt8]) throws(StorageError) -> [TreeName] {
    var names = Set(try view.trees(prefix: prefix))
    try locked { state throws(StorageError) in
      state.readsCatalog = true
      for (name, tree) in state.trees where name.hasPrefix(prefix) {
        if tree.isGone { names.remove(name) } else { names.insert(name) }
      }
    }
    return names.sorted()
  }

  /// One round trip, for its number.
  ///
  /// - Parameter order: `caller` is refused: a server orders bytes.
  package func createTree(
    _ name: TreeName, kind: TreeKind, order: TreeOrder, attributes: Bytes
  ) throws(StorageError) {
    guard order == .bytes else { throw .unordered(name) }
    guard !name.bytes.isEmpty, name.bytes.count <= ServerLimits.key else { throw .keyTooLong(name.bytes.count) }
    guard try load(name) == nil else { throw .treeExists(name) }
    try create(name, TreeDraft(tree: try newTreeNumber(), kind: kind, attributes: attributes.array))
  }

  func create(_ name: TreeName, _ tree: TreeDraft) throws(StorageError) {
    try locked { state throws(StorageError) in
      let before = state.trees[name]
      state.trees[name] = tree
      state.trees[name]?.dropped = before?.stored ?? before?.dropped
      if tree.kind == .records { state.hasOtherRecords = true }
    }
  }

  package func dropTree(_ name: TreeName) throws(StorageError) {
    try change(name) { tree in (tree.isGone, tree.writes) = (true, SortedWrites()) }
  }

  package func setAttributes(_ attributes: [UInt8], of name: TreeName) throws(StorageError) {
    try change(name) { $0.attributes = attributes }
  }

  private func change(_ name: TreeName, _ body: (inout TreeDraft) -> Void) throws(StorageError) {
    guard try load(name) != nil else { throw .noSuchTree(name) }
    try locked { state throws(StorageError) in
      guard var tree = state.trees.removeValue(forKey: name) else { return }
      body(&tree)
      state.trees[name] = tree
      if tree.kind == .records { state.hasOtherRecords = true }
    }
  }

  func load(_ name: TreeName) throws(StorageError) -> TreeDraft? {
    if let known = try locked({ $0.trees[name] }) { return known.isGone ? nil : known }
    let draft = try unwritten(name)
    return try locked { state throws(StorageError) in
      state.treesRead.insert(name)
      if let draft { state.trees[name] = draft }
      return draft
    }
  }

  private func unwritten(_ name: TreeName) throws(StorageError) -> TreeDraft? {
    try view.stored(name).map { TreeDraft($0.row) }
  }

  // MARK: Records

  package func put(
    _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, in name: TreeName, probe: KeyProbe?
  ) throws(StorageError) -> RecordReference? {
    let replaced = try currentReference(of: key, in: name, probe: probe)
    try set(Array(key), to: .bytes(Array(value)), in: name, kind: .records)
    return replaced
  }

  package func put(
    _ key: [UInt8], count: UInt64, in name: TreeName,
    piece: (_ position: UInt64, _ count: Int) throws(StorageError) -> [UInt8]
  ) throws(StorageError) -> RecordReference? {
    guard count <= UInt64(ServerLimits.value) else { throw .valueTooLong(count) }
    var value: [UInt8] = []
    value.reserveCapacity(Int(count))
    while UInt64(value.count) < count {
      let wanted = min(1 << 20, Int(count) - value.count)
      let bytes = try piece(UInt64(value.count), wanted)
      guard bytes.count == wanted else { throw .valueTooLong(count: UInt64(bytes.count), limit: UInt64(wanted)) }
      value += bytes
    }
    return try put(key, value, in: name)
  }

  package func putIfNew(
    _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, in name: TreeName, probe: KeyProbe?
  ) throws(StorageError) -> RecordReference? {
    if let found = try currentReference(of: key, in: name, probe: probe) { return found }
    try set(Array(key), to: .bytes(Array(value)), in: name, kind: .records)
    return nil
  }

  package func delete(
    _ key: UnsafeRawBufferPointer, in name: TreeName, probe: KeyProbe?
  ) throws(StorageError) -> RecordReference? {
    guard let found = try currentReference(of: key, in: name, probe: probe) else { return nil }
    try set(Array(key), to: nil, in: name, kind: .records)
    return found
  }

  package func currentReference(
    of key: UnsafeRawBufferPointer, in name: TreeName, probe: KeyProbe?
  ) throws(StorageError) -> RecordReference? {
    try find(Array(key), in: name, probe)?.payload.record
  }

  /// The entry of a key, with the changes so far.
  private func find(_ key: [UInt8], in name: TreeName, _ probe: KeyProbe?) throws(StorageError) -> Entry? {
    if case .compare? = probe { throw .wrongTree(TreeName([]), reason: "its order is that of bytes") }
    let isNew = try locked { state in state.ownWrites(name).map { $0[key] == nil } }
    return isNew == true ? nil : try existing(name).find([key])[0]
  }

  // MARK: Entries

  package func insert(
    _ bytes: UnsafeRawBufferPointer, _ payload: Payload, in name: TreeName, probe: KeyProbe?
  ) throws(StorageError) -> Bool {
    let payload: ServerPayload =
      switch payload {
      case .none: .none
      case .bytes(let bytes): .bytes(bytes.array)
      // The entry leads to the record of its key's end, whichever commit wrote that.
      case .record(.served(let record)): .record(writtenBy: record.commit)
      case .record(.entry(let reference)): .record(writtenBy: reference.offset.bytes)
      }
    try Self.check(bytes.count, payload, kind: .entries)
    let isNew = try locked { state throws(StorageError) -> Bool? in
      guard let place = state.trees.index(forKey: name) else { return nil }
      return state.trees.values[place].insertIfOwn(bytes, payload)
    }
    if let isNew { return isNew }
    if case .compare? = probe { throw .wrongTree(name, reason: "its order is that of bytes") }
    let key = Array(bytes)
    let old = try existing(name).look(for: key)
    if old?.payload != payload { try set(key, to: payload, in: name, kind: .entries) }
    return old == nil
  }

  package func remove(
    _ bytes: UnsafeRawBufferPointer, in name: TreeName, probe: KeyProbe?
  ) throws(StorageError) -> Bool {
    let key = Array(bytes)
    guard try find(key, in: name, probe) != nil else { return false }
    try set(key, to: nil, in: name, kind: .entries)
    return true
  }

  package func copyRecord(
    _ key: [UInt8], in name: TreeName, from view: View, probe: KeyProbe?
  ) throws(StorageError) -> Bool {
    throw .readOnly(reason: "a store on a server takes no merges yet: copy it to a file, merge there, and copy it back")
  }

  // MARK: Writing

  private static func check(_ keySize: Int, _ payload: ServerPayload?, kind: TreeKind) throws(StorageError) {
    guard keySize <= ServerLimits.key else { throw .keyTooLong(keySize) }
    guard case .bytes(let bytes)? = payload else { return }
    let limit = kind == .records ? ServerLimits.value : Limits.payload
    guard bytes.count <= limit else { throw .valueTooLong(count: UInt64(bytes.count), limit: UInt64(limit)) }
  }

  /// Sets the payload of a key, or removes the key, without looking it up.
  ///
  /// - Parameter written: The commit that wrote the value, if it is brought back; nil means this one.
  package func set(
    _ key: [UInt8], to payload: ServerPayload?, writtenBy written: UInt64? = nil, in name: TreeName, kind: TreeKind
  ) throws(StorageError) {
    try Self.check(key.count, payload, kind: kind)
    guard let tree = try load(name) else { throw .noSuchTree(name) }
    guard tree.kind == kind else {
      throw .wrongTree(
        name, reason: kind == .records ? "it holds entries, not records" : "it holds records, not entries")
    }
    // To remove a key that never was there changes nothing.
    let isNothing = payload == nil && (tree.stored == nil || reads.had(TreeKey(tree: tree.tree, key: key)) == false)
    try locked { state throws(StorageError) in
      if isNothing {
        state.trees[name]?.writes.remove(key)
      } else {
        let write = KeyWrite(payload: payload, written: written)
        key.withUnsafeBytes { _ = state.trees[name]?.writes.set(write, for: $0) }
      }
    }
  }

  // MARK: Bulk

  package func require(_ work: any ClaimedWork) throws(StorageError) {
    guard let lease = work as? Lease else { return }
    try locked { $0.lease = lease.claim }
  }

  package func asksServer(of records: TreeName) -> Bool { state.withLock { $0.ownWrites(records) == nil } }

  package func needsNoServer(writing keys: [PrefetchKey]) -> Bool {
    state.withLock { state in
      keys.allSatisfy { key in
        guard let tree = state.trees[key.tree], !tree.isGone else { return false }
        if tree.stored == nil { return true }
        return tree.writes[key.key] == nil && reads.had(TreeKey(tree: tree.tree, key: key.key)) == false
      }
    }
  }

  package func prefetch(_ keys: [(tree: TreeName, key: [UInt8])]) throws(StorageError) {
    var places: [TreeKey] = []
    for (name, key) in keys {
      guard let tree = try load(name), !tree.isOwn, tree.writes[key] == nil else { continue }
      places.append(TreeKey(tree: tree.tree, key: key))
    }
    try reads.fetch(places, in: store, asOf: view.asOf)
  }

  package func flushNodes(_ name: TreeName) throws(StorageError) {}

  package func scratchFile() throws(StorageError) -> ScratchFile {
    try .temporary()
  }
}

extension ServerTransaction.TreeDraft {
  /// As the view has it.
  init(_ row: ServerCatalog.Row) {
    self.init(tree: row.tree, kind: row.kind, attributes: row.attributes, stored: row)
  }
}

extension ServerTransaction {
  /// A number for a tree. One that is not used in the end stays unused.
  private func newTreeNumber() throws(StorageError) -> Int32 {
    let statement = store.tables.statement(
      "update {store} set next_tree = next_tree + 1 where one and \(store.tables.boundsWaiting) returning next_tree - 1"
    )
    let worker = alone.withLock { $0 }
    let rows = if let worker { try worker.read(statement) } else { try store.pool.read(statement) }
    guard rows.count == 1 else { throw .withoutStoreRow }
    return try rows.tree(0, 0)
  }
}
