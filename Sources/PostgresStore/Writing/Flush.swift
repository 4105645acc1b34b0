import StorageEngine

/// The statements of one flush: they take numbers for some transactions, prove that nothing that these read has changed, and write what they
/// write, set-wise; one round trip.
///
/// The row of the store is locked from taking the numbers until all is durable, so that flushes come one after the other, and every
/// statement behind the first sees all that was committed before (`read committed`). What proves a conflict divides by zero, so that
/// nothing behind it is run and nobody has to wait for the answer.
struct Flush {
  let tables: Tables
  let drafts: [CommitDraft]
  let token: CommitToken
  let options: ServerOptions
  /// Up to which commit the trees are known; what happened to them since is asked for in passing.
  let catalog: ServerCatalog

  private var count: SQLValue { .int(Int64(drafts.count)) }

  /// Where the answers of interest stand among all.
  struct Places {
    var take = 0
    var checks: [Int] = []
    var token = 0
    var commits = 0
    var trees = 0
    var end = 0
  }

  func statements() throws(ServerError) -> (statements: [Statement], places: Places) {
    var places = Places()
    var statements = [Statement("begin", name: "begin")]
    func add(_ name: String?, _ sql: String, _ parameters: [SQLValue]) -> Int {
      statements.append(
        name.map { tables.statement($0, sql, parameters) } ?? tables.statement(sql, parameters))
      return statements.count - 1
    }
    places.take = add(
      "take",
      """
      update {store} set parent = head, newest = newest + $1, head = newest + $1 where one returning newest, head
      """, [count])
    for check in checks() {
      places.checks.append(statements.count)
      statements.append(check)
    }
    places.token = add(
      "token",
      """
      insert into {token} (token, number, count, at)
      select $2, s.newest, $1, current_timestamp from {store} s where s.one
      """, [count, .bytes(token.bytes)])
    statements += changes()
    places.commits = statements.count
    statements.append(try commits())
    places.trees = statements.count
    statements.append(catalog.missing(tables))
    places.end = statements.count
    statements.append(Statement("commit", name: "commit"))
    return (statements, places)
  }

  // MARK: What was read

  private func checks() -> [Statement] {
    var points: (trees: [Int32], keys: [[UInt8]], since: [Int64]) = ([], [], [])
    var ranges: (trees: [Int32], lower: [[UInt8]], upper: [[UInt8]], since: [Int64]) = ([], [], [], [])
    var names: (names: [[UInt8]], since: [Int64]) = ([], [])
    for draft in drafts {
      let since = Int64(bitPattern: draft.asOf)
      for place in draft.keysRead {
        points.trees.append(place.tree)
        points.keys.append(place.key)
        points.since.append(since)
      }
      for range in draft.rangesRead {
        ranges.trees.append(range.tree)
        ranges.lower.append(range.keys.lower)
        ranges.upper.append(range.keys.upper ?? KeyRange.beyond)
        ranges.since.append(since)
      }
      for name in draft.treesRead {
        names.names.append(name.bytes)
        names.since.append(since)
      }
    }
    var checks: [Statement] = []
    func fail(where condition: String) -> String { "select 1 / case when exists (\(condition)) then 0 else 1 end" }
    if !points.keys.isEmpty {
      checks.append(
        tables.statement(
          "checkKeys", fail(where: "select 1 from \(Self.changedKeys)"),
          [.int32s(points.trees), .byteArrays(points.keys), .ints(points.since)]))
    }
    if !ranges.lower.isEmpty {
      checks.append(
        tables.statement(
          "checkRanges", fail(where: "select 1 from \(Self.changedRanges)"),
          [.int32s(ranges.trees), .byteArrays(ranges.lower), .byteArrays(ranges.upper), .ints(ranges.since)]))
    }
    if !names.names.isEmpty {
      checks.append(
        tables.statement(
          "checkTrees", fail(where: "select 1 from \(Self.changedTrees)"),
          [.byteArrays(names.names), .ints(names.since)]))
    }
    for draft in drafts where draft.readsCatalog {
      checks.append(
        tables.statement(
          fail(
            where:
              "select 1 from {tree} t where t.born > $1 or (t.died > $1 and t.died < \(Tables.never))"),
          [.int(Int64(bitPattern: draft.asOf))]))
    }
    for claim in drafts.compactMap(\.lease) {
      checks.append(
        tables.statement(
          fail(where: "select 1 where not exists (select 1 from {lease} l where l.what = $1 and l.holder = $2)"),
          [.text(claim.what), .bytes(claim.holder)]))
    }
    return checks
  }

