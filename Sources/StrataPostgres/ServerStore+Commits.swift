package import StrataEngine

// MARK: Interface of an engine

extension ServerStore {
  package func commit(_ number: UInt64) throws(StorageError) -> CommitRecord {
    try known(number).record
  }

  package func pedigree(of commit: CommitRecord) throws(StorageError) -> Pedigree? {
    try known(commit.number).pedigree
  }

  private func known(_ number: UInt64) throws(StorageError) -> ServerCommit {
    if number == 0 { return .beginning(identity.created) }
    if let commit = knownCommits[number] { return commit }
    // Older commits come along: a caller that asks for one mostly asks for those next.
    if let commit = try load(upTo: number).first, commit.number == number { return commit }
    // Its error says whether the commit was pruned or never existed.
    return try keptCommit(number)
  }

  private static let batch = 256

  /// Commits up to a number, newest first. Two round trips.
  private func load(upTo number: UInt64) throws(StorageError) -> [ServerCommit] {
    try complete(commits(upTo: number, limit: Self.batch))
  }

  /// Two round trips for each thousand that are not known yet.
  package func prefetch(commits numbers: [UInt64]) throws(StorageError) {
    var missing = Set(numbers).filter { $0 > 0 && knownCommits[$0] == nil }.sorted()[...]
    while !missing.isEmpty {
      let batch = Array(missing.prefix(1_000))
      missing = missing.dropFirst(batch.count)
      _ = try complete(commits("commitsOf", "where c.number = any($1)", [.numbers(batch)]))
    }
  }

  /// Adds to commits what their rows lack: records changed, names set, moved and removed, and which of their parents are kept. One round
  /// trip.
  private func complete(_ commits: [ServerCommit]) throws(StorageError) -> [ServerCommit] {
    if commits.isEmpty { return [] }
    let own = Set(commits.map(\.number))
    let rows = try pool.read([
      tables.statement(
        "changesOf",
        """
        select a.number, n.name, sum(a.inserted)::bigint, sum(a.updated)::bigint, sum(a.deleted)::bigint
        from {change} a, lateral (
          select t.name from {tree} t where t.tree = a.tree and t.born <= a.number order by t.born desc limit 1) n
        where a.number = any($1) group by a.number, n.name order by a.number, n.name
        """, [.numbers(own)]),
      tables.statement(
        "namesOf",
        """
        select n.name, n.born, n.died, n.number from {name} n
        where n.born = any($1) or n.died = any($1) order by n.born, n.name
        """, [.numbers(own)]),
      tables.statement(
        "keptCommits", "select c.number from {commit} c where c.number = any($1)",
        [.numbers(Set(commits.flatMap(\.parents)).subtracting(own))]),
    ])
    var counts: [UInt64: [ChangeCounts]] = [:]
    for row in 0..<rows[0].count {
      counts[try rows[0].number(row, 0), default: []].append(
        try ChangeCounts(
          tree: TreeName(rows[0].bytes(row, 1) ?? []), inserted: rows[0].number(row, 2),
          updated: rows[0].number(row, 3), deleted: rows[0].number(row, 4), identifier: 0))
    }
    let names = try NameChange.byCommit(rows[1])
    let kept = own.union(try rows[2].map { row throws(StorageError) in try rows[2].number(row, 0) })
    let found = commits.map { commit in
      var commit = commit
      // A walk to the parents ends where the history was pruned.
      commit.record.parents = commit.parents.filter(kept.contains)
      commit.record.counts = counts[commit.number] ?? []
      commit.record.names = names[commit.number] ?? []
      return commit
    }
    for commit in found { knownCommits[commit.number] = commit }
    return found
  }

  /// Visits all commits, the newest first.
  func forEachCommit(_ visit: (CommitRecord) throws(StorageError) -> Bool) throws(StorageError) {
    try forEachPage(load(upTo:), number: \.record.number) { commit throws(StorageError) in try visit(commit.record) }
  }

