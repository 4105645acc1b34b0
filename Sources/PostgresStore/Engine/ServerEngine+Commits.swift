import Locks
package import StorageEngine

/// Commits that were asked for, with what they changed: they never change themselves.
final class KnownCommits: Sendable {
  /// A commit as the layers above know it, and as the server does.
  struct Known: Sendable {
    var record: CommitRecord
    var commit: ServerCommit

    var pedigree: Pedigree? { commit.pedigree }
  }

  private let state = Mutex<[UInt64: Known]>([:])

  private static let most = 100_000

  subscript(number: UInt64) -> Known? { state.withLock { $0[number] } }

  /// After a pruning: the oldest ones have no parents any more.
  func forget() { state.withLock { $0.removeAll() } }

  func add(_ commits: [Known]) {
    state.withLock { known in
      if known.count > Self.most { known.removeAll() }
      for commit in commits { known[commit.record.number] = commit }
    }
  }
}

extension ServerEngine {
  package func commit(_ number: UInt64) throws(StorageError) -> CommitRecord {
    if number == 0 { return CommitRecord(.beginning(server.created)) }
    return try known(number).record
  }

  package func pedigree(of commit: CommitRecord) throws(StorageError) -> Pedigree? {
    commit.number == 0 ? nil : try known(commit.number).pedigree
  }

  private func known(_ number: UInt64) throws(StorageError) -> KnownCommits.Known {
    if let commit = commits[number] { return commit }
    // Those before it come along: who asks for one asks for them.
    if let commit = try load(upTo: number).first, commit.record.number == number { return commit }
    // Says whether it was pruned or never was.
    let commit = try onServer { () throws(ServerError) in try server.commit(number) }
    return KnownCommits.Known(record: CommitRecord(commit), commit: commit)
  }

  private static let batch = 256

  /// Commits up to a number, newest first. Two round trips.
  @discardableResult
  private func load(upTo number: UInt64) throws(StorageError) -> [KnownCommits.Known] {
    try onServer { () throws(ServerError) in
      try complete(server.commits(upTo: number, limit: Self.batch, withBookkeeping: true))
    }
  }

  /// Two round trips for each thousand that are not known yet.
  package func foresee(commits numbers: [UInt64]) throws(StorageError) {
    var missing = Set(numbers).filter { $0 > 0 && commits[$0] == nil }.sorted()[...]
    while !missing.isEmpty {
      let batch = Array(missing.prefix(1_000))
      missing = missing.dropFirst(batch.count)
      try onServer { () throws(ServerError) in _ = try complete(server.commits(batch)) }
    }
  }

  /// What the rows of commits do not tell: one round trip.
  private func complete(_ commits: [ServerCommit]) throws(ServerError) -> [KnownCommits.Known] {
    if commits.isEmpty { return [] }
    let details = try server.details(of: commits)
    let found = commits.map { commit in
      var record = CommitRecord(commit)
      // Who goes back ends where the history was pruned.
      record.parents = commit.parents.filter(details.kept.contains)
      record.counts = details.counts[commit.number] ?? []
      record.names = details.names[commit.number] ?? []
      return KnownCommits.Known(record: record, commit: commit)
    }
    self.commits.add(found)
    return found
  }

  /// A round trip for each 20,000 commits.
  package func forEachDescent(_ visit: (CommitDescent) throws(StorageError) -> Bool) throws(StorageError) {
    var upTo = server.head.asOf
    while upTo > 0 {
      let page = try onServer { () throws(ServerError) in try server.descents(upTo: upTo, limit: 20_000) }
      for descent in page { guard try visit(descent) else { return } }
      guard let last = page.last?.number, last > 0 else { return }
      upTo = last - 1
    }
  }

  package func ancestor(of number: UInt64, number ancestor: UInt64) throws(StorageError) -> CommitRecord {
    guard let found = try firstAncestor(of: number, where: { $0.number <= ancestor }) else {
      throw .noSuchCommit(number: ancestor)
    }
    return found
  }

  package func ancestor(of number: UInt64, notLaterThan date: Int64) throws(StorageError) -> CommitRecord {
    guard let found = try firstAncestor(of: number, where: { $0.date <= date }) else {
      throw .noCommitAsOld(date: date)
    }
    return found
  }

