/// How far a compaction is.
package struct CompactionProgress: Sendable, Hashable {
  package var commitsDone: Int
  package var commitsToDo: Int
  /// Bytes of the new file so far.
  package var bytesWritten: UInt64
}

/// What a compaction did.
package struct CompactionReport: Sendable, Hashable {
  package var bytesBefore: UInt64
  package var bytesAfter: UInt64
  package var commitsKept: Int
  package var commitsPruned: Int
}

extension Store {
  /// Writes what the kept commits reach into a new file and puts it in the place of the old one. `head`, named commits and the
  /// newest one are always kept; commits between kept ones are squashed and say so.
  ///
  /// Transactions go on meanwhile: only the last of them are copied in a turn of the compaction's own. Views taken before stay
  /// readable. A crash at any moment leaves the old file or the new one whole. `progress` is called after each copied commit and
  /// now and then inside large ones; where it answers false the compaction ends with `cancelled` and the store is as before.
  /// Blocks the thread for as long as the copying takes; memory grows with the number of records kept (about 60 bytes each).
  package func compact(
    _ retention: Retention, progress: (CompactionProgress) -> Bool = { _ in true }
  ) throws(StorageError) -> CompactionReport {
    // Takes the lock, so that there is one compaction at a time and no writer elsewhere.
    writing.turns.takeBlocking()
    do throws(StorageError) {
      try writing.prepareTurn { note($0) }
    } catch {
      writing.turns.pass()
      throw error
    }
    writing.turns.pass()
    for _ in 0..<4 {
      if let report = try compactOnce(retention, progress) { return report }
    }
    throw .busy(what: "names were moved while the history was being compacted")
  }

  /// About what a compaction would do now, without doing it. Reads the head of every commit.
  ///
  /// The first commit kept is counted with all that it reaches, each later one with what it and the commits squashed into
  /// it wrote, which is at least what the copy of it takes.
  package func compactionEstimate(_ retention: Retention) throws(StorageError) -> CompactionReport {
    let current = publication.current
    let choice = KeptCommits(current, now: disk.now())
    let kept = Set(try choice.select(retention, names: try names).map(\.number))
    let all = try choice.select(.all, names: [:])
    var after: UInt64 = 0
    var squashedBytes: UInt64 = 0
    for commit in all {
      guard kept.contains(commit.number) else {
        squashedBytes &+= commit.frameBytes
        continue
      }
      let added = commit.frameBytes &+ squashedBytes
      after &+= after == 0 ? commit.liveBytes : squashedBytes == 0 ? added : min(added, commit.liveBytes)
      squashedBytes = 0
    }
    let before = current.chain.end
    return CompactionReport(
      bytesBefore: before, bytesAfter: kept.count == all.count ? before : min(after, before), commitsKept: kept.count,
      commitsPruned: all.count - kept.count)
  }

  /// Compacts by the store's own policy, if it has one, commits would go by it, and more bytes are dead than alive.
  func applyRetention() throws(StorageError) {
    guard let retention = options.retention, retention != .all else { return }
    let current = publication.current
    let dead = current.chain.end.subtractingClamped(current.head.liveBytes)
    guard dead > max(Store.leastDeadBytes, current.head.liveBytes) else { return }
    let kept = try KeptCommits(current, now: disk.now()).select(retention, names: try names)
    guard UInt64(kept.count) < current.newest.links.orderDepth else { return }
    _ = try compact(retention)
  }

  /// Fewer dead bytes than these are not worth a new file.
  private static let leastDeadBytes: UInt64 = 1 << 20

  /// Nil where a name was given, meanwhile, to a commit that is not kept.
  private func compactOnce(
    _ retention: Retention, _ progress: (CompactionProgress) -> Bool
  ) throws(StorageError) -> CompactionReport? {
    let start = publication.current
    let kept = try KeptCommits(start, now: disk.now()).select(retention, names: try names)
    let path = path + "/data.compact"
    try removeLeftover(path)
    let copy = try GenerationCopy(
      from: start.file, to: path, disk: disk, options: options, generation: start.file.header.identity.generation &+ 1,
      firstNumber: kept.first?.number ?? start.newest.number &+ 1, counters: counters)
    do throws(StorageError) {
      try copy.run(kept, names: try names, progress: progress)
      let report = try finish(copy, after: start, kept: kept.count)
      if report == nil { try? disk.unlink(path) }
      return report
    } catch {
      try? disk.unlink(path)
      throw error
    }
  }

