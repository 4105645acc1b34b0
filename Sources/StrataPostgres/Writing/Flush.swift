import StrataEngine

/// The statements of one flush: they take numbers for some transactions, prove that nothing has changed that these read, and make their
/// writes, set-wise; one round trip.
///
/// The flush locks the row of the store from taking the numbers until all is durable. So flushes come one after the other, and every
/// statement behind the first sees all that was committed before (`read committed`). That is why taking the numbers is a statement of its
/// own; all else that most transactions need is one more (`StatementPart`). A check that finds a conflict divides by zero: then nothing
/// behind it is run, and no answer needs to be waited for.
struct Flush {
  let tables: Tables
  let drafts: [CommitDraft]
  let token: [UInt8]
  let options: ServerOptions
  /// The writers' clocks, one of each draft.
  let clocks: [Int64]
  /// The commit up to which the trees are known; if the flush changes some, it also asks for the changes since.
  let catalog: ServerCatalog

  /// Statements in their order, and the places of those that answer something.
  struct Statements {
    var all: [Statement] = []
    var take = 0
    /// Proves that a lease is held.
    var lease: Int?
    /// Prove that nothing has changed that was read.
    var checks: Set<Int> = []
    var writes: Set<Int> = []
    var commits = 0
    /// Returns the changes of the trees; nil if the flush changes none.
    var trees: Int?

    mutating func add(_ statement: Statement) -> Int {
      all.append(statement)
      return all.count - 1
    }
  }

  /// All of it.
  ///
  /// - Parameter isBegun: Whether `beginning` was sent before, and the trees in `copiedTrees` were copied.
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
    for draft in drafts { statements.all += names(draft) }
    if makesTrees { statements.trees = statements.add(catalog.missing(tables)) }
    statements.all.append(Statement("commit", name: "commit"))
    return statements
  }

  /// The statements that take the numbers, prove what must be proved before any write, and change the trees themselves.
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
    // Changes before the oldest kept state are no longer in the tables.
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

  // MARK: Writes

  /// All but the rows of the commits, for a caller that writes them itself; the row of the store has the number of the last commit.
  func changes() -> [Statement] {
    var statements = treeChanges()
    for chunk in chunks(leavingOut: []) { statements.append(Self.writing(chunk.parts(), count: drafts.count, tables)) }
    for draft in drafts { statements += names(draft) }
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
    case .drop(let tree, let isCounted):
      let count = tables.statement(
        """
        insert into {change} (number, tree, inserted, updated, deleted)
        select s.newest, $1, 0, 0, count(*) from {current} c, {store} s where c.tree = $1 and s.one
        group by s.newest
        """, [.int32(tree)])
      return (isCounted ? [count] : []) + [
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

  /// The writes in pieces of the size that a statement takes at a time.
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

  private func names(_ draft: CommitDraft) -> [Statement] {
    func end(_ name: String) -> Statement {
      tables.statement(
        """
        update {name} set died = (select s.newest from {store} s where s.one) where name = $1 and died = \(Tables.never)
        """, [.text(name)])
    }
    var statements = draft.otherSpellings.map(end)
    for (name, number) in draft.info.names.sorted(by: { $0.key < $1.key }) {
      statements.append(end(name))
      guard let number else { continue }
      statements.append(
        tables.statement(
          """
          insert into {name} (name, born, died, number)
          select $1, s.newest, \(Tables.never), case when $2 = 0 then s.newest else $2 end from {store} s where s.one
          """, [.text(name), .number(number)]))
    }
    return statements
  }

  // MARK: Commits

  /// The rows of the commits and of their token, with some parts that write before them, if nothing has changed that was read.
  private func commits(_ parts: [StatementPart], conditions: [StatementPart]) throws(StorageError) -> Statement {
    let token = StatementPart("token", [.bytes(token)]) { p in
      "insert into {token} (token, number, count, at) select \(p(1)), n.newest, $1, current_timestamp from n"
    }
    return Statement.writing(
      parts + [token], conditions: conditions, end: try commitRows(),
      "returning \(tables.commitTexts), (select n.trees from n)", count: .int(Int64(drafts.count)), tables)
  }

  /// A single commit is sent as values: to take arrays apart takes as long again.
  private func commitRows() throws(StorageError) -> StatementPart {
    var dates: [Int64] = []
    var texts: [(action: String, program: String, author: String)] = []
    for (draft, clock) in zip(drafts, clocks) {
      dates.append(max(draft.info.date ?? clock, dates.last ?? .min))
      texts.append(
        (
          try Self.text(draft.info.action, "action"), try Self.text(draft.info.program ?? options.program, "program"),
          try Self.text(draft.info.author ?? options.author, "author")
        ))
    }
    let (infos, isOne) = (drafts.map(\.info), drafts.count == 1)
    let (flags, bytes) = (infos.map { Int32(bitPattern: $0.flags.rawValue) }, drafts.map { Int64($0.bytes) })
    let (undoes, restores) = (infos.map { $0.undoes ?? 0 }, drafts.map { $0.restores ?? 0 })
    let values: [SQLValue] =
      isOne
      ? [
        .int(dates[0]), .text(texts[0].action), .text(texts[0].program), .text(texts[0].author), .int32(flags[0]),
        .number(undoes[0]), .number(restores[0]), .int(bytes[0]), .int32(1), .int(clocks[0]),
      ]
      : [
        .ints(dates), .texts(texts.map(\.action)), .texts(texts.map(\.program)), .texts(texts.map(\.author)),
        .int32s(flags), .numbers(undoes), .numbers(restores), .ints(bytes),
        .int32s(drafts.indices.map { Int32($0 + 1) }), .ints(clocks),
      ]
    return StatementPart(isOne ? "one" : "rows", values) { p in
      let types = ["bigint", "text", "text", "text", "integer", "bigint", "bigint", "bigint", "integer", "bigint"]
      let columns = types.enumerated().map { "\(p($0 + 1))::\($1)\(isOne ? "" : "[]")" }.joined(separator: ", ")
      return """
        insert into {commit} as c (number, parents, date, origin, origin_number, action, program, author, flags, undoes,
          restores, bytes, pedigree\(tables.clock("clock")))
        select n.newest - $1 + w.step,
          case when w.step > 1 then array[n.newest - $1 + w.step - 1]
            when n.parent = 0 then array[]::bigint[] else array[n.parent] end,
          greatest(w.date, coalesce((select p.date from {commit} p where p.number = n.parent), w.date)),
          n.origin, n.newest - $1 + w.step, w.action, w.program, w.author, w.flags, w.undoes, w.restores,
          w.bytes, ''\(tables.clock("w.clock"))
        from n, \(isOne ? "(values (\(columns)))" : "unnest(\(columns))")
          as w (date, action, program, author, flags, undoes, restores, bytes, step, clock)
        """
    }
  }

  /// The commits in the order of the drafts, as the server has them.
  func commits(_ rows: Rows) throws(StorageError) -> [ServerCommit] {
    guard rows.count == drafts.count else { throw .withoutStoreRow }
    let commits = try rows.map { row throws(StorageError) in try ServerCommit(texts: rows.texts(row, 0)) }
    return commits.sorted { $0.number < $1.number }
  }

  static func text(_ text: String, _ what: String) throws(StorageError) -> String {
    guard text.utf8.count <= Limits.text, !text.utf8.contains(0) else { throw .invalidText(what) }
    return text
  }
}