  /// Keys that changed since they were read, as a table in SQL. Of a key with many versions the last is looked at.
  static let changedKeys = """
    unnest($1::integer[], $2::bytea[], $3::bigint[]) as r (tree, key, since)
    where exists (select 1 from {current} c where c.tree = r.tree and c.key = r.key and c.born > r.since)
      or (select h.died from {history} h where h.tree = r.tree and h.key = r.key order by h.born desc limit 1) > r.since
    """

  /// Ranges in which something changed since: looked for among what changed, however great the ranges are.
  static let changedRanges = """
    unnest($1::integer[], $2::bytea[], $3::bytea[], $4::bigint[]) as r (tree, lower, upper, since)
    where exists (
        select 1 from {history} h
        where h.tree = r.tree and h.died > r.since and \(Tables.unindexed("h")) >= r.lower
          and \(Tables.unindexed("h")) < r.upper)
      or exists (
        select 1 from {current} c
        where c.tree = r.tree and c.inserted > r.since and \(Tables.unindexed("c")) >= r.lower
          and \(Tables.unindexed("c")) < r.upper)
    """

  static let changedTrees = """
    unnest($1::bytea[], $2::bigint[]) as r (name, since) join {tree} t on t.name = r.name and t.died > r.since
    where t.born > r.since or t.died < \(Tables.never)
    """

  // MARK: What is written

  /// Everything but the commits' own rows; the row of the store has the number of the last of them.
  func changes() -> [Statement] {
    var statements: [Statement] = []
    for change in drafts.flatMap(\.treeChanges) { statements += self.statements(for: change) }
    for chunk in chunks() { statements += self.statements(for: chunk) }
    for draft in drafts { statements += names(draft.info.names) }
    return statements
  }

  private func statements(for change: TreeChange) -> [Statement] {
    switch change {
    case .create(let tree, let name, let kind, let attributes):
      return [
        tables.statement(
          """
          insert into {tree} (tree, born, died, name, kind, attributes)
          select $1, s.newest, \(Tables.never), $2, $3, $4 from {store} s where s.one
          """, [.int32(tree), .bytes(name.bytes), .int32(Int32(kind.rawValue)), .bytes(attributes)])
      ]
    case .setAttributes(let tree, let name, let kind, let attributes):
      return [end(tree)] + statements(for: .create(tree, name, kind, attributes: attributes))
    case .drop(let tree):
      return [
        end(tree),
        tables.statement(
          """
          insert into {history} (tree, key, born, died, inserted, written, kind, payload, value)
          select c.tree, c.key, c.born, s.newest, c.inserted, c.written, c.kind, c.payload, c.value
          from {current} c, {store} s where c.tree = $1 and s.one
          """, [.int32(tree)]),
        tables.statement("delete from {current} where tree = $1", [.int32(tree)]),
      ]
    }
  }

  private func end(_ tree: Int32) -> Statement {
    tables.statement(
      """
      update {tree} set died = (select s.newest from {store} s where s.one)
      where tree = $1 and died = \(Tables.never)
      """, [.int32(tree)])
  }

  /// Writes in pieces that a statement takes at a time.
  private func chunks() -> [WriteChunk] {
    var chunks: [WriteChunk] = []
    var chunk = WriteChunk()
    for (place, draft) in drafts.enumerated() {
      for write in draft.writes {
        chunk.add(write.place, write.write, isRecord: write.isRecord, step: Int32(place + 1))
        if chunk.isFull {
          chunks.append(chunk)
          chunk = WriteChunk()
        }
      }
    }
    if !chunk.keys.isEmpty { chunks.append(chunk) }
    return chunks
  }

