package import StorageEngine

/// Adds commits of a store file to the history of a store on a server, and moves its head to the newest of them.
///
/// Everything is one transaction of the server, under the lock of its row: all of it is there in the end and head has moved, or nothing is.
/// Commits keep their identities, parents, dates and authors, and get the server's next numbers. Costs what the differences between them
/// cost; a history that went two ways is written one way after the other.
package struct HistoryAppend {
  /// A commit that lies in the source, by its number there.
  package typealias Place = (number: UInt64, identity: CommitIdentity)

  /// A commit that the server lacks, and all that it came of, as all stores know it.
  package typealias Commit = (place: Place, origin: Pedigree)

  private let source: any Engine
  /// Each after those that it was made on.
  private let commits: [Commit]
  /// What the server's head must be, or nil where it has none.
  private let from: Place?
  private let head: Place
  /// Who a commit of the source is; nil where compaction has left it out.
  private let identity: (UInt64) -> CommitIdentity?
  /// The number that the server had given to a commit when it was last asked; nil where it had not.
  private let known: (CommitIdentity) -> UInt64?

  package init(
    _ commits: [Commit], of source: any Engine, from: Place?, to head: Place,
    identity: @escaping (UInt64) -> CommitIdentity?, known: @escaping (CommitIdentity) -> UInt64?
  ) {
    self.source = source
    self.commits = commits
    self.from = from
    self.head = head
    self.identity = identity
    self.known = known
  }

  /// Does it.
  ///
  /// - Parameter progress: is told of commits done and in all; where it answers false, nothing is written.
  /// - Returns: Whether head is there now; false where it had moved meanwhile, and nothing was written.
  /// - Throws: `StorageError`. Where the connection was lost at the end, the server was asked whether it is all there.
  package func run(
    on target: ServerStore, progress: @escaping (_ done: Int, _ total: Int) -> Bool = { _, _ in true }
  ) throws -> Bool {
    try target.requireWritable()
    do {
      return try append(to: target, progress)
    } catch let error as StorageError where error.isWorthWaiting {
      // What was under way has taken the lock of the row or never will: who has the lock now sees how it ended.
      guard let isThere = try? isDone(on: target) else {
        throw StorageError.lostConnection(
          to: target.url, "whether the commits are there the next exchange finds out")
      }
      if isThere { return true }
      throw error
    }
  }

  private func isDone(on target: ServerStore) throws -> Bool {
    let upload = HistoryUpload(
      source: source, target: target, connection: try target.pool.open(), progress: { _, _ in true })
    return try upload.inTransaction { upload in try state(upload).head == head.identity }
  }

  private func append(
    to target: ServerStore, _ progress: @escaping (_ done: Int, _ total: Int) -> Bool
  ) throws -> Bool {
    let upload = HistoryUpload(
      source: source, target: target, connection: try target.pool.open(), progress: progress)
    let isMoved = try upload.inTransaction { upload in
      let state = try state(upload)
      // What an earlier try of ours, or somebody else, has sent.
      if state.head == head.identity { return true }
      guard state.head == from?.identity else { return false }
      let names = try from.map { try source.view(at: $0.number).trees() } ?? []
      guard Set(names) == Set(state.trees.keys) else {
        throw StorageError.damagedOnServer("the trees at its head are not those of the same commit in \(source.path)")
      }
      (upload.trees, upload.nextTree) = (state.trees, state.nextTree)
      try write(to: &upload, after: state.newest, without: try pruned(upload))
      return true
    }
    if isMoved { _ = try? upload.connection.exchange([Statement("notify \(upload.tables.channel)")]) }
    return isMoved
  }

  /// What the server has, which stays so until the end of the transaction.
  private struct State {
    var newest: UInt64
    var head: CommitIdentity?
    var trees: [TreeName: Int32] = [:]
    var nextTree: Int32
  }

  private func state(_ upload: HistoryUpload) throws -> State {
    let tables = upload.tables
    let rows = try upload.connection.exchange([
      tables.statement(
        "update {store} set newest = newest where one and \(tables.boundsWaiting) returning newest, next_tree"),
      // Each statement sees all that was committed before the lock was taken.
      tables.statement(
        "select c.origin, c.origin_number from {store} s join {commit} c on c.number = s.head where s.one"),
      tables.statement("select t.name, t.tree from {tree} t where t.died = \(Tables.never)"),
    ])
    guard rows[0].count == 1 else { throw StorageError.withoutStoreRow }
    var state = State(newest: rows[0].number(0, 0), nextTree: Int32(truncatingIfNeeded: rows[0].int(0, 1)))
    if rows[1].count == 1 { state.head = CommitIdentity(origin: rows[1].number(0, 0), number: rows[1].number(0, 1)) }
    for row in 0..<rows[2].count {
      state.trees[TreeName(rows[2].bytes(row, 0) ?? [])] = Int32(truncatingIfNeeded: rows[2].int(row, 1))
    }
    return state
  }

  /// The numbers of commits to be named as parents or as undone that the server has no more: somebody may have pruned it since it was asked
  /// what it has.
  private func pruned(_ upload: HistoryUpload) throws -> Set<UInt64> {
    let named = Set(
      commits.lazy.flatMap { ($0.origin.parents ?? []) + [$0.origin.undoes].compactMap(\.self) }.compactMap(known))
    guard !named.isEmpty else { return [] }
    let there = try upload.connection.exchange([
      upload.tables.statement(
        """
        select c.number from {commit} c, {store} s
        where s.one and c.number = any ($1) and \(Tables.isKept("c.number", oldest: "s.oldest"))
        """, [.numbers(named)])
    ])[0]
    return named.subtracting((0..<there.count).map { there.number($0, 0) })
  }

  // MARK: Writing

  /// - Parameter pruned: What `known` tells of and the server has no more.
  private func write(to upload: inout HistoryUpload, after newest: UInt64, without pruned: Set<UInt64>) throws {
    var number = newest
    var own: [CommitIdentity: UInt64] = [:]
    for (place, commit) in commits.enumerated() { own[commit.place.identity] = newest + UInt64(place) + 1 }
    let numbers = Numbers(identity: identity, number: { own[$0] ?? known($0) }, pruned: pruned)
    upload.writer = { numbers.writer($0) }
    var before = try from.map { try source.view(at: $0.number) }
    for (done, commit) in commits.enumerated() {
      number += 1
      let view = try source.view(at: commit.place.number)
      try upload.insert(numbers.commit(view.commit, commit.origin, source.clock(of: view.commit), number))
      let parent = view.commit.parents.first
      let followsParent = (parent ?? 0) == (before?.commit.number ?? 0)
      try upload.writeDifference(from: before, to: view, number: number, isCounted: followsParent)
      if !followsParent { try upload.count(from: parent.map { try source.view(at: $0) }, to: view, number: number) }
      before = view
      guard upload.progress(done + 1, commits.count) else { throw StorageError.cancelled }
    }
    if before?.commit.number != head.number {
      // The newest state is what commits are made on, so it must be that of head.
      number += 1
      try upload.beginBookkeeping(number)
      try upload.writeDifference(from: before, to: source.view(at: head.number), number: number)
    }
    guard let headNumber = numbers.present(head.identity) else { throw StorageError.noSuchCommit(number: head.number) }
    upload.waiting.append(
      upload.tables.statement(
        "update {store} set newest = $1, head = $2, next_tree = $3 where one",
        [.number(number), .number(headNumber), .int32(upload.nextTree)]))
  }

  /// What the server calls the commits of the source.
  private struct Numbers {
    let identity: (UInt64) -> CommitIdentity?
    let number: (CommitIdentity) -> UInt64?
    /// Numbers of commits of which the server has no more than values that they wrote.
    let pruned: Set<UInt64>

    /// The number of the commit that wrote a value; 0 where it is known no more.
    func writer(_ number: UInt64) -> UInt64 { identity(number).flatMap { self.number($0) } ?? 0 }

    /// The number of a commit that the server has.
    func present(_ identity: CommitIdentity) -> UInt64? { number(identity).flatMap { pruned.contains($0) ? nil : $0 } }

    func commit(_ commit: CommitRecord, _ origin: Pedigree, _ clock: Int64, _ number: UInt64) -> ServerCommit {
      var record = commit
      record.number = number
      record.parents = (origin.parents ?? []).compactMap { present($0) }
      record.undoes = origin.undoes.flatMap { present($0) }
      record.restores = commit.restores.flatMap { identity($0) }.flatMap { present($0) }
      // A pedigree that equals the numbers is not stored.
      var pedigree = origin
      if record.parents.count == origin.parents?.count { pedigree.parents = nil }
      if record.undoes != nil { pedigree.undoes = nil }
      let isTold = pedigree == Pedigree()
      return ServerCommit(record: record, clock: clock, pedigree: isTold ? nil : pedigree)
    }
  }
}

extension HistoryUpload {
  /// Tells how many records of each tree a commit changed, where it was not made on the one that is written before it.
  fileprivate mutating func count(from old: View?, to new: View, number: UInt64) throws {
    for name in try new.trees() {
      guard let tree = try new.tree(name), tree.kind == .records, let own = trees[name] else { continue }
      var counts: (inserted: Int64, updated: Int64, deleted: Int64) = (0, 0, 0)
      if let old, try old.tree(name) != nil {
        var cursor = try difference(old, new, tree: name)
        while let next = try cursor.next() {
          switch (next.old != nil, next.new != nil) {
          case (false, _): counts.inserted += 1
          case (true, true): counts.updated += 1
          case (true, false): counts.deleted += 1
          }
        }
      } else {
        counts.inserted = Int64(try tree.count)
      }
      guard counts != (0, 0, 0) else { continue }
      waiting.append(
        tables.statement(
          "insert into {change} (number, tree, inserted, updated, deleted) values ($1, $2, $3, $4, $5)",
          [
            .number(number), .int32(own), .int(counts.inserted), .int(counts.updated),
            .int(counts.deleted),
          ]))
    }
  }
}