  /// A round trip for each 20,000 commits.
  package func forEachDescent(_ visit: (CommitDescent) throws(StorageError) -> Bool) throws(StorageError) {
    try forEachPage(
      { number throws(StorageError) in try descents(upTo: number, limit: 20_000) }, number: \.number, visit)
  }

  private func forEachPage<Element>(
    _ page: (UInt64) throws(StorageError) -> [Element], number: (Element) -> UInt64,
    _ visit: (Element) throws(StorageError) -> Bool
  ) throws(StorageError) {
    var upTo = newest.asOf
    while upTo > 0 {
      let page = try page(upTo)
      for element in page { guard try visit(element) else { return } }
      guard let last = page.last.map(number), last > 0 else { return }
      upTo = last - 1
    }
  }

  package func ancestor(of number: UInt64, number ancestor: UInt64) throws(StorageError) -> CommitRecord {
    guard let found = try firstAncestor(of: number, where: { $0.number <= ancestor }) else {
      throw .noSuchCommit(number: ancestor)
    }
    return found
  }

  package func ancestor(of number: UInt64, notLaterThan date: Int64) throws(StorageError) -> CommitRecord {
    func isWritten(_ commit: CommitRecord) throws(StorageError) -> Bool { try clock(of: commit) <= date }
    guard let found = try firstAncestor(of: number, where: isWritten) else {
      throw .noCommitAsOld(date: date)
    }
    return found
  }

  package func clock(of commit: CommitRecord) throws(StorageError) -> Int64 {
    try known(commit.number).clock
  }

  /// Walks along first parents: a round trip for some hundred commits.
  private func firstAncestor(
    of number: UInt64, where isWanted: (CommitRecord) throws(StorageError) -> Bool
  ) throws(StorageError) -> CommitRecord? {
    var record = try commit(number)
    while try !isWanted(record) {
      guard let parent = record.parents.first, parent < record.number else { return nil }
      record = try commit(parent)
    }
    return record
  }

  package func view(at number: UInt64) throws(StorageError) -> View {
    // A commit that was read along with others has only the parents that are kept.
    if let known = knownCommits[number] {
      return ServerView(self, known, asOf: number).view
    }
    return try state(at: number).view
  }

  package var names: [String: UInt64] {
    get throws(StorageError) {
      let rows = try livingNames()
      var names: [String: UInt64] = [:]
      for row in 0..<rows.count { names[rows.text(row, 0)] = try rows.number(row, 1) }
      return names
    }
  }

  /// All changes of names, by the numbers of their commits.
  func nameChanges() throws(StorageError) -> [(commit: UInt64, changes: [NameChange])] {
    let rows = try pool.read(
      tables.statement("select n.name, n.born, n.died, n.number from {name} n order by n.born, n.name"))
    return try NameChange.byCommit(rows).map { (commit: $0.key, changes: $0.value) }.sorted { $0.commit < $1.commit }
  }

  private func livingNames() throws(StorageError) -> Rows {
    try pool.read(tables.statement("names", "select n.name, n.number from {name} n where n.died = \(Tables.never)", []))
  }

  /// The names in the store that equal one of some names in other bytes.
  func otherSpellings(of names: [String: UInt64?]) throws(StorageError) -> [String] {
    if names.isEmpty { return [] }
    let rows = try livingNames()
    return (0..<rows.count).map { rows.text($0, 0) }.filter { spelling in
      names.index(forKey: spelling).map { !names[$0].key.utf8.elementsEqual(spelling.utf8) } ?? false
    }
  }

  /// 0 if the server cannot be asked.
  package var commitCount: UInt64 {
    (try? pool.read(tables.statement("select count(*) from {commit}")).number(0, 0)) ?? 0
  }

  /// 0 if the server cannot be asked, or does not answer that.
  package var fileBytes: UInt64 {
    let bytes = try? pool.read(
      Statement(
        """
        select coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint from pg_catalog.pg_class c
          join pg_catalog.pg_namespace n on n.oid = c.relnamespace where n.nspname = $1 and c.relkind = 'r'
        """, .text(tables.schema))
    ).number(0, 0)
    return bytes ?? 0
  }

