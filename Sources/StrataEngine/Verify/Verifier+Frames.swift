extension Verifier {
  /// Checks the pages before the frames: identity, session and slots. All but the identity are hints.
  mutating func checkPages(_ store: RawStore) throws(StorageError) {
    let pages = try file.bytes(
      at: 0, count: Int(min(FileLayout.firstFrame, file.end).bytes), what: "pages")
    guard pages.count == Int(FileLayout.firstFrame.bytes) else {
      return damage("file", 0, "it ends within its first pages", saved: "no commit is in it")
    }
    pages.withUnsafeBytes { bytes in
      /// The bytes of a range, or nil if all are zero.
      func written(_ start: Int, _ count: Int = StoredBlock.size) -> UnsafeRawBufferPointer? {
        let part = UnsafeRawBufferPointer(rebasing: bytes[start..<start + count])
        return part.isZero ? nil : part
      }
      for offset in [FileLayout.oldSessionOffset, FileLayout.sessionOffset] {
        if let block = written(Int(offset.bytes)), SessionBlock(block) == nil {
          addNote("session block", offset, "it is damaged; the next writer takes a new origin")
        }
      }
      for offset in FileLayout.slotOffsets {
        if let block = written(Int(offset.bytes)), Slot(block, seed: file.header.seed) == nil {
          addNote("slot", offset, "it is damaged; opening scans more of the file")
        }
      }
      for unused in [1024..<4096, 4608..<8192, 8704..<12800, 13312..<16384]
      where written(unused.lowerBound, unused.count) != nil {
        addUnusedBytes(FileOffset(unused.lowerBound))
      }
    }
    try checkDictionaries()
    checkDurableEnd(store)
  }

  /// Checks that the part is there that a slot or the lock file reported as durable.
  private mutating func checkDurableEnd(_ store: RawStore) {
    if let promise = store.promise, promise.end > survey.end {
      let last = survey.frames.last?.header.number ?? file.header.firstNumber &- 1
      let upTo = promise.number.map { " up to #\($0)" } ?? ""
      damage(
        "frame header", survey.end, commit: last &+ 1,
        (survey.leftover.map { "no frame can be made out in the \($0.length) bytes from here on" }
          ?? "the file holds nothing from here on")
          + ", and \(promise.by) says that it is durable up to byte \(promise.end)",
        saved: survey.leftover == nil
          ? "commits up to #\(last) are there, those after it\(upTo) are lost"
          : "commits up to #\(last) are there; of those after it\(upTo) the changes may be saved")
    }
    if let newest = store.slot, let frame = survey.frame(number: newest.number),
      frame.offset != newest.frameOffset || frame.hash != newest.frameHash
    {
      damage("slot", newest.frameOffset, commit: newest.number, "it names another frame than the file has")
    }
  }

  // MARK: The chain

  mutating func checkFrames(_ store: RawStore) throws(StorageError) {
    for gap in survey.gaps { tellGap(gap) }
    var before: FrameSurvey.Frame?
    for frame in survey.frames {
      report.commits += 1
      try checkFrame(frame, after: before)
      before = frame
    }
    report.bytes = survey.end.bytes
    if let leftover = survey.leftover, leftover.lowerBound >= store.promise?.end ?? 0, !store.isBeingWritten {
      let whole = try FrameSurvey.wholeFrames(
        of: file, in: leftover, after: survey.frames.last?.header.number ?? 0,
        following: survey.frames.last?.offset ?? 0)
      addNote(
        "tail", leftover.lowerBound,
        whole.isEmpty
          ? "\(leftover.length) bytes of a commit that was not finished; opening cuts them off"
          : "\(leftover.length) bytes that do not follow the last commit, which were not reported as durable; opening cuts them off and keeps them aside; \(FrameSurvey.describe(whole)) among them can be saved"
      )
    }
  }

  private mutating func tellGap(_ gap: Range<FileOffset>) {
    let next = survey.frames.first { $0.offset >= gap.upperBound }?.header.number ?? 0
    let last = survey.frames.last { $0.end <= gap.lowerBound }?.header.number ?? file.header.firstNumber &- 1
    let first = last &+ 1
    let lost = first &+ 1 >= next ? "commit #\(first)" : "commits #\(first) to #\(next &- 1)"
    damage(
      "frame header", gap.lowerBound, commit: first, "no frame can be made out in \(gap.length) bytes",
      saved: "\(lost) cannot be read as a commit; what later commits share of it can")
  }

  private mutating func checkFrame(_ frame: FrameSurvey.Frame, after before: FrameSurvey.Frame?) throws(StorageError) {
    let number = frame.header.number
    // A gap before the frame is reported already, and the chain cannot be checked across it.
    if frame.offset == before?.end ?? file.header.firstFrame {
      let previousHash = before.map { $0.hash } ?? 0
      if frame.header.previousOffset != before?.offset ?? 0
        || previousHash.map({ $0 != frame.header.previousHash }) ?? false
      {
        damage("frame header", frame.offset, commit: number, "it does not follow the frame before it")
      }
    }
    if frame.hash == nil {
      damage(
        "frame trailer", frame.end - UInt64(FrameHeader.trailerSize), commit: number, "it is not what was written",
        saved: "the commit's parts can be read by their own checks")
    }
    let found = report.findingCount
    do {
      let record = try file.record(at: frame.offset)
      commits[number] = record
    } catch {
      damage(
        "commit record", frame.recordStart, commit: number, "it is not what was written",
        saved: "the commit cannot be opened; its changes, and what later commits share of it, can be read")
    }
    try readChanges(of: frame)
    // Errors in the nodes are reported when trees are walked; here only that there is one.
    if !frame.isWhole, frame.hash != nil, report.findingCount == found {
      damage(
        "frame", frame.offset, commit: number, "its bytes are not those that were written",
        saved: "each change and node in it has a check of its own, and those that are right can be read")
    }
  }

  // MARK: Changes

  private mutating func readChanges(of frame: FrameSurvey.Frame) throws(StorageError) {
    var counts: [UInt32: (inserted: UInt64, updated: UInt64, deleted: UInt64)] = [:]
    var superseded = commits[frame.header.number].flatMap { try? SupersededCursor($0, file) }
    var reader = ChangeReader(file, frame: frame.offset, limit: frame.nodesStart)
    while reader.position < frame.nodesStart {
      let position = reader.position
      guard let (entry, bytes, reference) = try? reader.next() else {
        return damage(
          "changes", position, commit: frame.header.number, "no change can be read here",
          saved: "the values behind it in this commit can be read through the trees that refer to them")
      }
      let fact = ChangeFact(entry, bytes, reference)
      report.changes += 1
      changes[position] = fact
      if frame.isWhole { checkValue(entry, reference, commit: frame.header.number) }
      // In a damaged frame the contents of an entry are proven only by the references to it.
      if frame.isWhole { checkReplaced(entry, fact, at: position, commit: frame.header.number) }
      if !((try? superseded?.contains(position - frame.offset)) ?? false) {
        switch entry.kind {
        case .put where entry.replaced == nil || entry.replacesDelete:
          counts[entry.tree, default: (0, 0, 0)].inserted += 1
        case .put: counts[entry.tree, default: (0, 0, 0)].updated += 1
        case .delete: counts[entry.tree, default: (0, 0, 0)].deleted += 1
        case .attributes: break
        }
      }
    }
    // Changes by a restore by roots are counted, too, and have no change entry.
    guard frame.isWhole, let record = commits[frame.header.number], !record.bringsBack else { return }
    for count in record.counts {
      let found = counts[count.identifier] ?? (0, 0, 0)
      // Entries that a squashed commit shares with an older one of another branch lie in that one's frame.
      let isRight =
        record.flags.contains(.squashed)
        ? found.inserted <= count.inserted && found.updated <= count.updated && found.deleted <= count.deleted
        : found == (count.inserted, count.updated, count.deleted)
      if !isRight {
        damage(
          "commit record", frame.recordStart, commit: frame.header.number, tree: count.tree,
          "it counts \(count.inserted) inserted, \(count.updated) updated and \(count.deleted) deleted, and the changes are \(found)"
        )
      }
    }
  }

  /// Checks that the version that a change replaced is one of the same key, and of the kind that the change says.
  private mutating func checkReplaced(_ entry: ChangeEntry, _ fact: ChangeFact, at position: FileOffset, commit: UInt64)
  {
    guard let replaced = entry.replaced else { return }
    guard let older = resolve(replaced) else {
      if wrongReferences.insert(replaced.offset).inserted {
        damage(
          "change entry", replaced.offset, commit: commit, "the version that a later one replaced cannot be read",
          saved: "the newer versions of the record can")
      }
      return
    }
    if replaced.offset >= position || older.keyCheck != fact.keyCheck
      || (older.kind == .delete) != entry.replacesDelete
      || !isTree(older.tree, at: replaced.offset, sameAs: fact.tree, in: commit)
    {
      damage(
        "change entry", position, commit: commit,
        "it says that it replaces the version at byte \(replaced.offset), which is none of its key")
    }
  }

  /// Whether the tree of an entry is the other tree. Two branches may have made a tree under different numbers, and a merge takes over
  /// entries as they lie on the other branch; then the commit that brought the entry has a tree of the same name under its number.
  mutating func isTree(_ number: UInt32, at offset: FileOffset, sameAs other: UInt32, in commit: UInt64) -> Bool {
    if number == other { return true }
    let next = survey.frames.partitionIndex { $0.offset > offset }
    guard next > 0, let name = treeName(number, in: survey.frames[next - 1].header.number) else { return false }
    return treeName(other, in: commit) == name
  }

  private mutating func treeName(_ number: UInt32, in commit: UInt64) -> TreeName? {
    if let known = treeNames[commit] { return known[number] }
    var names: [UInt32: TreeName] = [:]
    if let root = commits[commit]?.links.catalog {
      try? CatalogScan(file: file).forEach(in: TreeRoot(pointer: root), prefix: []) {
        name, payload throws(StorageError) in
        names[try CatalogEntry(payload, catalogAt: root.offset).identifier] = name
      }
    }
    treeNames[commit] = names
    return names[number]
  }

  /// The change entry at a reference. Returns nil if it does not match the reference.
  mutating func resolve(_ reference: EntryReference) -> ChangeFact? {
    if let fact = changes[reference.offset] {
      return fact.length == reference.length && fact.check == reference.check ? fact : nil
    }
    // In a frame whose changes could not be read in order, the entry may still be whole.
    guard let (entry, bytes) = try? file.entry(reference) else { return nil }
    let fact = ChangeFact(entry, bytes, reference)
    changes[reference.offset] = fact
    return fact
  }
}
