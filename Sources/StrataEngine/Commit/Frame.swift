import StrataLocks

/// Turns a transaction's state into a frame: nodes, record, and the chain that ends with it.
extension FileTransaction {
  /// The state of the store with the new commit, or nil if there is nothing to commit. Called with `mutex` held.
  func makeFrame(_ info: CommitInfo) throws(StorageError) -> Publication.State? {
    let names = try info.nameChanges(of: number)
    let parents = try parentRecords(info)
    guard
      state.pointee.isChanged || !names.isEmpty || parents.count > 1 || info.parents != nil || info.identity != nil
        || info.head != nil
    else { return nil }
    try info.checkTexts(store.options)
    // An older program would lose data that commits of other stores need. It must refuse the store before the first such commit is in it.
    if info.identity != nil || info.pedigree != nil, !file.header.has(.commitsOfOthers) {
      throw .readOnly(reason: "it is not ready yet for commits of other stores")
    }
    let own = draft.start
    let changesEnd = draft.position
    var counts = state.pointee.changeCounts
    // No entries list the changes of a restore by roots or of a dropped tree: they are counted from the difference.
    if state.pointee.restores != nil || state.pointee.dropsRecords {
      counts += try restoreCounts(besides: Set(counts.map(\.identifier)))
    }
    counts.sort { $0.identifier < $1.identifier }
    let entryBytes = changesEnd - own - UInt64(FrameHeader.size)
    var writer = NodeWriter(draft: draft)
    let (catalog, liveBytes) = try writer.write(&state.pointee)
    let stateBytes = entryBytes + writer.writtenBytes
    let namesRoot = try writer.write(names, to: beginning.newest.links.names) { target throws(StorageError) in
      target == number ? own : try find(target).links.own.offset
    }

    var record = CommitRecord.beginning(of: file.header)
    record.number = number
    record.origin = info.identity?.origin ?? origin
    record.originNumber = info.identity?.number ?? number
    record.parents = parents.map(\.number)
    let clock = info.clock ?? info.date ?? store.disk.now()
    record.date = parents.reduce(info.date ?? clock) { max($0, $1.date) }
    record.program = info.program ?? store.options.program
    record.author = info.author ?? store.options.author
    record.action = info.writtenAction
    record.flags = info.flags
    if state.pointee.restores != nil, parents.count < 2, info.identity == nil { record.flags.insert(.restore) }
    if info.undoes != nil { record.flags.insert(.undo) }
    record.undoes = info.undoes?.nonzero
    // Roots that a merge takes from its second parent are not a restore in the history.
    record.restores = parents.count > 1 ? nil : state.pointee.restores?.nonzero
    record.names = names
    record.counts = counts
    record.liveBytes = liveBytes
    // The parent's bytes and the new ones, without those that stay live.
    record.deadBytes = Int64(truncatingIfNeeded: base.liveBytes &+ stateBytes &- liveBytes)
    record.links = try links(info, date: record.date, parents: parents)
    record.links.catalog = catalog
    record.links.names = namesRoot
    // Read before the frame is whole: a failure must leave no frame behind that would be taken for a commit.
    let known = beginning.head
    let link = record.links.head
    let head = link.number == number ? nil : link.number == known.number ? known : try record.head(in: file)

    let durable = min(own, store.writing.durableEnd)
    let tail = RecordTail(
      pedigree: info.pedigree, undurable: own - durable, clock: clock < record.date ? clock : nil)
    let chain = try draft.finish(
      &record, superseded: state.pointee.superseded, tail: tail, after: beginning.chain, changesEnd: changesEnd)
    return Publication.State(file: file, newest: record, head: head ?? record, chain: chain)
  }

  private func find(_ number: UInt64) throws(StorageError) -> CommitRecord {
    if number == base.number { return base }
    return try CommitSearch(file: file, newest: beginning.newest).commit(number)
  }

  private func parentRecords(_ info: CommitInfo) throws(StorageError) -> [CommitRecord] {
    guard let numbers = info.parents else { return base.number == 0 ? [] : [base] }
    if numbers.isEmpty, base.number == 0 { return [] }
    guard numbers.count <= 2, numbers.first == base.number, !numbers.contains(0) else {
      throw .noSuchCommit(number: numbers.first ?? 0)
    }
    return try numbers.map(find)
  }

