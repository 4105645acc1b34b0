package import StrataEngine

private struct ServerVersion {
  var commit: UInt64
  /// Nil if the commit deleted the key.
  var entry: ServerEntry?
  var tree: Int32
  /// The parents of its commit; nil if they are no longer known.
  var parents: [UInt64]?
}

extension ServerView {
  /// The states that a key has had up to this view, newest first and with its deletes: at most `limit`. They are those of the side that
  /// gave the value. Each is followed by the state that its commit was made on. If a merge took over a value, the states of the side that
  /// it came from follow. A state of a pruned commit is that of the next one that is kept, as a compaction of a file leaves it.
  ///
  /// - Parameter before: The commit of the version that was returned last; nil begins with the view's own state.
  /// - Complexity: One round trip for each `limit` states. If the key was deleted or brought back, there is one more, whose cost grows with
  ///   the number of commits between: it finds the commit that did it along the parents.
  package func versions(
    of key: [UInt8], in name: TreeName, before: UInt64?, limit: Int
  ) throws(StorageError) -> [Version] {
    guard let tree = try store.catalog(upTo: asOf).trees(name, upTo: asOf).first else { return [] }
    // One more, which the last of them replaced.
    var walk = try VersionWalk(self, key, name, from: before ?? commit.number, page: limit + 1)
    let found = try store.keptVersions(walk.versions(isTold: before != nil, limit: limit + 1))
    var versions: [Version] = []
    var older: ServedRecord?
    for version in found.reversed() {
      func record(replacing older: ServedRecord?) -> ServedRecord {
        let bytes: Bytes = if case .bytes(let value)? = version.entry?.payload { Bytes(value) } else { Bytes() }
        return ServedRecord(
          tree: UInt32(bitPattern: tree), key: Bytes(key), commit: version.entry?.written ?? version.commit,
          kind: version.entry == nil ? .delete : .put, replaced: older, value: { bytes })
      }
      let isRestored = version.entry.map { $0.written < $0.born } ?? false
      versions.append(Version(commit: version.commit, isRestored: isRestored, change: record(replacing: older).change))
      // A chain of all versions would keep all of their values.
      older = record(replacing: nil)
    }
    return Array(versions.reversed().prefix(limit))
  }
}

extension ServerStore {
  /// Versions whose commits are kept, instead of those that pruning has removed. One round trip if there are such, otherwise none.
  fileprivate func keptVersions(_ versions: [ServerVersion]) throws(StorageError) -> [ServerVersion] {
    let numbers = versions.flatMap { version -> [UInt64] in
      let written = version.entry.flatMap { $0.written == version.commit ? nil : $0.written }
      return [version.parents == nil ? version.commit : nil, written].compactMap(\.self)
    }
    if numbers.isEmpty { return versions }
    let rows = try pool.read(
      tables.statement(
        "keptFrom",
        """
        select w.number, (select min(c.number) from {commit} c
          where c.number >= w.number and c.flags & \(CommitFlags.bookkeeping.rawValue) = 0)
        from unnest($1::bigint[]) w (number)
        """, [.numbers(numbers)]))
    var kept: [UInt64: UInt64] = [:]
    for row in 0..<rows.count where !rows.isNull(row, 1) { kept[try rows.number(row, 0)] = try rows.number(row, 1) }
    var versions = versions
    for place in versions.indices {
      versions[place].commit = kept[versions[place].commit] ?? versions[place].commit
      if let written = versions[place].entry?.written { versions[place].entry?.written = kept[written] ?? written }
    }
    // Rows that an interrupted pruning has left are in no state that is kept.
    return versions.enumerated().compactMap { place, version in
      place > 0 && versions[place - 1].commit == version.commit ? nil : version
    }
  }
}

/// Walks from a state of a key to the state that its commit was made on. The states of all sides lie one after the other in one list.
private struct VersionWalk {
  private let view: ServerView
  private let key: [UInt8]
  private let name: TreeName
  private let catalog: ServerCatalog
  /// The commit whose state comes first.
  private let first: UInt64
  private let page: Int
  /// Newest first, as far as they were read.
  private var states: [ServerVersion] = []
  private var isAtEnd = false
  /// The known steps of the side that is walked, newest first: first parents from a commit on. It leaves out commits whose
  /// only parent has the number before theirs and that did not change the key.
  private var line: [Step]?

  private struct Step {
    var commit: UInt64
    var parent: UInt64
    var second: UInt64?
  }

  init(_ view: ServerView, _ key: [UInt8], _ name: TreeName, from first: UInt64, page: Int) throws(StorageError) {
    self.view = view
    self.key = key
    self.name = name
    self.first = first
    self.page = max(2, page)
    catalog = try view.store.catalog(upTo: view.asOf)
  }

