import StrataLocks

/// Recovery, which comes with the writer's lock: it makes durable the store as other writers left it.
///
/// Commits beyond the end that a slot vouches for are written and synced again before anything is built on them. Bytes that are not a
/// commit are cut, and kept aside. A crash on the way leaves a state with which the next recovery begins.
extension Writer {
  /// Reads the commits that other writers left, makes them durable, and cuts the part of the tail that is not a commit. The caller holds the
  /// lock.
  func recover() throws(StorageError) {
    let current = try newestGeneration(publication.current)
    try lockData(current.file)
    let file = current.file
    let status = try engineCall { () throws(DiskError) in try file.file.status }
    file.extend(to: status.end)
    let slot = try HeadSearch(file: file, limit: status.end).readSlots().first
    // Forward from the newest frame known here: another writer may have appended since.
    var chain = current.chain
    _ = try FrameScanner(file: file).advance(&chain, limit: status.end, verifiesHash: true)
    guard chain.end <= status.end else { throw .damaged(what: "end of the file", offset: status.end) }
    if try FrameScanner(file: file).hasUnknownFrame(behind: chain, limit: status.end) {
      throw .readOnly(reason: FrameScanner.unknownFrames)
    }
    if let slot, slot.durableEnd > chain.end { throw .damaged(what: "frame", offset: chain.end) }
    let hold = try LockFile(disk: disk, folder: folder).look().hold
    let promise = DurablePromise(hold, for: file, hasSlot: slot != nil)
    if try promise?.isBroken(behind: chain, in: file) == true { throw .damaged(what: "frame", offset: chain.end) }
    let newest = chain.offset == 0 ? CommitRecord.beginning(of: file.header) : try file.record(at: chain.offset)
    let state = try Publication.State(file: file, newest: newest, chain: chain)
    // The page cache may show bytes that the disk never got, so all bytes that neither slot nor promise covers are written again.
    let promised = promise.flatMap { $0.isOwn ? $0.end : nil } ?? 0
    let vouched = max(slot?.durableEnd ?? 0, promised, file.header.firstFrame)
    if chain.end > vouched {
      try rewrite(vouched..<chain.end, of: file)
      try engineCall { () throws(DiskError) in try file.file.sync() }
      counters.syncs.add(1)
    }
    try cut(behind: chain, limit: status.end, of: file)
    let origin = try writeSession(in: file, found: status, hold, chain: chain)
    zeros.begin(at: try file.endOfWritten(in: chain.end..<max(status.end, chain.end)))
    tail = Tail(origin: origin)
    monitor.withLock {
      shared.appended = state
      shared.durableEnd = chain.end
      shared.queue.recover(chain.number)
      publishDurable()
      shared.slot = slot.map { ($0.sequence, $0.durableEnd, $0.isClean) } ?? (0, 0, false)
    }
    publication.show(state)
    writeHold(state)
  }

  /// Compaction may have put another file in place, and an older copy may have been written over this one. Then the file is opened again,
  /// and that opening finds any reason that forbids writing to it.
  func newestGeneration(_ known: Publication.State) throws(StorageError) -> Publication.State {
    let named = try reading.statusByName()?.identity ?? known.file.identity
    if named == known.file.identity, try isStillThere(known) { return known }
    let opened = try reading.open()
    if let reason = opened.readOnlyReason { throw .readOnly(reason: reason) }
    return opened.state
  }

  /// Whether the file begins as it did and has the newest known frame, so that further frames can be built on it.
  private func isStillThere(_ known: Publication.State) throws(StorageError) -> Bool {
    let (file, chain) = (known.file, known.chain)
    let end = try engineCall { () throws(DiskError) in try file.file.status.end }
    guard end >= chain.end, try FileHeader(reading: file.file, path: folder) == file.header else { return false }
    return (try? FrameScanner(file: file).holds(chain)) ?? false
  }

