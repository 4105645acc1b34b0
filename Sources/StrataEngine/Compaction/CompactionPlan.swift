/// The record that an unfinished compaction keeps in page 3 of the file that it writes: which file it copies, by which rule, and how far
/// the copy is synced. A later compaction of the same file by the same rule goes on from there.
struct CompactionPlan: Hashable, Sendable {
  static let offset: FileOffset = 12288
  static let magic: [UInt8] = [0x50, 0x6C, 0x61, 0x6E, 0x20, 0x20, 0x20, 0x0A]

  var generation: UInt64
  var retention: Retention
  /// The newest commit when the copy began, the offset of its frame, and the frame's hash: the commits to keep were chosen then. The chain
  /// of hashes makes sure that all frames before it are the same.
  var newest: UInt64
  var newestOffset: FileOffset
  var newestHash: UInt32
  var date: Int64
  /// All bytes of the copy before this are synced.
  var syncedEnd: FileOffset

  func encoded(seed: UInt32) -> [UInt8] {
    StoredBlock.encoded(CompactionPlan.magic, seed: seed) { buffer in
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
      buffer.append(Int64(retention.count ?? 0))
    }
  }

  /// The state that the commits to keep were chosen from. Returns nil if the plan is not one for this file and rule, or if so much happened
  /// since that a new choice would keep less.
  func start(in current: Publication.State, _ retention: Retention, now: Int64) throws(StorageError) -> Publication
    .State?
  {
    guard generation == current.file.header.identity.generation,
      retention == self.retention, newest <= current.newest.number
    else { return nil }
    if let count = retention.count, current.newest.number - newest > UInt64(count) { return nil }
    if let age = retention.age, now.subtractingReportingOverflow(date).partialValue > age { return nil }
    let record = try CommitSearch(file: current.file, newest: current.newest).commit(newest)
    guard record.number > 0, record.links.own.offset == newestOffset else { return nil }
    let end = ChainEnd(offset: newestOffset, number: newest, hash: newestHash, end: record.links.frameEnd)
    guard try FrameScanner(file: current.file).holds(end) else { return nil }
    return Publication.State(
      file: current.file, newest: record, head: try record.head(in: current.file), chain: current.chain)
  }
}

extension CompactionPlan {
  /// Returns nil if there is no whole plan.
  init?(_ bytes: UnsafeRawBufferPointer, seed: UInt32) {
    guard let block = StoredBlock(bytes, magic: CompactionPlan.magic, seed: seed),
      let retention = Retention(kind: block.number(32), amount: block.number(40), count: block.number(80))
    else { return nil }
    self.init(
      generation: block.number(24), retention: retention, newest: block.number(48), newestOffset: block.offset(56),
      newestHash: block.number(8), date: block.number(64), syncedEnd: block.offset(72))
  }

  init(of state: Publication.State, _ retention: Retention, date: Int64) {
    self.init(
      generation: state.file.header.identity.generation, retention: retention, newest: state.newest.number,
      newestOffset: state.newest.links.own.offset, newestHash: state.chain.hash, date: date, syncedEnd: 0)
  }
}

extension Retention {
  fileprivate var kind: UInt32 {
    switch self {
    case .all: 1
    case .last: 2
    case .younger: 3
    case .both: 4
    case .either: 5
    }
  }

  fileprivate var amount: Int64 { age ?? Int64(count ?? 0) }

  fileprivate init?(kind: UInt32, amount: Int64, count: Int64) {
    switch kind {
    case 1: self = .all
    case 2: self = .last(Int(clamping: amount))
    case 3: self = .younger(amount)
    case 4: self = .both(last: Int(clamping: count), younger: amount)
    case 5: self = .either(last: Int(clamping: count), younger: amount)
    default: return nil
    }
  }
}
