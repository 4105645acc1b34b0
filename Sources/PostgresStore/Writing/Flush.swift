import StorageEngine

/// The statements of one flush: they take numbers for some transactions, prove that nothing that these read has changed, and write what they
/// write, set-wise; one round trip.
///
/// The row of the store is locked from taking the numbers until all is durable, so that flushes come one after the other, and every
/// statement behind the first sees all that was committed before (`read committed`). That is why taking the numbers is a statement of
/// its own; all else that most transactions need is one more (`StatementPart`). What proves a conflict divides by zero, so that
/// nothing behind it is run and nobody has to wait for the answer.
struct Flush {
  let tables: Tables
  let drafts: [CommitDraft]
  let token: CommitToken
  let options: ServerOptions
  /// The writers' clocks, one of each draft.
  let clocks: [Int64]
  /// Up to which commit the trees are known; where the flush changes some, what happened since is asked for in passing.
  let catalog: ServerCatalog

  /// Statements in their order, and where those stand that tell something.
  struct Statements {
    var all: [Statement] = []
    var take = 0
    /// Proves that a lease is held.
    var lease: Int?
    /// Prove that nothing has changed that was read.
    var checks: Set<Int> = []
    /// Write entries.
    var writes: Set<Int> = []
    var commits = 0
    /// Tells what happened to the trees; nil where the flush changes none.
    var trees: Int?

    mutating func add(_ statement: Statement) -> Int {
      all.append(statement)
      return all.count - 1
    }
  }

  /// All of it.
  ///
  /// - Parameter isBegun: whether `beginning` was sent before, and the trees were copied that are to be.
  func statements(isBegun: Bool = false) throws(StorageError) -> Statements {
    var statements = isBegun ? Statements() : beginning()
    let chunks = chunks(leavingOut: isBegun ? copiedTrees : [])
    for chunk in chunks.dropLast() {
      statements.writes.insert(statements.add(Self.writing(chunk.parts(), count: drafts.count, tables)))
    }
    statements.commits = statements.add(
      try commits(
        chunks.last.map { $0.parts(isOnly: chunks.count == 1) } ?? [], conditions: provesFirst ? [] : checks()))
    statements.checks.insert(statements.commits)
    statements.writes.insert(statements.commits)
    for draft in drafts { statements.all += names(draft.info.names) }
    if makesTrees { statements.trees = statements.add(catalog.missing(tables)) }
    statements.all.append(Statement("commit", name: "commit"))
    return statements
  }

  /// What takes the numbers, proves what must be proved before anything is written, and changes the trees themselves.
  func beginning() -> Statements {
    var statements = Statements()
    statements.all.append(Statement("begin", name: "begin"))
    statements.take = statements.add(
      tables.statement(
        "take",
        """
        update {store} set parent = head, newest = newest + $1, head = newest + $1
        where one and \(tables.boundsWaiting) and 1 / case when oldest > $2 then 0 else 1 end = 1 returning newest
        """, [.int(Int64(drafts.count)), .int(Int64(bitPattern: drafts.map(\.asOf).min() ?? 0))]))
    // What changed before the oldest state that is kept is found by nobody any more.
    statements.checks.insert(statements.take)
    if let claim = drafts.compactMap(\.lease).first {
      statements.lease = statements.add(
        tables.statement(
          "select 1 / case when exists (select 1 from {lease} l where l.what = $1 and l.holder = $2) then 1 else 0 end",
          [.text(claim.what), .bytes(claim.holder)]))
    }
    for draft in drafts where draft.readsCatalog { statements.checks.insert(statements.add(catalogCheck(draft))) }
    if provesFirst { statements.checks.insert(statements.add(Self.writing([], checks(), count: drafts.count, tables))) }
    statements.all += treeChanges()
    return statements
  }

  private var makesTrees: Bool { drafts.contains { !$0.treeChanges.isEmpty } }

  /// Whether more than one statement writes: those behind the first would take its changes for those of others.
  private var provesFirst: Bool {
    makesTrees || drafts.reduce(0) { $0 + $1.writes.count } >= WriteChunk.most
      || drafts.reduce(0) { $0 + $1.bytes } >= WriteChunk.mostBytes
  }

  // MARK: What was read

