import Locks

/// The frame that a transaction is writing: header, changes, then nodes and record, with places in the file known from the
/// start because frames follow each other.
///
/// It is kept in memory up to a limit and then spills into the tail of the file, where it means nothing until its header is
/// there. Values in it can be read back by the transaction's snapshots, from any thread.
final class FrameDraft: @unchecked Sendable {
  // `@unchecked`: `state` is only touched while `mutex` is held.
  /// The frame's first byte in the file.
  let start: FileOffset
  private let file: DataFile
  /// The zeros that the frame is written over; nil in a file that nobody else writes.
  private let zeros: ZeroAhead?
  /// Before this the file may hold what is to be written already.
  private let keptEnd: FileOffset
  private let mutex = Mutex(())
  // Unchecked exclusivity: the mutex is not held twice.
  @exclusivity(unchecked) private var state: State

  /// Bytes kept in memory.
  private let spillSize: Int

  /// Who changes much in one transaction waits for so many bytes to be written at a time: about a millisecond.
  static let usualSpillSize = 512 << 10

  private struct State {
    let buffer: ByteBuffer
    /// Where the buffer's first byte belongs.
    var bufferOffset: FileOffset
    /// The hash of what is in the file, from the end of the header's place.
    var hash: UInt32
    /// The end of what was ever written to the file.
    var writtenEnd: FileOffset

    var position: FileOffset { bufferOffset + UInt64(buffer.count) }
  }

  init(
    start: FileOffset, file: DataFile, over zeros: ZeroAhead? = nil, keeping keptEnd: FileOffset = 0,
    spillSize: Int = FrameDraft.usualSpillSize
  ) {
    self.spillSize = spillSize
    self.start = start
    self.file = file
    self.zeros = zeros
    self.keptEnd = keptEnd
    let buffer = ByteBuffer(capacity: 16 << 10)
    buffer.append(zeros: FrameHeader.size)
    state = State(buffer: buffer, bufferOffset: start, hash: file.header.seed, writtenEnd: start)
  }

  /// The file that the frame will be part of.
  var targetFile: DataFile { file }

  /// Where the next byte goes.
  var position: FileOffset { mutex.withLock { _ in state.position } }
  /// The end of what was written to the file, whole or not.
  var writtenEnd: FileOffset { mutex.withLock { _ in state.writtenEnd } }

  /// Appends an entry and tells where it is.
  func append(
    _ kind: ChangeEntry.Kind, tree: UInt32, key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer,
    replaced: EntryReference?, replacesDelete: Bool
  ) throws(StorageError) -> EntryReference {
    if value.count > ChangeEntry.largeValue {
      return try appendLarge(
        kind, tree: tree, key: key, count: UInt64(value.count), replaced: replaced, replacesDelete: replacesDelete
      ) { position, count in
        Bytes(copying: UnsafeRawBufferPointer(rebasing: value[Int(position)..<Int(position) + count]))
      }
    }
    return try withState { state throws(StorageError) in
      try spillIfLarge(&state)
      let offset = state.position
      let first = state.buffer.count
      ChangeEntry.appendHead(
        to: state.buffer, kind: kind, distance: offset - start, tree: tree, key: key,
        valueLength: UInt64(value.count), replaced: replaced, replacesDelete: replacesDelete)
      state.buffer.append(value)
      let entry = UnsafeRawBufferPointer(rebasing: state.buffer.bytes[first...])
      return EntryReference(offset: offset, length: UInt32(entry.count), check: file.header.check(entry))
    }
  }

