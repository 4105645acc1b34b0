/// The bytes of a store that is not opened, for examining damage and for saving data.
struct RawStore: Sendable {
  let file: DataFile
  /// Only bytes before this are read: the durable part of a living writer's file, otherwise all.
  let end: FileOffset
  /// Whether another process is writing.
  let isBeingWritten: Bool
  /// The newest whole slot whose frame lies before `end`.
  let slot: Slot?
  /// The end that was reported as durable, and the part of the store that says so. A slot also gives the last commit before that end.
  let promise: (end: FileOffset, number: UInt64?, by: String)?
  /// Damage that had to be worked around to read anything at all.
  let findings: [VerifyFinding]

  init(at path: String, disk: any Disk) throws(StorageError) {
    let file = try RawStore.open(path, disk)
    let fileEnd = try engineCall { () throws(DiskError) in try file.status.end }
    var header: FileHeader
    var findings: [VerifyFinding] = []
    do {
      header = try FileHeader(reading: file, of: path, on: disk)
    } catch {
      if case .newerFormat = error { throw error }
      guard let recovered = try HeaderRecovery(file: file, size: fileEnd.bytes).header() else { throw error }
      header = recovered
      findings.append(
        VerifyFinding(
          severity: .damage, what: "identity page", offset: 0,
          problem: "it is not what was written, and the store does not open",
          saved: "nothing of the commits is lost by it: the seed of their checks was found again"))
    }
    self.findings = findings
    self.file = try DataFile(reading: file, header, to: fileEnd)
    let (hold, isHeld) = try LockFile(disk: disk, folder: path).look()
    isBeingWritten = isHeld
    let slots = try HeadSearch(file: self.file, limit: fileEnd).readSlots()
    let promise = DurablePromise(hold, for: self.file, hasSlot: !slots.isEmpty)
    // The writer may have another file open, if the one that it had was replaced.
    end = isHeld ? promise.flatMap { $0.isOwn && $0.end <= fileEnd ? $0.end : nil } ?? fileEnd : fileEnd
    // A living writer may have written a slot since, about frames behind those that are read here.
    slot = slots.first { [end] in $0.durableEnd <= end || end == fileEnd }
    self.promise = try RawStore.promise(self.file, promise, slot, end: end)
  }

  private static func promise(
    _ file: DataFile, _ promise: DurablePromise?, _ slot: Slot?, end: FileOffset
  ) throws(StorageError) -> (end: FileOffset, number: UInt64?, by: String)? {
    if let promise, promise.end > slot?.durableEnd ?? 0 {
      let chain = try? HeadSearch(file: file, limit: end).run().chain
      let isBroken =
        try chain.map { chain throws(StorageError) in try promise.isBroken(behind: chain, in: file) } ?? false
      if promise.isOwn || isBroken { return (promise.end, nil, "the lock file") }
    }
    return slot.map { ($0.durableEnd, $0.number, "a slot") }
  }

  private static func open(_ folder: String, _ disk: any Disk) throws(StorageError) -> TolerantFile {
    do {
      return TolerantFile(try disk.openByName(StoreReader.dataPath(folder), .read))
    } catch {
      throw try StoreReader.missing(error, in: folder, on: disk)
    }
  }
}

/// Finds the seed of a file's checks if the identity page is damaged.
///
/// The seed is all of the page that reading needs. Either it is still there, and only other bytes of the page are damaged; or it is
/// computed back from the first frame: a CRC can be run backwards from the check of a header to its initial value. A seed is easily
/// confirmed, because a frame's record has a check of its own that begins from the seed, too.
struct HeaderRecovery {
  let file: any DiskFile
  let size: UInt64

  func header() throws(StorageError) -> FileHeader? {
    let page = try read(at: 0, count: FileHeader.size)
    // Dictionaries may lie before the first frame, which then begins with a page.
    let end = min(size, DictionaryArea.farthestFrame)
    for place in stride(from: FileLayout.firstFrame.bytes, to: end, by: FileLayout.pageSize) {
      if let found = try header(FileOffset(place), page) { return found }
    }
    return nil
  }

  /// The header of a file whose first frame lies at an offset. Returns nil if it does not.
  private func header(_ place: FileOffset, _ page: [UInt8]) throws(StorageError) -> FileHeader? {
    let first = try read(at: place, count: FrameHeader.size)
    guard first.starts(with: FrameHeader.magic) || place == FileLayout.firstFrame else { return nil }
    var candidates: [UInt32] = []
    if page.count >= 68 {
      candidates.append(page.withUnsafeBytes { loadInteger(UInt32.self, $0, at: 64) })
    }
    if first.count == FrameHeader.size {
      let check = first.withUnsafeBytes { loadInteger(UInt32.self, $0, at: 60) }
      candidates.append(HeaderRecovery.seed(before: Array(first[..<60]), givingCheck: check))
    }
    for seed in candidates where try isRight(seed, first, place) {
      let header = FileHeader(recovered: page, seed: seed)
      return place == FileLayout.firstFrame ? header : try header.with(DictionaryArea(page, of: file, place, seed))
    }
    return nil
  }

  private func isRight(_ seed: UInt32, _ first: [UInt8], _ place: FileOffset) throws(StorageError) -> Bool {
    let header = first.withUnsafeBytes { FrameHeader($0, seed: seed) }
    guard let header, header.recordOffset < size, UInt64(header.recordLength) <= size - header.recordOffset else {
      return false
    }
    let record = try read(at: place &+ header.recordOffset, count: Int(header.recordLength))
    return record.withUnsafeBytes { checksum(seed, $0) } == header.recordCheck
  }

  private func read(at offset: FileOffset, count: Int) throws(StorageError) -> [UInt8] {
    let block = MemoryBlock(count: count)
    let done = try engineCall { () throws(DiskError) in try file.read(into: block.bytes, at: offset) }
    return Array(block.bytes[..<done])
  }

  /// The initial value of a CRC-32C, from the bytes it ran over and its result: each step of it can be undone.
  static func seed(before bytes: [UInt8], givingCheck check: UInt32) -> UInt32 {
    var table = [UInt32](repeating: 0, count: 256)
    // Each entry has a high byte of its own, which shows which byte was shifted in.
    var byHighByte = [UInt8](repeating: 0, count: 256)
    for byte in 0..<256 {
      var sum = UInt32(byte)
      for _ in 0..<8 { sum = (sum >> 1) ^ (sum & 1 == 1 ? 0x82F6_3B78 : 0) }
      table[byte] = sum
      byHighByte[Int(sum >> 24)] = UInt8(byte)
    }
    var sum = ~check
    for byte in bytes.reversed() {
      let index = byHighByte[Int(sum >> 24)]
      sum = (sum ^ table[Int(index)]) << 8 | UInt32(index ^ byte)
    }
    return ~sum
  }
}

extension FileHeader {
  /// Creates a header from the readable parts of a damaged identity page, with a seed that is known to be right.
  fileprivate init(recovered page: [UInt8], seed: UInt32) {
    func number(_ position: Int) -> UInt64 {
      guard page.count >= position + 8 else { return 0 }
      return page.withUnsafeBytes { loadInteger(UInt64.self, $0, at: position) }
    }
    let identity = StoreIdentity(
      high: number(32), low: number(40), generation: number(48), created: Int64(bitPattern: number(56)))
    self.init(identity: identity, seed: UInt64(seed))
  }
}
