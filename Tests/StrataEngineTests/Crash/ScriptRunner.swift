import DiskSimulation
import StrataEngine

/// Runs a workload on a store and keeps the model beside it.
///
/// Tree 0 and 2 are records trees, tree 1 is a plain one.
struct ScriptRunner {
  let disk: any Disk
  let path: String
  let options: StoreOptions
  private(set) var store: FileStore
  private(set) var model = StoreModel()
  /// Called with each commit's number once it is durable.
  var promised: (UInt64) -> Void = { _ in }
  /// Called before a commit is given to the store, with what the store will hold if it arrives.
  var attempted: (StoreModel) -> Void = { _ in }
  private var writes = 0

  init(creating path: String, on disk: any Disk, options: StoreOptions = StoreOptions()) throws {
    self.disk = disk
    self.path = path
    self.options = options
    store = try FileStore.create(at: path, options: options, disk: disk)
  }

  static func name(_ tree: Int) -> TreeName { TreeName(Array("tree \(tree)".utf8)) }
  static func kind(_ tree: Int) -> TreeKind { tree == 1 ? .entries : .records }
  static func key(_ key: Int) -> [UInt8] { Array("key \(key) \(String(repeating: "k", count: key % 23))".utf8) }

  mutating func run(_ steps: [Step]) throws {
    for step in steps { try run(step) }
  }

  mutating func run(_ step: Step) throws {
    switch step {
    case .commit(let edits, let base, let info): try promise([append(edits, on: base, info, .durable)])
    case .group(let transactions):
      var appended: [PendingCommit?] = []
      for edits in transactions { appended.append(try append(edits, on: .head, Step.Info(), .durable)) }
      try promise(appended)
    case .collated(let edits): _ = try append(edits, on: .head, Step.Info(), .collated)
    case .reopen:
      try store.close()
      store = try FileStore.open(at: path, options: options, disk: disk)
      promised(model.newest)
    case .abandon:
      // Everything appended so far is made durable first: what an abandoned store had not promised may be lost.
      try promise([append([.put(tree: 0, key: 1, size: 20)], on: .head, Step.Info(), .durable)])
      store.releaseLock()
      store = try FileStore.open(at: path, options: options, disk: disk)
    case .compact(let retention):
      var planned = model
      if case .last(let count) = retention { planned.compact(keeping: count) }
      attempted(planned)
      // What it may take away may be gone whatever becomes of it.
      model = planned
      _ = try store.compact(retention)
    }
  }

  /// Waits for the newest of these commits, and tells.
  private func promise(_ appended: [PendingCommit?]) throws {
    for pending in appended {
      guard let pending else { continue }
      try pending.wait()
      promised(pending.number)
    }
  }

  // MARK: One commit

  private mutating func append(
    _ edits: [Edit], on base: Step.Base, _ info: Step.Info, _ durability: Durability
  ) throws -> PendingCommit? {
    let baseNumber = number(of: base)
    let transaction = try store.beginBlocking(on: isHead(base) ? nil : baseNumber)
    var next = StoreModel.Commit(
      number: model.newest + 1, parents: [transaction.base.number].filter { $0 != 0 },
      action: "step \(model.newest + 1)",
      state: model.state(at: transaction.base.number), names: model.names, head: model.head)
    do {
      for edit in edits { try apply(edit, to: transaction, &next) }
      let details = describe(info, base, durability, &next)
      var planned = model
      planned.add(next)
      attempted(planned)
      guard let pending = try transaction.commit(details) else { return nil }
      precondition(pending.number == next.number, "commit \(pending.number) where \(next.number) was due")
      model.add(next)
      return pending
    } catch {
      transaction.cancel()
      throw error
    }
  }

  private func isHead(_ base: Step.Base) -> Bool {
    if case .head = base { true } else { false }
  }

  private func number(of base: Step.Base) -> UInt64 {
    switch base {
    case .head: model.head
    case .older(let share): commit(at: share)
    }
  }

  private func commit(at share: Int) -> UInt64 {
    model.kept(before: max(1, model.newest * UInt64(share) / 1000))
  }

  private func describe(
    _ info: Step.Info, _ base: Step.Base, _ durability: Durability, _ next: inout StoreModel.Commit
  ) -> CommitInfo {
    var details = CommitInfo(action: next.action, durability: durability)
    if let name = info.setsName {
      details.names[name] = .some(0)
      next.names[name] = next.number
    }
    if let name = info.removesName, next.names[name] != nil {
      details.names[name] = .some(nil)
      next.names[name] = nil
    }
    if info.merges, let first = next.parents.first, model.head != first {
      next.parents.append(model.head)
      details.parents = next.parents
    }
    details.movesHead = info.movesHead
    if info.movesHead ?? isHead(base) { next.head = next.number }
    return details
  }

