import StorageEngine

extension ServerStore {
  /// What pruning took away.
  package struct Pruned: Hashable, Sendable {
    package var commits = 0
    package var entries = 0
    package var values = 0
  }

  /// Takes what only commits before `oldest` have out of the tables; commits that have a name are kept.
  ///
  /// Readers of an older view get `prunedCommit` from then on, never an incomplete answer: the bound is moved first, in a transaction of
  /// its own, and every read looks at it after it has read.
  package func prune(before oldest: UInt64) throws(ServerError) -> Pruned {
    if let readOnlyReason { throw .readOnly(reason: readOnlyReason) }
    let bound = SQLValue.int(Int64(bitPattern: oldest))
    let moved = try pool.with { connection throws(ServerError) in
      try connection.exchange([
        tables.statement(
          "update {store} set oldest = $1 where one and oldest < $1 and head >= $1 returning oldest", [bound])
      ])
    }
    guard moved[0].count == 1 else { return Pruned() }
    let isNamed = """
      exists (select 1 from {name} n where n.died = \(Tables.never) and n.number < $1 and n.number >= h.born and n.number < h.died)
      """
    let steps = [
      tables.statement("delete from {history} h where h.died <= $1 and not \(isNamed)", [bound]),
      tables.statement(
        "delete from {change} a where a.number < $1 and not exists (select 1 from {commit} c where c.number = a.number)",
        [bound]),
      tables.statement("delete from {token} where at < current_timestamp - interval '7 days'"),
      tables.statement(
        """
        delete from {value} v where not exists (select 1 from {current} c where c.value = v.number)
          and not exists (select 1 from {history} h where h.value = v.number)
        """),
    ]
    var pruned = Pruned()
    try pool.with { connection throws(ServerError) in
      // One transaction each: none of them holds up commits for long, and what is left undone the next pruning does.
      pruned.entries = try connection.exchange([steps[0]])[0].changed
      pruned.commits = try removeCommits(before: bound, connection)
      for step in steps[1...2] { try connection.exchange([step]) }
      pruned.values = try connection.exchange([steps[3]])[0].changed
    }
    return pruned
  }

  /// Takes commits out, and has those that were made on them tell of them: who a commit is and what it was made on stays known for ever.
  private func removeCommits(before bound: SQLValue, _ connection: Connection) throws(ServerError) -> Int {
    let goes = "c.number < $1 and not exists (select 1 from {name} n where n.number = c.number)"
    do throws(ServerError) {
      let rows = try connection.exchange([
        Statement("begin"),
        // A push that links to what goes now comes before, or finds out.
        tables.statement("update {store} set newest = newest where one"),
        tables.statement("select \(ServerCommit.columns) from {commit} c where \(goes)", [bound]),
        tables.statement(
          """
          select \(ServerCommit.columns) from {commit} c where not (\(goes))
            and (c.undoes > 0 and c.undoes < $1 or exists (select 1 from unnest(c.parents) p (number) where p.number < $1))
          order by c.number
          """, [bound]),
      ])
      func commits(_ rows: Rows) -> [ServerCommit] { (0..<rows.count).map { ServerCommit(rows, $0) } }
      let (going, staying) = (commits(rows[2]), commits(rows[3]))
      let parents = try connection.exchange([
        tables.statement(
          "select \(ServerCommit.columns) from {commit} c where c.number = any($1)",
          [.ints(Set((going + staying).flatMap(\.parents)).map { Int64(bitPattern: $0) })])
      ])
      var skeleton = Skeleton(of: going, parents: commits(parents[0]))
      var statements: [Statement] = []
      for commit in staying {
        guard let told = skeleton.told(with: commit) else { continue }
        statements.append(
          tables.statement(
            "tell", "update {commit} set parents = $2, pedigree = $3 where number = $1",
            [
              .int(Int64(bitPattern: commit.number)), .ints(told.parents.map { Int64(bitPattern: $0) }),
              .text(told.pedigree.text),
            ]))
      }
      statements.append(tables.statement("delete from {commit} c where \(goes)", [bound]))
      statements.append(Statement("commit"))
      let answers = try connection.exchange(statements)
      return answers[answers.count - 2].changed
    } catch {
      if !connection.isLost { _ = try? connection.exchange([Statement("rollback")]) }
      throw error
    }
  }
}

/// What is told of commits that go, by those that stay.
private struct Skeleton {
  private let going: [UInt64: ServerCommit]
  /// Who the commits are that others were made on.
  private let identities: [UInt64: CommitIdentity]
  private var seen: Set<UInt64> = []

  init(of commits: [ServerCommit], parents: [ServerCommit]) {
    going = Dictionary(commits.map { ($0.number, $0) }) { first, _ in first }
    identities = Dictionary(parents.map { ($0.number, $0.identity) }) { first, _ in first }
  }

  /// The parents that a commit keeps, and its new pedigree; nil where none of those that go concerns it.
  mutating func told(with commit: ServerCommit) -> (parents: [UInt64], pedigree: Pedigree)? {
    let kept = commit.parents.filter { going[$0] == nil }
    let undoes = commit.undoes.flatMap { going[$0]?.identity }
    guard kept.count < commit.parents.count || undoes != nil else { return nil }
    var pedigree = commit.pedigree ?? Pedigree()
    if pedigree.undoes == nil { pedigree.undoes = undoes }
    if kept.count < commit.parents.count {
      pedigree.parents = parents(of: commit)
      pedigree.squashed = Pedigree.runs(pedigree.squashed + runs(from: commit.parents))
    }
    return (kept, pedigree)
  }

  /// All of them, also those that were not there before.
  private func parents(of commit: ServerCommit) -> [CommitIdentity] {
    commit.pedigree?.parents ?? commit.parents.compactMap { identities[$0] }
  }

  private mutating func runs(from parents: [UInt64]) -> [Pedigree.Run] {
    var runs: [Pedigree.Run] = []
    var open = parents
    while let next = open.popLast() {
      guard let commit = going[next], seen.insert(next).inserted else { continue }
      if !commit.flags.contains(.bookkeeping) {
        runs.append(Pedigree.Run(commit.identity, parents: self.parents(of: commit)))
      }
      runs += commit.pedigree?.squashed ?? []
      open += commit.parents
    }
    return runs
  }
}
