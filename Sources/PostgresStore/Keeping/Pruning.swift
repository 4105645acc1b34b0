package import StorageEngine

extension ServerStore {
  /// What pruning took away.
  package struct Pruned: Hashable, Sendable {
    package var commits = 0
    package var entries = 0
    package var values = 0
  }

  /// Takes what only commits before `oldest` have out of the tables; commits that have a name are kept.
  ///
  /// The row of the store is locked for one moment, which decides where the history begins. From then on readers of an older view get
  /// `prunedCommit`, never an incomplete answer, for every read looks at the bound after it has read; a flush of an older view is a
  /// conflict; and a commit before the bound can be named only while it has a name. So what is deleted afterwards, in transactions that
  /// no writer waits for, is what nobody can ask for. What an interrupted pruning has left, the next one takes.
  package func prune(before oldest: UInt64) throws(StorageError) -> Pruned {
    try requireWritable()
    let moved = try pool.with { connection throws(StorageError) in
      try connection.exchange([
        tables.statement(
          "update {store} set oldest = greatest(oldest, $1) where one and head >= $1 returning oldest",
          [.number(oldest)])
      ])[0]
    }
    guard moved.count == 1 else { return Pruned() }
    let bound = SQLValue.int(moved.int(0, 0))
    var pruned = Pruned()
    try pool.with { connection throws(StorageError) in
      pruned.entries = try inSteps(
        """
        delete from {history} h using (
          select g.tree, g.key, g.born from {history} g where g.died <= $1 and not exists (
            select 1 from {name} n
            where n.died = \(Tables.never) and n.number < $1 and n.number >= g.born and n.number < g.died) limit \(Self.step)) g
        where h.tree = g.tree and h.key = g.key and h.born = g.born
        """, [bound], connection)
      pruned.commits = try removeCommits(before: bound, connection)
      try connection.exchange([
        tables.statement(
          """
          delete from {change} a where a.number < $1 and not exists (select 1 from {commit} c where c.number = a.number)
          """, [bound])
      ])
      try connection.exchange([
        tables.statement("delete from {token} where at < current_timestamp - interval '7 days'")
      ])
      pruned.values = try inSteps(
        """
        delete from {value} v using (
          select w.number from {value} w where not exists (select 1 from {current} c where c.value = w.number)
            and not exists (select 1 from {history} h where h.value = w.number) limit \(Self.step)) w
        where v.number = w.number
        """, [], connection)
    }
    return pruned
  }

  /// So many rows are deleted by one transaction: a server cleans up behind short ones.
  private static let step = 50_000

  /// Deletes until nothing is left to be deleted; how many rows there were.
  private func inSteps(
    _ text: String, _ parameters: [SQLValue], _ connection: Connection
  ) throws(StorageError) -> Int {
    var count = 0
    while true {
      let changed = try connection.exchange([tables.statement(text, parameters)])[0].changed
      count += changed
      if changed < Self.step { return count }
    }
  }

  /// Takes commits out, and has those that were made on them tell of them: who a commit is and what it was made on stays known for ever.
  ///
  /// A commit that is made meanwhile refers to none of them: its flush, or its push, looks at the bound. Another pruning waits for the
  /// row of a lease that nobody ever sees.
  private func removeCommits(before bound: SQLValue, _ connection: Connection) throws(StorageError) -> Int {
    let goes = "not \(Tables.isKept("c.number", oldest: "$1"))"
    do throws(StorageError) {
      let rows = try connection.exchange([
        Statement("begin"),
        tables.statement(
          """
          insert into {lease} (what, holder, program, since, heartbeat, progress)
          values ('pruning', ''::bytea, '', current_timestamp, current_timestamp, ''::bytea)
          """),
        tables.statement("delete from {lease} where what = 'pruning'"),
        tables.statement("select \(tables.commitColumns) from {commit} c where \(goes)", [bound]),
        tables.statement(
          """
          select \(tables.commitColumns) from {commit} c where not (\(goes))
            and (c.undoes > 0 and c.undoes < $1 or exists (select 1 from unnest(c.parents) p (number) where p.number < $1))
          order by c.number
          """, [bound]),
      ])
      func commits(_ rows: Rows) -> [ServerCommit] { (0..<rows.count).map { ServerCommit(rows, $0) } }
      let (going, staying) = (commits(rows[3]), commits(rows[4]))
      let parents = try connection.exchange([
        tables.statement(
          "select \(tables.commitColumns) from {commit} c where c.number = any($1)",
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
              .number(commit.number), .numbers(told.parents),
              .text(told.pedigree.text),
            ]))
      }
      statements.append(
        tables.statement(
          "delete from {commit} where number = any($1)", [.ints(going.map { Int64(bitPattern: $0.number) })]))
      statements.append(Statement("commit"))
      let answers = try connection.exchange(statements)
      return answers[answers.count - 2].changed
    } catch {
      connection.rollBack()
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

extension ServerStore {
  /// What is wrong with the commits that have a name, a sentence each: that they can be read is what a name promises. An entry that is there
  /// now, or was later, and came before such a commit has a state as of it. Costs a look at every entry for each name.
  package func faultsOfNames() throws(StorageError) -> [String] {
    let rows = try pool.read([
      tables.statement(
        """
        select n.name, n.number, exists (select 1 from {commit} c where c.number = n.number), (
          select count(*) from (
            select c.tree, c.key from {current} c where c.inserted <= n.number and c.born > n.number
            union select h.tree, h.key from {history} h where h.inserted <= n.number and h.born > n.number) e
          where exists (select 1 from {tree} t where t.tree = e.tree and t.born <= n.number and t.died > n.number)
            and not exists (
              select 1 from {history} h where h.tree = e.tree and h.key = e.key and h.born <= n.number and h.died > n.number))
        from {name} n where n.died = \(Tables.never) order by n.name
        """)
    ])[0]
    return (0..<rows.count).compactMap { row in
      let place = "“\(rows.text(row, 0))” names commit #\(rows.number(row, 1))"
      guard rows.bool(row, 2) else { return "\(place), which is not there" }
      let count = rows.number(row, 3)
      return count == 0 ? nil : "\(place), which lacks \(count) \(count == 1 ? "entry" : "entries")"
    }
  }
}
