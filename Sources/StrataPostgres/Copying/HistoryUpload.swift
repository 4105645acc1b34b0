package import StrataEngine

/// Copies commits of a store file to a store on a server, with their identities, dates and authors. `run` copies a whole history and its
/// names into an empty store. `append` copies the commits that a server lacks behind those it has.
///
/// Everything is one transaction of the server, under the lock of its row: all of it is there in the end, or nothing. The changes of a
/// commit are its difference to the commit that is written before it, whatever it was made on, for a server keeps one row of states. Costs
/// as much as the differences; memory is bounded but for the numbers of the commits.
package struct HistoryUpload {
  let source: any Engine
  let target: ServerStore
  let tables: Tables
  let connection: Connection
  private let progress: (_ done: Int, _ total: Int) -> Bool

  /// The state of the server at this point.
  private var newest: UInt64 = 0
  private var oldest: UInt64 = 0
  private var head: CommitIdentity?
  var trees: [TreeName: Int32] = [:]
  var nextTree: Int32 = 1
  var waiting: [Statement] = []
  var waitingBytes = 0
  private var applied: [String: UInt64] = [:]
  /// The commit of the source that is written.
  private(set) var commit: UInt64 = 0
  /// The server's number of a commit of the source that wrote a value; 0 means whichever commit has the value here.
  private(set) var writer: (UInt64) -> UInt64 = { $0 }

  /// A commit of the source, by its number there.
  package typealias Place = (number: UInt64, identity: CommitIdentity)

  /// A commit that the server lacks, and its ancestry as all stores know it.
  package typealias Commit = (place: Place, origin: Pedigree)

  /// The size of what was copied.
  package struct Report: Hashable, Sendable {
    package var commits = 0
    package var head: UInt64 = 0
  }

  private init(
    from source: any Engine, to target: ServerStore, _ progress: @escaping (_ done: Int, _ total: Int) -> Bool
  ) throws(StorageError) {
    (self.source, self.target, self.progress) = (source, target, progress)
    tables = target.tables
    connection = try target.pool.open()
  }

  // MARK: Copying

  /// Copies a whole history.
  ///
  /// - Parameter progress: gets the commits done and in all; if it returns false, nothing is copied.
  @discardableResult
  package static func run(
    from source: any Engine, to target: ServerStore,
    progress: @escaping (_ done: Int, _ total: Int) -> Bool = { _, _ in true }
  ) throws(StorageError) -> Report {
    try target.requireWritable()
    let upload = try HistoryUpload(from: source, to: target, progress)
    let report = try upload.inTransaction { upload throws(StorageError) in try upload.copy() }
    for table in ["current", "history", "commit", "tree"] {
      _ = try? upload.connection.exchange(upload.tables.statement("analyze {\(table)}"))
    }
    return report
  }

  /// Adds commits to those of the server, and moves its head to the newest of them. They get the server's next numbers. A history with two
  /// branches is written with one branch after the other.
  ///
  /// - Parameters:
  ///   - commits: Each after those that it was made on.
  ///   - from: The required head of the server, or nil if it has none.
  ///   - identity: Returns the identity of a commit of the source; nil if compaction has left it out.
  ///   - known: Returns the number that the server had given to a commit when it was last asked; nil if it had not.
  ///   - progress: Gets the number of commits done and in all; if it returns false, nothing is written.
  /// - Returns: Whether head is there now; false if it had moved meanwhile, and nothing was written.
  /// - Throws: If the connection was lost at the end, the server was asked whether it is all there.
  package static func append(
    _ commits: [Commit], of source: any Engine, from: Place?, to head: Place,
    identity: @escaping (UInt64) -> CommitIdentity?, known: @escaping (CommitIdentity) -> UInt64?,
    on target: ServerStore, progress: @escaping (_ done: Int, _ total: Int) -> Bool = { _, _ in true }
  ) throws(StorageError) -> Bool {
    try target.requireWritable()
    func locked(_ body: (inout HistoryUpload) throws(StorageError) -> Bool) throws(StorageError) -> Bool {
      let upload = try HistoryUpload(from: source, to: target, progress)
      let isDone = try upload.inTransaction(body)
      if isDone { _ = try? upload.connection.exchange(Statement("notify \(target.tables.channel)")) }
      return isDone
    }
    do throws(StorageError) {
      return try locked { upload throws(StorageError) in
        // An earlier try of this process, or another one, has sent it.
        if upload.head == head.identity { return true }
        guard upload.head == from?.identity else { return false }
        try upload.add(commits, from: from, to: head, identity: identity, known: known)
        return true
      }
    } catch {
      guard case .server(.outcomeUnknown, _) = error else { throw error }
      // A transaction under way has taken the lock of the row or never will: the holder of the lock sees now how it ended.
      guard let isThere = try? locked({ $0.head == head.identity }) else { throw error }
      guard isThere else { throw .lostConnection(to: target.url, "before the commits were there") }
      return true
    }
  }

  private mutating func copy() throws(StorageError) -> Report {
    guard newest == 0, nextTree == 1 else {
      throw .readOnly(reason: "schema “\(target.url.schema)” has commits already; a copy needs an empty one")
    }
    let (source, head) = (source, source.head)
    var numbers: [UInt64] = []
    try source.forEachDescent { commit throws(StorageError) in
      numbers.append(commit.number)
      return true
    }
    guard let first = numbers.last else { return Report() }
    try write(numbers.reversed(), after: source.view(at: 0), head: head) { _, record throws(StorageError) in
      ServerCommit(record: record, clock: try source.clock(of: record), pedigree: try source.pedigree(of: record))
    }
    // Names of commits that compaction has squashed into others.
    let names = try source.names
    try write(names.filter { applied[$0.key] != $0.value }.map { NameChange(name: $0.key, commit: $0.value) })
    oldest = first > 1 ? first : 0
    moveHead(to: head.commit.number)
    return Report(commits: numbers.count, head: head.commit.number)
  }

  private mutating func add(
    _ commits: [Commit], from: Place?, to head: Place, identity: @escaping (UInt64) -> CommitIdentity?,
    known: @escaping (CommitIdentity) -> UInt64?
  ) throws(StorageError) {
    let (source, newest) = (source, newest)
    let base = try source.view(at: from?.number ?? 0)
    guard try Set(base.trees()) == Set(trees.keys) else {
      throw .damagedOnServer("the trees at its head are not those of the same commit in \(source.path)")
    }
    func number(at place: Int) -> UInt64 { newest + UInt64(place) + 1 }
    let own = Dictionary(commits.enumerated().map { ($0.element.place.identity, number(at: $0.offset)) }) { $1 }
    let pruned = try pruned(
      of: commits.flatMap { ($0.origin.parents ?? []) + [$0.origin.undoes].compactMap(\.self) }, known)
    /// The number of a commit that the server has; of a pruned one it has only values that it wrote.
    func present(_ identity: CommitIdentity) -> UInt64? {
      (own[identity] ?? known(identity)).flatMap { pruned.contains($0) ? nil : $0 }
    }
    writer = { number in identity(number).flatMap { own[$0] ?? known($0) } ?? 0 }
    try write(commits.map(\.place.number), after: base, head: source.view(at: head.number)) {
      place, commit throws(StorageError) in
      let origin = commits[place].origin
      var record = commit
      record.number = number(at: place)
      record.parents = (origin.parents ?? []).compactMap(present)
      record.undoes = origin.undoes.flatMap(present)
      record.restores = commit.restores.flatMap(identity).flatMap(present)
      record.names = []
      // A pedigree that equals the numbers is not stored.
      var pedigree = origin
      if record.parents.count == origin.parents?.count { pedigree.parents = nil }
      if record.undoes != nil { pedigree.undoes = nil }
      return ServerCommit(
        record: record, clock: try source.clock(of: commit), pedigree: pedigree == Pedigree() ? nil : pedigree)
    }
    guard let number = present(head.identity) else { throw .noSuchCommit(number: head.number) }
    moveHead(to: number)
  }

  /// The numbers of commits to be named as parents or as undone that the server no longer has: another process may have pruned it since it
  /// was asked for its commits.
  private func pruned(
    of commits: [CommitIdentity], _ known: (CommitIdentity) -> UInt64?
  ) throws(StorageError) -> Set<UInt64> {
    let named = Set(commits.compactMap(known))
    if named.isEmpty { return [] }
    let there = try connection.exchange(
      tables.statement(
        """
        select c.number from {commit} c, {store} s
        where s.one and c.number = any ($1) and \(Tables.isKept("c.number", oldest: "s.oldest"))
        """, [.numbers(named)]))
    return named.subtracting(try there.map { row throws(StorageError) in try there.number(row, 0) })
  }

  // MARK: The transaction

  /// Runs a closure that writes, under the lock of the store's row, and commits all of it or nothing.
  private func inTransaction<R>(
    _ body: (inout HistoryUpload) throws(StorageError) -> R
  ) throws(StorageError) -> R {
    let result = try connection.inTransaction { () throws(StorageError) in
      var upload = self
      try upload.lock()
      let result = try body(&upload)
      try upload.send()
      return result
    }
    // All of it is there, whatever becomes of this question.
    _ = try? target.refreshed()
    return result
  }

  /// Takes the lock, and reads the server's state, which does not change until the end of the transaction.
  private mutating func lock() throws(StorageError) {
    let rows = try connection.exchange([
      tables.statement(
        "update {store} set newest = newest where one and \(tables.boundsWaiting) returning newest, oldest, next_tree"),
      // Each statement sees all that was committed before the lock was taken.
      tables.statement(
        "select c.origin, c.origin_number from {store} s join {commit} c on c.number = s.head where s.one"),
      tables.statement("select t.name, t.tree from {tree} t where t.died = \(Tables.never)"),
    ])
    guard rows[0].count == 1 else { throw .withoutStoreRow }
    (newest, oldest) = try (rows[0].number(0, 0), rows[0].number(0, 1))
    nextTree = try rows[0].tree(0, 2)
    if rows[1].count == 1 { head = try CommitIdentity(origin: rows[1].bits(0, 0), number: rows[1].number(0, 1)) }
    for row in 0..<rows[2].count {
      trees[TreeName(rows[2].bytes(row, 0) ?? [])] = try rows[2].tree(row, 1)
    }
  }

  // MARK: Commits

  /// Writes commits of the source, one state after the other, and the state of head behind them.
  ///
  /// - Parameters:
  ///   - base: The newest state that the server has.
  ///   - draft: Returns the draft of a commit on the server, from its place among them.
  private mutating func write(
    _ numbers: [UInt64], after base: View, head: View,
    as draft: (Int, CommitRecord) throws(StorageError) -> ServerCommit
  ) throws(StorageError) {
    var before = base
    for (place, number) in numbers.enumerated() {
      commit = number
      let view = try source.view(at: number)
      let draft = try draft(place, view.commit)
      try insert(draft)
      try write(draft.record.names)
      let parent = view.commit.parents.first ?? 0
      let followsParent = parent == before.commit.number
      try writeDifference(from: before, to: view, number: newest, isCounted: followsParent)
      if !followsParent {
        try count(from: source.view(at: parent), to: view, number: newest)
      }
      before = view
      guard progress(place + 1, numbers.count) else { throw .cancelled }
    }
    guard before.commit.number != head.commit.number else { return }
    // Commits are made on the newest state, so it must be that of head.
    let now = wallClock()
    try insert(
      ServerCommit(
        record: CommitRecord(
          number: newest + 1, identity: CommitIdentity(origin: target.origin, number: newest + 1), parents: [],
          date: now, program: target.options.program, author: target.options.author, action: "copy",
          flags: .bookkeeping),
        clock: now))
    try writeDifference(from: before, to: head, number: newest)
  }

  private mutating func insert(_ commit: ServerCommit) throws(StorageError) {
    newest = commit.number
    waiting.append(tables.statement("copyNumber", "update {store} set newest = $1 where one", [.number(newest)]))
    waiting.append(try tables.insert(commit))
    try sendIfMuch()
  }

  private mutating func write(_ names: [NameChange]) throws(StorageError) {
    var draft = CommitDraft()
    for name in names {
      guard !name.name.utf8.contains(0) else { throw .invalidText("name of a commit") }
      draft.info.names.updateValue(name.commit, forKey: name.name)
      if let known = applied.index(forKey: name.name) {
        let spelling = applied.remove(at: known).key
        if !spelling.utf8.elementsEqual(name.name.utf8) { draft.otherSpellings.append(spelling) }
      }
      applied[name.name] = name.commit
    }
    add(draft)
  }

  private mutating func moveHead(to number: UInt64) {
    waiting.append(
      tables.statement(
        "update {store} set newest = $1, head = $2, oldest = $3, next_tree = $4 where one",
        [.number(newest), .number(number), .number(oldest), .int32(nextTree)]))
  }
}