  /// Appends an entry with a large value in pieces of at most a MiB each, which `piece` gives: from where, how many bytes.
  func appendLarge(
    _ kind: ChangeEntry.Kind, tree: UInt32, key: UnsafeRawBufferPointer, count: UInt64, replaced: EntryReference?,
    replacesDelete: Bool,
    piece: (UInt64, Int) throws(StorageError) -> Bytes
  ) throws(StorageError) -> EntryReference {
    let checks = ByteBuffer()
    var check: UInt32 = 0
    let offset = try withState { state throws(StorageError) in
      try spillIfLarge(&state)
      let offset = state.position
      let first = state.buffer.count
      ChangeEntry.appendHead(
        to: state.buffer, kind: kind, distance: offset - start, tree: tree, key: key, valueLength: count,
        replaced: replaced, replacesDelete: replacesDelete)
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
        try spillIfLarge(&state)
      }
    }
    check = checksum(check, checks.bytes)
    let end = try withState { state throws(StorageError) in
      state.buffer.append(checks.bytes)
      return state.position
    }
    return EntryReference(offset: offset, length: UInt32(end - offset), check: check)
  }

  /// Appends bytes and tells where they begin.
  func append(_ bytes: UnsafeRawBufferPointer) throws(StorageError) -> FileOffset {
    try withState { state throws(StorageError) in
      try spillIfLarge(&state)
      let offset = state.position
      state.buffer.append(bytes)
      return offset
    }
  }

  /// Appends a node with pointers to its `children` put in, counted from its first byte, which they must lie in; tells where it is,
  /// and its check.
  func appendNode(
    _ bytes: UnsafeRawBufferPointer, children: ArraySlice<(place: Int, pointer: NodePointer)>
  ) throws(StorageError) -> (offset: FileOffset, check: UInt32) {
    try withState { state throws(StorageError) in
      try spillIfLarge(&state)
      let offset = state.position
      let start = state.buffer.reserve(bytes.count)
      state.buffer.append(bytes)
      for (place, pointer) in children { pointer.store(into: start + place) }
      return (offset, file.header.nodeCheck(UnsafeRawBufferPointer(start: start, count: bytes.count), at: offset))
    }
  }

  /// Appends the head of an entry whose value is the nodes that are appended next, `count` bytes of them, at most a MiB.
  func beginNodes(of tree: UInt32, count: Int) throws(StorageError) {
    try withState { state throws(StorageError) in
      try spillIfLarge(&state)
      ChangeEntry.nodesKey.withUnsafeBytes { key in
        ChangeEntry.appendHead(
          to: state.buffer, kind: .attributes, distance: state.position - start, tree: tree, key: key,
          valueLength: UInt64(count), replaced: nil, replacesDelete: false)
      }
    }
  }

  /// Writes what is in memory into the file, so that nodes in it can be read.
  func spill() throws(StorageError) {
    try withState { state throws(StorageError) in try spill(&state) }
  }

  /// Whether an offset lies in this frame.
  func contains(_ offset: FileOffset) -> Bool { offset >= start }

  /// A copy of bytes of the draft, or nil where all of them are in the file or where there are none.
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
      return Bytes(owner: block, bytes: UnsafeRawBufferPointer(block.bytes))
    }
  }

  /// Forgets everything from a position on.
  func truncate(to position: FileOffset) throws(StorageError) {
    try withState { state throws(StorageError) in
      if position >= state.bufferOffset {
        state.buffer.removeLast(to: min(state.buffer.count, Int(position - state.bufferOffset)))
        return
      }
      // What comes before is in the file already; a hash cannot be taken back, so it is made anew.
      state.hash = try file.hash(start + UInt64(FrameHeader.size)..<position, from: file.header.seed)
      state.buffer.removeAll()
      state.bufferOffset = position
    }
  }

  /// Writes the rest of the frame: padding, header and trailer around what was appended. Returns the chain that ends
  /// with this frame.
  func finish(
    number: UInt64, after previous: ChainEnd, changesEnd: FileOffset, nodesEnd: FileOffset, recordCheck: UInt32
  ) throws(StorageError) -> ChainEnd {
    try withState { state throws(StorageError) in
      let recordEnd = state.position
      state.buffer.append(zeros: Int((8 - (recordEnd - start) % 8) % 8))
      let bodyEnd = state.position
      let header = FrameHeader(
        number: number, length: bodyEnd + UInt64(FrameHeader.trailerSize) - start, previousOffset: previous.offset,
        previousHash: previous.hash, recordLength: UInt32(recordEnd - nodesEnd),
        changesLength: changesEnd - start - UInt64(FrameHeader.size), nodesLength: nodesEnd - changesEnd,
        recordCheck: recordCheck
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
        try engineCall { () throws(DiskError) in
          let written = header.withUnsafeBytes { bytes in
            Result { () throws(DiskError) in try file.file.write(bytes, at: start) }
          }
          try written.get()
        }
        file.counters.writes.add(1)
      }
      state.buffer.removeAll()
      state.bufferOffset = end
      return ChainEnd(offset: start, number: number, hash: hash, end: end)
    }
  }

  private func spillIfLarge(_ state: inout State) throws(StorageError) {
    if state.buffer.count >= spillSize { try spill(&state) }
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
    // Noted before the call: a write that fails may have written a part.
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

  private func withState<R: Sendable>(_ body: (inout State) throws(StorageError) -> R) throws(StorageError) -> R {
    try mutex.withLock { _ throws(StorageError) in try body(&state) }
  }
}
