/// Copies commits of one data file into another one: the states that they reach, with sharing between them kept.
///
/// Nodes are copied one by one with the references and pointers in them changed, so no order of keys need be known; a node or
/// an entry that several commits share is copied once.
final class GenerationCopy {
  let source: DataFile
  let target: DataFile
  /// Where each node and each entry of the source lies in the target.
  private var nodes: [UInt64: NodePointer] = [:]
  private var entries: [UInt64: RecordReference] = [:]
  /// Where each copied commit's frame lies in the target, and their numbers in ascending order.
  private var frames: [UInt64: UInt64] = [:]
  private(set) var numbers: [UInt64] = []
  private(set) var chain: ChainEnd
  private(set) var newest: CommitRecord
  private(set) var zeroedEnd: UInt64 = 0
  /// What the target says about itself while it is unfinished; nil where nobody would go on with it.
  private var plan: CompactionPlan?
  /// What an interrupted copy had synced.
  let plannedEnd: UInt64
  private var progress: (CompactionProgress) -> Bool = { _ in true }
  private var progressMade: CompactionProgress
  private var steps = 0

  /// So many bytes are written between two syncs.
  private let syncDistance: UInt64

  /// A copy that begins with an empty file.
  convenience init(
    from source: DataFile, to path: String, disk: any Disk, options: StoreOptions, generation: UInt64,
    firstNumber: UInt64, plan: CompactionPlan? = nil, counters: Counters
  ) throws(StorageError) {
    var identity = source.header.identity
    identity.generation = generation
    let header = FileHeader(identity: identity, seed: disk.randomNumber(), firstNumber: firstNumber)
    let file = try engineCall { () throws(DiskError) in
      let file = try disk.open(path, .create)
      try file.write(header.encoded(), at: 0)
      try file.zero(UInt64(FileHeader.size)..<FileLayout.firstFrame)
      return file
    }
    let target = try DataFile(
      file: file, header: header, readsMapped: options.readsMapped, counters: counters)
    target.extend(to: FileLayout.firstFrame)
    self.init(from: source, to: target, plan: plan, syncDistance: options.compactionSyncDistance)
  }

  /// A copy into a file that has its header.
  init(from source: DataFile, to target: DataFile, plan: CompactionPlan?, syncDistance: UInt64) {
    self.syncDistance = syncDistance
    self.source = source
    self.target = target
    self.plan = plan
    plannedEnd = plan?.syncedEnd ?? 0
    chain = .start(firstNumber: target.header.firstNumber)
    newest = .beginning(of: target.header)
    progressMade = CompactionProgress(commitsDone: 0, commitsToDo: 0, bytesWritten: chain.end)
  }

  /// Keeps others from going on with this copy while it is being written. The lock goes with the file's last reference.
  func lock() throws(StorageError) {
    guard try engineCall({ () throws(DiskError) in try target.file.tryLock() }) else {
      throw .busy(what: "someone else is compacting the store")
    }
  }

  // MARK: Commits

  /// Copies commits, the oldest first. `names`: those that exist now.
  func run(
    _ commits: [CommitRecord], names: [String: UInt64], progress: (CompactionProgress) -> Bool
  ) throws(StorageError) {
    // Kept for the duration of the call only.
    let result = withoutActuallyEscaping(progress) { progress in
      self.progress = progress
      defer { self.progress = { _ in true } }
      return Result { () throws(StorageError) in try run(commits, names) }
    }
    try result.get()
  }

  private func run(_ commits: [CommitRecord], _ names: [String: UInt64]) throws(StorageError) {
    progressMade.commitsToDo = commits.count
    progressMade.commitsDone = min(numbers.count, commits.count)
    for (index, commit) in commits.enumerated() where frames[commit.number] == nil {
      let named = names.filter { $0.value == commit.number }.sorted { $0.key < $1.key }
      try copy(commit, names: named.map { NameChange(name: $0.key, commit: $0.value) })
      try syncFrames()
      progressMade.commitsDone = index + 1
      try report(chain.end)
    }
  }

  private func report(_ bytesWritten: UInt64) throws(StorageError) {
    progressMade.bytesWritten = bytesWritten
    guard progress(progressMade) else { throw .cancelled }
  }

  /// Called with each node and each entry: lets those run that wait for the processor, lets the caller end the copy, and syncs
  /// what was written.
  private func step(_ draft: FrameDraft) throws(StorageError) {
    steps += 1
    // Else a commit that could go on waits until the system thinks that this thread has had its time: milliseconds.
    if steps % 16 == 0 { letOthersRun() }
    guard steps % 256 == 0 else { return }
    try sync(draft.writtenEnd, distance: syncDistance)
    try report(draft.writtenEnd)
  }

