extension LockHold {
  static let size = 512
  static let magic: [UInt8] = [0x4C, 0x6F, 0x63, 0x6B, 0x20, 0x20, 0x20, 0x0A]
  private static let longestProgram = 400
  static let generationOffset = 8
  static let durableEndOffset = 16
  static let sessionOffset = 24
  private static let changedOffset = 496
  /// A byte between the program's name and the check that is zero in every hold.
  static let idleByte: FileOffset = 507

  func encoded() -> [UInt8] {
    let buffer = ByteBuffer(capacity: LockHold.size)
    buffer.append(LockHold.magic)
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
    buffer.append(zeros: LockHold.size - 4 - buffer.count)
    buffer.append(checksum(0, buffer.bytes))
    return [UInt8](buffer.bytes)
  }

  init?(_ bytes: UnsafeRawBufferPointer) {
    guard let block = CheckedBlock(bytes, size: LockHold.size, magic: LockHold.magic, seed: 0) else { return nil }
    var reader = block.reader(at: 48, what: "lock")
    guard let program = try? reader.text() else { return nil }
    self.init(
      processIdentifier: block.number(32), program: program, since: block.number(40),
      generation: block.number(LockHold.generationOffset),
      durableEnd: block.offset(LockHold.durableEndOffset), session: block.number(LockHold.sessionOffset),
      changed: block.number(LockHold.changedOffset))
  }
}

/// The bytes of a hold, of which only the durable end changes from sync to sync.
struct EncodedHold: Sendable {
  private(set) var bytes: [UInt8] = []

  init() {}

  init(_ hold: LockHold) { bytes = hold.encoded() }

  mutating func move(to durableEnd: FileOffset) {
    bytes.withUnsafeMutableBytes { bytes in
      guard bytes.count == LockHold.size else { return }
      bytes.storeBytes(of: durableEnd.bytes.littleEndian, toByteOffset: LockHold.durableEndOffset, as: UInt64.self)
      let check = checksum(0, UnsafeRawBufferPointer(rebasing: bytes[..<(LockHold.size - 4)]))
      bytes.storeBytes(of: check.littleEndian, toByteOffset: LockHold.size - 4, as: UInt32.self)
    }
  }
}

/// The lock file of a store, as this process uses it.
struct LockFile: Sendable {
  let disk: any Disk
  let path: String

  init(disk: any Disk, folder: String) {
    self.disk = disk
    path = folder + "/lock"
  }

  /// What the lock file says and whether its writer lives. Takes nothing.
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

  /// What an open lock file says and whether its writer lives.
  static func look(_ file: any DiskFile) throws(StorageError) -> (hold: LockHold?, isHeld: Bool) {
    // The lock first: a hold that is read after it is at least as new.
    let isHeld = try engineCall { () throws(DiskError) in try file.isLockedElsewhere() }
    return (try hold(in: file), isHeld)
  }

  /// What an open lock file says.
  static func hold(in file: any DiskFile) throws(StorageError) -> LockHold? {
    // A writer may just be replacing the block; it is one small write.
    for _ in 0..<8 {
      if let hold = try LockFile.read(file) { return hold }
    }
    return nil
  }

  static func read(_ file: any DiskFile) throws(StorageError) -> LockHold? {
    let block = MemoryBlock(count: LockHold.size)
    let count: Int
    do {
      count = try file.read(into: block.bytes, at: 0)
    } catch {
      // It says nothing then, as one that is lost.
      if error.isUnreadable { return nil }
      throw StorageError(error)
    }
    return LockHold(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(block.bytes)[..<count]))
  }

  /// Takes the writer's lock in the file that has its name then, waiting for at most `patience` seconds for another process.
  func take(patience: Double) throws(StorageError) -> any DiskFile {
    for _ in 0..<8 {
      let file = try openForLocking()
      guard try engineCall({ () throws(DiskError) in try file.lock(patience: patience) }) else {
        throw .locked(try LockFile.read(file) ?? .unknown)
      }
      // The lock of a file that nobody finds, because it lost its name meanwhile, keeps nobody away.
      if try engineCall({ () throws(DiskError) in try disk.leads(path, to: file) }) { return file }
    }
    throw .replaced(path: path)
  }

  /// Opens the file for locking, making it where it is missing.
  private func openForLocking() throws(StorageError) -> any DiskFile {
    for _ in 0..<4 {
      do {
        return try disk.open(path, .readWriteNoLink)
      } catch {
        guard error.isNotFound else { throw StorageError(error) }
      }
      do {
        return try disk.open(path, .create)
      } catch {
        // Another process made it in between.
        if !error.isExisting { throw StorageError(error) }
      }
    }
    throw .io(DiskError(operation: "open", path: path, code: 0))
  }
}