  private func links(
    _ info: CommitInfo, date: Int64, parents: [CommitRecord]
  ) throws(StorageError) -> CommitLinks {
    let (newest, writing) = (beginning.newest, store.writing)
    var links = try CommitLinks(
      of: number, at: draft.start, date: date, behind: newest, parents: parents
    ) { link, isOrder throws(StorageError) in try writing.tail.jumps.jump(of: link, isOrder: isOrder, in: file) }
    if state.pointee.restores != nil || state.pointee.adopts || state.pointee.dropsRecords {
      links.lastRestore = links.own
    }
    if let head = info.head {
      links.head = try find(head).links.own
    } else if !(info.movesHead ?? !isFork) {
      links.head = newest.links.head
    }
    links.nextTree = state.pointee.nextTree
    return links
  }
}

/// The frame that a transaction is writing: header, changes, then nodes and record. Its places in the file are known from the start,
/// because frames follow each other.
///
/// It is kept in memory up to a limit and then spills into the tail of the file, where it means nothing until its header is there. The
/// transaction's snapshots can read values in it from any thread.
final class FrameDraft: @unchecked Sendable {
  // `@unchecked`: `state` is only touched while `mutex` is held.
  /// The frame's first byte in the file.
  let start: FileOffset
  let file: DataFile
  /// The zeros that the frame is written over; nil in a file that only the caller writes.
  private let zeros: ZeroAhead?
  /// Before this offset the file may already hold the bytes to be written.
  private let keptEnd: FileOffset
  private let mutex = Mutex(())
  // Unchecked exclusivity: the mutex is not held twice.
  @exclusivity(unchecked) private var state: State

  private let spillSize: Int
  /// The most bytes of patches that are written instead of a whole node; with 0 all nodes are whole.
  private let deltaLimit: Int

  /// A large transaction waits each time this many bytes are written: about a millisecond.
  static let usualSpillSize = 512 << 10

  private struct State {
    let buffer: ByteBuffer
    /// The offset of the buffer's first byte in the file.
    var bufferOffset: FileOffset
    /// The hash of the bytes in the file, from the end of the header's place.
    var hash: UInt32
    /// The end of all bytes ever written to the file.
    var writtenEnd: FileOffset

    var position: FileOffset { bufferOffset + UInt64(buffer.count) }
  }

  init(
    start: FileOffset, file: DataFile, over zeros: ZeroAhead? = nil, keeping keptEnd: FileOffset = 0,
    spillSize: Int = FrameDraft.usualSpillSize, deltaLimit: Int = NodeDelta.mostBytes
  ) {
    self.spillSize = spillSize
    self.deltaLimit = deltaLimit
    self.start = start
    self.file = file
    self.zeros = zeros
    self.keptEnd = keptEnd
    let buffer = ByteBuffer(capacity: 16 << 10)
    buffer.append(zeros: FrameHeader.size)
    state = State(buffer: buffer, bufferOffset: start, hash: file.header.seed, writtenEnd: start)
  }

  var position: FileOffset { mutex.withLock { _ in state.position } }
  var writtenEnd: FileOffset { mutex.withLock { _ in state.writtenEnd } }

  func append(_ head: ChangeEntry.Head, _ value: UnsafeRawBufferPointer) throws(StorageError) -> EntryReference {
    if value.count > ChangeEntry.largeValue {
      return try appendLarge(head, count: UInt64(value.count)) { position, count in
        Bytes(copying: UnsafeRawBufferPointer(rebasing: value[Int(position)..<Int(position) + count]))
      }
    }
    return try withRoom { state in
      let offset = state.position
      let first = state.buffer.count
      head.append(to: state.buffer, distance: offset - start, valueLength: UInt64(value.count))
      state.buffer.append(value)
      let entry = UnsafeRawBufferPointer(rebasing: state.buffer.bytes[first...])
      return EntryReference(offset: offset, length: UInt32(entry.count), check: file.header.check(entry))
    }
  }

  /// Appends an entry with a large value in pieces of at most a MiB each. `piece` gets a position and a count, and returns the bytes.
  func appendLarge(
    _ head: ChangeEntry.Head, count: UInt64, piece: (UInt64, Int) throws(StorageError) -> Bytes
  ) throws(StorageError) -> EntryReference {
    let checks = ByteBuffer()
    var check: UInt32 = 0
    let offset = try withRoom { state in
      let offset = state.position
      let first = state.buffer.count
      head.append(to: state.buffer, distance: offset - start, valueLength: count)
      check = file.header.check(UnsafeRawBufferPointer(rebasing: state.buffer.bytes[first...]))
      return offset
    }
    var done: UInt64 = 0
    while done < count {
      let bytes = try piece(done, Int(min(UInt64(ChangeEntry.largeValue), count - done)))
      checks.append(bytes.withUnsafeBytes { file.header.check($0) })
      done += UInt64(bytes.count)
      try withState { state throws(StorageError) in
        bytes.withUnsafeBytes { state.buffer.append($0) }
        if state.buffer.count >= spillSize { try spill(&state) }
      }
    }
    check = checksum(check, checks.bytes)
    let end = try withState { state throws(StorageError) in
      state.buffer.append(checks.bytes)
      return state.position
    }
    return EntryReference(offset: offset, length: UInt32(end - offset), check: check)
  }

