import StrataEngine

/// An entry that two states of a tree do not share; nil if only the other state has the key.
typealias ServerDifference = (key: [UInt8], old: ServerEntry?, new: ServerEntry?)

extension StoredTree {
  /// The difference between another state of the tree, or the empty tree if it is nil, and this one, in the order of keys. The cost grows
  /// with the changes between the two, not with the tree; one round trip for each thousand.
  func forEachDifference(
    from old: UInt64?, _ body: (ServerDifference) throws(StorageError) -> Void
  ) throws(StorageError) {
    var next: [UInt8]? = []
    while let key = next {
      if let old {
        let page = try differences(from: old, key: key)
        for found in page.differences { try body(found) }
        next = page.next
      } else {
        let page = try page(KeyRange(lower: key), limit: 1_000)
        for entry in page { try body((entry.key, nil, entry)) }
        next = page.count < 1_000 ? nil : page.last.map { $0.key + [0] }
      }
    }
  }

  /// Some of the differences from a key on, and the key where the next ones begin; nil at the end.
  ///
  /// After a state that is older than the others that are kept, a key may lack the entry with which it was inserted.
  func differences(
    from old: UInt64, key: [UInt8], limit: Int = 1_000
  ) throws(StorageError) -> (differences: [ServerDifference], next: [UInt8]?) {
    let (earlier, later) = (min(old, asOf), max(old, asOf))
    let rows = try store.read(
      store.tables.statement(
        "difference",
        """
        with k as (
          select h.key from {history} h where h.tree = $1 and h.died > $2 and h.died <= $3
            and \(Tables.unindexed("h")) >= $4
          union
          select c.key from {current} c where c.tree = $1 and \(Tables.isInserted("c", after: "$2")) and c.inserted <= $3
            and \(Tables.unindexed("c")) >= $4
          union
          select h.key from {history} h
          where h.tree = $1 and h.inserted > $2 and h.inserted <= $3 and h.born = h.inserted
            and \(Tables.unindexed("h")) >= $4
          union
          select h.key from {store} s, {history} h
          where s.one and s.oldest > $2 and h.tree = $1 and h.died > $3 and h.born <= $3 and h.inserted > $2
            and \(Tables.unindexed("h")) >= $4
          order by key limit $5)
        select k.key, \(ServerEntry.columns("o")), \(ServerEntry.columns("n")) from k
          left join lateral \(Self.alive("$1", "k.key", "$2")) o on true
          left join lateral \(Self.alive("$1", "k.key", "$3")) n on true
        order by k.key
        """, [.int32(row.tree), .number(earlier), .number(later), .bytes(key), .int(Int64(limit))]), asOf: earlier)
    var differences: [ServerDifference] = []
    for row in 0..<rows.count {
      let key = rows.bytes(row, 0) ?? []
      let before = try ServerEntry(rows, row, at: 1, key: key)
      let after = try ServerEntry(rows, row, at: 1 + ServerEntry.columnCount, key: key)
      if !isSame(before, after) { differences.append(old > asOf ? (key, after, before) : (key, before, after)) }
    }
    return (differences, rows.count < limit ? nil : rows.bytes(rows.count - 1, 0).map { $0 + [0] })
  }

  /// Whether two states of a key are equal: one commit's value that was brought back, or a key that came and went between.
  private func isSame(_ left: ServerEntry?, _ right: ServerEntry?) -> Bool {
    guard let left, let right else { return left == nil && right == nil }
    return row.kind == .records ? left.written == right.written : left.payload == right.payload
  }
}
