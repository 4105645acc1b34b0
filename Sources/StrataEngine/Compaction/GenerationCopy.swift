/// Copies commits of one data file into another one: the states that they reach, with sharing between them kept.
///
/// Nodes are copied one by one with the references and pointers in them changed, so the order of keys need not be known. A node or an entry
/// that several commits share is copied once.
final class GenerationCopy {
  let source: DataFile
  let target: DataFile
  /// The target as a file with a name, locked as long as it is written.
  let draft: DraftFile
  /// The places in the target of each node and each entry of the source.
  private var nodes = PlaceTable<CopiedNode>()
  private var entries = PlaceTable<EntryReference>()
  /// The numbers of the dictionaries that both files have.
  let keptDictionaries: Set<UInt8>
  private(set) var copied = CopiedCommits()
  /// The newest commit of the source when the copy began.
  private var newestOfSource: CommitLink?
  /// Read at its first use.
  private var ancestors: KnownAncestors?
  private(set) var chain: ChainEnd
  private(set) var newest: CommitRecord
  /// The plan that an unfinished target holds about itself; nil if no process would go on with it.
  private var plan: CompactionPlan?
  /// The end of the part that an interrupted copy had synced.
  let plannedEnd: FileOffset
  private var progress: (CompactionProgress) -> Bool = { _ in true }
  private var progressMade: CompactionProgress = (0, 0)
  private var steps = 0

  /// The number of bytes written between two syncs.
  private let syncDistance: UInt64
  private let deltaLimit: Int
  /// Up to here the target was brought to the disk, a little at a time, so that no commit waits long for it there.
  private var writtenBackEnd: FileOffset
  private static let writeBackDistance: UInt64 = 32 << 10

  /// A copy that begins with an empty file. `features` are the required ones, or nil for those of the source.
  convenience init(
    from source: DataFile, to draft: DraftFile, options: StoreOptions, generation: UInt64, firstNumber: UInt64,
    features: UInt64? = nil, dictionaries: ValueDictionaries? = nil, plan: CompactionPlan? = nil, counters: Counters
  ) throws(StorageError) {
    var identity = source.header.identity
    identity.generation = generation
    var header = FileHeader(identity: identity, seed: draft.disk.randomNumber(), firstNumber: firstNumber)
    header.requiredFeatures = features ?? source.header.requiredFeatures
    header.optionalFeatures = source.header.optionalFeatures
    let dictionaryPages = header.setArea(for: dictionaries)
    try engineCall { () throws(DiskError) in
      try draft.file.write(header.encoded(), at: 0)
      try draft.file.zero(FileOffset(FileHeader.size)..<FileLayout.firstFrame)
      if !dictionaryPages.isEmpty { try draft.file.write(dictionaryPages, at: FileLayout.firstFrame) }
    }
    let target = try DataFile(
      file: draft.file, header: header, readsMapped: options.readsMapped, counters: counters)
    target.extend(to: header.firstFrame)
    self.init(from: source, to: target, in: draft, plan: plan, options: options)
  }

  /// A copy into a file that already has its header.
  init(
    from source: DataFile, to target: DataFile, in draft: DraftFile, plan: CompactionPlan?, options: StoreOptions
  ) {
    syncDistance = options.compactionSyncDistance
    deltaLimit = options.deltaLimit
    self.source = source
    self.target = target
    self.draft = draft
    keptDictionaries = target.dictionaries?.numbers(keptFrom: source.dictionaries) ?? []
    self.plan = plan
    plannedEnd = plan?.syncedEnd ?? 0
    writtenBackEnd = max(plannedEnd, target.header.firstFrame)
    chain = .start(of: target.header)
    newest = .beginning(of: target.header)
  }

  // MARK: Commits

  /// Copies commits, the oldest first. `names`: those that exist now.
  func run(
    _ commits: [CommitRecord], names: [(name: String, commit: UInt64)], progress: (CompactionProgress) -> Bool
  ) throws(StorageError) {
    newestOfSource = commits.last?.links.own
    progressMade = (copied.count, commits.count)
    let names = Dictionary(grouping: names, by: \.commit)
    // Kept for the duration of the call only.
    try withoutActuallyEscaping(progress) { progress throws(StorageError) in
      self.progress = progress
      defer { self.progress = { _ in true } }
      for (index, commit) in commits.enumerated() where !copied.contains(commit.number) {
        try copy(commit, names: (names[commit.number] ?? []).map { NameChange(name: $0.name, commit: $0.commit) })
        try syncFrames()
        progressMade.commitsDone = index + 1
        try report()
      }
    }
  }

  private func report() throws(StorageError) {
    guard progress(progressMade) else { throw .cancelled }
  }

  /// Called with each node and each entry: lets threads run that wait for the processor, brings the written bytes to the disk, and lets the
  /// caller end the copy.
  func step(_ draft: FrameDraft) throws(StorageError) {
    steps += 1
    // Otherwise a commit that could go on waits until the system takes the processor from this thread: milliseconds.
    if steps % 16 == 0 {
      yieldThread()
      try writeBack(draft.writtenEnd)
    }
    guard steps % 256 == 0 else { return }
    try sync(draft.writtenEnd, distance: syncDistance)
    try report()
  }