  /// Appends a node: as patches of a whole node of an earlier frame if the file may have such nodes and they are short, otherwise whole.
  /// Returns its pointer, and the bytes that are live because of it.
  func append(
    _ node: NodeView, count: UInt64, insteadOf base: NodePointer
  ) throws(StorageError) -> (pointer: NodePointer, liveBytes: UInt64) {
    var bytes = UnsafeRawBufferPointer(start: node.base, count: node.length)
    var liveBytes = UInt64(node.length)
    let delta = ByteBuffer(capacity: base.isNone ? 1 : 256)
    if !base.isNone, deltaLimit > 0, base.offset < start, file.header.has(.nodeDeltas) {
      var block: MemoryBlock?
      let whole = try file.view(at: base, keeping: &block)
      if try NodeDelta.write(node, from: whole, at: base, limit: deltaLimit, into: delta) {
        bytes = delta.bytes
        liveBytes = UInt64(bytes.count) + UInt64(base.length)
      }
      withExtendedLifetime(block) {}
    }
    defer { withExtendedLifetime(delta) {} }
    guard let length = UInt16(exactly: bytes.count) else { throw .damaged(what: "tree node", offset: position) }
    let (offset, check) = try appendNode(bytes)
    return (NodePointer(offset: offset, length: length, check: check, count: count), liveBytes)
  }

  /// Appends the bytes of a node. Returns their place and their check.
  func appendNode(_ bytes: UnsafeRawBufferPointer) throws(StorageError) -> (offset: FileOffset, check: UInt32) {
    try withRoom { state in
      let offset = state.position
      state.buffer.append(bytes)
      return (offset, file.header.nodeCheck(bytes, at: offset))
    }
  }

  /// Appends the head of an entry whose value is the nodes that are appended next: `count` bytes, at most a MiB.
  func beginNodes(of tree: UInt32, count: Int) throws(StorageError) {
    try withRoom { state in
      ChangeEntry.nodesKey.withUnsafeBytes { key in
        ChangeEntry.Head(kind: .attributes, tree: tree, key: key)
          .append(to: state.buffer, distance: state.position - start, valueLength: UInt64(count))
      }
    }
  }

  /// Writes the buffered bytes into the file, so that nodes in it can be read.
  func spill() throws(StorageError) {
    try withState { state throws(StorageError) in try spill(&state) }
  }

  func contains(_ offset: FileOffset) -> Bool { offset >= start }

  /// A copy of bytes of the draft. Returns nil if all of them are in the file, or if the draft has no such bytes.
  func bytes(at offset: FileOffset, count: Int) throws(StorageError) -> Bytes? {
    try withState { state throws(StorageError) in
      let end = offset + UInt64(count)
      guard end > state.bufferOffset, end <= state.position else { return nil }
      // The beginning of a large entry may have been spilled already.
      let spilled = offset < state.bufferOffset ? Int(state.bufferOffset - offset) : 0
      let block = MemoryBlock(count: count)
      if spilled > 0 {
        let head = try file.bytes(at: offset, count: spilled, what: "change entry")
        head.withUnsafeBytes { block.bytes.copyMemory(from: $0) }
      }
      let first = Int(offset + UInt64(spilled) - state.bufferOffset)
      UnsafeMutableRawBufferPointer(rebasing: block.bytes[spilled...])
        .copyMemory(from: UnsafeRawBufferPointer(rebasing: state.buffer.bytes[first..<first + count - spilled]))
      return Bytes(block)
    }
  }

  func truncate(to position: FileOffset) throws(StorageError) {
    try withState { state throws(StorageError) in
      if position >= state.bufferOffset {
        state.buffer.removeLast(to: min(state.buffer.count, Int(position - state.bufferOffset)))
        return
      }
      // The bytes before are in the file already; a hash cannot be taken back, so it is computed again.
      state.hash = try file.hash(start + UInt64(FrameHeader.size)..<position, from: file.header.seed)
      state.buffer.removeAll()
      state.bufferOffset = position
    }
  }

