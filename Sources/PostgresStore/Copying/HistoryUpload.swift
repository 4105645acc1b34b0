package import StorageEngine

/// Copies a store file with its whole history into an empty store on a server, or what the server lacks of it behind what it has: the same
/// commits, dates and authors, and of a whole copy the names.
///
/// Everything is one transaction of the server: it is all there in the end, or nothing of it. What a commit changed is told by the
/// difference to the commit before it in the file, whatever it was made on, for a server keeps one row of states. Costs what the
/// differences cost; memory is bounded but for the commits' own records.
package struct HistoryUpload {
  let source: any Engine
  let target: ServerStore
  let tables: Tables
  let connection: Connection
  let progress: (_ done: Int, _ total: Int) -> Bool

  /// The trees that the server has at this point.
  var trees: [TreeName: Int32] = [:]
  var nextTree: Int32 = 1
  var waiting: [Statement] = []
  private var waitingBytes = 0
  private var applied: [String: UInt64] = [:]
  /// What the server calls a commit of the source that wrote a value; 0: whichever commit has the value here.
  var writer: (UInt64) throws -> UInt64 = { $0 }

  /// What was copied.
  package struct Report: Hashable, Sendable {
    package var commits = 0
    package var head: UInt64 = 0
  }

  /// - Parameter progress: is told of commits done and in all; where it answers false, nothing is copied.
  @discardableResult
  package static func run(
    from source: any Engine, to target: ServerStore,
    progress: @escaping (_ done: Int, _ total: Int) -> Bool = { _, _ in true }
  ) throws -> Report {
    try target.requireWritable()
    let upload = HistoryUpload(
      source: source, target: target, connection: try target.pool.open(), progress: progress)
    let report = try upload.inTransaction { upload in try upload.copy() }
    for table in ["current", "history", "commit", "tree"] {
      _ = try? upload.connection.exchange([upload.tables.statement("analyze {\(table)}")])
    }
    return report
  }

  /// Runs what writes, and commits it, or nothing of it.
  func inTransaction<R>(_ body: (inout HistoryUpload) throws -> R) throws -> R {
    var upload = self
    do {
      try connection.exchange([Statement("begin")])
      let result = try body(&upload)
      try upload.send()
      try connection.exchange([Statement("commit")])
      try target.refreshed()
      return result
    } catch {
      connection.rollBack()
      throw error
    }
  }

  init(
    source: any Engine, target: ServerStore, connection: Connection,
    progress: @escaping (_ done: Int, _ total: Int) -> Bool
  ) {
    self.source = source
    self.target = target
    tables = target.tables
    self.connection = connection
    self.progress = progress
  }

  private mutating func copy() throws -> Report {
    let began = try connection.exchange([
      tables.statement("update {store} set newest = newest where one and newest = 0 and next_tree = 1")
    ])
    guard began[0].changed == 1 else {
      throw StorageError.readOnly(
        reason: "schema “\(target.url.schema)” has commits already; a copy needs an empty one")
    }
    let head = source.head
    var commits: [(record: CommitRecord, pedigree: Pedigree?)] = []
    try source.forEachCommit { commit, pedigree throws(StorageError) in
      commits.append((commit, pedigree))
      return true
    }
    commits.reverse()
    var before: View?
    for (done, commit) in commits.enumerated() {
      let view = try source.view(at: commit.record.number)
      try insert(ServerCommit(record: commit.record, clock: source.clock(of: commit.record), pedigree: commit.pedigree))
      try write(commit.record.names)
      try writeDifference(from: before, to: view, number: view.commit.number)
      before = view
      guard progress(done + 1, commits.count) else { throw StorageError.cancelled }
    }
    guard let first = commits.first?.record.number, let before else { return Report() }
    // Names whose commits compaction has put together with others.
    let names = try source.names
    try write(names.filter { applied[$0.key] != $0.value }.map { NameChange(name: $0.key, commit: $0.value) })
    var newest = before.commit.number
    if head.commit.number != newest {
      // The newest state is what commits are made on, so it must be that of head.
      newest += 1
      try beginBookkeeping(newest)
      try writeDifference(from: before, to: head, number: newest)
    }
    waiting.append(
      tables.statement(
        "update {store} set newest = $1, head = $2, oldest = $3, next_tree = $4 where one",
        [
          .number(newest), .number(head.commit.number),
          .int(first > 1 ? Int64(bitPattern: first) : 0), .int32(nextTree),
        ]))
    return Report(commits: commits.count, head: head.commit.number)
  }

  // MARK: Commits

  mutating func beginBookkeeping(_ number: UInt64) throws {
    let now = wallClock()
    try insert(
      ServerCommit(
        record: CommitRecord(
          number: number, identity: CommitIdentity(origin: target.origin, number: number), parents: [], date: now,
          program: target.options.program, author: target.options.author, action: "copy", flags: .bookkeeping,
          undoes: nil, restores: nil, names: [], counts: [], bytes: 0), clock: now))
  }

  mutating func insert(_ commit: ServerCommit) throws {
    let number = SQLValue.number(commit.number)
    waiting.append(tables.statement("copyNumber", "update {store} set newest = $1 where one", [number]))
    waiting.append(
      tables.statement(
        "copyCommit",
        """
        insert into {commit} (number, origin, origin_number, parents, date, action, program, author, flags, undoes, restores,
          bytes, pedigree\(tables.clock("clock"))) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13\(tables.clock("$14")))
        """,
        [
          number, .number(commit.origin), .number(commit.originNumber),
          .numbers(commit.parents), .int(commit.date),
          .text(try Flush.text(commit.action, "action")), .text(try Flush.text(commit.program, "program")),
          .text(try Flush.text(commit.author, "author")), .int32(Int32(bitPattern: commit.flags.rawValue)),
          .number(commit.undoes ?? 0), .number(commit.restores ?? 0),
          .number(commit.frameBytes), .text(commit.pedigree?.text ?? ""), .int(commit.clock),
        ]))
    try sendIfMuch()
  }

  private mutating func write(_ names: [NameChange]) throws {
    var draft = CommitDraft()
    for name in names {
      guard !name.name.utf8.contains(0) else { throw StorageError.invalidText("name of a commit") }
      draft.info.names.updateValue(name.commit, forKey: name.name)
      applied[name.name] = name.commit
    }
    add(draft)
  }

  // MARK: Trees

  /// - Parameter isCounted: whether the difference is what the commit changed, and is told as that.
  mutating func writeDifference(from old: View?, to new: View, number: UInt64, isCounted: Bool = true) throws {
    let names = (old: try old?.trees() ?? [], new: try new.trees())
    var fresh: [Tree] = []
    var shared: [Tree] = []
    var draft = CommitDraft()
    var dropped = Set(names.old).subtracting(names.new)
    for name in names.new {
      guard let after = try new.tree(name) else { continue }
      guard after.order == .bytes else { throw StorageError.unordered(name) }
      if let before = try old?.tree(name) {
        if before.kind == after.kind, before.identifier == after.identifier {
          if before.attributes != after.attributes, let number = trees[name] {
            draft.treeChanges.append(.setAttributes(number, name, after.kind, after.attributes.array))
          }
          shared.append(after)
          continue
        }
        dropped.insert(name)
      }
      fresh.append(after)
    }
    for name in dropped.sorted() {
      if let number = trees.removeValue(forKey: name) { draft.treeChanges.append(.drop(number)) }
    }
    for tree in fresh {
      guard tree.name.bytes.count <= ServerLimits.key else {
        throw StorageError.keyTooLong(tree.name.bytes.count)
      }
      trees[tree.name] = nextTree
      draft.treeChanges.append(.create(nextTree, tree.name, tree.kind, attributes: tree.attributes.array))
      nextTree += 1
    }
    add(draft)
    for tree in fresh { try copyAll(of: tree, number: number, isCounted: isCounted) }
    if let old { for tree in shared { try writeDifference(old, new, tree, isCounted: isCounted) } }
  }

  private mutating func writeDifference(_ old: View, _ new: View, _ tree: Tree, isCounted: Bool) throws {
    guard let number = trees[tree.name] else { return }
    var cursor = try difference(old, new, tree: tree.name)
    var draft = CommitDraft()
    while let next = try cursor.next() {
      let key = next.key.array
      try check(key)
      var write = KeyWrite()
      if let payload = next.new?.payload { write = try self.write(payload, in: tree) }
      draft.writes.append(
        DraftWrite(TreeKey(tree: number, key: key), write, isRecord: isCounted && tree.kind == .records))
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

  private func write(_ payload: Payload, in tree: Tree) throws -> KeyWrite {
    switch payload {
    case .none: return KeyWrite(payload: ServerPayload.none)
    case .bytes(let bytes): return KeyWrite(payload: .bytes(bytes.array))
    case .entry(let reference):
      let reference = RecordReference.entry(reference)
      let writer = try writer(tree.change(of: reference).commit)
      guard tree.kind == .records else { return KeyWrite(payload: .record(writtenBy: writer)) }
      let value = try tree.value(of: reference)
      guard value.count <= ServerLimits.value else {
        throw StorageError.valueTooLong(value.count)
      }
      return KeyWrite(payload: .bytes(value.array), written: writer)
    case .served(let record): return KeyWrite(payload: .record(writtenBy: record.commit))
    }
  }

  private mutating func add(_ draft: CommitDraft) {
    guard !draft.writes.isEmpty || !draft.treeChanges.isEmpty || !draft.info.names.isEmpty else { return }
    waiting += Flush(
      tables: tables, drafts: [draft], token: .random(), options: target.options, clocks: [], catalog: ServerCatalog()
    ).changes()
    waitingBytes += draft.bytes
  }

  // MARK: A tree that is new, by COPY

  private mutating func copyAll(of tree: Tree, number: UInt64, isCounted: Bool) throws {
    guard try tree.count > 0, let target = trees[tree.name] else { return }
    try send()
    var cursor = tree.cursor()
    try cursor.seekToStart()
    var rows = CopyRows(connection, tables)
    while let entry = cursor.current {
      let key = entry.key.array
      try check(key)
      try rows.add(
        DraftWrite(TreeKey(tree: target, key: key), try write(entry.payload, in: tree)), number: number, isFirst: true)
      try cursor.next()
    }
    try rows.finish()
    guard isCounted, tree.kind == .records else { return }
    waiting.append(
      tables.statement(
        "insert into {change} (number, tree, inserted, updated, deleted) values ($1, $2, $3, 0, 0)",
        [.number(number), .int32(target), .number(try tree.count)]))
  }

  // MARK: Sending

  private mutating func sendIfMuch() throws(StorageError) {
    if waiting.count >= 400 || waitingBytes >= 4 << 20 { try send() }
  }

  private mutating func send() throws(StorageError) {
    guard !waiting.isEmpty else { return }
    try connection.exchange(waiting)
    waiting = []
    waitingBytes = 0
  }
}
