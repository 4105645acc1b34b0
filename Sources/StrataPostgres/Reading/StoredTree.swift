import StrataEngine

/// A tree as of one commit: byte keys in their order. Each call is one round trip.
struct StoredTree: Sendable {
  let store: ServerStore
  let row: ServerCatalog.Row
  let asOf: UInt64
  /// A transaction whose view was pruned meanwhile must be made again, like one whose reads have changed.
  var isOfTransaction = false

  private var number: SQLValue { .int32(row.tree) }
  private var commit: SQLValue { .number(asOf) }

  // MARK: Entries

  /// The entries of keys, in the order of the keys; nil for a key without one. One round trip for all.
  func find(_ keys: [[UInt8]]) throws(StorageError) -> [ServerEntry?] {
    try store.find(keys.map { TreeKey(tree: row.tree, key: $0) }, asOf: asOf, isOfTransaction: isOfTransaction)
  }

  private func read(_ statement: Statement) throws(StorageError) -> Rows {
    try store.read(statement, asOf: asOf, isOfTransaction: isOfTransaction)
  }

  /// The entry of a key that was alive at a commit, as a table in SQL. Of many versions it reads only the last before the commit.
  static func alive(_ tree: String, _ key: String, _ commit: String) -> String {
    """
    (select c.key, c.kind, c.payload, c.value, c.born, c.written
       from {current} c where c.tree = \(tree) and c.key = \(key) and c.born <= \(commit)
     union all
     select h.key, h.kind, h.payload, h.value, h.born, h.written from
       (select * from {history} a where a.tree = \(tree) and a.key = \(key) and a.born <= \(commit)
        order by a.born desc limit 1) h where h.died > \(commit))
    """
  }

  /// The first entries of a range in order, or the last in falling order if `isReversed`. At most `limit`: fewer are all.
  func page(_ range: KeyRange = KeyRange(), limit: Int, isReversed: Bool = false) throws(StorageError)
    -> [ServerEntry]
  {
    let rows = try read(
      store.tables.statement(
        isReversed ? "pageBack" : "page",
        Self.page(isReversed: isReversed), [number, commit] + range.parameters + [.int(Int64(limit))]))
    return try rows.map { row throws(StorageError) in try ServerEntry(rows, row) }
  }

  /// The keys of a page, each with the record of another tree that its end names.
  func page(_ range: KeyRange, limit: Int, isReversed: Bool, records: Int32) throws(StorageError) -> [KeyWithRecord] {
    let rows = try read(
      store.tables.statement(
        isReversed ? "pageBackWithRecords" : "pageWithRecords", Self.page(isReversed: isReversed, records: "$6"),
        [number, commit] + range.parameters + [.int(Int64(limit)), .int32(records)]))
    return try rows.map { row throws(StorageError) in try KeyWithRecord(rows, row, at: 0) }
  }

  /// The identifier at the end of an index entry's key, whose length is in the last two bytes; null if there is none.
  static func endOfKey(_ alias: String) -> String {
    let count = "length(\(alias).key)"
    let length = "(get_byte(\(alias).key, \(count) - 2) * 256 + get_byte(\(alias).key, \(count) - 1))"
    return """
      case when \(count) >= 2 then
        case when \(length) <= \(count) - 2 then substr(\(alias).key, \(count) - 1 - \(length), \(length)) end end
      """
  }

  /// The same for a key in memory.
  static func endOfKey(_ key: [UInt8]) -> ArraySlice<UInt8>? {
    guard key.count >= 2 else { return nil }
    let length = Int(key[key.count - 2]) << 8 | Int(key[key.count - 1])
    return length <= key.count - 2 ? key[(key.count - 2 - length)..<(key.count - 2)] : nil
  }

  /// The key at a rank; nil if the tree has no more entries than that.
  func key(atRank rank: UInt64) throws(StorageError) -> [UInt8]? {
    guard rank < UInt64(Int64.max) else { return nil }
    let rows = try read(
      store.tables.statement("keyAtRank", "select r.key from \(Self.keyAtRank) r", [number, commit, .int(Int64(rank))]))
    return rows.count > 0 ? rows.bytes(0, 0) : nil
  }

  /// Whether an entry of the tree died after the commit: if none did, `current` alone has the state, and `history` is not read.
  private static let hasDeaths = "exists (select 1 from {history} g where g.tree = $1 and g.died > $2)"