  private func statements(for chunk: WriteChunk) -> [Statement] {
    var statements: [Statement] = []
    if !chunk.valueNumbers.isEmpty { statements.append(chunk.values(tables)) }
    statements.append(
      tables.statement(
        "move",
        """
        insert into {history} (tree, key, born, died, inserted, written, kind, payload, value)
        select c.tree, c.key, c.born, s.newest - $1 + w.step, c.inserted, c.written, c.kind, c.payload, c.value
        from unnest($2::integer[], $3::integer[], $4::bytea[]) as w (step, tree, key)
          join {current} c on c.tree = w.tree and c.key = w.key, {store} s where s.one
        """, [count, .int32s(chunk.steps), .int32s(chunk.trees), .byteArrays(chunk.keys)]))
    if chunk.puts.count < chunk.keys.count {
      let deletes = chunk.keys.indices.filter { !chunk.isPut[$0] }
      statements.append(
        tables.statement(
          "delete",
          """
          delete from {current} c using unnest($1::integer[], $2::bytea[]) as w (tree, key)
          where c.tree = w.tree and c.key = w.key
          """, [.int32s(deletes.map { chunk.trees[$0] }), .byteArrays(deletes.map { chunk.keys[$0] })]))
    }
    if !chunk.puts.isEmpty {
      statements.append(
        tables.statement(
          "put",
          """
          insert into {current} (tree, key, born, inserted, written, kind, payload, value)
          select w.tree, w.key, s.newest - $1 + w.step, s.newest - $1 + w.step,
            case when w.written = 0 then s.newest - $1 + w.step else w.written end, w.kind, w.payload, w.value
          from unnest($2::integer[], $3::integer[], $4::bytea[], $5::integer[], $6::bytea[], $7::bigint[], $8::bigint[])
            as w (step, tree, key, kind, payload, value, written), {store} s where s.one
          on conflict (tree, key) do update set born = excluded.born, written = excluded.written,
            kind = excluded.kind, payload = excluded.payload, value = excluded.value
          """,
          [
            count, .int32s(chunk.puts.map { chunk.steps[$0] }), .int32s(chunk.puts.map { chunk.trees[$0] }),
            .byteArrays(chunk.puts.map { chunk.keys[$0] }), .int32s(chunk.kinds), .byteArrays(chunk.payloads),
            .ints(chunk.values), .ints(chunk.written),
          ]))
    }
    let records = chunk.keys.indices.filter { chunk.isRecord[$0] }
    if !records.isEmpty {
      statements.append(
        tables.statement(
          "change",
          """
          insert into {change} (number, tree, inserted, updated, deleted)
          select x.number, x.tree, count(*) filter (where x.puts and not x.was),
            count(*) filter (where x.puts and x.was), count(*) filter (where x.was and not x.puts)
          from (
            select s.newest - $1 + w.step as number, w.tree, w.puts = 1 as puts, coalesce((
              select h.died from {history} h where h.tree = w.tree and h.key = w.key order by h.born desc limit 1)
                = s.newest - $1 + w.step, false) as was
            from unnest($2::integer[], $3::integer[], $4::bytea[], $5::integer[]) as w (step, tree, key, puts), {store} s
            where s.one) x
          group by x.number, x.tree
          on conflict (number, tree) do update set inserted = {change}.inserted + excluded.inserted,
            updated = {change}.updated + excluded.updated, deleted = {change}.deleted + excluded.deleted
          """,
          [
            count, .int32s(records.map { chunk.steps[$0] }), .int32s(records.map { chunk.trees[$0] }),
            .byteArrays(records.map { chunk.keys[$0] }), .int32s(records.map { chunk.isPut[$0] ? 1 : 0 }),
          ]))
    }
    return statements
  }

  private func names(_ names: [String: UInt64?]) -> [Statement] {
    names.sorted { $0.key < $1.key }.flatMap { name, number in
      var statements = [
        tables.statement(
          """
          update {name} set died = (select s.newest from {store} s where s.one) where name = $1 and died = \(Tables.never)
          """, [.text(name)])
      ]
      if let number {
        statements.append(
          tables.statement(
            """
            insert into {name} (name, born, died, number)
            select $1, s.newest, \(Tables.never), case when $2 = 0 then s.newest else $2 end from {store} s where s.one
            """, [.text(name), .int(Int64(bitPattern: number))]))
      }
      return statements
    }
  }

