import Locks

/// A disk in memory: what a memory store lies on. Files go with the last reference to the disk.
final class MemoryDisk: Disk {
  private let files = Mutex<[String: MemoryFile]>([:])

  /// How large a file may become, as powers of two to try in turn: as much as a process may have.
  #if os(macOS) || os(Linux)
    private static let sizes = [34, 32, 30, 28]
  #else
    private static let sizes = [29, 28]
  #endif

  func open(_ path: String, _ mode: OpenMode) throws(DiskError) -> any DiskFile {
    let found = files.withLock { $0[path] }
    switch mode {
    case .create:
      guard found == nil else { throw DiskError(operation: "open", path: path, code: MemoryDiskCode.exists) }
      guard let space = MemoryDisk.sizes.lazy.compactMap({ AddressSpace(count: 1 << $0) }).first else {
        throw DiskError(operation: "mmap", path: path, code: MemoryDiskCode.tooLarge)
      }
      let file = MemoryFile(space: space, path: path, inode: randomNumber())
      files.withLock { $0[path] = file }
      return MemoryHandle(file: file)
    case .read, .readWrite, .readWriteNoLink:
      guard let found else { throw DiskError(operation: "open", path: path, code: MemoryDiskCode.notFound) }
      return MemoryHandle(file: found)
    }
  }

  func makeDirectory(_ path: String) throws(DiskError) {}
  func list(_ path: String) throws(DiskError) -> [String] {
    files.withLock { $0.keys.filter { $0.hasPrefix(path + "/") }.map { String($0.dropFirst(path.count + 1)) } }
  }

  func status(_ path: String) throws(DiskError) -> FileStatus? {
    files.withLock { $0[path] }?.status
  }

  func openFolder(_ path: String) throws(DiskError) -> any DiskFolder { MemoryFolder(disk: self, path: path) }

  func rename(_ source: String, to target: String) throws(DiskError) {
    let isDone = files.withLock { files in
      guard let file = files.removeValue(forKey: source) else { return false }
      files[target] = file
      return true
    }
    if !isDone { throw DiskError(operation: "rename", path: source, code: MemoryDiskCode.notFound) }
  }

  func unlink(_ path: String) throws(DiskError) {
    guard files.withLock({ $0.removeValue(forKey: path) }) != nil else {
      throw DiskError(operation: "unlink", path: path, code: MemoryDiskCode.notFound)
    }
  }

  func removeDirectory(_ path: String) throws(DiskError) {}
  func syncDirectory(_ path: String) throws(DiskError) {}
  func watch(_ path: String, change: @escaping @Sendable () -> Void) throws(DiskError) -> any DiskWatch {
    let file = files.withLock { $0[path] }
    return MemoryWatch(file: file, change: change)
  }

  func now() -> Int64 { wallClock() }
  func randomNumber() -> UInt64 { UInt64.random(in: 1 ... .max) }
}

/// A directory in memory: what files have in common at the beginning of their names.
private final class MemoryFolder: DiskFolder {
  private let disk: MemoryDisk
  private let path: String

  init(disk: MemoryDisk, path: String) {
    self.disk = disk
    self.path = path
  }

  func identity(of name: String) throws(DiskError) -> FileIdentity? { try disk.status(path + "/" + name)?.identity }
}

/// The contents of a file in memory.
final class MemoryFile: Sendable {
  private struct State {
    var size: UInt64 = 0
    /// Beyond this nothing was ever written but zeros.
    var touchedEnd: UInt64 = 0
    var holder: ObjectIdentifier?
    var watches: [ObjectIdentifier: @Sendable () -> Void] = [:]
  }

  let space: AddressSpace
  let path: String
  private let inode: UInt64
  private let state = Mutex(State())

  init(space: AddressSpace, path: String, inode: UInt64) {
    self.space = space
    self.path = path
    self.inode = inode
  }