  /// Zeroes the file behind the last whole frame, and reports it.
  private func cut(behind chain: ChainEnd, limit: FileOffset, of file: DataFile) throws(StorageError) {
    guard let last = try file.lastNonzero(in: chain.end..<limit) else { return }
    let garbage = chain.end..<min(limit, FrameHeader.end(behind: last))
    let whole = try FrameSurvey.wholeFrames(of: file, in: garbage, after: chain.number)
    guard !whole.contains(where: { $0.recordedEnd(in: file) ?? 0 > chain.end }) else {
      throw .damaged(what: "frame", offset: chain.end)
    }
    // A long frame gets its header last. Without it the commit was not finished, and may have been as long as an import.
    let header = chain.end..<min(garbage.upperBound, chain.end + UInt64(FrameHeader.size))
    let hasHeader = try file.lastNonzero(in: header) != nil
    var keptAside: String?
    do throws(StorageError) {
      if !whole.isEmpty || hasHeader { keptAside = try keepAside(garbage, of: file, number: chain.number) }
    } catch {
      // Useless bytes may be lost; whole commits may not.
      if !whole.isEmpty { throw error }
    }
    // Synced before anything is written there: the next frame begins with the same bytes as a torn one of its number. If a power cut kept
    // only those bytes of it, and the old bytes instead of the zeros, a commit that was cut would be whole again.
    try engineCall { () throws(DiskError) in
      try file.file.clear(garbage)
      try file.file.sync()
    }
    counters.syncs.add(1)
    report.withLock { report in
      (report.cutBytes, report.keptAside) = (garbage.length, keptAside)
      report.notes.append(
        "\(garbage.length) bytes after commit #\(chain.number) "
          + (whole.isEmpty
            ? "belonged to no whole commit and were cut"
            : "did not follow it and were cut; \(FrameSurvey.describe(whole)) among them can be saved: salvage reads what was kept aside")
      )
    }
  }

  private func rewrite(_ range: Range<FileOffset>, of file: DataFile) throws(StorageError) {
    try file.forEachPiece(of: range, what: "frame") { piece, position throws(StorageError) in
      // Copied first: a mapping must not be the source of a write to its own pages.
      let copy = piece.array
      try engineCall { () throws(DiskError) in try file.file.write(copy, at: position) }
    }
  }

  /// Copies bytes that are about to be cut into a file beside the data, and makes them durable there.
  private func keepAside(
    _ range: Range<FileOffset>, of file: DataFile, number: UInt64
  ) throws(StorageError) -> String {
    let path = CutBytes.newPath(in: folder, after: number, on: disk)
    let aside = try engineCall { () throws(DiskError) in try disk.open(path, .create) }
    do {
      for part in try engineCall({ () throws(DiskError) in try file.file.writtenParts(of: range.bytes) }) {
        let part = FileOffset(part.lowerBound)..<FileOffset(part.upperBound)
        try file.forEachPiece(of: part, what: "tail") { piece, position throws(StorageError) in
          try piece.withUnsafeBytes { bytes throws(StorageError) in
            try engineCall { () throws(DiskError) in try aside.write(bytes, at: position - range.lowerBound) }
          }
        }
      }
      try engineCall { () throws(DiskError) in
        try aside.sync()
        try disk.syncDirectory(folder)
      }
      return path
    } catch {
      try? disk.unlink(path)
      throw error
    }
  }

  /// Writes the session and its origin into the session block, and returns the origin. The file's last session keeps its origin; a copy of
  /// the file, or one that was put back, takes a new one. `found`: the file's status before it was written to.
  private func writeSession(
    in file: DataFile, found: FileStatus, _ hold: LockHold?, chain: ChainEnd
  ) throws(StorageError) -> UInt64 {
    let old = file.sessions.first { $0.session == hold?.session }
    var origin = disk.randomNumber() | 1
    // The file that its last writer released, unchanged since: not even an older copy of it was written back, lock and all, under the same
    // inode.
    if let old, let hold, old.file == file.identity, old.session == hold.session, hold.changed == found.changed,
      hold.durableEnd <= chain.end, hold.generation == file.header.identity.generation
    {
      origin = old.origin
      if old.session == session { return origin }
    }
    let block = SessionBlock(session: session, file: file.identity, origin: origin, date: disk.now()).encoded()
    try file.write(block, at: FileLayout.sessionOffset)
    return origin
  }
}

extension DataFile {
  /// Writes one of the blocks before the frames.
  func write(_ block: [UInt8], at offset: FileOffset) throws(StorageError) {
    try engineCall { () throws(DiskError) in try file.write(block, at: offset) }
    counters.writes.add(1)
    counters.bytesWritten.add(UInt64(block.count))
  }
}