  /// Walks along first parents: a round trip for some hundred commits.
  private func firstAncestor(
    of number: UInt64, where isWanted: (CommitRecord) -> Bool
  ) throws(StorageError) -> CommitRecord? {
    var record = try commit(number)
    while !isWanted(record) {
      guard let parent = record.parents.first, parent < record.number else { return nil }
      record = try commit(parent)
    }
    return record
  }

  package func changes(of commit: CommitRecord) throws(StorageError) -> ChangeCursor {
    throw .server(.refused, reason: "a commit on a server lists no changes: its state is compared with its parent's")
  }

  package func forEachCommit(
    _ visit: (CommitRecord, Pedigree?) throws(StorageError) -> Bool
  ) throws(StorageError) {
    var upTo = server.head.asOf
    while upTo > 0 {
      let page = try load(upTo: upTo)
      for commit in page { guard try visit(commit.record, commit.pedigree) else { return } }
      guard let last = page.last?.record.number, last > 0 else { return }
      upTo = last - 1
    }
  }

  // MARK: Keeping

  /// Prunes what only older commits have. A server has no bytes to tell of: what its tables need shrinks when they are vacuumed.
  package func compact(
    _ retention: Retention, progress: (CompactionProgress) -> Bool
  ) throws(StorageError) -> CompactionReport {
    let before = (bytes: fileBytes, commits: commitCount)
    if let oldest = try oldestKept(retention), oldest > 1 {
      _ = try onServer { () throws(ServerError) in try server.prune(before: oldest) }
      commits.forget()
    }
    let after = (bytes: fileBytes, commits: commitCount)
    return CompactionReport(
      bytesBefore: before.bytes, bytesAfter: after.bytes, commitsKept: Int(clamping: after.commits),
      commitsPruned: Int(clamping: before.commits.subtractingReportingOverflow(after.commits).partialValue))
  }

  package func compactionEstimate(_ retention: Retention) throws(StorageError) -> CompactionReport {
    let (bytes, count) = (fileBytes, commitCount)
    var kept = 0
    if let oldest = try oldestKept(retention) {
      try forEachCommit { commit, _ throws(StorageError) in
        kept += 1
        return commit.number > oldest
      }
    } else {
      kept = Int(clamping: count)
    }
    return CompactionReport(
      bytesBefore: bytes, bytesAfter: bytes, commitsKept: kept, commitsPruned: max(0, Int(clamping: count) - kept))
  }

  /// The oldest commit that a rule keeps; nil where it keeps all.
  private func oldestKept(_ retention: Retention) throws(StorageError) -> UInt64? {
    var oldest = server.head.commit.number
    switch retention {
    case .all: return nil
    case .last(let count):
      var left = count
      try forEachCommit { commit, _ throws(StorageError) in
        guard left > 0 else { return false }
        oldest = min(oldest, commit.number)
        if !commit.changesNoRecord { left -= 1 }
        return true
      }
    case .younger(let age):
      let now = Clock.now
      try forEachCommit { commit, _ throws(StorageError) in
        guard now - commit.date < age else { return false }
        oldest = min(oldest, commit.number)
        return true
      }
    }
    return oldest
  }

  package func copy(
    to folder: String, at commit: UInt64?, onto target: (any Disk)?, progress: (CompactionProgress) -> Bool
  ) throws(StorageError) -> CompactionReport {
    guard commit == nil else {
      throw .server(.refused, reason: "a copy of a store on a server has the whole history: leave the commit out")
    }
    let disk = target ?? SystemDisk()
    let draft = try StoreDraft(at: folder, on: disk)
    do {
      let file = try FileStore.create(
        at: draft.workPath, options: StoreOptions(program: server.options.program, author: server.options.author),
        disk: disk)
      let report = try HistoryDownload.run(from: server, to: file, record: record) { done, total in
        progress(CompactionProgress(commitsDone: done, commitsToDo: total, bytesWritten: 0))
      }
      try file.close()
      try draft.finish()
      return CompactionReport(
        bytesBefore: fileBytes, bytesAfter: file.fileBytes, commitsKept: report.commits, commitsPruned: 0)
    } catch {
      draft.cancel()
      switch error {
      case let error as StorageError: throw error
      case let error as ServerError: throw StorageError(error)
      default: throw .server(.refused, reason: "\(error)")
      }
    }
  }
}

/// What commits did, and which of their parents are there.
package struct CommitDetails {
  package var counts: [UInt64: [ChangeCounts]] = [:]
  var names: [UInt64: [NameChange]] = [:]
  var kept: Set<UInt64> = []
}

