import StrataEngine

extension HistoryUpload {
  /// Writes the changes from one state to another.
  ///
  /// - Parameter isCounted: Whether the difference is the commit's own changes, and is counted as these.
  mutating func writeDifference(
    from old: View, to new: View, number: UInt64, isCounted: Bool = true
  ) throws(StorageError) {
    let steps = try TreeSteps(from: old, to: new) { $0.identifier == $1.identifier }
    var draft = CommitDraft()
    for name in steps.dropped {
      guard let tree = trees.removeValue(forKey: name) else { continue }
      let kind = try old.tree(name)?.kind
      draft.treeChanges.append(.drop(tree, isCounted: isCounted && kind == .records))
    }
    for (before, after) in steps.trees {
      guard after.order == .bytes else { throw .unordered(after.name) }
      if let before {
        guard before.attributes != after.attributes, let tree = trees[after.name] else { continue }
        draft.treeChanges.append(.setAttributes(tree, after.name, after.kind, after.attributes.array))
        continue
      }
      try check(after.name.bytes)
      trees[after.name] = nextTree
      draft.treeChanges.append(.create(nextTree, after.name, after.kind, attributes: after.attributes.array))
      nextTree += 1
    }
    add(draft)
    for (before, after) in steps.trees {
      if before != nil {
        try writeDifference(old, new, after, isCounted: isCounted)
      } else {
        try copyAll(of: after, number: number, isCounted: isCounted)
      }
    }
  }

  private mutating func writeDifference(_ old: View, _ new: View, _ tree: Tree, isCounted: Bool) throws(StorageError) {
    guard let number = trees[tree.name] else { return }
    var cursor = try difference(old, new, tree: tree.name)
    var draft = CommitDraft()
    while let next = try cursor.next() {
      draft.writes.append(
        try write(next.key, next.new?.payload, in: tree, number, isRecord: isCounted && tree.kind == .records))
      if draft.writes.count == 5_000 {
        add(draft)
        draft = CommitDraft()
        try sendIfMuch()
      }
    }
    add(draft)
    try sendIfMuch()
  }

  private func check(_ key: [UInt8]) throws(StorageError) {
    guard key.count <= ServerLimits.key else { throw .keyTooLong(key.count) }
  }

  /// The write of an entry; of one that is too long, the error names its key and the commit.
  private func write(
    _ key: Bytes, _ payload: Payload?, in tree: Tree, _ number: Int32, isRecord: Bool = false
  ) throws(StorageError) -> DraftWrite {
    let key = key.array
    do throws(StorageError) {
      try check(key)
      return DraftWrite(TreeKey(tree: number, key: key), try write(payload, in: tree), isRecord: isRecord)
    } catch {
      switch error {
      case .keyTooLong, .valueTooLong:
        let shown = TreeName(Array(key.prefix(60)))
        throw .refused("commit #\(commit) cannot be copied: \(error), at “\(shown)” in \(tree.name)")
      default: throw error
      }
    }
  }

  private func write(_ payload: Payload?, in tree: Tree) throws(StorageError) -> KeyWrite {
    switch payload {
    case nil: return KeyWrite()
    case .some(.none): return KeyWrite(payload: ServerPayload.none)
    case .bytes(let bytes): return KeyWrite(payload: .bytes(bytes.array))
    case .record(.served(let record)): return KeyWrite(payload: .record(writtenBy: record.commit))
    case .record(let reference):
      let writer = writer(try tree.change(of: reference).commit)
      guard tree.kind == .records else { return KeyWrite(payload: .record(writtenBy: writer)) }
      let value = try tree.value(of: reference)
      guard value.count <= ServerLimits.value else { throw .valueTooLong(value.count) }
      return KeyWrite(payload: .bytes(value.array), written: writer)
    }
  }

  mutating func add(_ draft: CommitDraft) {
    guard !draft.writes.isEmpty || !draft.treeChanges.isEmpty || !draft.info.names.isEmpty else { return }
    waiting += Flush(
      tables: tables, drafts: [draft], token: .token(), options: target.options, clocks: [], catalog: ServerCatalog()
    ).changes()
    waitingBytes += draft.bytes
  }

  /// Copies a tree that is new, by COPY.
  private mutating func copyAll(of tree: Tree, number: UInt64, isCounted: Bool) throws(StorageError) {
    guard try tree.count > 0, let target = trees[tree.name] else { return }
    try send()
    var cursor = tree.cursor()
    try cursor.seekToStart()
    var rows = CopyRows(connection, tables)
    while let entry = cursor.current {
      try rows.add(try write(entry.key, entry.payload, in: tree, target), number: number, isFirst: true)
      try cursor.next()
    }
    try rows.finish()
    if isCounted, tree.kind == .records { tell(RecordCounts(inserted: try tree.count), of: target, number: number) }
  }

  // MARK: Counts

  /// Writes how many records of each tree a commit changed, if it was not made on the one that is written before it.
  mutating func count(from old: View, to new: View, number: UInt64) throws(StorageError) {
    for name in try new.trees() {
      guard let tree = try new.tree(name), tree.kind == .records, let own = trees[name] else { continue }
      var counts = RecordCounts()
      if try old.tree(name) != nil {
        var cursor = try difference(old, new, tree: name)
        while let next = try cursor.next() { counts.add(was: next.old != nil, isThere: next.new != nil) }
      } else {
        counts.inserted = try tree.count
      }
      if counts != RecordCounts() { tell(counts, of: own, number: number) }
    }
  }

  private mutating func tell(_ counts: RecordCounts, of tree: Int32, number: UInt64) {
    waiting.append(
      tables.statement(
        "insert into {change} (number, tree, inserted, updated, deleted) values ($1, $2, $3, $4, $5)",
        [.number(number), .int32(tree), .number(counts.inserted), .number(counts.updated), .number(counts.deleted)]))
  }

  // MARK: Sending

  mutating func sendIfMuch() throws(StorageError) {
    if waiting.count >= 400 || waitingBytes >= 4 << 20 { try send() }
  }

  mutating func send() throws(StorageError) {
    guard !waiting.isEmpty else { return }
    try connection.exchange(waiting)
    waiting = []
    waitingBytes = 0
  }
}
