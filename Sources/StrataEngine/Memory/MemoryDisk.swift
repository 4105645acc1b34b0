import StrataLocks

/// A disk in memory: what a memory store lies on. Files go with the last reference to the disk.
final class MemoryDisk: Disk {
  private let files = Mutex<[String: MemoryFile]>([:])

  /// How large a file may become, as powers of two to try in turn: as much as a process may have.
  #if THREAD_SANITIZER
    // The sanitizer leaves a process 1.5 TiB, which hundreds of stores of tests share.
    private static let sizes = [30, 28]
  #elseif os(macOS) || os(Linux)
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
    try files.withLock { files throws(DiskError) in
      guard let file = files.removeValue(forKey: source) else {
        throw DiskError(operation: "rename", path: source, code: MemoryDiskCode.notFound)
      }
      files[target] = file
    }
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

/// A file in memory, which is its own mapping.
private final class MemoryFile: DiskMapping {
  struct State {
    var size: UInt64 = 0
    /// Beyond this nothing was ever written but zeros.
    var touchedEnd: UInt64 = 0
    var holder: ObjectIdentifier?
    var watches: [ObjectIdentifier: @Sendable () -> Void] = [:]
  }

  let space: AddressSpace
  let path: String
  let inode: UInt64
  let state = Mutex(State())

  init(space: AddressSpace, path: String, inode: UInt64) {
    self.space = space
    self.path = path
    self.inode = inode
  }

  var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(space.bytes) }

  var status: FileStatus {
    FileStatus(
      identity: FileIdentity(device: 0, inode: inode), size: state.withLock { $0.size }, isDirectory: false)
  }
}

/// One open of a file in memory. Its lock is released with it.
private final class MemoryHandle: DiskFile {
  private let file: MemoryFile

  init(file: MemoryFile) { self.file = file }
  deinit { try? unlock() }

  var status: FileStatus { get throws(DiskError) { file.status } }
  func reopened() throws(DiskError) -> (any DiskFile)? { MemoryHandle(file: file) }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(DiskError) -> Int {
    let size = file.status.size
    guard offset < size, let start = file.space.bytes.baseAddress, let target = buffer.baseAddress else { return 0 }
    let count = min(buffer.count, Int(size - offset))
    target.copyMemory(from: start + Int(offset), byteCount: count)
    return count
  }

  func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(DiskError) {
    let end = try end(of: offset, bytes.count)
    if let source = bytes.baseAddress, let start = file.space.bytes.baseAddress {
      (start + Int(offset)).copyMemory(from: source, byteCount: bytes.count)
    }
    let watches = file.state.withLock { state in
      state.size = max(state.size, end)
      state.touchedEnd = max(state.touchedEnd, end)
      return state.watches.values.map(\.self)
    }
    for watch in watches { watch() }
  }

  func zero(_ range: Range<UInt64>) throws(DiskError) {
    let end = try end(of: range.lowerBound, Int(clamping: range.count))
    file.state.withLock { state in
      state.size = max(state.size, end)
      guard state.touchedEnd > range.lowerBound, let start = file.space.bytes.baseAddress else { return }
      let count = Int(min(end, state.touchedEnd) - range.lowerBound)
      (start + Int(range.lowerBound)).initializeMemory(as: UInt8.self, repeating: 0, count: count)
    }
  }

  private func end(of offset: UInt64, _ count: Int) throws(DiskError) -> UInt64 {
    guard offset <= UInt64(file.space.bytes.count), count <= file.space.bytes.count - Int(offset) else {
      throw DiskError(operation: "write", path: file.path, code: MemoryDiskCode.tooLarge)
    }
    return offset + UInt64(count)
  }

  func writeBack(_ range: Range<UInt64>) throws(DiskError) {}
  func sync() throws(DiskError) {}
  func map(capacity: Int) throws(DiskError) -> (any DiskMapping)? { file }

  func tryLock() throws(DiskError) -> Bool {
    file.state.withLock { state in
      guard state.holder == nil || state.holder == ObjectIdentifier(self) else { return false }
      state.holder = ObjectIdentifier(self)
      return true
    }
  }

  func unlock() throws(DiskError) {
    file.state.withLock { if $0.holder == ObjectIdentifier(self) { $0.holder = nil } }
  }

  func isLockedElsewhere() throws(DiskError) -> Bool {
    file.state.withLock { $0.holder != nil && $0.holder != ObjectIdentifier(self) }
  }
}

private final class MemoryWatch: DiskWatch {
  private let file: MemoryFile?

  init(file: MemoryFile?, change: @escaping @Sendable () -> Void) {
    self.file = file
    file?.state.withLock { $0.watches[ObjectIdentifier(self)] = change }
  }

  deinit { file?.state.withLock { $0.watches[ObjectIdentifier(self)] = nil } }
}
