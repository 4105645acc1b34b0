import StrataLocks
package import StrataEngine

// Savepoints, states that are brought back, and the end of a transaction.
extension ServerTransaction {
  // MARK: Going back

  package func savepoint() throws(StorageError) -> Savepoint { Savepoint(of: self, try locked { $0 }) }

  /// Reads since the savepoint stay remembered: the caller may depend on them.
  package func rollback(to savepoint: Savepoint) throws(StorageError) {
    guard let moment = savepoint.moment(of: self) as? State else {
      preconditionFailure("a savepoint of another transaction")
    }
    try locked { ($0.trees, $0.restores) = (moment.trees, moment.restores) }
  }

  /// Costs as much as the two states differ: nothing else is read, and values that are back are not written again.
  package func restore(_ names: [TreeName]?, from view: View) throws(StorageError) {
    guard let old = view.servedView as? ServerView else {
      throw .refused("a state of another store cannot be brought back here")
    }
    var isChanged = names == nil
    let all: [TreeName]
    if let names { all = names } else { all = Set(try old.trees() + trees()).sorted() }
    var kept: KeptRecords = [:]
    for kind in [TreeKind.records, .entries] {
      for name in all where try old.stored(name)?.row.kind ?? .records == kind {
        if try restore(name, from: old, &kept) { isChanged = true }
      }
    }
    if isChanged { try locked { $0.restores = view.commit.number } }
  }

  /// The commits that wrote records which have their older value already: the entries that lead to these refer to what is there.
  private typealias KeptRecords = [TreeName: [[UInt8]: UInt64]]

  /// Brings a tree back to its state in an older view; returns whether there was more to do than to compare.
  private func restore(
    _ name: TreeName, from old: ServerView, _ kept: inout KeptRecords
  ) throws(StorageError) -> Bool {
    let isThere = try load(name) != nil
    guard let before = try old.stored(name) else {
      if isThere { try dropTree(name) }
      return isThere
    }
    if let now = try view.stored(name), now.row.tree == before.row.tree, isThere {
      if now.row.attributes != before.row.attributes { try setAttributes(before.row.attributes, of: name) }
      try bringBack(before, from: now.asOf, &kept)
      // The restored state depends on the whole tree as it is now.
      reads.remember(KeyRange(), of: now.row.tree)
      return true
    }
    if isThere { try dropTree(name) }
    // It is the same tree again, under its number.
    try create(
      name, TreeDraft(tree: before.row.tree, kind: before.row.kind, attributes: before.row.attributes, isAgain: true))
    try bringBack(before, from: nil, &kept)
    return true
  }

  private func bringBack(
    _ tree: StoredTree, from state: UInt64?, _ kept: inout KeptRecords
  ) throws(StorageError) {
    let (name, kind) = (tree.row.name, tree.row.kind)
    try tree.forEachDifference(from: state) { found throws(StorageError) in
      var payload = found.new?.payload
      if case .record? = payload, let record = store.record(name, found.key),
        let writer = kept[record.tree]?[record.key]
      {
        payload = .record(writtenBy: writer)
      }
      if found.old?.payload != payload {
        try set(found.key, to: payload, writtenBy: found.new?.written, in: name, kind: kind)
      } else if kind == .records, let old = found.old {
        // The same value by another commit is not a change.
        kept[name, default: [:]][found.key] = old.written
      }
    }
  }

  // MARK: Ending

  package var changeCounts: [ChangeCounts] {
    state.withLock { $0.trees }.compactMap { name, tree in
      guard tree.kind == .records, !tree.isGone, !tree.writes.isEmpty else { return nil }
      var counts = RecordCounts()
      tree.writes.forEach { key, write in
        let was = tree.stored != nil && reads.had(TreeKey(tree: tree.tree, key: key)) ?? true
        counts.add(was: was, isThere: write.payload != nil)
      }
      return ChangeCounts(
        tree: name, inserted: counts.inserted, updated: counts.updated, deleted: counts.deleted,
        identifier: UInt32(bitPattern: tree.tree))
    }
  }

  package func cancel() {
    state.withLock { $0.hasEnded = true }
    alone.withLock { $0 = nil }
  }

  package func commit(
    _ info: CommitInfo, appended: @escaping @Sendable (PendingCommit?) -> Void
  ) throws(StorageError) -> PendingCommit? {
    guard let draft = try draft(info, appended) else { return nil }
    guard let worker = alone.withLock({ $0.take() }) else {
      return try committed(store.commits.commit(draft, of: store))
    }
    let outcome = worker.run([draft], for: store)[0]
    worker.endFailedTransaction()
    return try committed(outcome)
  }

