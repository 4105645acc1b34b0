extension FileStore {
  /// What the holder of the writer's lock in another process is busy with, as it encoded it, or what the last work came to; nil where
  /// nobody has said anything.
  package var activity: [UInt8]? {
    guard let note = (try? NoteFile.activity(disk, path).read()) ?? nil,
      [sessionElsewhere, NoteFile.ended].contains(note.number)
    else { return nil }
    return note.bytes
  }

  /// Of the holder of the lock in another process.
  private var sessionElsewhere: UInt64? {
    guard let look = try? LockFile(disk: disk, folder: path).look(), look.isHeld else { return nil }
    return look.hold.flatMap { $0.session == writing.session ? nil : $0.session }
  }

  /// Says what this writer is busy with (nil: nothing any more). At most ten of them a second reach the file, and what comes sooner
  /// is left out; that nothing is done any more is always told, at the latest when the lock is let go.
  package func setActivity(_ bytes: [UInt8]?) { writing.setActivity(bytes) }

  /// Left alone where another process writes by now: that has more to say.
  package func leaveActivity(_ bytes: [UInt8]) {
    if sessionElsewhere == nil { writing.leaveActivity(bytes) }
  }
}

/// How often what a writer is busy with reaches the file: at most ten times a second, and when it is busy no more.
struct ActivityPace {
  private static let distance: Int64 = 100_000_000

  private var lastWritten: Int64 = 0
  private var isShown = false

  /// What is to be written now, if anything; empty where nothing is done any more. The time is in nanoseconds.
  mutating func due(_ bytes: [UInt8]?, at now: Int64) -> [UInt8]? {
    guard bytes == nil ? isShown : now &- lastWritten >= Self.distance else { return nil }
    lastWritten = now
    isShown = bytes != nil
    return bytes ?? []
  }

  /// Notes that what was told stands for good.
  mutating func leave() { isShown = false }
}

/// A small file beside the data through which one process tells others something for people: a number, and bytes under a check.
struct NoteFile {
  static let headerSize = 24

  /// Stands for the session where what is told has ended, so that nobody need write any more.
  static let ended: UInt64 = 0

  let disk: any Disk
  let path: String
  let magic: [UInt8]

  /// What the writer whose session the number is is busy with.
  static func activity(_ disk: any Disk, _ folder: String) -> NoteFile {
    NoteFile(disk: disk, path: folder + "/activity", magic: [0x41, 0x63, 0x74, 0x69, 0x76, 0x65, 0x20, 0x0A])
  }

  /// Why the store could not be pruned, and as the number the time of the next attempt.
  static func pruning(_ disk: any Disk, _ folder: String) -> NoteFile {
    NoteFile(disk: disk, path: folder + "/pruning", magic: [0x50, 0x72, 0x75, 0x6E, 0x69, 0x6E, 0x67, 0x0A])
  }

  func write(_ bytes: [UInt8], number: UInt64) throws(StorageError) {
    try engineCall { () throws(DiskError) in
      let file = try disk.status(path) == nil ? try disk.open(path, .create) : try disk.open(path, .readWriteNoLink)
      let buffer = ByteBuffer()
      buffer.append(magic)
      buffer.append(number)
      buffer.append(UInt32(truncatingIfNeeded: bytes.count))
      let check = bytes.withUnsafeBytes { checksum(checksum(0, buffer.bytes), $0) }
      buffer.append(check)
      buffer.append(bytes)
      try file.write(buffer.bytes, at: 0)
    }
  }

  /// Nil if there is no whole note, or an empty one.
  func read() throws(StorageError) -> (number: UInt64, bytes: [UInt8])? {
    try engineCall { () throws(DiskError) in
      guard try disk.status(path) != nil else { return nil }
      let file = try disk.open(path, .read)
      let size = try file.status.size
      guard size >= UInt64(NoteFile.headerSize), size < 1 << 20 else { return nil }
      let block = MemoryBlock(count: Int(size))
      let count = try file.read(into: block.bytes, at: 0)
      let bytes = UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(block.bytes)[..<count])
      guard count >= NoteFile.headerSize, bytes.prefix(8).elementsEqual(magic) else { return nil }
      let length = Int(loadInteger(UInt32.self, bytes, at: 16))
      guard length > 0, length <= count - NoteFile.headerSize else { return nil }
      let contents = UnsafeRawBufferPointer(rebasing: bytes[NoteFile.headerSize..<NoteFile.headerSize + length])
      let check = checksum(checksum(0, UnsafeRawBufferPointer(rebasing: bytes[..<20])), contents)
      guard check == loadInteger(UInt32.self, bytes, at: 20) else { return nil }
      return (loadInteger(UInt64.self, bytes, at: 8), [UInt8](contents))
    }
  }
}
