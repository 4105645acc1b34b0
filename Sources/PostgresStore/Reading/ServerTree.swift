package import StorageEngine

/// What an entry holds beside its key.
package enum ServerPayload: Hashable, Sendable {
  case none
  case bytes([UInt8])
  /// The record whose identifier ends the key, as this commit wrote it.
  case record(writtenBy: UInt64)
}

/// One entry of a tree.
package struct ServerEntry: Hashable, Sendable {
  package var key: [UInt8]
  package var payload: ServerPayload
  /// The commit at which it came to be so.
  package var born: UInt64
  /// The commit that wrote the value: an older one where a restore brought it back.
  package var written: UInt64
}

extension ServerEntry {
  /// The columns of an entry alias, from its kind on.
  static func columns(_ alias: String) -> String {
    "\(alias).key, \(alias).kind, \(payload(alias)), \(alias).born, \(alias).written"
  }

  /// What an entry alias holds, wherever that lies.
  static func payload(_ alias: String) -> String {
    "case when \(alias).value is null then \(alias).payload else (select v.bytes from {value} v where v.number = \(alias).value) end"
  }

  static let columnCount = 5

  /// Nil where the columns are null.
  init?(_ rows: Rows, _ row: Int, at column: Int = 0, key: [UInt8]? = nil) {
    guard !rows.isNull(row, column + 1) else { return nil }
    self.key = key ?? rows.bytes(row, column) ?? []
    born = rows.number(row, column + 3)
    written = rows.number(row, column + 4)
    switch rows.int(row, column + 1) {
    case 0: payload = .none
    case 2: payload = .record(writtenBy: written)
    default: payload = .bytes(rows.bytes(row, column + 2) ?? [])
    }
  }
}

/// A key of an index with the record that its end names, and no more of either than is looked at.
struct KeyWithRecord: Sendable {
  var key: [UInt8]
  /// Nil where there is none.
  var record: (value: Bytes, written: UInt64)?

  static func columns(_ entry: String, _ record: String) -> String {
    "\(entry).key, \(record).written, \(ServerEntry.payload(record))"
  }

  init(key: [UInt8], record: (value: Bytes, written: UInt64)?) { (self.key, self.record) = (key, record) }

  /// Nil where the columns are null.
  init?(_ rows: Rows, _ row: Int, at column: Int) {
    guard let key = rows.bytes(row, column) else { return nil }
    self.key = key
    if let value = rows.bytes(row, column + 2) { record = (Bytes(value), rows.number(row, column + 1)) }
  }
}

/// A range of keys, from the lower bound on, up to the upper one and without it.
package struct KeyRange: Hashable, Sendable {
  package var lower: [UInt8]
  /// Nil: to the end.
  package var upper: [UInt8]?

  package init(from lower: [UInt8] = [], to upper: [UInt8]? = nil) {
    self.lower = lower
    self.upper = upper
  }

  /// The one key.
  package static func only(_ key: [UInt8]) -> KeyRange { KeyRange(from: key, to: key + [0]) }

  package func contains(_ key: [UInt8]) -> Bool {
    !key.precedes(lower) && (upper.map { key.precedes($0) } ?? true)
  }

  /// No key of a store is as great.
  static let beyond = [UInt8](repeating: 0xFF, count: ServerLimits.key + 1)

  var parameters: [SQLValue] { [.bytes(lower), .bytes(upper ?? Self.beyond)] }
}

