import StrataEngine

/// The numbers of records of a tree that are inserted, updated and deleted.
struct RecordCounts: Hashable {
  var inserted: UInt64 = 0
  var updated: UInt64 = 0
  var deleted: UInt64 = 0

  /// Counts a record by whether it was there before, and whether it is now.
  mutating func add(was: Bool, isThere: Bool) {
    switch (was, isThere) {
    case (false, true): inserted += 1
    case (true, true): updated += 1
    case (true, false): deleted += 1
    case (false, false): break
    }
  }
}

/// Writes of commits, and the parts of a statement that write them.
struct WriteChunk {
  private var rows: [Row] = []
  private var longValues = LongValues()
  private var size = 0
  /// Changes of records whose keys are known to have existed, or not.
  private var counts: [Place: RecordCounts] = [:]

  @dynamicMemberLookup
  private struct Row {
    let step: Int32
    let write: DraftWrite
    /// Nil if the key is removed.
    let put: PayloadColumns?

    subscript<Value>(dynamicMember member: KeyPath<TreeKey, Value>) -> Value { write.place[keyPath: member] }
  }

  private struct Place: Hashable {
    var step: Int32
    var tree: Int32
  }

  var isEmpty: Bool { rows.isEmpty && counts.isEmpty }
  var isFull: Bool { rows.count >= Self.most || size >= Self.mostBytes }
  static let most = 20_000
  static let mostBytes = 8 << 20

  mutating func add(_ write: DraftWrite, step: Int32) {
    rows.append(Row(step: step, write: write, put: PayloadColumns(write.write, &longValues)))
    size += write.size
    if write.was != nil { count(write, step: step) }
  }

  mutating func count(_ write: DraftWrite, step: Int32) {
    guard write.isRecord else { return }
    let place = Place(step: step, tree: write.place.tree)
    counts[place, default: RecordCounts()].add(was: write.was ?? false, isThere: write.write.payload != nil)
  }

  // MARK: Parts

  /// The parts that write the chunk.
  ///
  /// - Parameter isOnly: Whether the chunk is all that its commits write.
  func parts(isOnly: Bool = false) -> [StatementPart] {
    [longValues.part, movePart, removePart, putPart(isNew: true), putPart(isNew: false), changePart(isOnly: isOnly)]
      .compactMap(\.self)
  }

  /// Moves the previous entries into the history.
  private var movePart: StatementPart? {
    let moved = rows.filter { $0.write.was != false }
    guard !moved.isEmpty else { return nil }
    return StatementPart(
      "move", [.int32s(moved.map(\.step)), .int32s(moved.map(\.tree)), .byteArrays(moved.map(\.key))]
    ) { p in
      """
      insert into {history} (tree, key, born, died, inserted, written, kind, payload, value)
        select c.tree, c.key, c.born, n.newest - $1 + w.step, c.inserted, c.written, c.kind, c.payload, c.value
        from n, unnest(\(p(1))::integer[], \(p(2))::integer[], \(p(3))::bytea[]) as w (step, tree, key)
          join {current} c on c.tree = w.tree and c.key = w.key
      """
    }
  }

  private var removePart: StatementPart? {
    let removed = rows.filter { $0.put == nil && $0.write.was != false }
    guard !removed.isEmpty else { return nil }
    return StatementPart("cut", [.int32s(removed.map(\.tree)), .byteArrays(removed.map(\.key))]) { p in
      """
      delete from {current} c using unnest(\(p(1))::integer[], \(p(2))::bytea[]) as w (tree, key)
        where c.tree = w.tree and c.key = w.key
      """
    }
  }

  /// Fewer entries than this are parameters by themselves: to take arrays apart costs as much as to insert their elements.
  private static let mostByThemselves = 6

