import Locks
package import StorageEngine

/// Commits that were asked for, with what they changed: they never change themselves.
final class KnownCommits: Sendable {
  private let state = Mutex<[UInt64: (record: CommitRecord, pedigree: Pedigree?)]>([:])

  private static let most = 100_000

  subscript(number: UInt64) -> (record: CommitRecord, pedigree: Pedigree?)? { state.withLock { $0[number] } }

  /// After a pruning: the oldest ones have no parents any more.
  func forget() { state.withLock { $0.removeAll() } }

  func add(_ commits: [(record: CommitRecord, pedigree: Pedigree?)]) {
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

  private func known(_ number: UInt64) throws(StorageError) -> (record: CommitRecord, pedigree: Pedigree?) {
    if let commit = commits[number] { return commit }
    // Those before it come along: who asks for one asks for them.
    if let commit = try load(upTo: number).first, commit.record.number == number { return commit }
    // Says whether it was pruned or never was.
    let commit = try onServer { () throws(ServerError) in try server.commit(number) }
    return (CommitRecord(commit), commit.pedigree)
  }

  private static let batch = 256

  /// Commits up to a number, newest first. Two round trips.
  @discardableResult
  private func load(upTo number: UInt64) throws(StorageError) -> [(record: CommitRecord, pedigree: Pedigree?)] {
    let found = try onServer { () throws(ServerError) -> [(record: CommitRecord, pedigree: Pedigree?)] in
      let commits = try server.commits(upTo: number, limit: Self.batch, withBookkeeping: true)
      guard let oldest = commits.last?.number, let newest = commits.first?.number else { return [] }
      let counts = try server.changeCounts(of: oldest...newest)
      let names = try server.nameChanges(of: oldest...newest)
      let kept = try server.kept(Set(commits.flatMap(\.parents)).subtracting(commits.map(\.number)))
        .union(commits.map(\.number))
      return commits.map { commit in
        var record = CommitRecord(commit)
        // Who goes back ends where the history was pruned.
        record.parents = commit.parents.filter(kept.contains)
        record.counts = (counts[commit.number] ?? []).map { count in
          ChangeCounts(
            tree: count.tree, inserted: count.inserted, updated: count.updated, deleted: count.deleted, identifier: 0)
        }
        record.names = names[commit.number] ?? []
        return (record, commit.pedigree)
      }
    }
    commits.add(found)
    return found
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
    let file = try FileStore.create(
      at: folder, options: StoreOptions(program: server.options.program, author: server.options.author),
      disk: target ?? SystemDisk())
    let report: HistoryUpload.Report
    do {
      report = try HistoryDownload.run(from: server, to: file, record: record) { done, total in
        progress(CompactionProgress(commitsDone: done, commitsToDo: total, bytesWritten: 0))
      }
    } catch let error as StorageError {
      throw error
    } catch let error as ServerError {
      throw StorageError(error)
    } catch {
      throw .server(.refused, reason: "\(error)")
    }
    try file.close()
    return CompactionReport(
      bytesBefore: fileBytes, bytesAfter: file.fileBytes, commitsKept: report.commits, commitsPruned: 0)
  }
}

extension ServerStore {
  /// Those among some commits that are there.
  func kept(_ numbers: Set<UInt64>) throws(ServerError) -> Set<UInt64> {
    if numbers.isEmpty { return [] }
    let rows = try pool.read([
      tables.statement(
        "keptCommits", "select c.number from {commit} c where c.number = any($1)",
        [.ints(numbers.map { Int64(bitPattern: $0) })])
    ])[0]
    return Set((0..<rows.count).map { rows.number($0, 0) })
  }

  /// Names set, moved and taken away by the commits of a range.
  func nameChanges(of commits: ClosedRange<UInt64>) throws(ServerError) -> [UInt64: [NameChange]] {
    let rows = try pool.read([
      tables.statement(
        "nameChanges",
        """
        select n.name, n.born, n.died, n.number from {name} n
        where n.born between $1 and $2 or n.died between $1 and $2 order by n.born, n.name
        """, [.int(Int64(bitPattern: commits.lowerBound)), .int(Int64(bitPattern: commits.upperBound))])
    ])[0]
    var changes: [UInt64: [NameChange]] = [:]
    var set: Set<[String]> = []
    for row in 0..<rows.count where commits.contains(rows.number(row, 1)) {
      let (name, born) = (rows.text(row, 0), rows.number(row, 1))
      changes[born, default: []].append(NameChange(name: name, commit: rows.number(row, 3)))
      set.insert([name, "\(born)"])
    }
    for row in 0..<rows.count where commits.contains(rows.number(row, 2)) {
      let (name, died) = (rows.text(row, 0), rows.number(row, 2))
      if !set.contains([name, "\(died)"]) { changes[died, default: []].append(NameChange(name: name, commit: nil)) }
    }
    return changes
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
