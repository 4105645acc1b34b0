package import StorageEngine

/// Copies a store on a server with its whole history into an empty store file: the same commits, dates, names and authors.
///
/// Commits keep their identities, and their numbers where none was pruned before them. A commit that keeps book on the server alone is left
/// out. Costs what the differences cost; memory is that of one commit's changes.
package struct HistoryDownload {
  private let source: ServerStore
  private let target: any Engine
  /// The record that an entry's key names, for entries that refer to one.
  private let record: (_ tree: TreeName, _ key: [UInt8]) -> (tree: TreeName, key: [UInt8])?

  /// Commits of the server by their numbers in the file.
  private var numbers: [UInt64: UInt64] = [0: 0]
  private var last: PendingCommit?

  /// - Parameters:
  ///   - record: the tree and the key of the record whose identifier ends an entry's key.
  ///   - progress: is told of commits done and in all; where it answers false, the copy ends with `cancelled`.
  @discardableResult
  package static func run(
    from source: ServerStore, to target: any Engine,
    record: @escaping (_ tree: TreeName, _ key: [UInt8]) -> (tree: TreeName, key: [UInt8])?,
    progress: (_ done: Int, _ total: Int) -> Bool = { _, _ in true }
  ) throws -> HistoryUpload.Report {
    try target.admitCommitsOfOthers()
    var download = HistoryDownload(source: source, target: target, record: record)
    return try download.copy(progress)
  }

  private init(
    source: ServerStore, target: any Engine,
    record: @escaping (_ tree: TreeName, _ key: [UInt8]) -> (tree: TreeName, key: [UInt8])?
  ) {
    self.source = source
    self.target = target
    self.record = record
  }

  private mutating func copy(_ progress: (_ done: Int, _ total: Int) -> Bool) throws -> HistoryUpload.Report {
    let head = try source.refresh()
    let total = Int(try source.commitCount())
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
    var tree: ServerTree
    var base: UInt64?
    var attributes: [UInt8]?
    var isRestored = false
  }

  private func write(_ commit: ServerCommit, from base: UInt64, _ transaction: any WriteTransaction) throws {
    let old = ServerView(store: source, commit: commit, asOf: base)
    let new = ServerView(store: source, commit: commit, asOf: commit.number)
    let names = (old: base == 0 ? [] : try old.trees(), new: try new.trees())
    var plans: [TreePlan] = []
    var dropped = Set(names.old).subtracting(names.new)
    for name in names.new {
      guard let after = try new.tree(name) else { continue }
      let before = base == 0 ? nil : try old.tree(name)
      let isSame = before.map { $0.identifier == after.identifier } ?? false
      if before != nil, !isSame { dropped.insert(name) }
      plans.append(TreePlan(tree: after, base: isSame ? base : nil, attributes: isSame ? before?.attributes : nil))
    }
    try restore(commit, &plans, transaction)
    let restored = Set(plans.filter(\.isRestored).map(\.tree.name))
    for name in dropped.sorted() where !restored.contains(name) { try transaction.dropTree(name) }
    for plan in plans {
      if plan.base == nil {
        try transaction.createTree(plan.tree.name, kind: plan.tree.kind, attributes: plan.tree.attributes)
      } else if plan.attributes != plan.tree.attributes {
        try transaction.setAttributes(plan.tree.attributes, of: plan.tree.name)
      }
    }
    for kind in [TreeKind.records, .entries] {
      for plan in plans where plan.tree.kind == kind {
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
    let state = ServerView(store: source, commit: commit, asOf: number)
    var unchanged: Int?
    for place in plans.indices {
      let tree = plans[place].tree
      guard let there = try state.tree(tree.name), there.identifier == tree.identifier else { continue }
      let toState = try differences(tree, from: number)
      let toBase = try plans[place].base.map { try differences(tree, from: $0) } ?? .max
      if toBase > 0, toState <= toBase {
        plans[place].isRestored = true
        plans[place].base = number
        plans[place].attributes = there.attributes
      } else if toBase == 0, toState == 0 {
        unchanged = place
      }
    }
    // The commit says what it restored, also where nothing differed.
    if !plans.contains(where: \.isRestored), let unchanged {
      plans[unchanged].isRestored = true
      plans[unchanged].attributes = try state.tree(plans[unchanged].tree.name)?.attributes
    }
    let names = plans.filter(\.isRestored).map(\.tree.name)
    if !names.isEmpty { try transaction.restore(names.sorted(), from: target.view(at: kept)) }
  }

  /// How many entries of a tree differ from another state of it, counted up to 10,000.
  private func differences(_ tree: ServerTree, from state: UInt64) throws -> Int {
    var cursor = ServerDifferenceCursor(store: source, tree: tree.row, from: state, to: tree.asOf, page: 2_000)
    var count = 0
    while count < 10_000, try cursor.next() != nil { count += 1 }
    return count
  }

  private func forEachDifference(
    _ tree: ServerTree, from base: UInt64?, _ body: ([UInt8], ServerEntry?) throws -> Void
  ) throws {
    if let base {
      var cursor = ServerDifferenceCursor(store: source, tree: tree.row, from: base, to: tree.asOf, page: 2_000)
      while let next = try cursor.next() { try body(next.key, next.new) }
      return
    }
    var range = KeyRange()
    while true {
      let page = try tree.page(range, limit: 2_000)
      for entry in page { try body(entry.key, entry) }
      guard page.count == 2_000, let last = page.last else { return }
      range.lower = last.key + [0]
    }
  }

  private func write(
    _ key: [UInt8], _ entry: ServerEntry?, in tree: ServerTree, _ commit: UInt64, _ transaction: any WriteTransaction
  ) throws {
    guard let entry else {
      if tree.kind == .records {
        try transaction.delete(key, in: tree.name)
      } else {
        try transaction.remove(key, in: tree.name)
      }
      return
    }
    switch entry.payload {
    case .bytes(let bytes) where tree.kind == .records:
      // What an older commit wrote lies in the file, and its versions go on there.
      if entry.written != commit, let number = numbers[entry.written],
        try transaction.adopt(key, in: tree.name, from: target.view(at: number))
      {
        return
      }
      try transaction.put(key, bytes, in: tree.name)
    case .bytes(let bytes): try transaction.insert(key, .bytes(Bytes(bytes)), in: tree.name)
    case .none: try transaction.insert(key, in: tree.name)
    case .record:
      guard let place = record(tree.name, key),
        let reference = try transaction.currentReference(of: place.key, in: place.tree)
      else { throw ServerError.damaged(what: "an entry of \(tree.name) refers to no record") }
      try transaction.insert(key, .record(reference), in: tree.name)
    }
  }
}

extension ServerStore {
  /// Commits after a number, oldest first, those that keep book among them.
  func commits(after number: UInt64, upTo newest: UInt64, limit: Int) throws(ServerError) -> [ServerCommit] {
    let rows = try pool.read([
      tables.statement(
        "select \(ServerCommit.columns) from {commit} c where c.number > $1 and c.number <= $2 order by c.number limit $3",
        [.int(Int64(bitPattern: number)), .int(Int64(bitPattern: newest)), .int(Int64(limit))])
    ])
    return (0..<rows[0].count).map { ServerCommit(rows[0], $0) }
  }

  /// Names set, moved and taken away, by the commit that did it.
  func nameChanges() throws(ServerError) -> [UInt64: [NameChange]] {
    let rows = try pool.read([tables.statement("select n.name, n.born, n.died, n.number from {name} n order by n.born")]
    )[0]
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
