/// Going on with a copy that a crash or a cancel interrupted.
///
/// The synced part is taken as far as it can be verified: whole frames, by their hashes and by having the same shape as the frames that
/// they copy. Of an unfinished frame, the written bytes are compared with the bytes that the copy would write there.
extension GenerationCopy {
  /// The copy at `path`, if it fits the rule and the state to be compacted. Returns nil if there is none that can be continued. `start`:
  /// the state that the commits to keep are chosen from.
  static func interrupted(
    of current: Publication.State, at path: String, _ retention: Retention, features: UInt64, disk: any Disk,
    options: StoreOptions, counters: Counters
  ) throws(StorageError) -> (copy: GenerationCopy, start: Publication.State, plan: CompactionPlan)? {
    // Locked before anything of it is believed: until then it may belong to another process, and be the store's data a moment later.
    guard let draft = try DraftFile.taking(path, on: disk), let (header, plan) = try unfinished(draft, of: current),
      (header.requiredFeatures ^ features) & ~StoreFeature.compressedValues.rawValue == 0,
      let start = try plan.start(in: current, retention, now: disk.now())
    else { return nil }
    let file = draft.file
    let target = try DataFile(
      file: file, header: header, readsMapped: options.readsMapped, counters: counters)
    let copy = GenerationCopy(
      from: current.file, to: target, in: draft, plan: plan, options: options)
    // The bytes beyond the synced end are written again.
    try engineCall { () throws(DiskError) in try file.clear(plan.syncedEnd..<(try file.status.end)) }
    target.extend(to: plan.syncedEnd)
    return (copy, start, plan)
  }

  /// The header and plan of an unfinished copy of the state's file. Returns nil if the file is not one.
  private static func unfinished(
    _ draft: DraftFile, of current: Publication.State
  ) throws(StorageError) -> (header: FileHeader, plan: CompactionPlan)? {
    let handle = draft.file
    guard let header = try? FileHeader(reading: handle, path: draft.path) else { return nil }
    var identity = current.file.header.identity
    identity.generation &+= 1
    let block = MemoryBlock(count: StoredBlock.size)
    let (end, count) = try engineCall { () throws(DiskError) in
      (try handle.status.end, try handle.read(into: block.bytes, at: CompactionPlan.offset))
    }
    guard header.identity == identity, count == StoredBlock.size,
      let plan = CompactionPlan(UnsafeRawBufferPointer(block.bytes), seed: header.seed),
      plan.syncedEnd > header.firstFrame, plan.syncedEnd <= end
    else { return nil }
    return (header, plan)
  }

  /// Whether no process will go on with a draft: it is a copy of another file, or so much happened since that a new choice of commits would
  /// keep less.
  static func isStale(_ draft: DraftFile, of current: Publication.State, now: Int64) throws(StorageError) -> Bool {
    guard let (_, plan) = try unfinished(draft, of: current) else { return true }
    return try plan.start(in: current, plan.retention, now: now) == nil
  }

  /// Takes the whole frames that are there, which must be copies of the commits to keep, in this order. Returns false if they are not.
  ///
  /// Those of later commits are copied again, over the bytes that are there: the plan proves only commits up to its own. Later ones may be
  /// lost by a power cut, or by an older copy of the data, and others have their numbers.
  func addFrames(_ kept: [CommitRecord]) throws(StorageError) -> Bool {
    guard target.header.firstNumber == kept.first?.number else { return false }
    let scanner = FrameScanner(file: target)
    for commit in kept {
      guard let next = try scanner.next(after: chain, limit: plannedEnd, verifiesHash: true) else { break }
      let copied = try target.record(at: next.offset)
      guard commit.number == next.number, copied.number == next.number, try learn(commit, copied) else { return false }
      add(copied, chain: next)
    }
    return true
  }

  /// Records where the nodes and the entries of a commit's state lie in its copy. Returns false if the copy has another shape.
  private func learn(_ commit: CommitRecord, _ copied: CommitRecord) throws(StorageError) -> Bool {
    let copy = View(commit: copied, file: target)
    for (name, entry) in try CatalogScan(file: source).entries(in: commit.links.catalog) {
      guard let other = try copy.catalogEntry(name), try learn(entry.root, other.root),
        try learn(entry.tombstones, other.tombstones)
      else { return false }
      if entry.attributes != .none { try remember(entry.attributes, as: other.attributes) }
    }
    return true
  }

  private func learn(
    _ pointer: NodePointer, _ copied: NodePointer, below level: UInt8? = nil
  ) throws(StorageError) -> Bool {
    if pointer.isNone || copied.isNone { return pointer.isNone == copied.isNone }
    if let known = copiedNode(pointer) { return known.pointer == copied }
    let (node, copy) = (try source.node(at: pointer, below: level), try target.node(at: copied))
    guard node.view.form == copy.view.form, node.view.level == copy.view.level, node.view.count == copy.view.count
    else {
      return false
    }
    var liveBytes = try target.liveBytes(of: copied)
    for index in 0..<node.view.count {
      if node.view.form == .inner {
        let (child, other) = (try node.view.pointer(index), try copy.view.pointer(index))
        guard try learn(child, other, below: node.view.level) else { return false }
        liveBytes &+= copiedNode(child)?.liveBytes ?? 0
      } else if let reference = try node.view.payload(index).entry {
        guard let other = try copy.view.payload(index).entry else { return false }
        try remember(reference, as: other)
      }
    }
    remember(pointer, as: CopiedNode(pointer: copied, liveBytes: liveBytes))
    return true
  }
}
