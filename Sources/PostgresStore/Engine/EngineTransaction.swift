import Locks
package import StorageEngine

/// A transaction on a server, as the layers above know one.
///
/// It reads before it changes, to say what was there; who knows ahead which keys it will touch says so (`foresee`), and all of them are
/// asked for in one round trip.
package final class EngineTransaction: WriteTransaction {
  let transaction: ServerTransaction
  private let engine: ServerEngine
  /// The commit whose state was brought back.
  private let restores = Mutex<UInt64?>(nil)
  /// Whether a tree of records came or went.
  private let hasOtherRecords = Atomic(false)

  /// The tree of a record that is taken to be new.
  private let presumed: TreeName?

  init(_ transaction: ServerTransaction, _ engine: ServerEngine, presuming presumed: TreeName? = nil) {
    self.transaction = transaction
    self.engine = engine
    self.presumed = presumed
  }

  package var base: CommitRecord { CommitRecord(transaction.view.commit) }
  package var headNumber: UInt64 { transaction.view.commit.number }
  package var origin: UInt64 { engine.server.origin }

  // MARK: Trees

  package func tree(_ name: TreeName) throws(StorageError) -> Tree? {
    guard let draft = try onServer({ () throws(ServerError) in try transaction.draft(of: name) }) else { return nil }
    let open = transaction
    let moment = try onServer { () throws(ServerError) in try open.savepoint() }
    let entries = EngineEntries(name: name, tree: draft.number, kind: draft.kind, engine: engine) {
      name throws(ServerError) in
      try open.draft(of: name, at: moment).map { tree in
        (tree.number, { keys throws(ServerError) in try tree.find(keys) })
      }
    }
    return Tree(
      name: name, identifier: UInt32(bitPattern: draft.number), kind: draft.kind, attributes: Bytes(draft.attributes),
      served: EngineTree(draft, entries))
  }

  package func trees(prefix: [UInt8]) throws(StorageError) -> [TreeName] {
    try onServer { () throws(ServerError) in try transaction.trees(prefix: prefix) }
  }

  package func createTree(
    _ name: TreeName, kind: TreeKind, order: TreeOrder, attributes: [UInt8]
  ) throws(StorageError) {
    try onServer { () throws(ServerError) in
      try transaction.createTree(name, kind: kind, order: order, attributes: attributes)
    }
    if kind == .records { hasOtherRecords.store(true, ordering: .relaxed) }
  }

  package func dropTree(_ name: TreeName) throws(StorageError) {
    try onServer { () throws(ServerError) in try transaction.dropTree(name) }
    hasOtherRecords.store(true, ordering: .relaxed)
  }

  package func setAttributes(_ attributes: [UInt8], of name: TreeName) throws(StorageError) {
    try onServer { () throws(ServerError) in try transaction.setAttributes(attributes, of: name) }
  }

  // MARK: Records

  package func put(
    _ key: [UInt8], _ value: [UInt8], in name: TreeName, probe: KeyProbe?
  ) throws(StorageError) -> RecordReference? {
    try check(probe)
    let replaced = try currentReference(of: key, in: name, probe: nil)
    try onServer { () throws(ServerError) in try transaction.put(key, value, in: name) }
    return replaced
  }

  package func put(
    _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, in name: TreeName, probe: KeyProbe?
  ) throws(StorageError) -> RecordReference? {
    try put(Array(key), Array(value), in: name, probe: probe)
  }

  package func put(
    _ key: [UInt8], count: UInt64, in name: TreeName, probe: KeyProbe?,
    piece: (_ position: UInt64, _ count: Int) throws(StorageError) -> [UInt8]
  ) throws(StorageError) -> RecordReference? {
    guard count <= UInt64(ServerLimits.value) else {
      throw .valueTooLong(count: count, limit: UInt64(ServerLimits.value))
    }
    var value: [UInt8] = []
    value.reserveCapacity(Int(count))
    while UInt64(value.count) < count {
      let wanted = min(1 << 20, Int(count) - value.count)
      let bytes = try piece(UInt64(value.count), wanted)
      guard bytes.count == wanted else { throw .valueTooLong(count: UInt64(bytes.count), limit: UInt64(wanted)) }
      value += bytes
    }
    return try put(key, value, in: name, probe: probe)
  }

  package func putIfNew(
    _ key: [UInt8], _ value: [UInt8], in name: TreeName, probe: KeyProbe?
  ) throws(StorageError) -> RecordReference? {
    try check(probe)
    if let found = try currentReference(of: key, in: name, probe: nil) { return found }
    try onServer { () throws(ServerError) in try transaction.put(key, value, in: name) }
    return nil
  }

  package func delete(_ key: [UInt8], in name: TreeName, probe: KeyProbe?) throws(StorageError) -> RecordReference? {
    try check(probe)
    guard let found = try currentReference(of: key, in: name, probe: nil) else { return nil }
    try onServer { () throws(ServerError) in try transaction.delete(key, in: name) }
    return found
  }

  package func currentReference(
    of key: [UInt8], in name: TreeName, probe: KeyProbe?
  ) throws(StorageError) -> RecordReference? {
    try check(probe)
    guard try onServer({ () throws(ServerError) in try transaction.find(key, in: name) }) != nil else { return nil }
    return try existing(name).find([key])[0]?.payload.record
  }

  private func existing(_ name: TreeName) throws(StorageError) -> Tree {
    guard let tree = try tree(name) else { throw .noSuchTree(name) }
    return tree
  }

  private func check(_ probe: KeyProbe?) throws(StorageError) {
    if case .compare? = probe { throw .wrongTree(TreeName([]), reason: "its order is that of bytes") }
  }

  // MARK: Entries

  package func insert(
    _ key: [UInt8], _ payload: Payload, in name: TreeName, probe: KeyProbe?
  ) throws(StorageError) -> Bool {
    try check(probe)
    let payload: ServerPayload =
      switch payload {
      case .none: .none
      case .bytes(let bytes): .bytes(bytes.array)
      // The entry leads to the record of its key's end, whichever commit wrote that.
      case .served(let record): .record(writtenBy: record.commit)
      case .entry(let reference): .record(writtenBy: reference.offset.bytes)
      }
    let isNew = try onServer { () throws(ServerError) in try transaction.insertIfOwn(key, payload, in: name) }
    if let isNew { return isNew }
    let old = try onServer { () throws(ServerError) in try transaction.find(key, in: name) }
    if let old, old.payload == payload { return false }
    try onServer { () throws(ServerError) in try transaction.insert(key, payload, in: name) }
    return old == nil
  }

  package func insert(
    _ key: UnsafeRawBufferPointer, _ payload: Payload, in name: TreeName, probe: KeyProbe?
  ) throws(StorageError) -> Bool {
    try insert(Array(key), payload, in: name, probe: probe)
  }

  package func remove(_ key: [UInt8], in name: TreeName, probe: KeyProbe?) throws(StorageError) -> Bool {
    try check(probe)
    guard try onServer({ () throws(ServerError) in try transaction.find(key, in: name) }) != nil else { return false }
    try onServer { () throws(ServerError) in try transaction.remove(key, in: name) }
    return true
  }

  package func adopt(
    _ key: [UInt8], in name: TreeName, from view: View, probe: KeyProbe?
  ) throws(StorageError) -> Bool {
    throw .readOnly(reason: "a store on a server takes no merges yet: copy it to a file, merge there, and copy it back")
  }

  // MARK: Bulk

  package func require(_ work: any HeldWork) throws(StorageError) {
    guard let lease = work as? Lease else { return }
    try onServer { () throws(ServerError) in try transaction.requires(lease) }
  }

  package var asksServer: Bool { true }

  package func asksNobody(writing keys: [ForeseenKey]) -> Bool { transaction.asksNobody(writing: keys) }

  package func foresee(_ keys: [(tree: TreeName, key: [UInt8])]) throws(StorageError) {
    try onServer { () throws(ServerError) in try transaction.foresee(keys) }
  }

  package func settle(_ name: TreeName) throws(StorageError) {}

  package func scratchFile() throws(StorageError) -> ScratchFile { try ScratchFile(in: "/tmp", SystemDisk()) }

  // MARK: Going back

  package func savepoint() throws(StorageError) -> Savepoint {
    let moment = try onServer { () throws(ServerError) in try transaction.savepoint() }
    return Savepoint(of: self, served: Moment(trees: moment, restores: restores.withLock { $0 }))
  }

  private struct Moment: Sendable {
    var trees: ServerTransaction.Savepoint
    var restores: UInt64?
  }

  package func rollback(to savepoint: Savepoint) throws(StorageError) {
    guard let moment = savepoint.served(of: self) as? Moment else {
      preconditionFailure("a savepoint of another transaction")
    }
    try onServer { () throws(ServerError) in try transaction.rollback(to: moment.trees) }
    restores.withLock { $0 = moment.restores }
  }

  /// Costs what differs between the two states: nothing else is read, and values that are back are not written again.
  package func restore(_ names: [TreeName]?, from view: View) throws(StorageError) {
    guard let state = (view.servedView as? EngineView)?.view else {
      throw .server(.refused, reason: "a state of another store cannot be brought back here")
    }
    try onServer { () throws(ServerError) in
      let present = transaction.view
      var restored = false
      let all: [TreeName]
      if let names { all = names } else { all = Set(try state.trees() + transaction.trees()).sorted() }
      for name in all {
        if try transaction.restore(name, from: state, over: present) { restored = true }
      }
      if restored || names == nil { restores.withLock { $0 = view.commit.number } }
    }
  }

  // MARK: Ending

  package var changeCounts: [ChangeCounts] { transaction.changeCounts }

  package func commit(_ info: CommitInfo) throws(StorageError) -> PendingCommit? {
    let info = try serverInfo(info)
    let commit: ServerCommit?
    do throws(ServerError) {
      commit = try transaction.commit(info)
    } catch {
      throw failed(error)
    }
    return committed(commit)
  }

  package nonisolated(nonsending) func commitAsync(_ info: CommitInfo) async throws(StorageError) -> PendingCommit? {
    let info = try serverInfo(info)
    let commit: ServerCommit?
    do throws(ServerError) {
      commit = try await transaction.commitAsync(info)
    } catch {
      throw failed(error)
    }
    return committed(commit)
  }

  private func committed(_ commit: ServerCommit?) -> PendingCommit? {
    let mayHaveOtherRecords = restores.withLock { $0 } != nil || hasOtherRecords.load(ordering: .relaxed)
    if commit != nil, mayHaveOtherRecords { engine.keepReporting() }
    return commit.map { PendingCommit(durable: $0.number) }
  }

  private func failed(_ error: ServerError) -> StorageError {
    if let presumed { engine.note(presumed, isNew: false) }
    return StorageError(error)
  }

  private func serverInfo(_ info: CommitInfo) throws(StorageError) -> ServerCommitInfo {
    let number = base.number
    guard info.identity == nil, info.pedigree == nil, info.head == nil, info.movesHead ?? true,
      info.parents.map({ $0 == (number == 0 ? [] : [number]) }) ?? true
    else {
      cancel()
      throw .readOnly(reason: ServerEngine.refusalOfMerges)
    }
    let restored = restores.withLock { $0 }
    var flags = info.flags
    if restored != nil { flags.insert(.restore) }
    if info.undoes != nil { flags.insert(.undo) }
    return ServerCommitInfo(
      date: info.date, action: info.writtenAction.withoutZeros, program: info.program?.withoutZeros,
      author: info.author?.withoutZeros, flags: flags, undoes: info.undoes, restores: restored, names: info.names)
  }

  package func cancel() { transaction.cancel() }

  deinit { transaction.cancel() }
}