  /// Syncs what was written, which reaches to `end`, where that is enough to be worth it, and notes it for a copy that goes on
  /// from there.
  private func sync(_ end: UInt64, distance: UInt64) throws(StorageError) {
    guard var plan, end >= max(plan.syncedEnd, FileLayout.firstFrame) &+ distance else { return }
    let written = target.file
    try engineCall { () throws(DiskError) in try written.sync() }
    target.counters.syncs.add(1)
    plan.syncedEnd = end
    self.plan = plan
    try engineCall { () throws(DiskError) in
      try target.file.write(plan.encoded(seed: target.header.seed), at: CompactionPlan.offset)
    }
  }

  /// Syncs the whole frames where there are enough of them; `all`: where there are any, for who goes on from here.
  func syncFrames(all: Bool = false) throws(StorageError) { try sync(chain.end, distance: all ? 1 : syncDistance) }

  /// Takes a frame that is in the target.
  func take(_ record: CommitRecord, chain newChain: ChainEnd) {
    chain = newChain
    newest = record
    frames[record.number] = newChain.offset
    numbers.append(record.number)
  }

  /// The commits after a number that are not copied, the oldest first.
  func missing(after number: UInt64, to newest: CommitRecord) throws(StorageError) -> [CommitRecord] {
    var missing: [CommitRecord] = []
    var record = newest
    while record.number > number, frames[record.number] == nil {
      missing.append(record)
      guard let previous = record.links.order.previous else { break }
      let next = try source.record(previous)
      // Numbers fall with each step, so that no damage makes the walk endless.
      guard next.number < record.number else {
        throw .damaged(what: "link to a commit", offset: record.links.own.offset)
      }
      record = next
    }
    return missing.reversed()
  }

  /// Copies commits that were made since the copy began, each with the names that it gave. They are not synced.
  func catchUp(_ commits: some Sequence<CommitRecord>) throws(StorageError) {
    for commit in commits { try copy(commit, names: commit.names) }
  }

  /// Whether every named commit of a state was copied.
  func hasAllNames(of state: Publication.State) throws(StorageError) -> Bool {
    var isComplete = true
    let root = TreeRoot(pointer: state.newest.links.names)
    try CatalogScan(file: state.file).forEach(in: root, prefix: []) { _, payload throws(StorageError) in
      if frames[try NamedCommit(payload, at: root.pointer.offset).number] == nil { isComplete = false }
    }
    return isComplete && (state.newest.links.head.number == 0 || frames[state.newest.links.head.number] != nil)
  }

