package import StrataEngine

extension ServerStore {
  /// Removes from the tables what only commits before `oldest` have; commits that have a name are kept.
  ///
  /// Pruning locks the row of the store for one moment, which decides where the history begins. From then on readers of an older view get
  /// `prunedCommit`, never an incomplete answer, for every read checks the bound after it has read. A flush of an older view is a conflict.
  /// A commit before the bound can be named only while it has a name. So no reader can ask for the rows that are deleted afterwards, in
  /// transactions that no writer waits for. The next pruning removes what an interrupted one has left.
  package func prune(before oldest: UInt64) throws(StorageError) {
    try requireWritable()
    try pool.with { connection throws(StorageError) in
      connection.remedyOfLoss = "prune again, which goes on where this ended"
      defer { connection.remedyOfLoss = nil }
      try prune(before: oldest, connection)
    }
  }

  private func prune(before oldest: UInt64, _ connection: Connection) throws(StorageError) {
    let moved = try connection.exchange(
      tables.statement(
        """
        update {store} set oldest = greatest(oldest, $1) where one and head >= $1 and \(tables.boundsWaiting) returning oldest
        """, [.number(oldest)]))
    guard moved.count == 1 else { return }
    let bound = SQLValue.int(moved.int(0, 0))
    try inSteps(
      """
      delete from {history} h using (
        select g.tree, g.key, g.born from {history} g where g.died <= $1 and not exists (
          select 1 from {name} n
          where n.died = \(Tables.never) and n.number < $1 and n.number >= g.born and n.number < g.died) limit \(Self.step)) g
      where h.tree = g.tree and h.key = g.key and h.born = g.born
      """, [bound], connection)
    try removeCommits(before: bound, connection)
    try connection.exchange([
      tables.statement(
        """
        delete from {change} a where a.number < $1 and not exists (select 1 from {commit} c where c.number = a.number)
        """, [bound]),
      tables.statement("delete from {token} where at < current_timestamp - interval '7 days'"),
      Statement("notify \(tables.channel)"),
    ])
    try inSteps(
      """
      delete from {value} v using (
        select w.number from {value} w where not exists (select 1 from {current} c where c.value = w.number)
          and not exists (select 1 from {history} h where h.value = w.number) limit \(Self.step)) w
      where v.number = w.number
      """, [], connection)
  }

  /// The rows that one transaction deletes: a server cleans up behind short transactions.
  private static let step = 50_000

  /// Deletes until nothing is left to delete.
  private func inSteps(_ text: String, _ parameters: [SQLValue], _ connection: Connection) throws(StorageError) {
    while try connection.exchange(tables.statement(text, parameters)).changed >= Self.step {}
  }

  /// Removes commits. The commits that were made on them record their identities and parents, which stay known for ever.
  ///
  /// A commit that is made meanwhile refers to none of them: its flush, or its push, checks the bound. Another pruning waits for the row of
  /// a lease that no other transaction ever sees.
  private func removeCommits(before bound: SQLValue, _ connection: Connection) throws(StorageError) {
    let goes = "not \(Tables.isKept("c.number", oldest: "$1"))"
    try connection.inTransaction { () throws(StorageError) in
      let rows = try connection.exchange([
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
      let (going, staying) = try (rows[2].commits(), rows[3].commits())
      let parents = try connection.exchange(
        tables.statement(
          "select \(tables.commitColumns) from {commit} c where c.number = any($1)",
          [.numbers(Set((going + staying).flatMap(\.parents)))]))
      let skeleton = try Skeleton(of: going, parents: parents.commits())
      var statements: [Statement] = []
      for commit in staying {
        guard let told = skeleton.remapped(with: commit) else { continue }
        statements.append(
          tables.statement(
            "tell", "update {commit} set parents = $2, pedigree = $3 where number = $1",
            [.number(commit.number), .numbers(told.parents), .text(told.pedigree.text)]))
      }
      statements.append(
        tables.statement("delete from {commit} where number = any($1)", [.numbers(going.map(\.number))]))
      try connection.exchange(statements)
    }
  }

  /// The faults of named commits, a sentence each: a name promises that its commit can be read. An entry that exists now, or existed
  /// later, and came before such a commit has a state as of it. Costs a look at every entry for each name.
  package func faultsOfNames() throws(StorageError) -> [String] {
    let rows = try pool.read(
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
        """))
    return try rows.map { row throws(StorageError) in
      let place = "“\(rows.text(row, 0))” names commit #\(rows.int(row, 1))"
      guard rows.bool(row, 2) else { return "\(place), which is not there" }
      let count = try rows.number(row, 3)
      return count == 0 ? nil : "\(place), which lacks \(count) \(count == 1 ? "entry" : "entries")"
    }
  }
}

/// The identities and parents of removed commits, as the remaining commits record them.
private struct Skeleton {
  private let going: [UInt64: ServerCommit]
  /// The identities of commits that others were made on.
  private let identities: [UInt64: CommitIdentity]

  init(of commits: [ServerCommit], parents: [ServerCommit]) {
    going = Dictionary(commits.map { ($0.number, $0) }) { first, _ in first }
    identities = Dictionary(parents.map { ($0.number, $0.identity) }) { first, _ in first }
  }

  /// The parents that a commit keeps, and its new pedigree; nil if none of the removed commits concerns it.
  func remapped(with commit: ServerCommit) -> (parents: [UInt64], pedigree: Pedigree)? {
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

  /// The identities of all parents, also of those that were removed before.
  private func parents(of commit: ServerCommit) -> [CommitIdentity] {
    commit.pedigree?.parents ?? commit.parents.compactMap { identities[$0] }
  }

  /// All removed commits before some parents. Two commits side by side both list them, because either may be pruned later.
  private func runs(from parents: [UInt64]) -> [Pedigree.Run] {
    var runs: [Pedigree.Run] = []
    var seen: Set<UInt64> = []
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