  package nonisolated(nonsending) func commitAsync(
    _ info: CommitInfo, appended: @escaping @Sendable (PendingCommit?) -> Void
  ) async throws(StorageError) -> PendingCommit? {
    guard let draft = try draft(info, appended) else { return nil }
    return try committed(await store.commits.commitAsync(draft, of: store))
  }

  private func draft(
    _ info: CommitInfo, _ appended: @escaping @Sendable (PendingCommit?) -> Void
  ) throws(StorageError) -> CommitDraft? {
    guard var draft = try sealed(info) else {
      appended(nil)
      return nil
    }
    draft.appended = { appended(PendingCommit(durable: $0)) }
    return draft
  }

  private func committed(_ outcome: ServerCommitQueue.Outcome) throws(StorageError) -> PendingCommit? {
    do throws(StorageError) {
      let commit = try outcome.get()
      if state.withLock({ $0.restores != nil || $0.hasOtherRecords }) { store.keepReporting() }
      return PendingCommit(durable: commit.number)
    } catch {
      if let presumed { store.recordInsertion(presumed, isNew: false) }
      throw error
    }
  }

  /// Ends the transaction; returns the draft to be flushed, or nil if nothing was changed.
  func sealed(_ info: CommitInfo) throws(StorageError) -> CommitDraft? {
    let number = view.commit.number
    guard info.identity == nil, info.pedigree == nil, info.head == nil, info.movesHead ?? true,
      info.parents.map({ $0 == (number == 0 ? [] : [number]) }) ?? true
    else {
      cancel()
      throw .readOnly(reason: ServerStore.refusalOfMerges)
    }
    for (name, number) in info.names {
      guard !name.isEmpty, name != "head", name.utf8.count <= Limits.name, !name.utf8.contains(0) else {
        throw .invalidText("name of a commit")
      }
      if let number, number > 0 { _ = try store.keptCommit(number) }
    }
    let otherSpellings = try store.otherSpellings(of: info.names)
    return try locked { state throws(StorageError) in
      state.hasEnded = true
      guard state.hasChanges || !info.names.isEmpty || state.restores != nil else { return nil }
      var draft = draft(state, info)
      draft.otherSpellings = otherSpellings
      return draft
    }
  }

  private func draft(_ state: State, _ info: CommitInfo) -> CommitDraft {
    let keys = reads.keys
    var draft = CommitDraft(
      asOf: view.asOf, keysRead: keys, keysPresumed: reads.presumed, rangesRead: reads.ranges,
      treesRead: state.treesRead, readsCatalog: state.readsCatalog, lease: state.lease, info: info,
      restores: state.restores)
    draft.info.action = info.writtenAction.withoutZeros
    (draft.info.program, draft.info.author) = (info.program?.withoutZeros, info.author?.withoutZeros)
    if info.undoes != nil { draft.info.flags.insert(.undo) }
    if state.restores != nil { draft.info.flags.insert(.restore) }
    // In their order in the table.
    for (name, tree) in state.trees.sorted(by: { $0.value.tree < $1.value.tree }) {
      if let dropped = tree.dropped ?? (tree.isGone ? tree.stored : nil) {
        // A tree that was made again under its number has one row of counts, which its writes make.
        let isCounted = dropped.kind == .records && (tree.isGone || dropped.tree != tree.tree)
        draft.treeChanges.append(.drop(dropped.tree, isCounted: isCounted))
      }
      if tree.isGone { continue }
      if tree.stored == nil {
        draft.treeChanges.append(.create(tree.tree, name, tree.kind, attributes: tree.attributes))
        if tree.isAgain { draft.treesAgain.insert(tree.tree) }
      } else if tree.hasNewAttributes {
        draft.treeChanges.append(.setAttributes(tree.tree, name, tree.kind, tree.attributes))
      }
      tree.writes.forEach { key, write in
        let place = TreeKey(tree: tree.tree, key: key)
        // A key that was looked up is proved to be unchanged.
        let was = tree.stored == nil ? false : keys.contains(place) ? reads.had(place) : nil
        draft.writes.append(DraftWrite(place, write, isRecord: tree.kind == .records, was: was))
      }
    }
    return draft
  }
}

extension String {
  /// A server's texts hold no zero character: its symbol takes its place.
  fileprivate var withoutZeros: String { utf8.contains(0) ? String(map { $0 == "\0" ? "\u{2400}" : $0 }) : self }
}