  /// Writes the rest of the frame: the record, and padding, header and trailer around the appended bytes. Sets the places of the parts in
  /// the record. `superseded`: distances from the frame's first byte. Returns the chain that ends with this frame.
  func finish(
    _ record: inout CommitRecord, superseded: [UInt64], tail: RecordTail, after previous: ChainEnd,
    changesEnd: FileOffset
  ) throws(StorageError) -> ChainEnd {
    let nodesEnd = position
    let buffer = ByteBuffer(capacity: 1024)
    let list = record.encode(into: buffer, superseded: superseded.sorted(), tail: tail)
    let recordEnd = nodesEnd + UInt64(buffer.count)
    let number = record.number
    let chain = try withState { state throws(StorageError) in
      state.buffer.append(buffer.bytes)
      state.buffer.append(zeros: Int((8 - (recordEnd - start) % 8) % 8))
      let bodyEnd = state.position
      let header = FrameHeader(
        number: number, length: bodyEnd + UInt64(FrameHeader.trailerSize) - start, previousOffset: previous.offset,
        previousHash: previous.hash, recordLength: UInt32(recordEnd - nodesEnd),
        changesLength: changesEnd - start - UInt64(FrameHeader.size), nodesLength: nodesEnd - changesEnd,
        recordCheck: file.header.check(buffer.bytes)
      ).encoded(seed: file.header.seed)

      let isSpilled = state.bufferOffset > start
      let skipped = isSpilled ? 0 : FrameHeader.size
      var hash = checksum(state.hash, UnsafeRawBufferPointer(rebasing: state.buffer.bytes[skipped...]))
      hash = header.withUnsafeBytes { checksum(hash, $0) }
      state.buffer.append(FrameHeader.trailerMagic)
      state.buffer.append(hash)
      state.buffer.append(number)

      if !isSpilled { header.withUnsafeBytes { state.buffer.mutableBytes.copyMemory(from: $0) } }
      let end = state.position
      try write(state.buffer.bytes, &state)
      if isSpilled {
        // Last, so that a frame that was cut short has no header.
        try engineCall { () throws(DiskError) in try file.file.write(header, at: start) }
        file.counters.writes.add(1)
      }
      state.buffer.removeAll()
      state.bufferOffset = end
      return ChainEnd(offset: start, number: number, hash: hash, end: end)
    }
    record.frameBytes = chain.end - start
    record.links.frameEnd = chain.end
    record.links.changesEnd = changesEnd
    record.links.superseded = SupersededList(
      count: UInt64(superseded.count), offset: nodesEnd + UInt64(list), length: buffer.count - list)
    return chain
  }

  private func spill(_ state: inout State) throws(StorageError) {
    guard state.buffer.count > 0 else { return }
    let isFirst = state.bufferOffset == start
    let hashed = UnsafeRawBufferPointer(rebasing: state.buffer.bytes[(isFirst ? FrameHeader.size : 0)...])
    let hash = checksum(state.hash, hashed)
    try write(state.buffer.bytes, &state)
    state.hash = hash
    state.bufferOffset = state.position
    state.buffer.removeAll()
  }

  private func write(_ bytes: UnsafeRawBufferPointer, _ state: inout State) throws(StorageError) {
    // Recorded before the call: a write that fails may have written a part.
    let end = state.bufferOffset + UInt64(bytes.count)
    state.writtenEnd = max(state.writtenEnd, end)
    let offset = state.bufferOffset
    zeros?.claim(end)
    if end <= keptEnd,
      try file.bytes(at: offset, count: bytes.count, what: "frame").withUnsafeBytes({ compareBytes($0, bytes) == 0 })
    {
      return
    }
    try engineCall { () throws(DiskError) in try file.file.write(bytes, at: offset) }
    file.counters.writes.add(1)
    file.counters.bytesWritten.add(UInt64(bytes.count))
    file.extend(to: end)
  }

  /// As `withState`, with room in memory for the bytes that are appended next.
  private func withRoom<R: Sendable>(_ body: (inout State) -> R) throws(StorageError) -> R {
    try withState { state throws(StorageError) in
      if state.buffer.count >= spillSize { try spill(&state) }
      return body(&state)
    }
  }

  private func withState<R: Sendable>(_ body: (inout State) throws(StorageError) -> R) throws(StorageError) -> R {
    try mutex.withLock { _ throws(StorageError) in try body(&state) }
  }
}