  /// Writes zeros, session and slot around the frames and makes all durable.
  func finish(session: UInt64?, origin: UInt64, date: Int64) throws(StorageError) -> Publication.State {
    zeroedEnd = (chain.end + (128 << 10) + 4095) / 4096 * 4096
    let slot = Slot(
      sequence: 1, generation: target.header.identity.generation, frameOffset: chain.offset, number: chain.number,
      frameHash: chain.hash, isClean: true, durableEnd: chain.end, zeroedEnd: zeroedEnd)
    let end = chain.end
    try engineCall { () throws(DiskError) in
      try target.file.zero(end..<zeroedEnd)
      if plan != nil {
        try target.file.zero(CompactionPlan.offset..<CompactionPlan.offset + UInt64(CompactionPlan.size))
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

  private func copy(_ commit: CommitRecord, names: [NameChange]) throws(StorageError) {
    let parent = try keptAncestor(of: commit.links.parents.first)
    let newParent = try parent.map { parent throws(StorageError) in try copied(parent.number) }
    let draft = FrameDraft(
      start: chain.end, file: target, keeping: plannedEnd,
      spillSize: plan == nil ? FrameDraft.usualSpillSize : Int(clamping: syncDistance))
    var state = CommitCopy(
      from: View(commit: parent ?? .beginning(of: source.header), file: source),
      to: View(commit: commit, file: source), onto: newParent ?? .beginning(of: target.header), draft: draft)

    try state.copyEntries(self)
    let changesEnd = draft.position
    let catalog = try state.copyNodes(self)
    let stateBytes = changesEnd - draft.start - UInt64(FrameHeader.size) + state.nodeBytes
    let namesRoot = try copyNames(names, commit, draft)
    let nodesEnd = draft.position

    var record = commit
    record.counts = state.counts
    record.parents = []
    record.liveBytes = state.liveBytes
    record.deadBytes = Int64(truncatingIfNeeded: (newParent?.liveBytes ?? 0) &+ stateBytes &- state.liveBytes)
    if parent?.number != commit.parents.first { record.flags.insert(.squashed) }
    record.links = try links(of: &record, commit, parent, newParent, draft.start)
    record.links.catalog = catalog
    record.links.names = namesRoot

    let buffer = ByteBuffer()
    record.encode(into: buffer, superseded: state.orphans.sorted())
    _ = try draft.append(buffer.bytes)
    let newChain = try draft.finish(
      number: commit.number, after: chain, changesEnd: changesEnd, nodesEnd: nodesEnd,
      recordCheck: target.header.check(buffer.bytes))
    take(try target.record(at: newChain.offset), chain: newChain)
  }

  /// The record of a commit in the target.
  private func copied(_ number: UInt64) throws(StorageError) -> CommitRecord {
    if number == newest.number { return newest }
    guard let offset = frames[number] else { throw .noSuchCommit(number: number) }
    return try target.record(at: offset)
  }

  /// The newest copied commit at or before a link, along first parents; nil where none was copied.
  private func keptAncestor(of link: CommitLink?) throws(StorageError) -> CommitRecord? {
    guard let link, link.number > 0 else { return nil }
    var record = try source.record(link)
    while frames[record.number] == nil {
      // No ancestor between this one and the newest copied number before it was copied.
      guard let limit = newestCopied(before: record.number) else { return nil }
      let search = CommitSearch(file: source, newest: record)
      guard let next = try search.ancestor(of: record, where: { $0.number <= limit }) else { return nil }
      record = next
    }
    return record
  }

  private func newestCopied(before number: UInt64) -> UInt64? {
    var low = 0
    var high = numbers.count
    while low < high {
      let middle = (low + high) / 2
      if numbers[middle] < number { low = middle + 1 } else { high = middle }
    }
    return low > 0 ? numbers[low - 1] : nil
  }

  // MARK: Record

  private func links(
    of record: inout CommitRecord, _ commit: CommitRecord, _ parent: CommitRecord?, _ newParent: CommitRecord?,
    _ offset: UInt64
  ) throws(StorageError) -> CommitLinks {
    let own = CommitLink(
      number: commit.number, offset: offset, depth: (newParent?.links.own.depth ?? 0) &+ 1, date: commit.date)
    var links = CommitLinks(
      own: own, frameEnd: 0, orderDepth: newest.links.orderDepth &+ 1, parents: [], ancestry: .none, order: .none,
      lastRestore: nil, head: own, catalog: .none, names: .none, nextTree: commit.links.nextTree, changesEnd: 0,
      superseded: .none)
    if let newParent {
      links.parents = [newParent.links.own]
      links.ancestry = try Lineage(after: newParent.links.own, its: newParent.links.ancestry) {
        jump throws(StorageError) in try target.record(jump).links.ancestry.jump
      }
      links.lastRestore = newParent.links.lastRestore
      if commit.links.parents.count > 1, let second = try keptAncestor(of: commit.links.parents[1]),
        second.number != newParent.number
      {
        links.parents.append(try copied(second.number).links.own)
      }
    }
    if newest.number > 0 {
      links.order = try Lineage(after: newest.orderLink, its: newest.links.order) { jump throws(StorageError) in
        try target.record(jump).links.order.jump
      }
    }
    // A restore among the squashed commits makes this one a place where version chains jump back.
    if let parent, let restore = commit.links.lastRestore, restore.number > parent.number {
      links.lastRestore = own
      if record.restores == nil { record.restores = try source.record(restore).restores }
    }
    if commit.links.head.number != commit.number {
      let head = try keptAncestor(of: commit.links.head)
      links.head = try head.map { head throws(StorageError) in try copied(head.number).links.own } ?? own
    }
    record.parents = links.parents.map(\.number)
    return links
  }

  private func copyNames(
    _ changes: [NameChange], _ commit: CommitRecord, _ draft: FrameDraft
  ) throws(StorageError) -> NodePointer {
    guard !changes.isEmpty else { return newest.links.names }
    var editor = TreeEditor(root: TreeRoot(pointer: newest.links.names), order: .bytes, isReferences: false)
    for change in changes {
      let key = Array(change.name.utf8)
      let offset = change.commit.flatMap { $0 == commit.number ? draft.start : frames[$0] }
      let result = key.withUnsafeBytes { key in
        Result { () throws(StorageError) in
          if let number = change.commit, let offset {
            let named = NamedCommit(number: number, offset: offset).payload
            _ = try editor.set(key, at: .bytes(key), in: target) { _ throws(StorageError) in named }
          } else {
            _ = try editor.remove(at: .bytes(key), in: target)
          }
        }
      }
      try result.get()
    }
    var writer = NodeWriter(draft: draft, file: target)
    return try writer.write(editor.root)
  }

  // MARK: Entries and nodes

  func copiedEntry(_ reference: RecordReference) -> RecordReference? { entries[reference.offset] }

  func copiedNode(_ pointer: NodePointer) -> NodePointer? { nodes[pointer.offset] }

  func remember(_ reference: RecordReference, as new: RecordReference) { entries[reference.offset] = new }

  func remember(_ pointer: NodePointer, as new: NodePointer) { nodes[pointer.offset] = new }

  /// Copies an entry into the frame that is being written, as one that replaces what is given.
  func copyEntry(
    _ reference: RecordReference, replaced: RecordReference?, replacesDelete: Bool, into draft: FrameDraft
  ) throws(StorageError) -> RecordReference {
    let (entry, bytes) = try source.entry(reference)
    let new = try bytes.withUnsafeBytes { bytes throws(StorageError) in
      let key = UnsafeRawBufferPointer(rebasing: bytes[entry.keyRange])
      let value = UnsafeRawBufferPointer(
        rebasing: bytes[entry.valueStart..<(entry.valueStart + Int(entry.valueLength))])
      return try draft.append(
        entry.kind, tree: entry.tree, key: key, value: value, replaced: replaced, replacesDelete: replacesDelete)
    }
    entries[reference.offset] = new
    try step(draft)
    return new
  }

  /// A node of the source; `parent` is the one above it, if any.
  private func node(at pointer: NodePointer, below parent: Node?) throws(StorageError) -> Node {
    let node = try source.node(at: pointer)
    // Levels fall by one, so that no damage makes a walk endless.
    if let parent, node.view.level &+ 1 != parent.view.level { throw node.view.damage }
    return node
  }

  /// The references to records in a tree's nodes that were not copied yet, as far as those records were not either, in the
  /// order of their keys. `seen`: where the nodes lie that were looked at.
  func newReferences(
    in pointer: NodePointer, below parent: Node? = nil, seen: inout Set<UInt64>,
    _ body: (RecordReference) throws(StorageError) -> Void
  ) throws(StorageError) {
    guard !pointer.isNone, nodes[pointer.offset] == nil, seen.insert(pointer.offset).inserted else { return }
    let node = try node(at: pointer, below: parent)
    guard node.view.form != .bare else { return }
    for index in 0..<node.view.count {
      if node.view.form == .inner {
        try newReferences(in: try node.view.pointer(index), below: node, seen: &seen, body)
      } else if case .record(let reference) = try node.view.payload(index), entries[reference.offset] == nil {
        try body(reference)
      }
    }
  }

  /// Copies a tree's nodes as far as they were not copied before; adds the bytes written to `bytes`.
  func copyNode(
    _ pointer: NodePointer, below parent: Node? = nil, into draft: FrameDraft, bytes: inout UInt64
  ) throws(StorageError) -> NodePointer {
    if pointer.isNone { return .none }
    if let known = nodes[pointer.offset] { return known }
    let node = try node(at: pointer, below: parent)
    let view = node.view
    let copy = MemoryBlock(count: view.length)
    copy.bytes.copyMemory(from: UnsafeRawBufferPointer(start: view.base, count: view.length))
    for index in 0..<view.count {
      let place = view.heap + (index == 0 ? 0 : view.end(index - 1))
      let fixed = try view.fixed(index)
      switch view.form {
      case .bare: break
      case .inner:
        let child = try copyNode(try view.pointer(index), below: node, into: draft, bytes: &bytes)
        if let base = copy.bytes.baseAddress { child.store(into: base + place) }
      case .references, .mixed:
        let skipped = view.form == .mixed ? 1 : 0
        guard case .record(let old) = try view.payload(index) else { continue }
        guard fixed.count >= skipped + RecordReference.size, let new = entries[old.offset] else {
          throw .damaged(what: "reference to a record", offset: pointer.offset)
        }
        new.store(into: UnsafeMutableRawBufferPointer(rebasing: copy.bytes[(place + skipped)...]))
      }
    }
    let content = UnsafeRawBufferPointer(copy.bytes)
    let offset = try draft.append(content)
    bytes += UInt64(view.length)
    let new = NodePointer(
      offset: offset, length: pointer.length, check: target.header.nodeCheck(content, at: offset), count: pointer.count)
    nodes[pointer.offset] = new
    try step(draft)
    return new
  }
}

extension DiskFile {
  /// Writes an array.
  func write(_ bytes: [UInt8], at offset: UInt64) throws(DiskError) {
    let written = bytes.withUnsafeBytes { bytes in
      Result { () throws(DiskError) in try write(bytes, at: offset) }
    }
    try written.get()
  }
}
