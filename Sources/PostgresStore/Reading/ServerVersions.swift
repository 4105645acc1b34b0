package import StorageEngine

/// A state that a key has had.
package struct ServerVersion: Hashable, Sendable {
  /// The commit that brought it about.
  package var commit: UInt64
  /// Nil: the commit took the key out.
  package var entry: ServerEntry?

  /// Whether a restore brought the value back.
  package var isRestored: Bool { entry.map { $0.written < $0.born } ?? false }

  /// Of the commit that has the value again.
  var flags: CommitFlags = []

  /// Whether the value is another commit's and no restore brought it back: a merge took it over, or it is that of the side of a history
  /// on which the commit was made. The states of a history that went two ways lie one after the other.
  fileprivate var isOfAnotherSide: Bool { isRestored && !flags.contains(.restore) }
}

extension ServerView {
  /// The states that a key has had up to this view, newest first, its deletes among them: at most `limit`, of commits before `before`.
  /// Where a merge took over a value they go on with the commit that wrote it. One round trip, or a few where much lies between.
  package func versions(
    of key: [UInt8], in name: TreeName, before: UInt64? = nil, limit: Int = 100
  ) throws(ServerError) -> [ServerVersion] {
    var versions: [ServerVersion] = []
    var end = before
    // Where the way goes on.
    var writer: UInt64?
    while true {
      let states = try states(of: key, in: name, before: end, limit: limit)
      for (place, state) in states.enumerated() {
        if let commit = writer {
          if state.commit > commit { continue }
          writer = nil
        }
        guard state.isOfAnotherSide else {
          versions.append(state)
          continue
        }
        // The other side's delete, taken over by a merge.
        if let last = versions.last, last.entry == nil, place + 1 < states.count, states[place + 1].entry == nil {
          versions.removeLast()
        } else {
          writer = state.entry?.written
        }
      }
      guard versions.count < limit, states.count >= limit, let last = states.last else { break }
      end = last.commit
    }
    return Array(versions.prefix(limit))
  }

  /// The states that the store has had of a key, one after the other.
  private func states(
    of key: [UInt8], in name: TreeName, before: UInt64?, limit: Int
  ) throws(ServerError) -> [ServerVersion] {
    // Also of a tree that is gone by now.
    guard let tree = try store.catalog(upTo: asOf).latest(name, upTo: asOf), limit > 0 else { return [] }
    // A row stands for its birth and, where none was born as it died, for a delete: so many rows tell of as many states at least.
    let rows = try store.read(
      store.tables.statement(
        "versions",
        """
        select \(ServerEntry.columns("e")), e.died,
          coalesce((select m.flags from {commit} m where e.written < e.born and m.number = e.born), 0)
        from (
          select c.key, c.kind, c.payload, c.value, c.born, c.written, \(Tables.never)::bigint as died
          from {current} c where c.tree = $1 and c.key = $2 and c.born <= $3 and c.born < $4
          union all
          select * from (
            select h.key, h.kind, h.payload, h.value, h.born, h.written, h.died
            from {history} h where h.tree = $1 and h.key = $2 and h.born <= $3 and h.born < $4
            order by h.born desc limit $5) r) e
        order by e.born desc limit $5
        """,
        [
          .int32(tree.tree), .bytes(key), .int(Int64(bitPattern: asOf)),
          .int(before.map { Int64(bitPattern: $0) } ?? Tables.never), .int(Int64(limit)),
        ]), asOf: asOf)
    var versions: [ServerVersion] = []
    var laterBirth: UInt64?
    for row in 0..<rows.count {
      guard let entry = ServerEntry(rows, row) else { continue }
      let died = rows.number(row, ServerEntry.columnCount)
      if died <= asOf, died < before ?? .max, died != laterBirth {
        versions.append(ServerVersion(commit: died, entry: nil))
      }
      let flags = CommitFlags(rawValue: UInt32(truncatingIfNeeded: rows.int(row, ServerEntry.columnCount + 1)))
      versions.append(ServerVersion(commit: entry.born, entry: entry, flags: flags))
      laterBirth = entry.born
    }
    return Array(versions.prefix(limit))
  }
}