  private func removeLeftover(_ path: String) throws(StorageError) {
    try engineCall { () throws(DiskError) in
      if try disk.status(path) != nil { try disk.unlink(path) }
    }
  }

  /// Copies what was committed meanwhile, and puts the new file in place.
  private func finish(
    _ copy: GenerationCopy, after start: Publication.State, kept: Int
  ) throws(StorageError) -> CompactionReport? {
    // Without a turn as long as there is much to catch up with.
    var copied = start.newest.number
    var caughtUp = 0
    for _ in 0..<8 {
      let current = publication.current
      guard current.file === start.file, current.newest.number > copied &+ 32 else { break }
      caughtUp += try copy.catchUp(after: copied, to: current.newest)
      copied = current.newest.number
    }
    writing.turns.takeBlocking()
    defer { writing.turns.pass() }
    try writing.prepareTurn { note($0) }
    let state = writing.beginning().state
    guard state.file === start.file else { throw .busy(what: "the store was compacted by someone else") }
    caughtUp += try copy.catchUp(after: copied, to: state.newest)
    guard try copy.hasAllNames(of: state) else { return nil }
    let new = try copy.finish(session: writing.session, origin: writing.beginning().origin, date: disk.now())
    do {
      try disk.rename(path + "/data.compact", to: Reading.dataPath(path))
      try disk.syncDirectory(path)
    } catch {
      // Which file has the name now is unknown; commits to the other one would be lost with it.
      writing.poison(error)
      throw .poisoned(cause: error)
    }
    writing.adopt(new, zeroedEnd: copy.zeroedEnd)
    let before = state.newest.links.orderDepth
    return CompactionReport(
      bytesBefore: state.chain.end, bytesAfter: new.chain.end, commitsKept: kept + caughtUp,
      commitsPruned: Int(clamping: before) - kept - caughtUp)
  }

  /// Writes a new store with the history up to a commit (nil: all commits, as far as they are known here) into another folder.
  /// Takes no lock: the store may be written meanwhile. The copy commits under an origin of its own.
  @discardableResult
  package func copy(
    to folder: String, at commit: UInt64? = nil, progress: (CompactionProgress) -> Bool = { _ in true }
  ) throws(StorageError) -> CompactionReport {
    guard !Store.exists(at: folder, disk: disk) else { throw .alreadyExists(path: folder) }
    let current = publication.current
    let allNames = try names
    let kept: [CommitRecord]
    if let commit {
      kept = try KeptCommits(current, now: disk.now()).ancestry(of: try self.commit(commit))
    } else {
      kept = try KeptCommits(current, now: disk.now()).select(.all, names: [:])
    }
    let numbers = Set(kept.map(\.number))
    try Creation(disk: disk, folder: folder).makeFolder()
    let temporary = folder + "/data.new"
    try removeLeftover(temporary)
    let copy = try GenerationCopy(
      from: current.file, to: temporary, disk: disk, options: options,
      generation: current.file.header.identity.generation, firstNumber: kept.first?.number ?? 1, counters: Counters())
    do throws(StorageError) {
      try copy.run(kept, names: allNames.filter { numbers.contains($0.value) }, progress: progress)
      let new = try copy.finish(session: nil, origin: 0, date: disk.now())
      try engineCall { () throws(DiskError) in
        try disk.rename(temporary, to: Reading.dataPath(folder))
        try disk.syncDirectory(folder)
        // The folder may be there by an earlier attempt that did not come to this.
        try disk.syncDirectory(Creation.parent(of: folder))
      }
      return CompactionReport(
        bytesBefore: current.chain.end, bytesAfter: new.chain.end, commitsKept: kept.count,
        commitsPruned: Int(clamping: current.newest.links.orderDepth) - kept.count)
    } catch {
      try? disk.unlink(temporary)
      throw error
    }
  }
}
