import StrataSystem

/// How far a sync brings a file's contents on Apple's systems. Elsewhere each is the system's data sync.
package enum SyncStrength: Sendable {
  /// Onto the drive's medium (`F_FULLFSYNC`).
  case full
  /// To the drive, which keeps the order of the writes before and after (`F_BARRIERFSYNC`).
  case barrier
  /// To the drive (`fsync`).
  case system
}

/// The operating system's disk.
///
/// One value serves any number of stores and threads; it holds nothing. Every file is opened close-on-exec.
package struct SystemDisk: Disk {
  private let interference: Interference?
  private let syncStrength: SyncStrength

  /// The disk as it is, or (for tests) one whose calls on open files can be made to fail.
  ///
  /// - Parameter syncStrength: How a file's contents are synced.
  package init(syncStrength: SyncStrength = .full, interference: Interference? = nil) {
    self.interference = interference
    self.syncStrength = syncStrength
  }

  /// Decides about each call on an open file, by its name as `pwrite`, before it is made.
  package typealias Interference = @Sendable (_ operation: String) -> Fate

  /// The outcome of a system call.
  package enum Fate: Sendable {
    case usual
    /// It fails with a C error number, and does nothing.
    case failure(Int32)
    /// A read or write transfers a part only.
    case short
  }

  package func open(_ path: String, _ mode: OpenMode) throws(DiskError) -> any DiskFile {
    let flags =
      switch mode {
      case .read: O_RDONLY
      case .readWrite: O_RDWR
      case .readWriteNoLink: O_RDWR | O_NOFOLLOW
      case .create: O_RDWR | O_CREAT | O_EXCL
      }
    // A blocking open of a pipe at the path of a file would never end. The open of a file blocks only if another program has a lease of it,
    // which the system makes it give back.
    let descriptor = try calling("open", path) { path in
      let descriptor = systemOpen(path, flags | O_NONBLOCK | O_CLOEXEC)
      return descriptor >= 0 || errno != EWOULDBLOCK ? descriptor : systemOpen(path, flags | O_CLOEXEC)
    }
    return SystemFile(descriptor: descriptor, path: path, syncStrength: syncStrength, interference: interference)
  }

  package func makeDirectory(_ path: String) throws(DiskError) {
    do {
      _ = try calling("mkdir", path) { mkdir($0, 0o777) }
    } catch {
      guard error.code == EEXIST, let found = try status(path), found.isDirectory else { throw error }
    }
  }

  package func list(_ path: String) throws(DiskError) -> [String] {
    // Through a descriptor, because `opendir` by itself does not promise close-on-exec everywhere.
    let descriptor = try calling("open", path) { systemOpen($0, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
    guard let stream = fdopendir(descriptor) else {
      let code = errno
      close(descriptor)
      throw DiskError(operation: "opendir", path: path, code: code)
    }
    defer { closedir(stream) }
    var names: [String] = []
    while true {
      errno = 0
      guard let entry = readdir(stream) else {
        if errno != 0 { throw DiskError(operation: "readdir", path: path, code: errno) }
        return names
      }
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
      if name != ".", name != ".." { names.append(name) }
    }
  }

  package func status(_ path: String) throws(DiskError) -> FileStatus? {
    var found = stat()
    do {
      _ = try calling("stat", path) { stat($0, &found) }
    } catch {
      if error.code == ENOENT || error.code == ENOTDIR { return nil }
      throw error
    }
    return FileStatus(found)
  }

  package func identity(_ path: String) throws(DiskError) -> FileIdentity? {
    try StrataEngine.identity(of: path, in: AT_FDCWD)
  }

  package func openFolder(_ path: String) throws(DiskError) -> any DiskFolder {
    SystemFolder(descriptor: try calling("open", path) { systemOpen($0, O_RDONLY | O_DIRECTORY | O_CLOEXEC) })
  }

  package func rename(_ source: String, to target: String) throws(DiskError) {
    guard !target.utf8.contains(0) else { throw DiskError(operation: "rename", path: target, code: EINVAL) }
    _ = try calling("rename", source) { systemRename($0, target) }
  }

  package func unlink(_ path: String) throws(DiskError) {
    _ = try calling("unlink", path) { systemUnlink($0) }
  }

  package func removeDirectory(_ path: String) throws(DiskError) {
    _ = try calling("rmdir", path) { rmdir($0) }
  }

  package func syncDirectory(_ path: String) throws(DiskError) {
    let descriptor = try calling("open", path) { systemOpen($0, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
    defer { close(descriptor) }
    try calling("fsync", path) { _ in makeDurable(descriptor) }
  }

  package func freeBytes(at path: String) throws(DiskError) -> UInt64? {
    var found = statvfs()
    _ = try calling("statvfs", path) { statvfs($0, &found) }
    return UInt64(found.f_bavail).multipliedReportingOverflow(by: UInt64(found.f_frsize)).partialValue
  }

  package func watch(_ path: String, change: @escaping @Sendable () -> Void) throws(DiskError) -> any DiskWatch {
    try startWatch(path, change)
  }
}

// The methods above have the same names as the functions they wrap.
/// Opens a file, or makes it. Returns its descriptor, which is never that of a standard stream, or -1 and `errno`.
package func systemOpen(_ path: UnsafePointer<CChar>, _ flags: Int32) -> Int32 {
  let descriptor = open(path, flags, 0o666)
  // The number of a standard stream that the app has closed. The text that it prints there must not go into a store.
  guard (STDIN_FILENO...STDERR_FILENO).contains(descriptor) else { return descriptor }
  defer { close(descriptor) }
  return fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)
}
private func systemRename(_ source: UnsafePointer<CChar>, _ target: String) -> Int32 { rename(source, target) }
private func systemUnlink(_ path: UnsafePointer<CChar>) -> Int32 { unlink(path) }

/// Makes a system call on a path, and repeats it as long as a signal interrupts it.
@discardableResult
func calling(
  _ operation: String, _ path: String, _ body: (UnsafePointer<CChar>) -> Int32
) throws(DiskError) -> Int32 {
  // A C string would end at the first zero byte, and the call would touch another file than the named one.
  guard !path.utf8.contains(0) else { throw DiskError(operation: operation, path: path, code: EINVAL) }
  let (result, code) = path.withCString { cPath in
    while true {
      let result = body(cPath)
      let code = errno
      if result >= 0 || code != EINTR { return (result, code) }
    }
  }
  guard result >= 0 else { throw DiskError(operation: operation, path: path, code: code) }
  return result
}

extension FileStatus {
  init(_ found: stat) {
    self.init(
      identity: FileIdentity(
        device: UInt64(truncatingIfNeeded: found.st_dev), inode: UInt64(truncatingIfNeeded: found.st_ino)),
      size: UInt64(max(0, found.st_size)), isDirectory: found.st_mode & S_IFMT == S_IFDIR,
      changed: changeTime(of: found).nanoseconds)
  }
}

private final class SystemFolder: DiskFolder {
  private let descriptor: Int32

  init(descriptor: Int32) { self.descriptor = descriptor }

  deinit { close(descriptor) }

  func identity(of name: String) throws(DiskError) -> FileIdentity? {
    try StrataEngine.identity(of: name, in: descriptor)
  }
}

/// The identity of the file that a name leads to, relative to a folder unless the name is absolute. Returns nil if there is none.
private func identity(of name: String, in folder: Int32) throws(DiskError) -> FileIdentity? {
  var found = FileIdentity(device: 0, inode: 0)
  do {
    try calling("fstatat", name) { findIdentity(of: $0, in: folder, &found) }
  } catch {
    if error.code == ENOENT || error.code == ENOTDIR { return nil }
    throw error
  }
  return found
}

private final class SystemFile: DiskFile {
  private let descriptor: Int32
  private let path: String
  private let syncStrength: SyncStrength
  private let interference: SystemDisk.Interference?

  init(descriptor: Int32, path: String, syncStrength: SyncStrength, interference: SystemDisk.Interference?) {
    self.descriptor = descriptor
    self.path = path
    self.syncStrength = syncStrength
    self.interference = interference
  }

  deinit { release(descriptor) }

  var status: FileStatus {
    get throws(DiskError) {
      var found = stat()
      try call("fstat") { Int(fstat(descriptor, &found)) }
      return FileStatus(found)
    }
  }

  func reopened() throws(DiskError) -> (any DiskFile)? {
    // By its name if the system has no other way, if the file still has that name.
    let new = openAnew(descriptor) ?? (try? calling("open", path) { systemOpen($0, O_RDWR | O_CLOEXEC) })
    guard let new else { return nil }
    let file = SystemFile(descriptor: new, path: path, syncStrength: syncStrength, interference: interference)
    return try file.status.identity == status.identity ? file : nil
  }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(DiskError) -> Int {
    guard buffer.count > 0 else { return 0 }
    let start = try position(offset, buffer.count, "pread")
    var done = 0
    while done < buffer.count {
      let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[done...])
      let count = try transfer("pread", rest.count) { pread(descriptor, rest.baseAddress, $0, start + off_t(done)) }
      if count == 0 { break }
      done += count
    }
    return done
  }

  func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(DiskError) {
    guard bytes.count > 0 else { return }
    let start = try position(offset, bytes.count, "pwrite")
    var done = 0
    while done < bytes.count {
      let rest = UnsafeRawBufferPointer(rebasing: bytes[done...])
      let count = try transfer("pwrite", rest.count) { pwrite(descriptor, rest.baseAddress, $0, start + off_t(done)) }
      // No progress and no error: POSIX allows it, and a loop over it would never end.
      guard count > 0 else { throw DiskError(operation: "pwrite", path: path, code: EIO) }
      done += count
    }
  }

  func zero(_ range: Range<UInt64>) throws(DiskError) {
    var offset = range.lowerBound
    while offset < range.upperBound {
      let count = Int(min(UInt64(zeros.count), range.upperBound - offset))
      try zeros.withBytes { bytes throws(DiskError) in
        try write(UnsafeRawBufferPointer(rebasing: bytes[..<count]), at: offset)
      }
      offset += UInt64(count)
    }
  }

  func clear(_ range: Range<UInt64>) throws(DiskError) {
    let (start, count) = (off_t(clamping: range.lowerBound), Int(clamping: range.upperBound - range.lowerBound))
    // The bytes of an unfinished import may have filled the disk. Small ranges are left to the next commits.
    if count > freedAtOnce, freeContents(of: descriptor, from: start, count: count) { return }
    for part in writtenParts(of: range) { try zero(part) }
  }

  func writtenParts(of range: Range<UInt64>) -> [Range<UInt64>] {
    var parts: [Range<UInt64>] = []
    var position = range.lowerBound
    while position < range.upperBound {
      guard let start = off_t(exactly: position) else { return [range] }
      let data = lseek(descriptor, start, seekData)
      if data < 0 { return errno == ENXIO ? parts : [range] }
      let hole = lseek(descriptor, data, seekHole)
      guard data >= start, hole > data else { return [range] }
      if UInt64(data) < range.upperBound { parts.append(UInt64(data)..<min(UInt64(hole), range.upperBound)) }
      position = UInt64(hole)
    }
    return parts
  }

  func writeBack(_ range: Range<UInt64>) throws(DiskError) {
    guard let name = writeBackName, !range.isEmpty else { return }
    let count = Int(clamping: range.upperBound - range.lowerBound)
    let start = try position(range.lowerBound, count, name)
    try call(name) { Int(writeBackContents(of: descriptor, from: start, count: count)) }
  }

  func sync() throws(DiskError) {
    try call(contentSyncName) { Int(syncContents(of: descriptor, syncStrength)) }
  }

  func map(capacity: Int) throws(DiskError) -> (any DiskMapping)? {
    guard capacity > 0 else { throw DiskError(operation: "mmap", path: path, code: EINVAL) }
    guard
      let start = mmap(nil, capacity, PROT_READ, MAP_SHARED | MAP_NORESERVE, descriptor, 0), start != MAP_FAILED
    else {
      let code = errno
      if code == ENODEV || code == ENOMEM { return nil }
      throw DiskError(operation: "mmap", path: path, code: code)
    }
    return SystemMapping(bytes: UnsafeRawBufferPointer(start: start, count: capacity), file: self)
  }

  func tryLock() throws(DiskError) -> Bool {
    var lock = wholeFileLock(Int32(F_WRLCK))
    do {
      try call("fcntl") { Int(fcntl(descriptor, setOpenFileLock, &lock)) }
      return true
    } catch {
      if error.code == EAGAIN || error.code == EACCES { return false }
      throw error
    }
  }

  func unlock() throws(DiskError) {
    var lock = wholeFileLock(Int32(F_UNLCK))
    try call("fcntl") { Int(fcntl(descriptor, setOpenFileLock, &lock)) }
  }

  func isLockedElsewhere() throws(DiskError) -> Bool {
    var lock = wholeFileLock(Int32(F_WRLCK))
    try call("fcntl") { Int(fcntl(descriptor, getOpenFileLock, &lock)) }
    return Int32(lock.l_type) != Int32(F_UNLCK)
  }

  /// The offset as the system counts it, if the whole access fits into a file.
  private func position(_ offset: UInt64, _ count: Int, _ operation: String) throws(DiskError) -> off_t {
    guard let start = off_t(exactly: offset), !start.addingReportingOverflow(off_t(count)).overflow else {
      throw DiskError(operation: operation, path: path, code: EFBIG)
    }
    return start
  }

  /// Makes a system call on the file, and repeats it as long as a signal interrupts it.
  @discardableResult
  private func call(_ operation: String, _ body: () -> Int) throws(DiskError) -> Int {
    try transfer(operation, 0) { _ in body() }
  }

  /// Makes a call that transfers up to `count` bytes. Returns the number of transferred bytes.
  private func transfer(_ operation: String, _ count: Int, _ body: (Int) -> Int) throws(DiskError) -> Int {
    while true {
      let (result, code): (Int, Int32) =
        switch interference?(operation) ?? .usual {
        case .usual: (body(count), errno)
        case .failure(let code): (-1, code)
        case .short: (body((count + 1) / 2), errno)
        }
      if result >= 0 { return result }
      if code != EINTR { throw DiskError(operation: operation, path: path, code: code) }
    }
  }
}

// Written piece by piece, so that a commit that comes meanwhile waits for at most one of them.
private let zeros = [UInt8](repeating: 0, count: 64 << 10)

private func wholeFileLock(_ kind: Int32) -> flock {
  var lock = flock()
  lock.l_type = Int16(kind)
  lock.l_whence = Int16(SEEK_SET)
  return lock
}

// `@unchecked`: the pointer is set once, and the memory that it points at is only read.
private final class SystemMapping: DiskMapping, @unchecked Sendable {
  let bytes: UnsafeRawBufferPointer
  /// Released after the mapping: a file without a name is freed then.
  private let file: SystemFile

  init(bytes: UnsafeRawBufferPointer, file: SystemFile) {
    self.bytes = bytes
    self.file = file
  }

  /// A shared mapping of a file that is only read loses nothing by this.
  func release() { madvise(UnsafeMutableRawPointer(mutating: bytes.baseAddress), bytes.count, MADV_DONTNEED) }

  deinit { munmap(UnsafeMutableRawPointer(mutating: bytes.baseAddress), bytes.count) }
}
