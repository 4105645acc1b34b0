import StrataLocks

/// The progress of a compaction.
package typealias CompactionProgress = (commitsDone: Int, commitsToDo: Int)

/// The result of a compaction.
package struct CompactionReport: Sendable, Hashable {
  package var bytesBefore: UInt64
  package var bytesAfter: UInt64
  package var commitsKept: Int
  package var commitsPruned: Int

  package init(bytesBefore: UInt64, bytesAfter: UInt64, commitsKept: Int, commitsPruned: Int) {
    self.bytesBefore = bytesBefore
    self.bytesAfter = bytesAfter
    self.commitsKept = commitsKept
    self.commitsPruned = commitsPruned
  }
}

extension FileStore {
  /// Writes the data that the kept commits reach into a new file and replaces the old one by it. `head`, named commits and the newest one
  /// are always kept; commits between kept ones are squashed and say so.
  ///
  /// Transactions go on meanwhile: only the last of them are copied in a turn of the compaction's own. Views taken before stay readable. A
  /// crash at any moment leaves the old file or the new one whole. `progress` is called after each copied commit and now and then inside
  /// large ones; if it returns false, the compaction throws `cancelled` and the store is as before. The part copied until a crash or a
  /// cancel stays beside the data. The next compaction by the same rule goes on from there, as long as it would keep the same commits; with
  /// `keepsMore` also if commits have come since, and then it keeps some more than the rule asks for.
  ///
  /// Blocks the thread for as long as the copying takes; memory grows with the records and the tree nodes that are kept (25 to 65 bytes for
  /// each, by the layout of `PlaceTable`).
  @discardableResult
  package func compact(
    _ retention: Retention, keepsMore: Bool = false, switching feature: (StoreFeature, isOn: Bool)? = nil,
    progress: (CompactionProgress) -> Bool = { _ in true }
  ) throws(StorageError) -> CompactionReport {
    // One at a time in this process; the lock keeps out other processes.
    try compactions.withLock { _ throws(StorageError) in
      try compactInTurn(retention, keepsMore: keepsMore, switching: feature, progress: progress)
    }
  }

  @discardableResult
  package func compact(
    _ retention: Retention, progress: (CompactionProgress) -> Bool
  ) throws(StorageError) -> CompactionReport {
    try compact(retention, keepsMore: false, progress: progress)
  }

  /// As `compact`; the caller must hold the lock `compactions`.
  func compactInTurn(
    _ retention: Retention, keepsMore: Bool, switching feature: (StoreFeature, isOn: Bool)? = nil,
    progress: (CompactionProgress) -> Bool
  ) throws(StorageError) -> CompactionReport {
    if isEndingCompactions { throw .cancelled }
    try inTurn { () throws(StorageError) in try writing.requireNames(byPath: true) }
    for _ in 0..<4 {
      let report = try writing.zeros.besideOthers { () throws(StorageError) in
        try compactOnce(retention, keepsMore, feature, progress)
      }
      if let report {
        clearPruningFailure()
        return report
      }
    }
    throw .busy(what: "names were moved while the history was being compacted")
  }

  /// Estimates the result of a compaction now, without doing it. Reads the head of every commit.
  ///
  /// The first kept commit is counted with everything that it reaches. Each later one is counted with the bytes that it and the commits
  /// squashed into it wrote, which is at least the size of its copy.
  package func compactionEstimate(_ retention: Retention) throws(StorageError) -> CompactionReport {
    let current = publication.current
    let choice = KeptCommits(state: current, now: disk.now())
    let kept = Set(try choice.select(retention, named: try current.names().map(\.commit)).map(\.number))
    let all = try choice.select(.all, named: [])
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
    let before = current.chain.end.bytes
    return CompactionReport(
      bytesBefore: before, bytesAfter: kept.count == all.count ? before : min(after, before), commitsKept: kept.count,
      commitsPruned: all.count - kept.count)
  }

  /// Runs a body in a turn of the writer, with the lock held.
  private func inTurn<R>(_ body: () throws(StorageError) -> R) throws(StorageError) -> R {
    writing.acquireTurnBlocking()
    defer { writing.passTurn() }
    try writing.prepareTurn()
    return try body()
  }

  var compactionPath: String { path + "/data.compact" }

