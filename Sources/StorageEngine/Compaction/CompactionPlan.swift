/// What an unfinished compaction says about itself, in page 3 of the file that it writes: which file it copies, by which rule,
/// and how far the copy is synced. A later compaction of the same file by the same rule goes on from there.
struct CompactionPlan: Hashable, Sendable {
  static let size = 512
  static let offset: FileOffset = 12288
  static let magic: [UInt8] = [0x50, 0x6C, 0x61, 0x6E, 0x20, 0x20, 0x20, 0x0A]

  /// The generation that is copied.
  var generation: UInt64
  var retention: Retention
  /// The newest commit when the copy began, where its frame lies, and the frame's hash: what is kept was chosen then. The chain of
  /// hashes makes sure that all before it is the same.
  var newest: UInt64
  var newestOffset: FileOffset
  var newestHash: UInt32
  /// When the copy began.
  var date: Int64
  /// All bytes of the copy before this are synced.
  var syncedEnd: FileOffset

  func encoded(seed: UInt32) -> [UInt8] {
    let buffer = ByteBuffer(capacity: CompactionPlan.size)
    buffer.append(CompactionPlan.magic)
    buffer.append(newestHash)
    buffer.append(zeros: 12)
    buffer.append(generation)
    buffer.append(retention.kind)
    buffer.append(UInt32(0))
    buffer.append(retention.amount)
    buffer.append(newest)
    buffer.append(newestOffset)
    buffer.append(date)
    buffer.append(syncedEnd)
    buffer.append(zeros: CompactionPlan.size - 4 - buffer.count)
    buffer.append(checksum(seed, buffer.bytes))
    return [UInt8](buffer.bytes)
  }

  /// Nil where no whole one lies there.
  init?(_ bytes: UnsafeRawBufferPointer, seed: UInt32) {
    guard let block = CheckedBlock(bytes, size: CompactionPlan.size, magic: CompactionPlan.magic, seed: seed),
      let retention = Retention(kind: block.number(32), amount: block.number(40))
    else { return nil }
    newestHash = block.number(8)
    generation = block.number(24)
    self.retention = retention
    newest = block.number(48)
    newestOffset = block.offset(56)
    date = block.number(64)
    syncedEnd = block.offset(72)
  }

  init(of state: Publication.State, _ retention: Retention, date: Int64) {
    newestHash = state.chain.hash
    generation = state.file.header.identity.generation
    self.retention = retention
    newest = state.newest.number
    newestOffset = state.newest.links.own.offset
    self.date = date
    syncedEnd = 0
  }

  /// The state that the commits to keep were chosen from, or nil where the plan is not one for this file and rule, or where so
  /// much happened since that a new choice would keep less.
  func start(in current: Publication.State, _ retention: Retention, now: Int64) throws(StorageError) -> Publication
    .State?
  {
    guard generation == current.file.header.identity.generation,
      retention == self.retention, newest <= current.newest.number
    else { return nil }
    switch retention {
    case .all: break
    case .last(let count): if current.newest.number - newest > UInt64(max(1, count)) { return nil }
    case .younger(let age): if now.subtractingReportingOverflow(date).partialValue > age { return nil }
    }
    let record = try CommitSearch(file: current.file, newest: current.newest).commit(newest)
    guard record.number > 0, record.links.own.offset == newestOffset else { return nil }
    let header = try current.file.frameHeader(at: newestOffset)
    let found = try FrameScanner(file: current.file).trailerHash(of: header, at: newestOffset)
    guard found == newestHash else { return nil }
    return Publication.State(
      file: current.file, newest: record, head: try record.head(in: current.file), chain: current.chain)
  }
}

extension Retention {
  fileprivate var kind: UInt32 {
    switch self {
    case .all: 1
    case .last: 2
    case .younger: 3
    }
  }

  fileprivate var amount: Int64 {
    switch self {
    case .all: 0
    case .last(let count): Int64(count)
    case .younger(let age): age
    }
  }

  fileprivate init?(kind: UInt32, amount: Int64) {
    switch kind {
    case 1: self = .all
    case 2: self = .last(Int(clamping: amount))
    case 3: self = .younger(amount)
    default: return nil
    }
  }
}
