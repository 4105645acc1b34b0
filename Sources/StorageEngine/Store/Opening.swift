/// Finds the newest commit of a data file and reads it, changing nothing.
struct Opening {
  let file: DataFile
  /// Frames beyond this are not looked at: a living writer's durable end, or the file's size.
  let limit: FileOffset
  /// What a writer that is gone has left in the lock file.
  var left: LockHold?

  struct Result {
    var chain: ChainEnd
    var newest: CommitRecord
    /// Where the known durable end is, and the slot that says so.
    var slot: Slot?
    var adoptedCommits = 0
    var damage: StorageError?
    /// What is damaged is what the lock file promises.
    var isPromiseBroken = false
    /// Frames follow that only a later program knows.
    var hasUnknownFrames = false
  }

  /// From the best slot forward; where a slot or its frame is damaged, from the other one, or from the first frame.
  func run() throws(StorageError) -> Result {
    let slots = try readSlots()
    // Creation makes the first pages durable before the store has its name.
    var damage: StorageError? =
      file.end < FileLayout.firstFrame ? .damaged(what: "end of the file", offset: file.end) : nil
    for slot in slots {
      guard let chain = try chain(of: slot) else {
        damage = damage ?? .damaged(what: "newest frame", offset: slot.frameOffset)
        continue
      }
      return try follow(from: chain, best: slots.first, slot: slot, damage: damage)
    }
    return try follow(from: .start(firstNumber: file.header.firstNumber), best: slots.first, slot: nil, damage: damage)
  }

  /// Whole slots, the newest first.
  func readSlots() throws(StorageError) -> [Slot] {
    var slots: [Slot] = []
    for offset in FileLayout.slotOffsets where offset + UInt64(Slot.size) <= file.end {
      // One that cannot be read is lost, as one that is wrong: it is a hint.
      if let bytes = try? file.bytes(at: offset, count: Slot.size, what: "slot"),
        let slot = bytes.withUnsafeBytes({ Slot($0, seed: file.header.seed) }),
        slot.generation == file.header.identity.generation
      {
        slots.append(slot)
      }
    }
    return slots.sorted { $0.sequence > $1.sequence }
  }

  /// The chain up to a slot's frame, or nil where the frame is not what the slot says.
  private func chain(of slot: Slot) throws(StorageError) -> ChainEnd? {
    guard slot.number > 0 else { return .start(firstNumber: file.header.firstNumber) }
    guard slot.frameOffset >= FileLayout.firstFrame, slot.frameOffset < slot.durableEnd, slot.durableEnd <= file.end
    else { return nil }
    let seed = file.header.seed
    let bytes = try file.bytes(at: slot.frameOffset, count: FrameHeader.size, what: "frame header")
    guard let header = bytes.withUnsafeBytes({ FrameHeader($0, seed: seed) }), header.number == slot.number,
      slot.durableEnd - slot.frameOffset == header.length,
      try FrameScanner(file: file).trailerHash(of: header, at: slot.frameOffset) == slot.frameHash
    else { return nil }
    return ChainEnd(offset: slot.frameOffset, number: slot.number, hash: slot.frameHash, end: slot.durableEnd)
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
      // The other way led beyond what the slot knew, through whole frames: only the slot was wrong.
      damage = nil
    }
    while !hasUnknownFrames, try isLossNoted(behind: chain, hasSlot: slot != nil) {
      // A writer that has begun meanwhile may have written what was not there yet.
      let more = try scanner.advance(&chain, limit: limit, verifiesHash: true)
      adopted += more
      guard more == 0 else { continue }
      damage = damage ?? .damaged(what: "frame", offset: chain.end)
      break
    }
    // Only a copy begins with another number than 1, and a copy has its commits before it has the store's name.
    if chain.offset == 0, file.header.firstNumber > 1 {
      damage = damage ?? .damaged(what: "first frame", offset: FileLayout.firstFrame)
    }
    var isPromiseBroken = false
    if let promise = DurablePromise(left, for: file, hasSlot: best != nil), !hasUnknownFrames {
      isPromiseBroken = try promise.isBroken(behind: chain, in: file)
    }
    if isPromiseBroken { damage = damage ?? .damaged(what: "frame", offset: chain.end) }
    let newest = try newest(of: &chain, &damage)
    return Result(
      chain: chain, newest: newest, slot: slot, adoptedCommits: adopted, damage: damage,
      isPromiseBroken: isPromiseBroken, hasUnknownFrames: hasUnknownFrames)
  }

  /// Whether a whole frame behind a place notes that what should lie there was durable. If a slot is right, a tail of zeros costs
  /// only a look at its beginning: what damage leaves of small frames is seen there, and the next writer looks at all of it.
  private func isLossNoted(behind chain: ChainEnd, hasSlot: Bool) throws(StorageError) -> Bool {
    guard chain.end < limit else { return false }
    let near = chain.end..<(hasSlot ? min(limit, chain.end + Self.nearTail) : limit)
    guard try file.lastNonzero(in: near) != nil else { return false }
    return try FrameSurvey.notedEnd(of: file, in: chain.end..<limit) > chain.end
  }

  private static let nearTail: UInt64 = 64 << 10

  /// The newest commit whose record, and that of its head, can be read. Where that is not the last one, `chain` goes back to it
  /// and `damage` is set: what is before the damage can be read.
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
    else { return .start(firstNumber: file.header.firstNumber) }
    return ChainEnd(
      offset: header.previousOffset, number: before.number, hash: header.previousHash, end: chain.offset)
  }
}