  var status: FileStatus {
    FileStatus(
      identity: FileIdentity(device: 0, inode: inode), size: state.withLock { $0.size }, isDirectory: false)
  }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) -> Int {
    let size = state.withLock { $0.size }
    guard offset < size, let start = space.bytes.baseAddress, let target = buffer.baseAddress else { return 0 }
    let count = min(buffer.count, Int(size - offset))
    target.copyMemory(from: start + Int(offset), byteCount: count)
    return count
  }

  func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(DiskError) {
    let end = try end(of: offset, bytes.count)
    if let source = bytes.baseAddress, let start = space.bytes.baseAddress {
      (start + Int(offset)).copyMemory(from: source, byteCount: bytes.count)
    }
    let watches = state.withLock { state in
      state.size = max(state.size, end)
      state.touchedEnd = max(state.touchedEnd, end)
      return state.watches.values.map(\.self)
    }
    for watch in watches { watch() }
  }

  func zero(_ range: Range<UInt64>) throws(DiskError) {
    let end = try end(of: range.lowerBound, Int(clamping: range.count))
    state.withLock { state in
      state.size = max(state.size, end)
      guard state.touchedEnd > range.lowerBound, let start = space.bytes.baseAddress else { return }
      let count = Int(min(end, state.touchedEnd) - range.lowerBound)
      (start + Int(range.lowerBound)).initializeMemory(as: UInt8.self, repeating: 0, count: count)
    }
  }

  private func end(of offset: UInt64, _ count: Int) throws(DiskError) -> UInt64 {
    guard offset <= UInt64(space.bytes.count), count <= space.bytes.count - Int(offset) else {
      throw DiskError(operation: "write", path: path, code: MemoryDiskCode.tooLarge)
    }
    return offset + UInt64(count)
  }

  func tryLock(_ holder: ObjectIdentifier) -> Bool {
    state.withLock { state in
      guard state.holder == nil || state.holder == holder else { return false }
      state.holder = holder
      return true
    }
  }

  func unlock(_ holder: ObjectIdentifier) {
    state.withLock { if $0.holder == holder { $0.holder = nil } }
  }

  func isLocked(notBy holder: ObjectIdentifier) -> Bool {
    state.withLock { $0.holder != nil && $0.holder != holder }
  }

  func addWatch(_ watch: ObjectIdentifier, _ change: @escaping @Sendable () -> Void) {
    state.withLock { $0.watches[watch] = change }
  }

  func removeWatch(_ watch: ObjectIdentifier) {
    state.withLock { $0.watches[watch] = nil }
  }
}

/// One open of a file in memory; its lock is let go with it.
private final class MemoryHandle: DiskFile {
  private let file: MemoryFile

  init(file: MemoryFile) { self.file = file }
  deinit { file.unlock(ObjectIdentifier(self)) }

  var status: FileStatus { get throws(DiskError) { file.status } }
  func reopened() throws(DiskError) -> (any DiskFile)? { MemoryHandle(file: file) }
  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(DiskError) -> Int {
    file.read(into: buffer, at: offset)
  }
  func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(DiskError) {
    try file.write(bytes, at: offset)
  }
  func zero(_ range: Range<UInt64>) throws(DiskError) { try file.zero(range) }
  func writeBack(_ range: Range<UInt64>) throws(DiskError) {}
  func sync() throws(DiskError) {}
  func map(capacity: Int) throws(DiskError) -> (any DiskMapping)? { MemoryMapping(file: file) }
  func tryLock() throws(DiskError) -> Bool { file.tryLock(ObjectIdentifier(self)) }
  func unlock() throws(DiskError) { file.unlock(ObjectIdentifier(self)) }
  func isLockedElsewhere() throws(DiskError) -> Bool { file.isLocked(notBy: ObjectIdentifier(self)) }
}

private final class MemoryMapping: DiskMapping {
  private let file: MemoryFile
  init(file: MemoryFile) { self.file = file }
  var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(file.space.bytes) }
}

private final class MemoryWatch: DiskWatch {
  private let file: MemoryFile?

  init(file: MemoryFile?, change: @escaping @Sendable () -> Void) {
    self.file = file
    file?.addWatch(ObjectIdentifier(self), change)
  }

  deinit { file?.removeWatch(ObjectIdentifier(self)) }
}