  /// Returns nil if a commit that is not kept was given a name meanwhile.
  private func compactOnce(
    _ retention: Retention, _ keepsMore: Bool, _ feature: (StoreFeature, isOn: Bool)?,
    _ progress: (CompactionProgress) -> Bool
  ) throws(StorageError) -> CompactionReport? {
    let current = publication.current
    var features = current.file.header.requiredFeatures
    if let (feature, isOn) = feature {
      features = isOn ? features | feature.rawValue : features & ~feature.rawValue
    }
    var work = try interrupted(current, retention, features, keepsMore)
    if work == nil { work = try begun(current, retention, features) }
    guard let (copy, start, kept) = work else { return nil }
    do throws(StorageError) {
      try copy.run(kept, names: try start.names()) { step in
        letZerosBeWritten()
        return !isEndingCompactions && progress(step)
      }
      let report = try finish(copy, after: start)
      if report == nil { copy.draft.discard() }
      return report
    } catch {
      // The part copied until a cancel stays, and a later compaction goes on from it.
      let stays = if case .cancelled = error { (try? copy.syncFrames(all: true)) != nil } else { false }
      if !stays { copy.draft.discard() }
      throw error
    }
  }

  /// A compaction that has begun, and the commits that it keeps.
  private typealias Work = (copy: GenerationCopy, start: Publication.State, kept: [CommitRecord])

  private func begun(
    _ start: Publication.State, _ retention: Retention, _ features: UInt64
  ) throws(StorageError) -> Work {
    let now = disk.now()
    let kept = try kept(of: start, retention, now: now)
    let draft = try DraftFile.make(compactionPath, on: disk)
    do {
      let copy = try GenerationCopy(
        from: start.file, to: draft, options: options, generation: start.file.header.identity.generation &+ 1,
        firstNumber: kept.first?.number ?? start.newest.number &+ 1, features: features,
        dictionaries: dictionaries(for: start), plan: CompactionPlan(of: start, retention, date: now),
        counters: counters)
      return (copy, start, kept)
    } catch {
      draft.discard()
      throw error
    }
  }

  /// The work that an earlier compaction by the same rule left. Returns nil if there is none to go on with.
  private func interrupted(
    _ current: Publication.State, _ retention: Retention, _ features: UInt64, _ keepsMore: Bool
  ) throws(StorageError) -> Work? {
    do throws(StorageError) {
      guard
        let (copy, start, plan) = try GenerationCopy.interrupted(
          of: current, at: compactionPath, retention, features: features, disk: disk, options: options,
          counters: counters)
      else { return nil }
      guard try copy.target.dictionaries == dictionaries(for: start) else { return nil }
      let kept = try kept(of: start, retention, now: plan.date)
      if !keepsMore {
        // Up to the newest commit of that time, the rule must keep the same commits now.
        let now = try self.kept(of: current, retention, now: disk.now()).map(\.number)
        guard now.filter({ $0 <= start.newest.number }) == kept.map(\.number) else { return nil }
      }
      guard try copy.addFrames(kept) else { return nil }
      return (copy, start, kept)
    } catch .damaged {
      // The damage is of the copy or of the data: a new copy finds out which.
      return nil
    }
  }

  /// Removes the file of an interrupted compaction beside the data, if no compaction will go on with it.
  func removeStaleCompaction() {
    guard let draft = (try? DraftFile.taking(compactionPath, on: disk)) ?? nil,
      (try? GenerationCopy.isStale(draft, of: publication.current, now: disk.now())) ?? false
    else { return }
    draft.discard()
  }

  /// This number of commits is copied in one turn at first, while writers wait. It doubles if the copy falls behind.
  private static let fewCommits = 2

  /// Copies the commits made meanwhile, and puts the new file in place. If commits come faster than they are copied, some are copied in
  /// turns of the writer, so that each commit waits a little and none waits long.
  private func finish(
    _ copy: GenerationCopy, after start: Publication.State
  ) throws(StorageError) -> CompactionReport? {
    var copied = start.newest.number
    var backlog = Int.max
    var inOneTurn: Int?
    while true {
      if isEndingCompactions { throw .cancelled }
      let current = publication.current
      guard current.file === start.file else { break }
      let missing = try copy.missing(after: copied, to: current.newest)
      guard missing.count > Self.fewCommits else { break }
      if missing.count > backlog / 4 * 3 { inOneTurn = inOneTurn.map { $0 * 2 } ?? Self.fewCommits }
      backlog = missing.count
      try catchUp(missing, inOneTurn: inOneTurn, copy)
      copied = current.newest.number
    }
    return try inTurn { () throws(StorageError) in try replace(start.file, by: copy, after: copied) }
  }

  /// Commits wait for the disk while zeros are written there, and for a copy; if the two follow each other, they wait less. Must not be
  /// called in a turn, for which others wait.
  private func letZerosBeWritten() { writing.zeros.waitWhileBusy() }

