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
        "delete from {commit} c where c.number < $1 and not exists (select 1 from {name} n where n.number = c.number)",
        [bound]),
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
      pruned.commits = try connection.exchange([steps[1]])[0].changed
      for step in steps[2...3] { try connection.exchange([step]) }
      pruned.values = try connection.exchange([steps[4]])[0].changed
    }
    return pruned
  }
}