  private func checks() -> [StatementPart] {
    var points: (trees: [Int32], keys: [[UInt8]], since: [Int64]) = ([], [], [])
    var ranges: (trees: [Int32], lower: [[UInt8]], upper: [[UInt8]], since: [Int64]) = ([], [], [], [])
    var names: (names: [[UInt8]], since: [Int64]) = ([], [])
    for draft in drafts {
      let since = Int64(bitPattern: draft.asOf)
      for place in draft.keysToProve {
        points.trees.append(place.tree)
        points.keys.append(place.key)
        points.since.append(draft.keysPresumed.contains(place) ? -1 : since)
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
    var checks: [StatementPart] = []
    // They were looked at before the lock was taken: what has been pruned since has nothing left to be named.
    let named = Set(drafts.flatMap(\.namedCommits)).sorted()
    if !named.isEmpty {
      checks.append(
        StatementPart("kept", [.numbers(named)]) { p in
          """
          exists (select 1 from n, unnest(\(p(1))::bigint[]) as r (number)
            where not exists (select 1 from {commit} c where c.number = r.number)
              or not \(Tables.isKept("r.number", oldest: "n.oldest")))
          """
        })
    }
    if !points.keys.isEmpty {
      checks.append(
        StatementPart("keys", [.int32s(points.trees), .byteArrays(points.keys), .ints(points.since)]) { p in
          "exists (select 1 from \(Self.changedKeys(p)))"
        })
    }
    if !ranges.lower.isEmpty {
      checks.append(
        StatementPart(
          "spans",
          [.int32s(ranges.trees), .byteArrays(ranges.lower), .byteArrays(ranges.upper), .ints(ranges.since)]
        ) { p in
          "exists (select 1 from \(Self.changedRanges(p)))"
        })
    }
    if !names.names.isEmpty {
      // Mostly none has changed at all, and none is looked at.
      checks.append(
        StatementPart("trees", [.byteArrays(names.names), .ints(names.since), .int(names.since.min() ?? 0)]) { p in
          "(select n.trees from n) > \(p(3)) and exists (select 1 from \(Self.changedTrees(p)))"
        })
    }
    return checks
  }

  private func catalogCheck(_ draft: CommitDraft) -> Statement {
    tables.statement(
      """
      select 1 / case when exists (
        select 1 from {tree} t where t.born > $1 or (t.died > $1 and t.died < \(Tables.never))) then 0 else 1 end
      """, [.number(draft.asOf)])
  }

  /// Keys that changed since they were read, as a table in SQL; where they were not read (`since` is negative), those that are there. Of a
  /// key with many versions the last is looked at.
  static func changedKeys(_ p: (Int) -> String) -> String {
    """
    unnest(\(p(1))::integer[], \(p(2))::bytea[], \(p(3))::bigint[]) as r (tree, key, since)
    where exists (select 1 from {current} c where c.tree = r.tree and c.key = r.key and c.born > r.since)
      or r.since >= 0 and
        (select h.died from {history} h where h.tree = r.tree and h.key = r.key order by h.born desc limit 1) > r.since
    """
  }

  /// Ranges in which something changed since: looked for among what changed, however great the ranges are.
  static func changedRanges(_ p: (Int) -> String) -> String {
    """
    unnest(\(p(1))::integer[], \(p(2))::bytea[], \(p(3))::bytea[], \(p(4))::bigint[]) as r (tree, lower, upper, since)
    where exists (
        select 1 from {history} h
        where h.tree = r.tree and h.died > r.since and \(Tables.unindexed("h")) >= r.lower
          and \(Tables.unindexed("h")) < r.upper)
      or exists (
        select 1 from {current} c
        where c.tree = r.tree and \(Tables.isInserted("c", after: "r.since")) and \(Tables.unindexed("c")) >= r.lower
          and \(Tables.unindexed("c")) < r.upper)
    """
  }

  static func changedTrees(_ p: (Int) -> String) -> String {
    """
    unnest(\(p(1))::bytea[], \(p(2))::bigint[]) as r (name, since) join {tree} t on t.name = r.name and t.died > r.since
    where t.born > r.since or t.died < \(Tables.never)
    """
  }

  // MARK: What is written

  /// Everything but the commits' own rows, for who writes these by itself; the row of the store has the number of the last of them.
  func changes() -> [Statement] {
    var statements = treeChanges()
    for chunk in chunks(leavingOut: []) { statements.append(Self.writing(chunk.parts(), count: drafts.count, tables)) }
    for draft in drafts { statements += names(draft.info.names) }
    return statements
  }

  /// A statement that only writes, or only proves.
  static func writing(
    _ parts: [StatementPart], _ conditions: [StatementPart] = [], count: Int, _ tables: Tables
  ) -> Statement {
    Statement.writing(
      parts, conditions: conditions, end: StatementPart("only", []) { _ in "select n.newest from n" },
      count: .int(Int64(count)), tables)
  }

  private func treeChanges() -> [Statement] {
    let changes = drafts.flatMap(\.treeChanges).flatMap { statements(for: $0) }
    return changes.isEmpty ? [] : changes + [tables.statement("update {store} set trees = newest where one")]
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
  private func chunks(leavingOut copied: Set<Int32>) -> [WriteChunk] {
    var chunks: [WriteChunk] = []
    var chunk = WriteChunk()
    for (place, draft) in drafts.enumerated() {
      for write in draft.writes {
        if copied.contains(write.place.tree) {
          chunk.count(write, step: Int32(place + 1))
          continue
        }
        chunk.add(write, step: Int32(place + 1))
        if chunk.isFull {
          chunks.append(chunk)
          chunk = WriteChunk()
        }
      }
    }
    if !chunk.isEmpty { chunks.append(chunk) }
    return chunks
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
            """, [.text(name), .number(number)]))
      }
      return statements
    }
  }

  // MARK: Commits

  /// The rows of the commits and of their token, with some parts that write before them, where nothing has changed that was read.
  private func commits(
    _ parts: [StatementPart], conditions: [StatementPart]
  ) throws(StorageError) -> Statement {
    let token = StatementPart("token", [.bytes(token.bytes)]) { p in
      "insert into {token} (token, number, count, at) select \(p(1)), n.newest, $1, current_timestamp from n"
    }
    return Statement.writing(
      parts + [token], conditions: conditions, end: drafts.count == 1 ? try commit(drafts[0]) : try commitRows(),
      "returning c.number, c.date, c.parents, (select n.trees from n)", count: .int(Int64(drafts.count)), tables)
  }

  private var commitColumns: String {
    """
    insert into {commit} as c (number, parents, date, origin, origin_number, action, program, author, flags, undoes,
      restores, bytes, pedigree\(tables.clock("clock")))
    """
  }

  private static func date(_ own: String) -> String {
    "greatest(\(own), coalesce((select p.date from {commit} p where p.number = n.parent), \(own)))"
  }

  private static let firstParents = "case when n.parent = 0 then array[]::bigint[] else array[n.parent] end"

  /// One commit: without arrays it takes half as long.
  private func commit(_ draft: CommitDraft) throws(StorageError) -> StatementPart {
    let texts = try texts(draft)
    let info = draft.info
    return StatementPart(
      "one",
      [
        .int(info.date ?? clocks[0]), .text(texts.action), .text(texts.program), .text(texts.author),
        .int32(Int32(bitPattern: info.flags.rawValue)), .number(info.undoes ?? 0),
        .number(draft.restores ?? 0), .int(Int64(draft.bytes)), .int(clocks[0]),
      ]
    ) { p in
      """
      \(commitColumns)
      select n.newest, \(Self.firstParents), \(Self.date(p(1))), n.origin, n.newest,
        \((2...8).map(p).joined(separator: ", ")), ''\(tables.clock(p(9)))
      from n
      """
    }
  }

  private func commitRows() throws(StorageError) -> StatementPart {
    var dates: [Int64] = []
    var texts: [(action: String, program: String, author: String)] = []
    for (draft, clock) in zip(drafts, clocks) {
      dates.append(max(draft.info.date ?? clock, dates.last ?? .min))
      texts.append(try self.texts(draft))
    }
    return StatementPart(
      "rows",
      [
        .ints(dates), .texts(texts.map(\.action)), .texts(texts.map(\.program)), .texts(texts.map(\.author)),
        .int32s(drafts.map { Int32(bitPattern: $0.info.flags.rawValue) }),
        .ints(drafts.map { Int64(bitPattern: $0.info.undoes ?? 0) }),
        .ints(drafts.map { Int64(bitPattern: $0.restores ?? 0) }), .ints(drafts.map { Int64($0.bytes) }),
        .int32s(drafts.indices.map { Int32($0 + 1) }), .ints(clocks),
      ]
    ) { p in
      """
      \(commitColumns)
      select n.newest - $1 + w.step, case when w.step > 1 then array[n.newest - $1 + w.step - 1] else \(Self.firstParents) end,
        \(Self.date("w.date")), n.origin, n.newest - $1 + w.step, w.action, w.program, w.author, w.flags, w.undoes, w.restores,
        w.bytes, ''\(tables.clock("w.clock"))
      from n, unnest(\(p(1))::bigint[], \(p(2))::text[], \(p(3))::text[], \(p(4))::text[], \(p(5))::integer[],
        \(p(6))::bigint[], \(p(7))::bigint[], \(p(8))::bigint[], \(p(9))::integer[],
        \(p(10))::bigint[]) as w (date, action, program, author, flags, undoes, restores, bytes, step, clock)
      """
    }
  }

  /// The commits, of what was answered.
  func commits(_ rows: Rows, origin: UInt64) throws(StorageError) -> [ServerCommit] {
    let places = (0..<rows.count).sorted { rows.number($0, 0) < rows.number($1, 0) }
    guard places.count == drafts.count else { throw .withoutStoreRow }
    var commits: [ServerCommit] = []
    for (place, (draft, row)) in zip(drafts, places).enumerated() {
      let (texts, info, number) = (try texts(draft), draft.info, rows.number(row, 0))
      commits.append(
        ServerCommit(
          record: CommitRecord(
            number: number, identity: CommitIdentity(origin: origin, number: number),
            parents: rows.ints(row, 2).map { UInt64(bitPattern: $0) }, date: rows.int(row, 1), program: texts.program,
            author: texts.author, action: texts.action, flags: info.flags, undoes: info.undoes,
            restores: draft.restores, names: [], counts: [], bytes: UInt64(draft.bytes)),
          clock: tables.hasClocks ? clocks[place] : rows.int(row, 1)))
    }
    return commits
  }

  private func texts(_ draft: CommitDraft) throws(StorageError) -> (action: String, program: String, author: String) {
    let info = draft.info
    return (
      try Self.text(info.action, "action"), try Self.text(info.program ?? options.program, "program"),
      try Self.text(info.author ?? options.author, "author")
    )
  }

  static func text(_ text: String, _ what: String) throws(StorageError) -> String {
    guard text.utf8.count <= Limits.text, !text.utf8.contains(0) else { throw .invalidText(what) }
    return text
  }
}
