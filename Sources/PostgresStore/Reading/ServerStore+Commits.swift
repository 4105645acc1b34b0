import StorageEngine

extension ServerStore {
  /// The trees, as far as a commit at least.
  func catalog(upTo commit: UInt64) throws(ServerError) -> ServerCatalog {
    let catalog = knownCatalog
    if catalog.upTo >= commit { return catalog }
    try refresh()
    return knownCatalog
  }

  /// One commit of those that are kept: one round trip.
  package func commit(_ number: UInt64) throws(ServerError) -> ServerCommit {
    let known = head.commit
    if known.number == number { return known }
    let rows = try pool.read([
      tables.statement(
        "commit",
        """
        select \(ServerCommit.columns) from {commit} c, {store} s
        where s.one and c.number = $1 and \(Tables.isKept("$1", oldest: "s.oldest"))
        """, [.int(Int64(bitPattern: number))]),
      tables.statement("oldest", "select s.oldest, s.newest from {store} s where s.one", []),
    ])
    if rows[0].count == 1 { return ServerCommit(rows[0], 0) }
    let (oldest, newest) = (rows[1].number(0, 0), rows[1].number(0, 1))
    if number > 0, number < oldest, number <= newest { throw .prunedCommit(number: number, oldest: oldest) }
    throw .noSuchCommit(number: number)
  }

  /// Whether a state is kept: one round trip.
  func keeps(_ state: UInt64) throws(ServerError) -> Bool {
    let rows = try pool.read([
      tables.statement(
        "keeps", "select \(Tables.isKept("$1", oldest: "s.oldest")) from {store} s where s.one",
        [.int(Int64(bitPattern: state))])
    ])[0]
    return rows.count == 1 && rows.bool(0, 0)
  }

  /// The state as of a commit.
  package func view(at number: UInt64) throws(ServerError) -> ServerView {
    let head = head
    if head.commit.number == number { return head }
    return ServerView(store: self, commit: try commit(number), asOf: number)
  }

  /// Commits up to a number, newest first, at most `limit` of them; those that keep book are left out unless asked for. One round trip.
  package func commits(
    upTo newest: UInt64, limit: Int, withBookkeeping: Bool = false
  ) throws(ServerError) -> [ServerCommit] {
    let rows = try pool.read([
      tables.statement(
        "log",
        """
        select \(ServerCommit.columns) from {commit} c
        where c.number <= $1 and ($3 or c.flags & \(CommitFlags.bookkeeping.rawValue) = 0) order by c.number desc limit $2
        """, [.int(Int64(bitPattern: newest)), .int(Int64(limit)), .bool(withBookkeeping)])
    ])
    return (0..<rows[0].count).map { ServerCommit(rows[0], $0) }
  }

  /// How many commits are kept.
  package func commitCount() throws(ServerError) -> UInt64 {
    try pool.read([tables.statement("select count(*) from {commit}")])[0].number(0, 0)
  }

  /// The names given to commits, as of a state; the newest where none is given.
  package func names(asOf state: UInt64? = nil) throws(ServerError) -> [String: UInt64] {
    let rows = try pool.read([
      tables.statement(
        "names", "select n.name, n.number from {name} n where n.born <= $1 and n.died > $1",
        [.int(state.map { Int64(bitPattern: $0) } ?? (Tables.never - 1))])
    ])
    var names: [String: UInt64] = [:]
    for row in 0..<rows[0].count { names[rows[0].text(row, 0)] = rows[0].number(row, 1) }
    return names
  }
}

extension ServerStore {
  /// The bytes that the tables and their indexes take on the server's disk; 0 where the engine does not tell.
  package func tableBytes() throws(ServerError) -> UInt64 {
    do throws(ServerError) {
      return try pool.read([
        Statement(
          """
          select coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint from pg_catalog.pg_class c
            join pg_catalog.pg_namespace n on n.oid = c.relnamespace where n.nspname = $1 and c.relkind = 'r'
          """, .text(tables.schema))
      ])[0].number(0, 0)
    } catch .refused {
      return 0
    }
  }
}
