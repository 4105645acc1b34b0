extension FileStore {
  package var activity: [UInt8]? {
    guard let note = (try? NoteFile.activity(disk, path).read()) ?? nil,
      [writer?.session, NoteFile.ended].contains(note.number)
    else { return nil }
    return note.bytes
  }

  /// Shows the work of this writer (nil if it has none any more). At most ten changes a second reach the file, and sooner ones are left
  /// out. The end of the work is always shown, at the latest when the lock is released.
  package func setActivity(_ bytes: [UInt8]?) { writing.setActivity(bytes) }

  /// Does nothing if another process writes by now: its work is more recent.
  package func leaveActivity(_ bytes: [UInt8]) {
    guard writer == nil else { return }
    writing.monitor.withLock { writing.shared.activity.isShown = false }
    try? NoteFile.activity(disk, path).write(bytes, number: NoteFile.ended)
  }
}

/// A small file beside the data in which one process shows others a note for people: a number, and bytes under a check.
struct NoteFile {
  static let headerSize = 24

  /// Stands for the session if the work has ended, so that the note is valid without a writer.
  static let ended: UInt64 = 0

  let disk: any Disk
  let path: String
  let magic: [UInt8]

  /// The work of a writer. The number is the writer's session.
  static func activity(_ disk: any Disk, _ folder: String) -> NoteFile {
    NoteFile(disk: disk, path: folder + "/activity", magic: [0x41, 0x63, 0x74, 0x69, 0x76, 0x65, 0x20, 0x0A])
  }

  /// The reason why the store could not be pruned. The number is the time of the next attempt.
  static func pruning(_ disk: any Disk, _ folder: String) -> NoteFile {
    NoteFile(disk: disk, path: folder + "/pruning", magic: [0x50, 0x72, 0x75, 0x6E, 0x69, 0x6E, 0x67, 0x0A])
  }

  /// Throws `alreadyExists` if the file with the note's name is a person's own.
  func write(_ bytes: [UInt8], number: UInt64) throws(StorageError) {
    let isOurs = try engineCall { () throws(DiskError) -> Bool in
      let file = try disk.status(path) == nil ? try disk.open(path, .create) : try disk.open(path, .readWriteNoLink)
      guard try isNote(file) else { return false }
      let buffer = ByteBuffer()
      buffer.append(magic)
      buffer.append(number)
      buffer.append(UInt32(truncatingIfNeeded: bytes.count))
      let check = bytes.withUnsafeBytes { checksum(checksum(0, buffer.bytes), $0) }
      buffer.append(check)
      buffer.append(bytes)
      try file.write(buffer.bytes, at: 0)
      return true
    }
    guard isOurs else { throw .alreadyExists(path: path) }
  }

  /// Removes the note, but no person's own file with its name.
  func remove() throws(StorageError) {
    try engineCall { () throws(DiskError) in
      if try isNote(disk.open(path, .read)) { try disk.unlink(path) }
    }
  }

  /// Whether a file was written as a note, or holds nothing: a power cut may leave zeros.
  private func isNote(_ file: any DiskFile) throws(DiskError) -> Bool {
    let block = MemoryBlock(count: magic.count)
    let count = try file.read(into: block.bytes, at: 0)
    let found = UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(block.bytes)[..<count])
    return found.isZero || magic.starts(with: found)
  }

  /// Returns nil if there is no whole note, or an empty one.
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
