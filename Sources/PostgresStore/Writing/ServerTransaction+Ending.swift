import Locks
package import StorageEngine

// Savepoints, states that are brought back, and what goes out at the end.
extension ServerTransaction {
  // MARK: Going back

  package func savepoint() throws(StorageError) -> Savepoint { Savepoint(of: self, served: try locked { $0 }) }

  /// What was read since the savepoint stays remembered: the caller may have gone by it.
  package func rollback(to savepoint: Savepoint) throws(StorageError) {
    guard let moment = savepoint.served(of: self) as? State else {
      preconditionFailure("a savepoint of another transaction")
    }
    try locked { ($0.trees, $0.restores) = (moment.trees, moment.restores) }
  }

  /// Costs what differs between the two states: nothing else is read, and values that are back are not written again.
  package func restore(_ names: [TreeName]?, from view: View) throws(StorageError) {
    guard let old = view.servedView as? ServerView else {
      throw .refused("a state of another store cannot be brought back here")
    }
    var isChanged = names == nil
    let all: [TreeName]
    if let names { all = names } else { all = Set(try old.trees() + trees()).sorted() }
    for name in all {
      if try restore(name, from: old) { isChanged = true }
    }
    if isChanged { try locked { $0.restores = view.commit.number } }
  }

  /// Brings a tree back to what it was in an older view; whether there was anything to do but to find that out.
  private func restore(_ name: TreeName, from old: ServerView) throws(StorageError) -> Bool {
    func bringBack(_ key: [UInt8], _ entry: ServerEntry?, _ kind: TreeKind) throws(StorageError) {
      try set(key, to: entry?.payload, writtenBy: entry?.written, in: name, kind: kind)
    }
    let isThere = try load(name) != nil
    guard let before = try old.stored(name) else {
      if isThere { try dropTree(name) }
      return isThere
    }
    if let now = try view.stored(name), now.row.tree == before.row.tree, isThere {
      if now.row.attributes != before.row.attributes { try setAttributes(before.row.attributes, of: name) }
      var next: [UInt8]? = []
      while let key = next {
        let page = try before.differences(from: now.asOf, key: key)
        // The same value by another commit is no change.
        for found in page.differences where found.old?.payload != found.new?.payload {
          try bringBack(found.key, found.new, now.row.kind)
        }
        next = page.next
      }
      // Who brings a state back goes by the one that is there.
      reads.remember(KeyRange(), of: now.row.tree)
      return true
    }
    if isThere { try dropTree(name) }
    // It is the same one again, under its number.
    try create(
      name,
      TreeDraft(tree: before.row.tree, kind: before.row.kind, attributes: before.row.attributes, isAgain: true))
    var range = KeyRange()
    while true {
      let page = try before.page(range, limit: 1_000)
      for entry in page { try bringBack(entry.key, entry, before.row.kind) }
      guard page.count == 1_000, let last = page.last else { return true }
      range.lower = last.key + [0]
    }
  }

  // MARK: Ending

  package var changeCounts: [ChangeCounts] {
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

  package func cancel() { state.withLock { $0.hasEnded = true } }

  package func commit(_ info: CommitInfo) throws(StorageError) -> PendingCommit? {
    guard let draft = try sealed(info) else { return nil }
    return try committed(store.commits.commit(draft, of: store))
  }

  package nonisolated(nonsending) func commitAsync(_ info: CommitInfo) async throws(StorageError) -> PendingCommit? {
    guard let draft = try sealed(info) else { return nil }
    return try committed(await store.commits.commitAsync(draft, of: store))
  }

  private func committed(_ outcome: CommitQueue.Outcome) throws(StorageError) -> PendingCommit? {
    do throws(StorageError) {
      let commit = try outcome.get()
      if state.withLock({ $0.restores != nil || $0.hasOtherRecords }) { store.keepReporting() }
      return PendingCommit(durable: commit.number)
    } catch {
      if let presumed { store.note(presumed, isNew: false) }
      throw error
    }
  }

  /// Ends the transaction: what is to be flushed, or nil where nothing was changed.
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
    return try locked { state throws(StorageError) in
      state.hasEnded = true
      guard state.hasChanges || !info.names.isEmpty || state.restores != nil else { return nil }
      return draft(state, info)
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

extension String {
  /// A server's texts hold no zero character: its symbol takes its place.
  fileprivate var withoutZeros: String { utf8.contains(0) ? String(map { $0 == "\0" ? "\u{2400}" : $0 }) : self }
}