  private mutating func apply(_ edit: Edit, to transaction: FileTransaction, _ next: inout StoreModel.Commit) throws {
    switch edit {
    case .put(let tree, let key, let size):
      try ensure(tree, transaction, &next)
      writes += 1
      try put(tree, ScriptRunner.key(key), value(size), transaction, &next)
    case .bulk(let tree, let first, let count, let size):
      try ensure(tree, transaction, &next)
      for key in first..<(first + count) {
        writes += 1
        try put(tree, ScriptRunner.key(key), value(size), transaction, &next)
      }
    case .delete(let tree, let key): try delete(tree, ScriptRunner.key(key), transaction, &next)
    case .create(let tree): try ensure(tree, transaction, &next)
    case .drop(let tree):
      guard next.state[ScriptRunner.name(tree)] != nil else { return }
      try transaction.dropTree(ScriptRunner.name(tree))
      next.state[ScriptRunner.name(tree)] = nil
      next.changed.insert(ScriptRunner.name(tree))
    case .attributes(let tree, let size):
      try ensure(tree, transaction, &next)
      let bytes = value(size)
      try transaction.setAttributes(bytes, of: ScriptRunner.name(tree))
      next.state[ScriptRunner.name(tree)]?.attributes = bytes
      next.changed.insert(ScriptRunner.name(tree))
    case .rolledBack(let edits):
      let savepoint = try transaction.savepoint()
      var discarded = next
      for edit in edits { try apply(edit, to: transaction, &discarded) }
      try transaction.rollback(to: savepoint)
    case .restore(let tree, let share): try restore(tree, share, transaction, &next)
    }
  }

  private func ensure(_ tree: Int, _ transaction: FileTransaction, _ next: inout StoreModel.Commit) throws {
    let name = ScriptRunner.name(tree)
    guard next.state[name] == nil else { return }
    try transaction.createTree(name, kind: ScriptRunner.kind(tree), attributes: [UInt8(tree)])
    next.state[name] = StoreModel.TreeState(kind: ScriptRunner.kind(tree), attributes: [UInt8(tree)])
    next.changed.insert(name)
  }

  private func put(
    _ tree: Int, _ key: [UInt8], _ value: [UInt8], _ transaction: FileTransaction, _ next: inout StoreModel.Commit
  ) throws {
    let name = ScriptRunner.name(tree)
    let wasThere = next.state[name]?.entries[key] != nil
    switch ScriptRunner.kind(tree) {
    case .records:
      let replaced = try transaction.put(key, value, in: name)
      precondition((replaced != nil) == wasThere, "put tells of another past than the model's")
      next.state[name]?.entries[key] = value
    case .entries:
      let short = Array(value.prefix(Limits.payload))
      let isNew = try transaction.insert(key, short.isEmpty ? .none : .bytes(Bytes(short)), in: name)
      precondition(isNew != wasThere, "insert tells of another past than the model's")
      next.state[name]?.entries[key] = short
    }
    next.touched[name, default: []].insert(key)
    next.changed.insert(name)
  }

  private func delete(
    _ tree: Int, _ key: [UInt8], _ transaction: FileTransaction, _ next: inout StoreModel.Commit
  ) throws {
    let name = ScriptRunner.name(tree)
    guard let state = next.state[name] else { return }
    let wasThere =
      switch ScriptRunner.kind(tree) {
      case .records: try transaction.delete(key, in: name) != nil
      case .entries: try transaction.remove(key, in: name)
      }
    precondition(wasThere == (state.entries[key] != nil), "delete tells of another past than the model's")
    if next.state[name]?.entries.removeValue(forKey: key) != nil {
      next.touched[name, default: []].insert(key)
      next.changed.insert(name)
    }
  }

  /// A commit as a view; nil where it is of a group that nobody has waited for yet.
  private func visible(_ number: UInt64) throws -> View? {
    do {
      return try store.view(at: number)
    } catch {
      guard case .noSuchCommit = error else { throw error }
      return nil
    }
  }

  private func restore(
    _ tree: Int?, _ share: Int, _ transaction: FileTransaction, _ next: inout StoreModel.Commit
  ) throws {
    let number = commit(at: share)
    let older = model.state(at: number)
    guard let view = try visible(number) else { return }
    if let tree {
      let name = ScriptRunner.name(tree)
      // What the transaction has changed, and not dropped, cannot be brought back any more.
      guard next.state[name] == nil || !next.changed.contains(name) else { return }
      try transaction.restore([name], from: view)
      next.state[name] = older[name]
      next.changed.insert(name)
    } else {
      guard next.changed.isEmpty, next.restores == nil else { return }
      try transaction.restore(nil, from: view)
      next.changed.formUnion(next.state.keys)
      next.changed.formUnion(older.keys)
      next.state = older
    }
    next.restores = number
  }

  /// A value that no other write has, so that a stale one is noticed.
  private func value(_ size: Int) -> [UInt8] {
    let stamp = Array("\(writes)/".utf8)
    return Array(
      (stamp + [UInt8](repeating: UInt8(truncatingIfNeeded: writes), count: max(0, size - stamp.count))).prefix(size))
  }
}