  /// - Parameter isTold: Whether the version of the first commit was returned already.
  mutating func versions(isTold: Bool, limit: Int) throws(StorageError) -> [ServerVersion] {
    var versions: [ServerVersion] = []
    var (place, isTold) = (first, isTold)
    while versions.count < limit, let state = try self.state(at: place) {
      var version = state
      let parent: UInt64
      if let entry = state.entry, entry.written == state.commit {
        parent = state.parents.map { $0.first ?? 0 } ?? state.commit - 1
        if line?.contains(where: { $0.commit == state.commit }) == false { line = nil }
      } else if let step = try origin(of: state, at: place) {
        if let second = step.second, second < place, let other = try self.state(at: second), isSame(other, state) {
          // A merge took it over from there.
          (place, line) = (second, nil)
          continue
        }
        // An older commit gave it the same value.
        if step.commit < state.commit {
          place = step.commit
          continue
        }
        version.commit = step.commit
        parent = step.parent
      } else if let writer = state.entry?.written, writer < place {
        (place, line) = (writer, nil)
        continue
      } else if state.parents == nil {
        // The commit that deleted it is no longer known.
        parent = state.commit - 1
      } else {
        break
      }
      if !isTold { versions.append(version) }
      isTold = false
      guard parent > 0, parent < place else { break }
      place = parent
    }
    return versions
  }

  /// Whether two states of a key are the same: both are deletes, or both have the value that one commit wrote.
  private func isSame(_ left: ServerVersion, _ right: ServerVersion) -> Bool {
    left.entry?.written == right.entry?.written
  }

  /// The state as of a commit; nil if the key is not known to have existed then. A tree that never had the key has it as the tree of that
  /// name before left it: to drop a tree deletes everything in it.
  private mutating func state(at commit: UInt64) throws(StorageError) -> ServerVersion? {
    for tree in catalog.trees(name, upTo: commit) {
      repeat {
        if let state = states.first(where: { $0.commit <= commit && $0.tree == tree }) { return state }
      } while try readOn()
    }
    return nil
  }

  /// The commit that made a state, on the side of a commit that has the state; nil if it is not known.
  private mutating func origin(of state: ServerVersion, at place: UInt64) throws(StorageError) -> Step? {
    if line == nil { line = try steps(from: place) }
    for step in line ?? [] where step.commit <= place {
      let before = try step.parent > 0 ? self.state(at: step.parent) : nil
      let wasSame = before?.entry?.payload == state.entry?.payload
      if !wasSame { return step }
    }
    return nil
  }

  /// One round trip, and those that read all states.
  private mutating func steps(from commit: UInt64) throws(StorageError) -> [Step] {
    while try readOn() {}
    let rows = try view.store.pool.read(
      view.store.tables.statement(
        "line",
        """
        with recursive line(number, parent, second) as (
          select c.number, c.parents[1], c.parents[2] from {commit} c where c.number = $1
          union all
          select c.number, c.parents[1], c.parents[2] from line l join {commit} c on c.number = l.parent
          where l.number > $2)
        select l.number, l.parent, l.second from line l
        where l.parent is distinct from l.number - 1 or l.second is not null or l.number = any($3)
        order by l.number desc
        """,
        [.number(commit), .number(states.last?.commit ?? commit), .numbers(states.map(\.commit))]))
    return try rows.map { row throws(StorageError) in
      try Step(
        commit: rows.number(row, 0), parent: rows.number(row, 1),
        second: rows.isNull(row, 2) ? nil : rows.number(row, 2))
    }
  }

  /// Reads older states in the trees that have had the name; returns false if there are none.
  private mutating func readOn() throws(StorageError) -> Bool {
    if isAtEnd { return false }
    let trees = catalog.trees(name, upTo: first)
    // A row gives its birth and, if no other row was born as it died, a delete: there are at least as many states as rows.
    let rows = try view.store.read(
      view.store.tables.statement(
        "versions",
        """
        select \(ServerEntry.columns("e")), e.died, e.tree, m.parents, d.parents
        from (
          select c.tree, c.key, c.kind, c.payload, c.value, c.born, c.written, \(Tables.never)::bigint as died
          from {current} c where c.tree = any($1) and c.key = $2 and c.born <= $3 and c.born < $4
          union all
          select * from (
            select h.tree, h.key, h.kind, h.payload, h.value, h.born, h.written, h.died
            from {history} h where h.tree = any($1) and h.key = $2 and h.born <= $3 and h.born < $4
            order by h.born desc limit $5) r) e
        left join {commit} m on m.number = e.born
        left join {commit} d on d.number = e.died
        order by e.born desc limit $5
        """,
        [
          .int32s(trees), .bytes(key), .number(first),
          .int(states.last.map { Int64(bitPattern: $0.commit) } ?? Tables.never), .int(Int64(page)),
        ]), asOf: view.asOf)
    isAtEnd = rows.count < page
    let column = ServerEntry.columnCount
    func parents(_ row: Int, _ column: Int) throws(StorageError) -> [UInt64]? {
      try rows.isNull(row, column) ? nil : rows.numbers(row, column)
    }
    for row in 0..<rows.count {
      guard let entry = try ServerEntry(rows, row) else { continue }
      let died = try rows.end(row, column)
      let tree = try rows.tree(row, column + 1)
      if died <= first, died != states.last(where: { $0.tree == tree })?.commit {
        states.append(ServerVersion(commit: died, entry: nil, tree: tree, parents: try parents(row, column + 3)))
      }
      states.append(ServerVersion(commit: entry.born, entry: entry, tree: tree, parents: try parents(row, column + 2)))
    }
    return rows.count > 0
  }
}
