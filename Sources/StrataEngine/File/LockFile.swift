extension LockHold {
  static let magic: [UInt8] = [0x4C, 0x6F, 0x63, 0x6B, 0x20, 0x20, 0x20, 0x0A]
  private static let longestProgram = 400
  static let generationOffset = 8
  static let durableEndOffset = 16
  static let sessionOffset = 24
  private static let changedOffset = 496
  /// A byte between the program's name and the check that is zero in every hold.
  static let idleByte: FileOffset = 507

  func encoded() -> [UInt8] {
    StoredBlock.encoded(LockHold.magic, seed: 0) { buffer in
      buffer.append(generation)
      buffer.append(durableEnd)
      buffer.append(session)
      buffer.append(processIdentifier)
      buffer.append(UInt32(0))
      buffer.append(since)
      var name = program
      while name.utf8.count > LockHold.longestProgram { name.removeLast() }
      buffer.append(text: name)
      buffer.append(zeros: LockHold.changedOffset - buffer.count)
      buffer.append(changed)
    }
  }

  init?(_ bytes: UnsafeRawBufferPointer) {
    guard let block = StoredBlock(bytes, magic: LockHold.magic, seed: 0) else { return nil }
    var reader = block.reader(at: 48, what: "lock")
    guard let program = try? reader.text() else { return nil }
    self.init(
      processIdentifier: block.number(32), program: program, since: block.number(40),
      generation: block.number(LockHold.generationOffset),
      durableEnd: block.offset(LockHold.durableEndOffset), session: block.number(LockHold.sessionOffset),
      changed: block.number(LockHold.changedOffset))
  }
}

extension LockHold {
  /// The block of a writer that has made a file's data durable up to an end, for a disk that shows the data up to there.
  package static func block(generation: UInt64, durableEnd: FileOffset) -> [UInt8] {
    LockHold(
      processIdentifier: 0, program: "", since: 0, generation: generation, durableEnd: durableEnd, session: 0
    ).encoded()
  }
}

extension [UInt8] {
  /// Changes the durable end in the bytes of a hold: only that changes from sync to sync.
  mutating func moveHold(to durableEnd: FileOffset) {
    withUnsafeMutableBytes { bytes in
      guard bytes.count == StoredBlock.size else { return }
      bytes.storeBytes(of: durableEnd.bytes.littleEndian, toByteOffset: LockHold.durableEndOffset, as: UInt64.self)
      let check = checksum(0, UnsafeRawBufferPointer(rebasing: bytes[..<(StoredBlock.size - 4)]))
      bytes.storeBytes(of: check.littleEndian, toByteOffset: StoredBlock.size - 4, as: UInt32.self)
    }
  }
}

/// The lock file of a store, as this process uses it.
struct LockFile: Sendable {
  let disk: any Disk
  /// The store's folder.
  let folder: String
  var path: String { folder + "/lock" }

  /// The hold in the lock file, and whether its writer lives. Takes no lock.
  func look() throws(StorageError) -> (hold: LockHold?, isHeld: Bool) {
    let file: any DiskFile
    do {
      file = try disk.open(path, .read)
    } catch {
      if error.isNotFound || error.isForbidden { return (nil, false) }
      throw StorageError(error)
    }
    return try Self.look(file)
  }

  /// The hold in an open lock file, and whether its writer lives.
  static func look(_ file: any DiskFile) throws(StorageError) -> (hold: LockHold?, isHeld: Bool) {
    // The lock first: a hold that is read after it is at least as new.
    let isHeld = try engineCall { () throws(DiskError) in try file.isLockedElsewhere() }
    return (try hold(in: file), isHeld)
  }

  static func hold(in file: any DiskFile) throws(StorageError) -> LockHold? {
    let block = MemoryBlock(count: StoredBlock.size)
    do {
      // A writer may be replacing the block at this moment, by one small write.
      for _ in 0..<8 {
        let count = try file.read(into: block.bytes, at: 0)
        let bytes = UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(block.bytes)[..<count])
        if let hold = LockHold(bytes) { return hold }
      }
    } catch {
      // The file says nothing then, like one that is lost.
      if !error.isUnreadable { throw StorageError(error) }
    }
    return nil
  }

  /// Takes the writer's lock in the file that has its name then, waiting for at most `patience` seconds for another process.
  func acquire(patience: Double) throws(StorageError) -> any DiskFile {
    do {
      return try disk.createLocked(path, patience: patience) { file throws(StorageError) in
        guard let file else { return .replaced(path: path) }
        return .locked(try Self.hold(in: file) ?? .unknown)
      }
    } catch .io(let error) where error.isNotFound {
      throw .notFound(path: folder)
    }
  }
}
