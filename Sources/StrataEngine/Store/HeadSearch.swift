/// Finds the newest commit of a data file and reads it, without changing anything.
struct HeadSearch {
  let file: DataFile
  /// Frames beyond this are not read: a living writer's durable end, or the file's size.
  let limit: FileOffset
  /// The hold that a vanished writer has left in the lock file.
  var left: LockHold?

  struct Result {
    var chain: ChainEnd
    var newest: CommitRecord
    var adoptedCommits = 0
    var damage: StorageError?
    /// The damage is before the end that the lock file promises.
    var isPromiseBroken = false
    /// Frames follow that only a later program knows.
    var hasUnknownFrames = false
  }

  /// Reads from the best slot forward. If a slot or its frame is damaged, reads from the other one, or from the first frame.
  func run() throws(StorageError) -> Result {
    let slots = try readSlots()
    // Creation makes the first pages durable before the store has its name.
    var damage: StorageError? =
      file.end < file.header.firstFrame ? .damaged(what: "end of the file", offset: file.end) : nil
    for slot in slots {
      guard let chain = try chain(of: slot) else {
        damage = damage ?? .damaged(what: "newest frame", offset: slot.frameOffset)
        continue
      }
      return try follow(from: chain, best: slots.first, slot: slot, damage: damage)
    }
    return try follow(from: .start(of: file.header), best: slots.first, slot: nil, damage: damage)
  }

  /// The whole slots, the newest first.
  func readSlots() throws(StorageError) -> [Slot] {
    var slots: [Slot] = []
    for offset in FileLayout.slotOffsets where offset + UInt64(StoredBlock.size) <= file.end {
      // An unreadable slot is lost, like a wrong one: it is a hint.
      if let bytes = try? file.bytes(at: offset, count: StoredBlock.size, what: "slot"),
        let slot = bytes.withUnsafeBytes({ Slot($0, seed: file.header.seed) }),
        slot.generation == file.header.identity.generation
      {
        slots.append(slot)
      }
    }
    return slots.sorted { $0.sequence > $1.sequence }
  }

  /// The chain up to a slot's frame. Returns nil if the frame does not match the slot.
  private func chain(of slot: Slot) throws(StorageError) -> ChainEnd? {
    guard slot.number > 0 else { return .start(of: file.header) }
    guard slot.frameOffset >= file.header.firstFrame, slot.frameOffset < slot.durableEnd, slot.durableEnd <= file.end
    else { return nil }
    let chain = ChainEnd(offset: slot.frameOffset, number: slot.number, hash: slot.frameHash, end: slot.durableEnd)
    return try FrameScanner(file: file).holds(chain) ? chain : nil
  }

  private func follow(from start: ChainEnd, best: Slot?, slot: Slot?, damage: StorageError?) throws(StorageError)
    -> Result
  {
    let scanner = FrameScanner(file: file)
    var chain = start
    var adopted = try scanner.advance(&chain, limit: limit, verifiesHash: true)
    var damage = damage
    let hasUnknownFrames = try scanner.hasUnknownFrame(behind: chain, limit: limit)
    if let best, !hasUnknownFrames, chain.end < best.durableEnd, chain.end < limit {
      damage = damage ?? .damaged(what: "frame", offset: chain.end)
    } else if damage != nil, let best, chain.end >= best.durableEnd {
      // The other way led beyond the slot's end, through whole frames: only the slot was wrong.
      damage = nil
    }
    while !hasUnknownFrames, try isLossNoted(behind: chain, hasSlot: slot != nil) {
      // A writer that has begun meanwhile may have written frames that were not there yet.
      let more = try scanner.advance(&chain, limit: limit, verifiesHash: true)
      adopted += more
      guard more == 0 else { continue }
      damage = damage ?? .damaged(what: "frame", offset: chain.end)
      break
    }
    // Only a copy begins with another number than 1, and a copy has its commits before it has the store's name.
    if chain.offset == 0, file.header.firstNumber > 1 {
      damage = damage ?? .damaged(what: "first frame", offset: file.header.firstFrame)
    }
    var isPromiseBroken = false
    if let promise = DurablePromise(left, for: file, hasSlot: best != nil), !hasUnknownFrames {
      isPromiseBroken = try promise.isBroken(behind: chain, in: file)
    }
    if isPromiseBroken { damage = damage ?? .damaged(what: "frame", offset: chain.end) }
    let newest = try newest(of: &chain, &damage)
    return Result(
      chain: chain, newest: newest, adoptedCommits: adopted, damage: damage ?? file.dictionaryDamage,
      isPromiseBroken: isPromiseBroken, hasUnknownFrames: hasUnknownFrames)
  }

  /// Whether a whole frame behind the chain's end records a durable end beyond it. If a slot is right, a tail of zeros costs only a look at
  /// its beginning: damaged small frames are seen there, and the next writer reads the whole tail.
  private func isLossNoted(behind chain: ChainEnd, hasSlot: Bool) throws(StorageError) -> Bool {
    guard chain.end < limit else { return false }
    let near = chain.end..<(hasSlot ? min(limit, chain.end + Self.nearTail) : limit)
    guard try file.lastNonzero(in: near) != nil else { return false }
    return try FrameSurvey.recordedEnd(of: file, in: chain.end..<limit) > chain.end
  }

  private static let nearTail: UInt64 = 64 << 10

  /// The newest commit whose record, and that of its head, can be read. If that is not the last one, `chain` goes back to it and `damage`
  /// is set: the commits before the damage can be read.
  private func newest(of chain: inout ChainEnd, _ damage: inout StorageError?) throws(StorageError) -> CommitRecord {
    while chain.offset > 0 {
      do {
        let record = try file.record(at: chain.offset)
        _ = try record.head(in: file)
        return record
      } catch {
        guard case .damaged = error else { throw error }
        damage = damage ?? error
        chain = try frameBefore(chain)
      }
    }
    return .beginning(of: file.header)
  }

  private func frameBefore(_ chain: ChainEnd) throws(StorageError) -> ChainEnd {
    guard let header = try? file.frameHeader(at: chain.offset), header.previousOffset > 0,
      header.previousOffset < chain.offset, let before = try? file.frameHeader(at: header.previousOffset)
    else { return .start(of: file.header) }
    return ChainEnd(
      offset: header.previousOffset, number: before.number, hash: header.previousHash, end: chain.offset)
  }
}