  /// - Parameter isNew: The keys that did not exist, or all others. If one of the former exists after all, the server refuses it: that
  ///   proves as much as a look-up, which costs as much again.
  private func putPart(isNew: Bool) -> StatementPart? {
    let chosen = rows.filter { $0.put != nil && ($0.write.was == false) == isNew }
    let puts = chosen.compactMap(\.put)
    guard !puts.isEmpty else { return nil }
    let places: [SQLValue] = [
      .int32s(chosen.map(\.tree)), .byteArrays(chosen.map(\.key)), .int32s(puts.map(\.kind)),
      .byteArrays(puts.map(\.payload)),
    ]
    let columns = "insert into {current} (tree, key, kind, payload, value, born, inserted, written)"
    let update =
      isNew
      ? ""
      : """
      on conflict (tree, key) do update set born = excluded.born, written = excluded.written,
          kind = excluded.kind, payload = excluded.payload, value = excluded.value
      """
    // Most are short, and of one commit, which wrote them.
    if puts.allSatisfy({ $0.value == nil && $0.written == 0 }), chosen.allSatisfy({ $0.step == 1 }) {
      let isFew = puts.count <= Self.mostByThemselves
      let each = zip(chosen, puts).flatMap { row, put -> [SQLValue] in
        [.int32(row.tree), .bytes(row.key), .int32(put.kind), put.payload.map { .bytes($0) } ?? .null(.bytes)]
      }
      return StatementPart((isNew ? "new" : "put") + (isFew ? "\(puts.count)" : ""), isFew ? each : places) { p in
        let few = puts.indices.map { row in
          "(\(p(4 * row + 1))::integer, \(p(4 * row + 2))::bytea, \(p(4 * row + 3))::integer, \(p(4 * row + 4))::bytea)"
        }
        let rows =
          isFew
          ? "(values \(few.joined(separator: ", ")))"
          : "unnest(\(p(1))::integer[], \(p(2))::bytea[], \(p(3))::integer[], \(p(4))::bytea[])"
        return """
          \(columns) select w.tree, w.key, w.kind, w.payload, null, n.newest - $1 + 1, n.newest - $1 + 1, n.newest - $1 + 1
            from n, \(rows) as w (tree, key, kind, payload)
            \(update)
          """
      }
    }
    return StatementPart(
      isNew ? "news" : "puts",
      places + [.ints(puts.map(\.value)), .int32s(chosen.map(\.step)), .ints(puts.map(\.written))]
    ) { p in
      """
      \(columns) select w.tree, w.key, w.kind, w.payload, w.value, n.newest - $1 + w.step, n.newest - $1 + w.step,
          case when w.written = 0 then n.newest - $1 + w.step else w.written end
        from n, unnest(\(p(1))::integer[], \(p(2))::bytea[], \(p(3))::integer[], \(p(4))::bytea[], \(p(5))::bigint[],
          \(p(6))::integer[], \(p(7))::bigint[]) as w (tree, key, kind, payload, value, step, written)
        \(update)
      """
    }
  }

  /// The number of records of each tree that the commits change. For keys of which nothing is known, the state before the statement
  /// decides; a record that this commit has dropped with its tree existed, too.
  private func changePart(isOnly: Bool) -> StatementPart? {
    let unknown = rows.filter { $0.write.isRecord && $0.write.was == nil }
    let known = counts.sorted { ($0.key.step, $0.key.tree) < ($1.key.step, $1.key.tree) }
    guard !unknown.isEmpty || !known.isEmpty else { return nil }
    let columns = "insert into {change} (number, tree, inserted, updated, deleted)"
    let update = """
      on conflict (number, tree) do update set inserted = {change}.inserted + excluded.inserted,
          updated = {change}.updated + excluded.updated, deleted = {change}.deleted + excluded.deleted
      """
    func knownRows(_ p: (Int) -> String) -> String {
      """
      select n.newest - $1 + w.step as number, w.tree, w.inserted, w.updated, w.deleted
          from n, unnest(\(p(1))::integer[], \(p(2))::integer[], \(p(3))::bigint[], \(p(4))::bigint[], \(p(5))::bigint[])
            as w (step, tree, inserted, updated, deleted)
      """
    }
    let knownCounts: [SQLValue] = [
      .int32s(known.map(\.key.step)), .int32s(known.map(\.key.tree)), .numbers(known.map(\.value.inserted)),
      .numbers(known.map(\.value.updated)), .numbers(known.map(\.value.deleted)),
    ]
    if isOnly, unknown.isEmpty, known.count == 1 {
      let (place, counts) = known[0]
      return StatementPart(
        "tally1",
        [
          .int32(place.step), .int32(place.tree), .number(counts.inserted), .number(counts.updated),
          .number(counts.deleted),
        ]
      ) { p in
        "\(columns) select n.newest - $1 + \(p(1))::integer, \((2...5).map(p).joined(separator: ", ")) from n"
      }
    }
    if unknown.isEmpty {
      return StatementPart(isOnly ? "tally" : "change", knownCounts) { p in
        "\(columns) \(knownRows(p)) \(isOnly ? "" : update)"
      }
    }
    return StatementPart(
      "sums",
      knownCounts + [
        .int32s(unknown.map(\.step)), .int32s(unknown.map(\.tree)), .byteArrays(unknown.map(\.key)),
        .int32s(unknown.map { $0.put == nil ? 0 : 1 }),
      ]
    ) { p in
      """
      \(columns) select x.number, x.tree, sum(x.inserted)::bigint, sum(x.updated)::bigint, sum(x.deleted)::bigint
        from (
          \(knownRows(p))
          union all
          select y.number, y.tree, (y.puts and not y.was)::integer, (y.puts and y.was)::integer,
            (y.was and not y.puts)::integer
          from (
            select n.newest - $1 + w.step as number, w.tree, w.puts = 1 as puts,
              exists (select 1 from {current} c where c.tree = w.tree and c.key = w.key) or coalesce((
                select h.died from {history} h where h.tree = w.tree and h.key = w.key order by h.born desc limit 1)
                = n.newest - $1 + w.step, false) as was
            from n, unnest(\(p(6))::integer[], \(p(7))::integer[], \(p(8))::bytea[], \(p(9))::integer[])
              as w (step, tree, key, puts)) y) x
        group by x.number, x.tree
        \(update)
      """
    }
  }
}