extension ServerStore {
  /// Some commits, of those that are kept, in no order. One round trip.
  func commits(_ numbers: [UInt64]) throws(ServerError) -> [ServerCommit] {
    let rows = try pool.read([
      tables.statement(
        "commitsOf", "select \(ServerCommit.columns) from {commit} c where c.number = any($1)",
        [.ints(numbers.map { Int64(bitPattern: $0) })])
    ])[0]
    return (0..<rows.count).map { ServerCommit(rows, $0) }
  }

  /// Who the commits up to a number are and what they were made on, newest first. One round trip.
  func descents(upTo newest: UInt64, limit: Int) throws(ServerError) -> [CommitDescent] {
    let rows = try pool.read([
      tables.statement(
        "descents",
        """
        select c.number, c.origin, c.origin_number, c.flags, c.undoes, c.parents, c.pedigree
        from {commit} c where c.number <= $1 order by c.number desc limit $2
        """, [.int(Int64(bitPattern: newest)), .int(Int64(limit))])
    ])[0]
    return (0..<rows.count).map { row in
      let parents = rows.ints(row, 5).map { UInt64(bitPattern: $0) }
      return CommitDescent(
        number: rows.number(row, 0), identity: CommitIdentity(origin: rows.number(row, 1), number: rows.number(row, 2)),
        flags: CommitFlags(rawValue: UInt32(truncatingIfNeeded: rows.int(row, 3))),
        undoes: rows.int(row, 4) == 0 ? nil : rows.number(row, 4), firstParent: parents.first ?? 0,
        secondParent: parents.dropFirst().first ?? 0, pedigree: Pedigree(text: rows.text(row, 6)))
    }
  }

  /// Records changed and names set, moved and taken away by some commits, and those that are there of them and of their parents. One
  /// round trip.
  package func details(of commits: [ServerCommit]) throws(ServerError) -> CommitDetails {
    func numbers(_ numbers: some Sequence<UInt64>) -> SQLValue { .ints(numbers.map { Int64(bitPattern: $0) }) }
    let own = Set(commits.map(\.number))
    let rows = try pool.read([
      tables.statement(
        "changesOf",
        """
        select a.number, t.name, a.inserted, a.updated, a.deleted from {change} a
          join {tree} t on t.tree = a.tree and t.born <= a.number and a.number < t.died
        where a.number = any($1) order by a.number, t.name
        """, [numbers(own)]),
      tables.statement(
        "namesOf",
        """
        select n.name, n.born, n.died, n.number from {name} n
        where n.born = any($1) or n.died = any($1) order by n.born, n.name
        """, [numbers(own)]),
      tables.statement(
        "keptCommits", "select c.number from {commit} c where c.number = any($1)",
        [numbers(Set(commits.flatMap(\.parents)).subtracting(own))]),
    ])
    var details = CommitDetails(kept: own)
    for row in 0..<rows[0].count {
      details.counts[rows[0].number(row, 0), default: []].append(
        ChangeCounts(
          tree: TreeName(rows[0].bytes(row, 1) ?? []), inserted: rows[0].number(row, 2),
          updated: rows[0].number(row, 3), deleted: rows[0].number(row, 4), identifier: 0))
    }
    for row in 0..<rows[2].count { details.kept.insert(rows[2].number(row, 0)) }
    var set: Set<[String]> = []
    for row in 0..<rows[1].count where own.contains(rows[1].number(row, 1)) {
      let (name, born) = (rows[1].text(row, 0), rows[1].number(row, 1))
      details.names[born, default: []].append(NameChange(name: name, commit: rows[1].number(row, 3)))
      set.insert([name, "\(born)"])
    }
    for row in 0..<rows[1].count where own.contains(rows[1].number(row, 2)) {
      let (name, died) = (rows[1].text(row, 0), rows[1].number(row, 2))
      if !set.contains([name, "\(died)"]) {
        details.names[died, default: []].append(NameChange(name: name, commit: nil))
      }
    }
    return details
  }
}

extension CommitRecord {
  /// Without its counts and names, which lie in tables of their own.
  init(_ commit: ServerCommit) {
    self.init(
      number: commit.number, identity: commit.identity, parents: commit.parents, date: commit.date,
      program: commit.program, author: commit.author, action: commit.action, flags: commit.flags,
      undoes: commit.undoes, restores: commit.restores, names: [], counts: [], bytes: commit.bytes)
  }
}