  /// `inOneTurn`: how many commits are copied in a turn of the writer; nil to copy without a turn.
  private func catchUp(_ missing: [CommitRecord], inOneTurn: Int?, _ copy: GenerationCopy) throws(StorageError) {
    let pieceSize = inOneTurn ?? 1
    for start in stride(from: 0, to: missing.count, by: pieceSize) {
      let piece = missing[start..<min(start + pieceSize, missing.count)]
      if inOneTurn != nil {
        try inTurn { () throws(StorageError) in try copy.catchUp(piece) }
      } else {
        letZerosBeWritten()
        try copy.catchUp(piece)
      }
      try copy.syncFrames()
    }
  }

  private func replace(
    _ file: DataFile, by copy: GenerationCopy, after copied: UInt64
  ) throws(StorageError) -> CompactionReport? {
    let state = writing.appended
    guard state.file === file else { throw .busy(what: "the store was compacted by someone else") }
    try copy.catchUp(try copy.missing(after: copied, to: state.newest))
    guard try copy.hasAllNames(of: state) else { return nil }
    let new = try copy.finish(session: writing.session, origin: writing.tail.origin, date: disk.now())
    try writing.requireNames(byPath: true)
    let named = try engineCall { () throws(DiskError) in
      try copy.draft.isInPlace ? try disk.status(compactionPath)?.identity : nil
    }
    guard let named else { throw .busy(what: "someone has taken \(compactionPath) away") }
    writing.expectData(named)
    do {
      try disk.rename(compactionPath, to: StoreReader.dataPath(path))
      try disk.syncDirectory(path)
    } catch {
      // It is unknown which file has the name now; commits to the other one would be lost with it.
      writing.poison(.poisoned(cause: error))
      throw .poisoned(cause: error)
    }
    // The draft's lock is the data's from now on.
    writing.switchFile(to: new, named: named)
    let before = state.newest.links.orderDepth
    return CompactionReport(
      bytesBefore: state.chain.end.bytes, bytesAfter: new.chain.end.bytes, commitsKept: copy.copied.count,
      commitsPruned: Int(clamping: before) - copy.copied.count)
  }

  /// Writes a new store with the history up to a commit (all commits that are known here if nil) into another folder. Takes no lock: the
  /// store may be written meanwhile. The copy commits under an origin of its own.
  ///
  /// - Parameter target: The disk of the folder; nil is the disk of this store.
  @discardableResult
  package func copy(
    to folder: String, at commit: UInt64? = nil, onto target: (any Disk)? = nil,
    progress: (CompactionProgress) -> Bool = { _ in true }
  ) throws(StorageError) -> CompactionReport {
    let disk = target ?? self.disk
    let creation = Creation(disk: disk, folder: folder)
    try creation.requireNothing()
    let current = publication.current
    let choice = KeptCommits(state: current, now: disk.now())
    let kept = try commit == nil ? choice.select(.all, named: []) : choice.ancestry(of: self.commit(commit ?? 0))
    let numbers = Set(kept.map(\.number))
    var options = options
    // A copy up to a commit is for reading: its nodes are whole.
    if commit != nil { options.deltaLimit = 0 }
    return try creation.inDraft { draft throws(StorageError) in
      let copy = try GenerationCopy(
        from: current.file, to: draft, options: options, generation: current.file.header.identity.generation,
        firstNumber: kept.first?.number ?? 1, dictionaries: dictionaries(for: current), counters: Counters())
      try writing.zeros.besideOthers { () throws(StorageError) in
        try copy.run(kept, names: try current.names().filter { numbers.contains($0.commit) }) { step in
          letZerosBeWritten()
          return progress(step)
        }
      }
      let new = try copy.finish(session: nil, origin: 0, date: disk.now())
      return CompactionReport(
        bytesBefore: current.chain.end.bytes, bytesAfter: new.chain.end.bytes, commitsKept: kept.count,
        commitsPruned: Int(clamping: current.newest.links.orderDepth) - kept.count)
    }
  }
}

extension Engine {
  /// As `compact`, and switches node deltas on or off; if `writingDeltas` is nil, the store keeps what it has. A server has none.
  package func compact(
    _ retention: Retention, writingDeltas: Bool?, progress: (CompactionProgress) -> Bool
  ) throws(StorageError) -> CompactionReport {
    guard let writingDeltas, let file = self as? FileStore else { return try compact(retention, progress: progress) }
    return try file.compact(retention, switching: (.nodeDeltas, isOn: writingDeltas), progress: progress)
  }
}