  private func commits() throws(ServerError) -> Statement {
    var dates: [Int64] = []
    var texts: (action: [String], program: [String], author: [String]) = ([], [], [])
    for draft in drafts {
      let info = draft.info
      dates.append(max(info.date ?? Clock.now, dates.last ?? .min))
      texts.action.append(try Self.text(info.action, "action"))
      texts.program.append(try Self.text(info.program ?? options.program, "program"))
      texts.author.append(try Self.text(info.author ?? options.author, "author"))
    }
    return tables.statement(
      "commits",
      """
      insert into {commit} as c (number, origin, origin_number, parents, date, action, program, author, flags, undoes,
        restores, bytes, pedigree)
      select s.newest - $1 + w.step, s.origin, s.newest - $1 + w.step,
        case when w.step > 1 then array[s.newest - $1 + w.step - 1]
          when s.parent = 0 then array[]::bigint[] else array[s.parent] end,
        greatest(w.date, coalesce((select p.date from {commit} p where p.number = s.parent), w.date)),
        w.action, w.program, w.author, w.flags, w.undoes, w.restores, w.bytes, ''
      from unnest($2::integer[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::integer[], $8::bigint[],
          $9::bigint[], $10::bigint[]) as w (step, date, action, program, author, flags, undoes, restores, bytes),
        {store} s where s.one order by w.step
      returning \(ServerCommit.columns)
      """,
      [
        count, .int32s(drafts.indices.map { Int32($0 + 1) }), .ints(dates), .texts(texts.action), .texts(texts.program),
        .texts(texts.author), .int32s(drafts.map { Int32(bitPattern: $0.info.flags.rawValue) }),
        .ints(drafts.map { Int64(bitPattern: $0.info.undoes ?? 0) }),
        .ints(drafts.map { Int64(bitPattern: $0.info.restores ?? 0) }), .ints(drafts.map { Int64($0.bytes) }),
      ])
  }

  static func text(_ text: String, _ what: String) throws(ServerError) -> String {
    guard text.utf8.count <= Limits.text, !text.utf8.contains(0) else { throw .invalidText(what: what) }
    return text
  }
}

/// Writes as columns.
struct WriteChunk {
  private(set) var steps: [Int32] = []
  private(set) var trees: [Int32] = []
  private(set) var keys: [[UInt8]] = []
  private(set) var isPut: [Bool] = []
  private(set) var isRecord: [Bool] = []
  /// Which of the writes are puts; what follows is about these.
  private(set) var puts: [Int] = []
  private(set) var kinds: [Int32] = []
  private(set) var payloads: [[UInt8]?] = []
  private(set) var values: [Int64?] = []
  private(set) var written: [Int64?] = []
  /// Payloads that lie in a table of their own.
  private(set) var valueNumbers: [Int64] = []
  private var valueBytes: [[UInt8]] = []
  private var size = 0

  var isFull: Bool { keys.count >= 20_000 || size >= 8 << 20 }

  mutating func add(_ place: TreeKey, _ write: KeyWrite, isRecord: Bool, step: Int32) {
    if let payload = write.payload {
      puts.append(keys.count)
      add(payload, written: write.written)
    }
    steps.append(step)
    trees.append(place.tree)
    keys.append(place.key)
    isPut.append(write.payload != nil)
    self.isRecord.append(isRecord)
    size += place.key.count
  }

  private mutating func add(_ payload: ServerPayload, written commit: UInt64?) {
    var writer = commit ?? 0
    var bytes: [UInt8]?
    var number: Int64?
    switch payload {
    case .none: kinds.append(0)
    case .record(let writtenBy):
      kinds.append(2)
      writer = writtenBy
    case .bytes(let payload):
      kinds.append(1)
      size += payload.count
      if payload.count > ServerLimits.inlinePayload {
        let own = Int64.random(in: 1...Int64.max)
        number = own
        valueNumbers.append(own)
        valueBytes.append(payload)
      } else {
        bytes = payload
      }
    }
    payloads.append(bytes)
    values.append(number)
    written.append(Int64(bitPattern: writer))
  }

  func values(_ tables: Tables) -> Statement {
    tables.statement(
      "values", "insert into {value} (number, bytes) select * from unnest($1::bigint[], $2::bytea[])",
      [.ints(valueNumbers), .byteArrays(valueBytes)])
  }
}
