package import StrataEngine

/// Copies a store on a server with its whole history into an empty store file: the same commits, dates, names and authors.
///
/// Commits keep their identities, and their numbers if none was pruned before them. A bookkeeping commit of the server itself is left out.
/// Costs as much as the differences; memory is that of one commit's changes.
package struct HistoryDownload {
  private let source: ServerStore
  private let target: any Engine

  /// Commits of the server by their numbers in the file.
  private var numbers: [UInt64: UInt64] = [0: 0]
  private var last: PendingCommit?
  /// The changes of names that were not copied yet, the oldest first. A change by a pruned commit goes to the next one that is kept.
  private var names: ArraySlice<(commit: UInt64, changes: [NameChange])> = []

  /// - Parameter progress: Gets the number of commits done and in all; if it returns false, the copy ends with `cancelled`.
  @discardableResult
  package static func run(
    from source: ServerStore, to target: any Engine, progress: (_ done: Int, _ total: Int) -> Bool = { _, _ in true }
  ) throws(StorageError) -> HistoryUpload.Report {
    try target.admitCommitsOfOthers()
    var download = HistoryDownload(source: source, target: target)
    return try download.copy(progress)
  }

  private mutating func copy(
    _ progress: (_ done: Int, _ total: Int) -> Bool
  ) throws(StorageError) -> HistoryUpload.Report {
    let head = try source.refreshed()
    let total = Int(source.commitCount)
    names = try source.nameChanges()[...]
    var report = HistoryUpload.Report()
    var after: UInt64 = 0
    while case let commits = try source.commits(after: after, upTo: head.asOf, limit: 500), let newest = commits.last {
      after = newest.number
      for commit in commits {
        if commit.flags.contains(.bookkeeping), commit.origin == source.origin { continue }
        let number = try copy(commit, isHead: commit.number == head.commit.number)
        numbers[commit.number] = number
        report.commits += 1
        if commit.number == head.commit.number { report.head = number }
        guard progress(report.commits, total) else { throw .cancelled }
      }
    }
    try last?.wait()
    return report
  }

  private mutating func copy(_ commit: ServerCommit, isHead: Bool) throws(StorageError) -> UInt64 {
    let parents = commit.parents.compactMap { numbers[$0] }
    let base = parents.first ?? 0
    let transaction = try target.beginBlocking(on: base)
    try write(commit, from: commit.parents.first { numbers[$0] != nil } ?? 0, transaction)
    var info = CommitInfo(
      date: commit.date, action: commit.action, program: commit.program, author: commit.author, flags: commit.flags,
      undoes: commit.undoes.flatMap { numbers[$0] }, parents: parents, movesHead: isHead, identity: commit.identity,
      pedigree: commit.pedigree, durability: .collated)
    info.clock = commit.clock
    while let next = names.first, next.commit <= commit.number {
      for name in names.removeFirst().changes {
        let number = name.commit.flatMap { $0 == commit.number ? 0 : numbers[$0] }
        if name.commit == nil || number != nil { info.names.updateValue(number, forKey: name.name) }
      }
    }
    let pending = try transaction.commit(info)
    last = pending ?? last
    return pending?.number ?? base
  }

  // MARK: Changes

  /// A tree of a commit, and the state of it to which differences are written.
  private struct TreePlan {
    var tree: Tree
    var base: View
    /// Nil if it is new.
    var attributes: Bytes?
    var isRestored = false
  }

  private func write(
    _ commit: ServerCommit, from base: UInt64, _ transaction: any WriteTransaction
  ) throws(StorageError) {
    func state(_ number: UInt64) -> View { ServerView(source, commit, asOf: number).view }
    let (empty, old, new) = (state(0), state(base), state(commit.number))
    let steps = try TreeSteps(from: old, to: new) { $0.identifier == $1.identifier }
    var plans = steps.trees.map { before, after in
      TreePlan(tree: after, base: before == nil ? empty : old, attributes: before?.attributes)
    }
    if let number = commit.restores, let kept = numbers[number] {
      try restore(to: kept, from: state(number), new, &plans, transaction)
    }
    let restored = Set(plans.filter(\.isRestored).map(\.tree.name))
    for name in steps.dropped where !restored.contains(name) { try transaction.dropTree(name) }
    for plan in plans {
      let tree = plan.tree
      if plan.attributes == nil {
        try transaction.createTree(tree.name, kind: tree.kind, attributes: tree.attributes.array)
      } else if plan.attributes != tree.attributes {
        try transaction.setAttributes(tree.attributes.array, of: tree.name)
      }
    }
    for kind in [TreeKind.records, .entries] {
      for plan in plans where plan.tree.kind == kind {
        var cursor = try difference(plan.base, new, tree: plan.tree.name)
        while let next = try cursor.next() {
          try write(next.key.array, next.new?.payload, in: plan.tree, commit.number, transaction)
        }
      }
    }
  }

  /// Brings trees back by their roots if the commit did: those that are nearer to the state that it brought back than to the one it was
  /// made on. The differences from that state are written on top.
  private func restore(
    to kept: UInt64, from state: View, _ new: View, _ plans: inout [TreePlan], _ transaction: any WriteTransaction
  ) throws(StorageError) {
    /// The number of entries of a tree that differ from another state of it, counted up to 10,000.
    func differences(_ tree: Tree, from old: View) throws(StorageError) -> Int {
      var cursor = try difference(old, new, tree: tree.name)
      var count = 0
      while count < 10_000, try cursor.next() != nil { count += 1 }
      return count
    }
    var unchanged: (place: Int, attributes: Bytes)?
    for place in plans.indices {
      let tree = plans[place].tree
      guard let there = try state.tree(tree.name), there.identifier == tree.identifier else { continue }
      let toState = try differences(tree, from: state)
      let toBase = plans[place].attributes == nil ? .max : try differences(tree, from: plans[place].base)
      if toBase > 0, toState <= toBase {
        plans[place] = TreePlan(tree: tree, base: state, attributes: there.attributes, isRestored: true)
      } else if toBase == 0, toState == 0 {
        unchanged = (place, there.attributes)
      }
    }
    // The commit records what it restored, even if nothing differed.
    if !plans.contains(where: \.isRestored), let (place, attributes) = unchanged {
      (plans[place].isRestored, plans[place].attributes) = (true, attributes)
    }
    let names = plans.filter(\.isRestored).map(\.tree.name)
    if !names.isEmpty { try transaction.restore(names.sorted(), from: target.view(at: kept)) }
  }

  /// - Parameter payload: Nil if the key is deleted.
  private func write(
    _ key: [UInt8], _ payload: Payload?, in tree: Tree, _ commit: UInt64, _ transaction: any WriteTransaction
  ) throws(StorageError) {
    switch payload {
    case nil where tree.kind == .records: try transaction.delete(key, in: tree.name)
    case nil: try transaction.remove(key, in: tree.name)
    case .record(.served(let record)) where tree.kind == .records:
      // A value of an older commit is in the file already, and its versions go on there.
      if record.commit != commit, let number = numbers[record.commit],
        try transaction.copyRecord(key, in: tree.name, from: target.view(at: number), probe: nil)
      {
        return
      }
      try transaction.put(key, record.value.array, in: tree.name)
    case .record:
      guard let place = source.record(tree.name, key),
        let reference = try transaction.currentReference(of: place.key, in: place.tree)
      else { throw .damagedOnServer("an entry of \(tree.name) refers to no record") }
      try transaction.insert(key, .record(reference), in: tree.name)
    case let other?: try transaction.insert(key, other, in: tree.name)
    }
  }
}

extension NameChange {
  /// The changes from rows of names, by commit: each row has a name, its first and last commit, and the commit that it names.
  static func byCommit(_ rows: Rows) throws(StorageError) -> [UInt64: [NameChange]] {
    var changes: [UInt64: [NameChange]] = [:]
    var born: Set<[String]> = []
    for row in 0..<rows.count {
      let (name, first) = (rows.text(row, 0), try rows.number(row, 1))
      changes[first, default: []].append(NameChange(name: name, commit: try rows.number(row, 3)))
      born.insert([name, "\(first)"])
    }
    for row in 0..<rows.count where rows.int(row, 2) != Tables.never {
      let (name, died) = (rows.text(row, 0), try rows.number(row, 2))
      if !born.contains([name, "\(died)"]) { changes[died, default: []].append(NameChange(name: name, commit: nil)) }
    }
    return changes
  }
}