  /// $1 tree, $2 commit, $4 upper bound, $5 limit. Each branch is read by its own index, and `history` no further than `current` was.
  ///
  /// - Parameter records: The parameter with the number of a tree of records that come along, as written in the statement.
  private static func page(isReversed: Bool, records: String? = nil) -> String {
    let order = isReversed ? "desc" : "asc"
    let bound =
      isReversed
      ? "h.key >= coalesce((select c.key from c order by c.key desc offset $5 - 1 limit 1), ''::bytea)"
      : "h.key <= coalesce((select c.key from c order by c.key offset $5 - 1 limit 1), $4)"
    let all = "(select * from c union all select * from h)"
    let end =
      if let records {
        """
        select \(KeyWithRecord.columns("e", "r"))
        from (select u.* from \(all) u order by u.key \(order) limit $5) e
          left join lateral \(alive(records, endOfKey("e"), "$2")) r on true
        order by e.key \(order)
        """
      } else {
        "select \(ServerEntry.columns("e")) from \(all) e order by e.key \(order) limit $5"
      }
    return """
      with c as (
        select c.key, c.kind, c.payload, c.value, c.born, c.written from {current} c
        where c.tree = $1 and c.key >= $3 and c.key < $4 and c.born <= $2 order by c.key \(order) limit $5),
      h as (
        select h.key, h.kind, h.payload, h.value, h.born, h.written from {history} h
        where h.tree = $1 and h.key >= $3 and h.key < $4 and \(bound) and h.born <= $2 and h.died > $2
          and \(hasDeaths) order by h.key \(order) limit $5)
      \(end)
      """
  }

  /// The key at rank $3: for the newest state by an index alone.
  private static let keyAtRank = """
    (select * from (
       select c.key from {current} c where c.tree = $1 and not \(hasDeaths)
         and not exists (select 1 from {current} i where i.tree = $1 and \(Tables.isInserted("i", after: "$2")))
       order by c.key offset $3 limit 1) a
     union all
     select * from (
       select u.key from (
         select c.key from {current} c where c.tree = $1 and c.born <= $2
         union all
         select h.key from {history} h where h.tree = $1 and h.born <= $2 and h.died > $2) u
       where \(hasDeaths) or exists (select 1 from {current} i where i.tree = $1 and \(Tables.isInserted("i", after: "$2")))
       order by u.key offset $3 limit 1) b)
    """

  // MARK: Counting

  /// The number of entries in a range, counted by the server over indexes alone.
  func count(_ range: KeyRange = KeyRange()) throws(StorageError) -> UInt64 {
    let rows = try read(
      store.tables.statement(
        "count",
        """
        select (select count(*) from {current} c where c.tree = $1 and c.key >= $3 and c.key < $4)
          - (select count(*) from {current} c where c.tree = $1 and \(Tables.isInserted("c", after: "$2"))
              and \(Tables.unindexed("c")) >= $3 and \(Tables.unindexed("c")) < $4)
          + (select count(*) from {history} h
             where h.tree = $1 and h.died > $2 and h.born <= $2
               and \(Tables.unindexed("h")) >= $3 and \(Tables.unindexed("h")) < $4
               and not exists (
                 select 1 from {current} c where c.tree = h.tree and c.key = h.key and c.inserted = h.inserted))
        """, [number, commit] + range.parameters))
    return try rows.number(0, 0)
  }
}

extension ServerStore {
  /// Runs one statement that reads as of a commit, and checks afterwards, in the same round trip, whether that commit is still kept.
  ///
  /// - Parameter isOfTransaction: Whether a pruned commit is a conflict, because the reader's writes depend on the read.
  func read(_ statement: Statement, asOf: UInt64, isOfTransaction: Bool = false) throws(StorageError) -> Rows {
    let kept = tables.statement(
      "kept",
      """
      select s.oldest, \(Tables.isKept("$1", oldest: "s.oldest")) from {store} s where s.one
      """, [.number(asOf)])
    let rows = try pool.read([statement, kept])
    guard rows[1].count == 1 else { throw .withoutStoreRow }
    guard rows[1].bool(0, 1) else {
      throw try isOfTransaction
        ? .conflict(TransactionConflict(asOf: asOf)) : .prunedCommit(number: asOf, nearest: rows[1].number(0, 0))
    }
    return rows[0]
  }

  /// The entries of keys of any trees, in the order of the keys. One round trip for all.
  func find(_ places: [TreeKey], asOf: UInt64, isOfTransaction: Bool = false) throws(StorageError) -> [ServerEntry?] {
    let statement: Statement
    if places.count == 1 {
      statement = tables.statement(
        "find", "select 1, \(ServerEntry.columns("e")) from \(StoredTree.alive("$1", "$2", "$3")) e",
        [.int32(places[0].tree), .bytes(places[0].key), .number(asOf)])
    } else {
      statement = tables.statement(
        "findPlaces",
        """
        select k.place::integer, \(ServerEntry.columns("e"))
        from unnest($1::integer[], $2::bytea[]) with ordinality k (tree, key, place),
          lateral \(StoredTree.alive("k.tree", "k.key", "$3")) e
        """, [.int32s(places.map(\.tree)), .byteArrays(places.map(\.key)), .number(asOf)])
    }
    let rows = try read(statement, asOf: asOf, isOfTransaction: isOfTransaction)
    var found = [ServerEntry?](repeating: nil, count: places.count)
    for row in 0..<rows.count {
      let place = try Int(rows.number(row, 0)) - 1
      if found.indices.contains(place) { found[place] = try ServerEntry(rows, row, at: 1) }
    }
    return found
  }
}