extension String {
  /// A server's texts hold no zero character: its symbol takes its place.
  fileprivate var withoutZeros: String { utf8.contains(0) ? String(map { $0 == "\0" ? "\u{2400}" : $0 }) : self }
}

extension ServerTransaction {
  /// Brings a tree back to what it was in an older view; whether there was anything to do but to find that out.
  func restore(_ name: TreeName, from old: ServerView, over present: ServerView) throws(ServerError) -> Bool {
    guard let before = try old.tree(name) else {
      guard try tree(name) != nil else { return false }
      try dropTree(name)
      return true
    }
    if let now = try present.tree(name), now.identifier == before.identifier, try tree(name) != nil {
      if now.attributes != before.attributes { try setAttributes(before.attributes, of: name) }
      var cursor = ServerDifferenceCursor(store: store, tree: now.row, from: present.asOf, to: old.asOf, page: 1_000)
      // The same value by another commit is no change.
      while let found = try cursor.next() {
        if found.old?.payload != found.new?.payload { try restore(found.key, to: found.new, in: name) }
      }
      // Who brings a state back goes by the one that is there.
      reads.remember(KeyRange(), of: now.identifier)
      return true
    }
    if try tree(name) != nil { try dropTree(name) }
    try createTree(name, again: before)
    var range = KeyRange()
    while true {
      let page = try before.page(range, limit: 1_000)
      for entry in page { try restore(entry.key, to: entry, in: name) }
      guard page.count == 1_000, let last = page.last else { return true }
      range.lower = last.key + [0]
    }
  }
}
