import StorageEngine

/// Writes as columns, and the parts of a statement that write them.
struct WriteChunk {
  private var steps: [Int32] = []
  private var trees: [Int32] = []
  private var keys: [[UInt8]] = []
  private var isPut: [Bool] = []
  private var isRecord: [Bool] = []
  /// Whether there was something before, as far as that is known.
  private var was: [Bool?] = []
  /// Which of the writes are puts; what follows is about these.
  private var puts: [Int] = []
  private var kinds: [Int32] = []
  private var payloads: [[UInt8]?] = []
  private var values: [Int64?] = []
  private var written: [Int64?] = []
  private var longValues = LongValues()
  private var size = 0
  /// Changes of records whose keys are known to have been there, or not.
  private var counts: [Place: Counts] = [:]

  private struct Place: Hashable {
    var step: Int32
    var tree: Int32
  }

  private struct Counts {
    var inserted: Int64 = 0
    var updated: Int64 = 0
    var deleted: Int64 = 0
  }

  var isEmpty: Bool { keys.isEmpty && counts.isEmpty }
  var isFull: Bool { keys.count >= Self.most || size >= Self.mostBytes }
  static let most = 20_000
  static let mostBytes = 8 << 20

  mutating func add(_ write: DraftWrite, step: Int32) {
    if let payload = write.write.payload {
      puts.append(keys.count)
      add(payload, written: write.write.written)
    }
    steps.append(step)
    trees.append(write.place.tree)
    keys.append(write.place.key)
    isPut.append(write.write.payload != nil)
    isRecord.append(write.isRecord)
    was.append(write.was)
    size += write.place.key.count
    if write.was != nil { count(write, step: step) }
  }

  /// Counts a record of which it is known whether it was there.
  mutating func count(_ write: DraftWrite, step: Int32) {
    guard write.isRecord else { return }
    let place = Place(step: step, tree: write.place.tree)
    switch (write.was ?? false, write.write.payload != nil) {
    case (false, true): counts[place, default: Counts()].inserted += 1
    case (true, true): counts[place, default: Counts()].updated += 1
    case (true, false): counts[place, default: Counts()].deleted += 1
    case (false, false): break
    }
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
        number = longValues.add(payload)
      } else {
        bytes = payload
      }
    }
    payloads.append(bytes)
    values.append(number)
    written.append(Int64(bitPattern: writer))
  }

  // MARK: Parts

  /// What writes the chunk.
  ///
  /// - Parameter isOnly: whether it is all that its commits write.
  func parts(isOnly: Bool = false) -> [StatementPart] {
    var parts = [longValues.part, movePart, removePart].compactMap(\.self)
    for isNew in [true, false] { if let part = putPart(isNew: isNew) { parts.append(part) } }
    if let part = changePart(isOnly: isOnly) { parts.append(part) }
    return parts
  }

  /// What was there goes into the history.
  private var movePart: StatementPart? {
    let moved = keys.indices.filter { was[$0] != false }
    guard !moved.isEmpty else { return nil }
    return StatementPart(
      "move",
      [.int32s(moved.map { steps[$0] }), .int32s(moved.map { trees[$0] }), .byteArrays(moved.map { keys[$0] })]
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
    let removed = keys.indices.filter { !isPut[$0] && was[$0] != false }
    guard !removed.isEmpty else { return nil }
    return StatementPart("cut", [.int32s(removed.map { trees[$0] }), .byteArrays(removed.map { keys[$0] })]) { p in
      """
      delete from {current} c using unnest(\(p(1))::integer[], \(p(2))::bytea[]) as w (tree, key)
        where c.tree = w.tree and c.key = w.key
      """
    }
  }

  /// - Parameter isNew: those that were not there, or all others. Where one of the former is there after all, the server refuses it: that
  ///   proves as much as a look, which costs as much again.
  private func putPart(isNew: Bool) -> StatementPart? {
    let chosen = puts.indices.filter { (was[puts[$0]] == false) == isNew }
    guard !chosen.isEmpty else { return nil }
    let places: [SQLValue] = [
      .int32s(chosen.map { trees[puts[$0]] }), .byteArrays(chosen.map { keys[puts[$0]] }),
      .int32s(chosen.map { kinds[$0] }), .byteArrays(chosen.map { payloads[$0] }),
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
    if chosen.allSatisfy({ values[$0] == nil && written[$0] == 0 && steps[puts[$0]] == 1 }) {
      if chosen.count <= Self.mostByThemselves { return fewPuts(chosen, isNew: isNew, columns, update) }
      return StatementPart(isNew ? "new" : "put", places) { p in
        """
        \(columns) select w.tree, w.key, w.kind, w.payload, null, n.newest - $1 + 1, n.newest - $1 + 1, n.newest - $1 + 1
          from n, unnest(\(p(1))::integer[], \(p(2))::bytea[], \(p(3))::integer[], \(p(4))::bytea[])
            as w (tree, key, kind, payload)
          \(update)
        """
      }
    }
    return StatementPart(
      isNew ? "news" : "puts",
      places + [
        .ints(chosen.map { values[$0] }), .int32s(chosen.map { steps[puts[$0]] }), .ints(chosen.map { written[$0] }),
      ]
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

  /// Fewer entries than this are parameters by themselves: to take arrays apart costs as much as to insert what they hold.
  private static let mostByThemselves = 6

  private func fewPuts(_ chosen: [Int], isNew: Bool, _ columns: String, _ update: String) -> StatementPart {
    let rows = chosen.flatMap { put -> [SQLValue] in
      [
        .int32(trees[puts[put]]), .bytes(keys[puts[put]]), .int32(kinds[put]),
        payloads[put].map { SQLValue.bytes($0) } ?? .null(.bytes),
      ]
    }
    return StatementPart("\(isNew ? "new" : "put")\(chosen.count)", rows) { p in
      let rows = chosen.indices.map { row in
        "(\(p(4 * row + 1))::integer, \(p(4 * row + 2))::bytea, \(p(4 * row + 3))::integer, \(p(4 * row + 4))::bytea)"
      }
      return """
        \(columns) select w.tree, w.key, w.kind, w.payload, null, n.newest - $1 + 1, n.newest - $1 + 1, n.newest - $1 + 1
          from n, (values \(rows.joined(separator: ", "))) as w (tree, key, kind, payload)
          \(update)
        """
    }
  }

  /// How many records of each tree the commits change. Of keys of which nothing is known, the state before the statement tells; what this
  /// commit has dropped with its tree was there, too.
  private func changePart(isOnly: Bool) -> StatementPart? {
    let unknown = keys.indices.filter { isRecord[$0] && was[$0] == nil }
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
      .int32s(known.map(\.key.step)), .int32s(known.map(\.key.tree)), .ints(known.map(\.value.inserted)),
      .ints(known.map(\.value.updated)), .ints(known.map(\.value.deleted)),
    ]
    if isOnly, unknown.isEmpty, known.count == 1 {
      let (place, counts) = known[0]
      return StatementPart(
        "tally1",
        [
          .int32(place.step), .int32(place.tree), .int(counts.inserted), .int(counts.updated), .int(counts.deleted),
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
        .int32s(unknown.map { steps[$0] }), .int32s(unknown.map { trees[$0] }), .byteArrays(unknown.map { keys[$0] }),
        .int32s(unknown.map { isPut[$0] ? 1 : 0 }),
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