/// A tree as of one commit: byte keys in their order. Immutable and safe from any thread; each call is one round trip.
package struct ServerTree: Sendable {
  package let store: ServerStore
  let row: ServerCatalog.Row
  package let asOf: UInt64

  init(store: ServerStore, row: ServerCatalog.Row, asOf: UInt64) {
    self.store = store
    self.row = row
    self.asOf = asOf
  }

  package var name: TreeName { row.name }
  package var kind: TreeKind { row.kind }
  package var attributes: [UInt8] { row.attributes }
  /// The lasting number of the tree.
  package var identifier: Int32 { row.tree }

  private var number: SQLValue { .int32(row.tree) }
  private var commit: SQLValue { .int(Int64(bitPattern: asOf)) }

  // MARK: Entries

  /// The entry of a key, or nil.
  package func find(_ key: [UInt8]) throws(ServerError) -> ServerEntry? { try find([key])[0] }

  /// The entries of keys, each in the place of its key; nil where there is none. One round trip for all.
  package func find(_ keys: [[UInt8]]) throws(ServerError) -> [ServerEntry?] {
    let statement: Statement
    if keys.count == 1 {
      statement = store.tables.statement(
        "find", "select 1, \(ServerEntry.columns("e")) from \(Self.alive("$1", "$2", "$3")) e",
        [number, .bytes(keys[0]), commit])
    } else {
      statement = store.tables.statement(
        "findAll",
        """
        select k.place::integer, \(ServerEntry.columns("e"))
        from unnest($2::bytea[]) with ordinality k (key, place), lateral \(Self.alive("$1", "k.key", "$3")) e
        """, [number, .byteArrays(keys), commit])
    }
    let rows = try store.read(statement, asOf: asOf)
    var found = [ServerEntry?](repeating: nil, count: keys.count)
    for row in 0..<rows.count {
      let place = Int(rows.int(row, 0)) - 1
      if found.indices.contains(place) { found[place] = ServerEntry(rows, row, at: 1) }
    }
    return found
  }

  /// The entry of a key that was alive at a commit, as a table in SQL. Of many versions only the last before the commit is looked at.
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

  /// The first entries of a range, in order; from its end on, in falling order, where `isReversed`. At most `limit` of them: fewer are all.
  package func page(_ range: KeyRange = KeyRange(), limit: Int, isReversed: Bool = false) throws(ServerError)
    -> [ServerEntry]
  {
    let rows = try store.read(
      store.tables.statement(
        isReversed ? "pageBack" : "page",
        Self.page(
          lower: "$3", isReversed: isReversed), [number, commit] + range.parameters + [.int(Int64(limit))]), asOf: asOf)
    return (0..<rows.count).compactMap { ServerEntry(rows, $0) }
  }

  /// The keys of a page, each with the record of another tree that its end names.
  func page(
    _ range: KeyRange, limit: Int, isReversed: Bool, records: Int32
  ) throws(ServerError) -> [KeyWithRecord] {
    let rows = try store.read(
      store.tables.statement(
        isReversed ? "pageBackWithRecords" : "pageWithRecords",
        Self.page(lower: "$3", isReversed: isReversed, records: "$6"),
        [number, commit] + range.parameters + [.int(Int64(limit)), .int32(records)]), asOf: asOf)
    return (0..<rows.count).compactMap { KeyWithRecord(rows, $0, at: 0) }
  }

  /// The identifier that ends the key of an index's entry, with its length in the last two bytes; null where there is none.
  static func endOfKey(_ alias: String) -> String {
    let count = "length(\(alias).key)"
    let length = "(get_byte(\(alias).key, \(count) - 2) * 256 + get_byte(\(alias).key, \(count) - 1))"
    return """
      case when \(count) >= 2 then
        case when \(length) <= \(count) - 2 then substr(\(alias).key, \(count) - 1 - \(length), \(length)) end end
      """
  }

  /// The same of a key that is here.
  static func endOfKey(_ key: [UInt8]) -> ArraySlice<UInt8>? {
    guard key.count >= 2 else { return nil }
    let length = Int(key[key.count - 2]) << 8 | Int(key[key.count - 1])
    return length <= key.count - 2 ? key[(key.count - 2 - length)..<(key.count - 2)] : nil
  }

  /// Entries from a rank on, in order.
  package func page(rank: UInt64, limit: Int) throws(ServerError) -> [ServerEntry] {
    guard rank < UInt64(Int64.max) else { return [] }
    let rows = try store.read(
      store.tables.statement(
        "pageAtRank", Self.page(lower: "(select r.key from \(Self.keyAtRank) r)", isReversed: false),
        [
          number, commit, .int(Int64(rank)), .bytes(KeyRange.beyond), .int(Int64(limit)),
        ]), asOf: asOf)
    return (0..<rows.count).compactMap { ServerEntry(rows, $0) }
  }

  /// Whether anything of the tree died after the commit: where nothing did, `current` alone tells its state, and `history` is not read.
  private static let hasDeaths = "exists (select 1 from {history} g where g.tree = $1 and g.died > $2)"

  /// $1 tree, $2 commit, $4 upper bound, $5 limit. Each branch is read by its own index, and `history` no further than `current` was.
  ///
  /// - Parameter records: the number of a tree of records that come along, as it stands in the statement.
  private static func page(lower: String, isReversed: Bool, records: String? = nil) -> String {
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
        where c.tree = $1 and c.key >= \(lower) and c.key < $4 and c.born <= $2 order by c.key \(order) limit $5),
      h as (
        select h.key, h.kind, h.payload, h.value, h.born, h.written from {history} h
        where h.tree = $1 and h.key >= \(lower) and h.key < $4 and \(bound) and h.born <= $2 and h.died > $2
          and \(hasDeaths) order by h.key \(order) limit $5)
      \(end)
      """
  }

  /// The key at rank $3: at the newest state by an index alone.
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

  /// How many entries there are in a range, counted by the server over indexes alone.
  package func count(_ range: KeyRange = KeyRange()) throws(ServerError) -> UInt64 {
    let rows = try store.read(
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
        """, [number, commit] + range.parameters), asOf: asOf)
    return rows.number(0, 0)
  }

  /// How many entries lie before a key.
  package func rank(of key: [UInt8]) throws(ServerError) -> UInt64 { try count(KeyRange(to: key)) }

  /// A cursor that stands nowhere yet.
  ///
  /// - Parameter page: how many entries it reads at a time.
  package func cursor(page: Int = 100) -> ServerCursor { ServerCursor(tree: self, page: page) }
}

extension ServerStore {
  /// Runs one statement that reads as of a commit, and looks afterwards, in the same round trip, whether that commit is still kept.
  func read(_ statement: Statement, asOf: UInt64) throws(ServerError) -> Rows {
    let kept = tables.statement(
      "kept",
      """
      select s.oldest, \(Tables.isKept("$1", oldest: "s.oldest")) from {store} s where s.one
      """, [.int(Int64(bitPattern: asOf))])
    let rows = try pool.read([statement, kept])
    guard rows[1].count == 1 else { throw .damaged(what: "the row of the store is missing") }
    guard rows[1].bool(0, 1) else { throw .prunedCommit(number: asOf, oldest: rows[1].number(0, 0)) }
    return rows[0]
  }
}