  /// Brings whole pages of the written bytes, which reach to `end`, to the disk, if there are enough of them.
  private func writeBack(_ end: FileOffset) throws(StorageError) {
    let end = FileOffset(end.bytes / 4096 * 4096)
    guard end >= writtenBackEnd &+ GenerationCopy.writeBackDistance else { return }
    let written = target.file
    try engineCall { () throws(DiskError) in try written.writeBack(writtenBackEnd..<end) }
    writtenBackEnd = end
  }

  /// Syncs the written bytes, which reach to `end`, if there are enough to be worth it, and records their end for a copy that goes on from
  /// there.
  private func sync(_ end: FileOffset, distance: UInt64) throws(StorageError) {
    guard var plan, end >= max(plan.syncedEnd, target.header.firstFrame) &+ distance else { return }
    let written = target.file
    try engineCall { () throws(DiskError) in try written.sync() }
    target.counters.syncs.add(1)
    plan.syncedEnd = end
    self.plan = plan
    try engineCall { () throws(DiskError) in
      try target.file.write(plan.encoded(seed: target.header.seed), at: CompactionPlan.offset)
    }
  }

  /// Syncs the whole frames if there are enough of them; if `all` is true, any number, for a copy that goes on from here.
  func syncFrames(all: Bool = false) throws(StorageError) {
    try writeBack(chain.end)
    try sync(chain.end, distance: all ? 1 : syncDistance)
  }

  /// The frame after the last one, with nothing in it yet.
  func nextFrame() -> FrameDraft {
    FrameDraft(
      start: chain.end, file: target, keeping: plannedEnd,
      spillSize: Int(clamping: min(syncDistance, GenerationCopy.writeBackDistance)), deltaLimit: deltaLimit)
  }

  /// The source's knowledge of the commits that existed when the copy began.
  func knownAncestors() throws(StorageError) -> KnownAncestors {
    if let ancestors { return ancestors }
    let found = try KnownAncestors(file: source, newest: newestOfSource ?? .beginning)
    ancestors = found
    return found
  }

  // MARK: Copied entries and nodes

  func copiedEntry(_ reference: EntryReference) -> EntryReference? { entries[reference.offset] }

  func copiedNode(_ pointer: NodePointer) -> CopiedNode? { nodes[pointer.offset] }

  /// Records an entry's copy. Its offset is checked, because not every such entry was read: the copy may have an equal one already.
  func remember(_ reference: EntryReference, as new: EntryReference) throws(StorageError) {
    guard reference.offset < source.end else { throw .damaged(what: "reference to a record", offset: reference.offset) }
    entries[reference.offset] = new
  }

  func remember(_ pointer: NodePointer, as new: CopiedNode) { nodes[pointer.offset] = new }

  /// Adds a frame that is in the target.
  func add(_ record: CommitRecord, chain newChain: ChainEnd) {
    chain = newChain
    newest = record
    copied.append(record.number, at: newChain.offset)
  }

  /// The commits after a number that are not copied, the oldest first.
  func missing(after number: UInt64, to newest: CommitRecord) throws(StorageError) -> [CommitRecord] {
    var missing: [CommitRecord] = []
    try source.walk(from: newest, along: \.order) { record in
      guard record.number > number, !copied.contains(record.number) else { return false }
      missing.append(record)
      return true
    }
    return missing.reversed()
  }

  /// Copies commits that were made since the copy began, each with the names that it set. They are not synced.
  func catchUp(_ commits: some Sequence<CommitRecord>) throws(StorageError) {
    for commit in commits { try copy(commit, names: commit.names) }
  }

  /// Whether every named commit of a state was copied.
  func hasAllNames(of state: Publication.State) throws(StorageError) -> Bool {
    let head = state.newest.links.head.number
    return try state.names().allSatisfy { copied.contains($0.commit) } && (head == 0 || copied.contains(head))
  }

  /// Writes zeros, session and slot around the frames and makes everything durable. The file ends with the zeros.
  func finish(session: UInt64?, origin: UInt64, date: Int64) throws(StorageError) -> Publication.State {
    // Also over the bytes that an interrupted copy had written of a longer frame.
    let zeroedEnd = max(target.end, (chain.end + (128 << 10)).aligned(to: 4096))
    let slot = Slot(
      sequence: 1, generation: target.header.identity.generation, frameOffset: chain.offset, number: chain.number,
      frameHash: chain.hash, isClean: true, durableEnd: chain.end, zeroedEnd: zeroedEnd)
    let end = chain.end
    try engineCall { () throws(DiskError) in
      try target.file.zero(end..<zeroedEnd)
      if plan != nil {
        try target.file.zero(CompactionPlan.offset..<CompactionPlan.offset + UInt64(StoredBlock.size))
      }
      if let session {
        let block = SessionBlock(session: session, file: target.identity, origin: origin, date: date)
        try target.file.write(block.encoded(), at: FileLayout.sessionOffset)
      }
      if chain.offset > 0 {
        try target.file.write(slot.encoded(seed: target.header.seed), at: FileLayout.slotOffsets[1])
      }
      try target.file.sync()
    }
    target.extend(to: zeroedEnd)
    return try Publication.State(file: target, newest: newest, chain: chain)
  }
}

extension DiskFile {
  func write(_ bytes: [UInt8], at offset: FileOffset) throws(DiskError) {
    try bytes.withBytes { bytes throws(DiskError) in try write(bytes, at: offset) }
  }
}