  /// The trees, at least up to a commit.
  func catalog(upTo commit: UInt64) throws(StorageError) -> ServerCatalog {
    let catalog = knownCatalog
    if catalog.upTo >= commit { return catalog }
    try refreshed()
    return knownCatalog
  }

  /// Whether a state is kept: one round trip.
  func keeps(_ state: UInt64) throws(StorageError) -> Bool {
    let rows = try pool.read(
      tables.statement(
        "keeps", "select \(Tables.isKept("$1", oldest: "s.oldest")) from {store} s where s.one", [.number(state)]))
    return rows.count == 1 && rows.bool(0, 0)
  }

  /// One commit of those that are kept: one round trip.
  package func keptCommit(_ number: UInt64) throws(StorageError) -> ServerCommit {
    let known = newest.commit
    if known.number == number { return known }
    let rows = try pool.read([
      tables.statement(
        "commit",
        """
        select \(tables.commitColumns) from {commit} c, {store} s
        where s.one and c.number = $1 and \(Tables.isKept("$1", oldest: "s.oldest"))
        """, [.number(number)]),
      tables.statement("oldest", "select s.oldest, s.newest from {store} s where s.one", []),
    ])
    if let commit = try rows[0].commits().first { return commit }
    let (oldest, newest) = try (rows[1].number(0, 0), rows[1].number(0, 1))
    if number > 0, number < oldest, number <= newest { throw .prunedCommit(number: number, nearest: oldest) }
    throw .noSuchCommit(number: number)
  }

  /// The state as of a commit.
  package func state(at number: UInt64) throws(StorageError) -> ServerView {
    let newest = newest
    if newest.commit.number == number { return newest }
    return ServerView(self, number == 0 ? try known(0) : try keptCommit(number), asOf: number)
  }

  /// Commits, from the SQL that follows the table `c`. One round trip.
  func commits(_ name: String, _ condition: String, _ parameters: [SQLValue]) throws(StorageError) -> [ServerCommit] {
    let rows = try pool.read(
      tables.statement(name, "select \(tables.commitColumns) from {commit} c \(condition)", parameters))
    return try rows.commits()
  }

  /// Commits up to a number, newest first, at most `limit` of them. One round trip.
  func commits(upTo newest: UInt64, limit: Int) throws(StorageError) -> [ServerCommit] {
    try commits(
      "log", "where c.number <= $1 order by c.number desc limit $2", [.number(newest), .int(Int64(limit))])
  }

  /// Commits after a number, oldest first. Two round trips.
  func commits(after number: UInt64, upTo newest: UInt64, limit: Int) throws(StorageError) -> [ServerCommit] {
    try complete(
      commits(
        "logAfter", "where c.number > $1 and c.number <= $2 order by c.number limit $3",
        [.number(number), .number(newest), .int(Int64(limit))]))
  }

  /// The identities and parents of the commits up to a number, newest first. One round trip.
  func descents(upTo newest: UInt64, limit: Int) throws(StorageError) -> [CommitDescent] {
    let rows = try pool.read(
      tables.statement(
        "descents",
        """
        select c.number, c.origin, c.origin_number, c.flags, c.undoes, c.parents, c.pedigree
        from {commit} c where c.number <= $1 order by c.number desc limit $2
        """, [.number(newest), .int(Int64(limit))]))
    return try rows.map { row throws(StorageError) in
      let identity = try CommitIdentity(origin: rows.bits(row, 1), number: rows.number(row, 2))
      let commit = try CommitRecord(
        number: rows.number(row, 0), identity: identity, parents: rows.numbers(row, 5), date: 0, program: "",
        author: "", action: "", flags: CommitFlags(rawValue: UInt32(truncatingIfNeeded: rows.int(row, 3))),
        undoes: rows.int(row, 4) == 0 ? nil : rows.number(row, 4))
      return CommitDescent(of: commit, Pedigree(text: rows.text(row, 6)))
    }
  }
}
