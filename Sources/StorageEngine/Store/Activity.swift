extension FileStore {
  /// What the holder of the writer's lock in another process is busy with, as it encoded it; nil where nobody writes or it does not
  /// say.
  package var activity: [UInt8]? {
    guard let look = try? LockFile(disk: disk, folder: path).look(), look.isHeld, let hold = look.hold else {
      return nil
    }
    return try? ActivityFile(disk: disk, folder: path).read(session: hold.session)
  }

  /// Says what this writer is busy with (nil: nothing any more). At most ten of them a second reach the file, and what comes sooner
  /// is left out; that nothing is done any more is always told, at the latest when the lock is let go.
  package func setActivity(_ bytes: [UInt8]?) { writing.setActivity(bytes) }
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
}

/// The file through which a writer tells what it is busy with.
struct ActivityFile {
  static let magic: [UInt8] = [0x41, 0x63, 0x74, 0x69, 0x76, 0x65, 0x20, 0x0A]
  static let headerSize = 24

  let disk: any Disk
  let path: String

  init(disk: any Disk, folder: String) {
    self.disk = disk
    path = folder + "/activity"
  }

  func write(_ bytes: [UInt8], session: UInt64) throws(StorageError) {
    try engineCall { () throws(DiskError) in
      let file = try disk.status(path) == nil ? try disk.open(path, .create) : try disk.open(path, .readWriteNoLink)
      let buffer = ByteBuffer()
      buffer.append(ActivityFile.magic)
      buffer.append(session)
      buffer.append(UInt32(truncatingIfNeeded: bytes.count))
      let check = bytes.withUnsafeBytes { checksum(checksum(0, buffer.bytes), $0) }
      buffer.append(check)
      buffer.append(bytes)
      try file.write(buffer.bytes, at: 0)
    }
  }

  /// What the holder of `session` says; nil where it says nothing.
  func read(session: UInt64) throws(StorageError) -> [UInt8]? {
    try engineCall { () throws(DiskError) in
      guard try disk.status(path) != nil else { return nil }
      let file = try disk.open(path, .read)
      let size = try file.status.size
      guard size >= UInt64(ActivityFile.headerSize), size < 1 << 20 else { return nil }
      let block = MemoryBlock(count: Int(size))
      let count = try file.read(into: block.bytes, at: 0)
      let bytes = UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(block.bytes)[..<count])
      guard count >= ActivityFile.headerSize, bytes.prefix(8).elementsEqual(ActivityFile.magic),
        loadInteger(UInt64.self, bytes, at: 8) == session
      else { return nil }
      let length = Int(loadInteger(UInt32.self, bytes, at: 16))
      guard length > 0, length <= count - ActivityFile.headerSize else { return nil }
      let contents = UnsafeRawBufferPointer(
        rebasing: bytes[ActivityFile.headerSize..<ActivityFile.headerSize + length])
      let check = checksum(checksum(0, UnsafeRawBufferPointer(rebasing: bytes[..<20])), contents)
      guard check == loadInteger(UInt32.self, bytes, at: 20) else { return nil }
      return [UInt8](contents)
    }
  }
}
