package import StorageEngine

/// Copies a store on a server with its whole history into an empty store file: the same commits, dates, names and authors.
///
/// Commits keep their identities, and their numbers where none was pruned before them. A commit that keeps book on the server alone is left
/// out. Costs what the differences cost; memory is that of one commit's changes.
package struct HistoryDownload {
  private let source: ServerStore
  private let target: any Engine

  /// Commits of the server by their numbers in the file.
  private var numbers: [UInt64: UInt64] = [0: 0]
  private var last: PendingCommit?

  /// - Parameter progress: is told of commits done and in all; where it answers false, the copy ends with `cancelled`.
  @discardableResult
  package static func run(
    from source: ServerStore, to target: any Engine, progress: (_ done: Int, _ total: Int) -> Bool = { _, _ in true }
  ) throws -> HistoryUpload.Report {
    try target.admitCommitsOfOthers()
    var download = HistoryDownload(source: source, target: target)
    return try download.copy(progress)
  }

  private mutating func copy(_ progress: (_ done: Int, _ total: Int) -> Bool) throws -> HistoryUpload.Report {
    let head = try source.refreshed()
    let total = Int(source.commitCount)
    let names = try source.nameChanges()
    var report = HistoryUpload.Report()
    var after: UInt64 = 0
    while true {
      let commits = try source.commits(after: after, upTo: head.asOf, limit: 500)
      guard let newest = commits.last else { break }
      after = newest.number
      for commit in commits {
        if commit.flags.contains(.bookkeeping), commit.origin == source.origin { continue }
        let number = try copy(commit, isHead: commit.number == head.commit.number, names[commit.number] ?? [])
        numbers[commit.number] = number
        report.commits += 1
        if commit.number == head.commit.number { report.head = number }
        guard progress(report.commits, total) else { throw StorageError.cancelled }
      }
    }
    try last?.wait()
    return report
  }

  private mutating func copy(_ commit: ServerCommit, isHead: Bool, _ names: [NameChange]) throws -> UInt64 {
    let parents = commit.parents.compactMap { numbers[$0] }
    let base = parents.first ?? 0
    let baseOnServer = commit.parents.first { numbers[$0] != nil } ?? 0
    let transaction = try target.beginBlocking(on: base)
    do {
      try write(commit, from: baseOnServer, transaction)
    } catch {
      transaction.cancel()
      throw error
    }
    var info = CommitInfo(
      date: commit.date, action: commit.action, program: commit.program, author: commit.author, flags: commit.flags,
      undoes: commit.undoes.flatMap { numbers[$0] }, parents: parents, movesHead: isHead, identity: commit.identity,
      pedigree: commit.pedigree, durability: .collated)
    info.clock = commit.clock
    for name in names {
      let number = name.commit.flatMap { $0 == commit.number ? 0 : numbers[$0] }
      if name.commit == nil || number != nil { info.names.updateValue(number, forKey: name.name) }
    }
    let pending = try transaction.commit(info)
    last = pending ?? last
    return pending?.number ?? base
  }

  // MARK: Changes

  /// A tree of a commit, and the state of it that what is written is told against: nil where it is new.
  private struct TreePlan {
    var tree: StoredTree
    var base: UInt64?
    var attributes: [UInt8]?
    var isRestored = false
  }

  private func write(_ commit: ServerCommit, from base: UInt64, _ transaction: any WriteTransaction) throws {
    let old = ServerView(source, commit, asOf: base)
    let new = ServerView(source, commit, asOf: commit.number)
    let names = (old: base == 0 ? [] : try old.trees(), new: try new.trees())
    var plans: [TreePlan] = []
    var dropped = Set(names.old).subtracting(names.new)
    for name in names.new {
      guard let after = try new.stored(name) else { continue }
      let before = base == 0 ? nil : try old.stored(name)
      let isSame = before.map { $0.row.tree == after.row.tree } ?? false
      if before != nil, !isSame { dropped.insert(name) }
      plans.append(TreePlan(tree: after, base: isSame ? base : nil, attributes: isSame ? before?.row.attributes : nil))
    }
    try restore(commit, &plans, transaction)
    let restored = Set(plans.filter(\.isRestored).map(\.tree.row.name))
    for name in dropped.sorted() where !restored.contains(name) { try transaction.dropTree(name) }
    for plan in plans {
      if plan.base == nil {
        try transaction.createTree(plan.tree.row.name, kind: plan.tree.row.kind, attributes: plan.tree.row.attributes)
      } else if plan.attributes != plan.tree.row.attributes {
        try transaction.setAttributes(plan.tree.row.attributes, of: plan.tree.row.name)
      }
    }
    for kind in [TreeKind.records, .entries] {
      for plan in plans where plan.tree.row.kind == kind {
        try forEachDifference(plan.tree, from: plan.base) { key, entry in
          try write(key, entry, in: plan.tree, commit.number, transaction)
        }
      }
    }
  }

  /// Brings trees back by their roots where the commit did: those that are nearer to the state that it brought back than to the one it was
  /// made on. What differs from that state is written on top.
  private func restore(_ commit: ServerCommit, _ plans: inout [TreePlan], _ transaction: any WriteTransaction) throws {
    guard let number = commit.restores, let kept = numbers[number] else { return }
    let state = ServerView(source, commit, asOf: number)
    var unchanged: Int?
    for place in plans.indices {
      let tree = plans[place].tree
      guard let there = try state.stored(tree.row.name), there.row.tree == tree.row.tree else { continue }
      let toState = try differences(tree, from: number)
      let toBase = try plans[place].base.map { try differences(tree, from: $0) } ?? .max
      if toBase > 0, toState <= toBase {
        plans[place].isRestored = true
        plans[place].base = number
        plans[place].attributes = there.row.attributes
      } else if toBase == 0, toState == 0 {
        unchanged = place
      }
    }
    // The commit says what it restored, also where nothing differed.
    if !plans.contains(where: \.isRestored), let unchanged {
      plans[unchanged].isRestored = true
      plans[unchanged].attributes = try state.stored(plans[unchanged].tree.row.name)?.row.attributes
    }
    let names = plans.filter(\.isRestored).map(\.tree.row.name)
    if !names.isEmpty { try transaction.restore(names.sorted(), from: target.view(at: kept)) }
  }

  /// How many entries of a tree differ from another state of it, counted up to 10,000.
  private func differences(_ tree: StoredTree, from state: UInt64) throws -> Int {
    var (count, next) = (0, [] as [UInt8]?)
    while count < 10_000, let key = next {
      let page = try tree.differences(from: state, key: key)
      (count, next) = (count + page.differences.count, page.next)
    }
    return count
  }

  private func forEachDifference(
    _ tree: StoredTree, from base: UInt64?, _ body: ([UInt8], ServerEntry?) throws -> Void
  ) throws {
    if let base { return try tree.forEachDifference(from: base) { try body($0.key, $0.new) } }
    var range = KeyRange()
    while true {
      let page = try tree.page(range, limit: 2_000)
      for entry in page { try body(entry.key, entry) }
      guard page.count == 2_000, let last = page.last else { return }
      range.lower = last.key + [0]
    }
  }

  private func write(
    _ key: [UInt8], _ entry: ServerEntry?, in tree: StoredTree, _ commit: UInt64, _ transaction: any WriteTransaction
  ) throws {
    guard let entry else {
      if tree.row.kind == .records {
        try transaction.delete(key, in: tree.row.name)
      } else {
        try transaction.remove(key, in: tree.row.name)
      }
      return
    }
    switch entry.payload {
    case .bytes(let bytes) where tree.row.kind == .records:
      // What an older commit wrote lies in the file, and its versions go on there.
      if entry.written != commit, let number = numbers[entry.written],
        try transaction.adopt(key, in: tree.row.name, from: target.view(at: number))
      {
        return
      }
      try transaction.put(key, bytes, in: tree.row.name)
    case .bytes(let bytes): try transaction.insert(key, .bytes(Bytes(bytes)), in: tree.row.name)
    case .none: try transaction.insert(key, in: tree.row.name)
    case .record:
      guard let place = source.record(tree.row.name, key),
        let reference = try transaction.currentReference(of: place.key, in: place.tree)
      else { throw StorageError.damagedOnServer("an entry of \(tree.row.name) refers to no record") }
      try transaction.insert(key, .record(reference), in: tree.row.name)
    }
  }
}

extension ServerStore {
  /// Names set, moved and taken away, by the commit that did it.
  func nameChanges() throws(StorageError) -> [UInt64: [NameChange]] {
    NameChange.byCommit(
      try pool.read([tables.statement("select n.name, n.born, n.died, n.number from {name} n order by n.born")])[0])
  }
}

extension NameChange {
  /// Of rows of names: what each is, from which commit on, up to which, and which one it names.
  static func byCommit(_ rows: Rows) -> [UInt64: [NameChange]] {
    var changes: [UInt64: [NameChange]] = [:]
    var born: Set<[String]> = []
    for row in 0..<rows.count {
      let name = rows.text(row, 0)
      changes[rows.number(row, 1), default: []].append(NameChange(name: name, commit: rows.number(row, 3)))
      born.insert([name, "\(rows.number(row, 1))"])
    }
    for row in 0..<rows.count where rows.int(row, 2) != Tables.never {
      let (name, died) = (rows.text(row, 0), rows.number(row, 2))
      if !born.contains([name, "\(died)"]) { changes[died, default: []].append(NameChange(name: name, commit: nil)) }
    }
    return changes
  }
}
