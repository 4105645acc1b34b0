package import StorageEngine

/// A state that a key has had.
package struct ServerVersion: Hashable, Sendable {
  /// The commit that brought it about.
  package var commit: UInt64
  /// Nil: the commit took the key out.
  package var entry: ServerEntry?

  /// Whether a restore brought the value back.
  package var isRestored: Bool { entry.map { $0.written < $0.born } ?? false }
}

extension ServerView {
  /// The states that a key has had up to this view, newest first, its deletes among them: at most `limit`, of commits before `before`.
  /// One round trip.
  package func versions(
    of key: [UInt8], in name: TreeName, before: UInt64? = nil, limit: Int = 100
  ) throws(ServerError) -> [ServerVersion] {
    // Also of a tree that is gone by now.
    guard let tree = try store.catalog(upTo: asOf).latest(name, upTo: asOf), limit > 0 else { return [] }
    // A row stands for its birth and, where none was born as it died, for a delete: so many rows tell of as many states at least.
    let rows = try store.read(
      store.tables.statement(
        "versions",
        """
        select \(ServerEntry.columns("e")), e.died from (
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
      versions.append(ServerVersion(commit: entry.born, entry: entry))
      laterBirth = entry.born
    }
    return Array(versions.prefix(limit))
  }
}
