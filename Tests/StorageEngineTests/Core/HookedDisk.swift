import Synchronization

@testable import StorageEngine

/// A disk that asks before each write and sync of the data file, so that a test can fail one, or hold it back.
final class HookedDisk: Disk {
  typealias Hook = @Sendable () throws(DiskError) -> Void

  struct Hooks: Sendable {
    var write: Hook = {}
    var sync: Hook = {}
    var zero: Hook = {}
  }

  let base: any Disk
  let hooks = Mutex(Hooks())
  /// What changed the data file, counted: when it last did, as a disk tells.
  fileprivate let changes = Atomic<Int64>(1)

  init(_ base: any Disk = MemoryDisk()) { self.base = base }

  /// Makes each sync wait until so many more writes were made.
  func holdSyncs(untilWritten count: Int) {
    let monitor = Monitor()
    let written = Mutex(0)
    hooks.withLock { hooks in
      hooks.write = {
        written.withLock { $0 += 1 }
        monitor.withLock { monitor.notifyAll() }
      }
      hooks.sync = {
        monitor.withLock { while written.withLock({ $0 }) < count { monitor.wait() } }
      }
    }
  }

  /// Makes the next write fail, and no other.
  func failNextWrite(_ error: DiskError) {
    let hasFailed = Mutex(false)
    hooks.withLock { hooks in
      hooks.write = { () throws(DiskError) in
        let isFirst = hasFailed.withLock { hasFailed in
          defer { hasFailed = true }
          return !hasFailed
        }
        if isFirst { throw error }
      }
    }
  }

  func open(_ path: String, _ mode: OpenMode) throws(DiskError) -> any DiskFile {
    let file = try base.open(path, mode)
    return path.hasSuffix("/data") ? HookedFile(file, self) : file
  }
  func makeDirectory(_ path: String) throws(DiskError) { try base.makeDirectory(path) }
  func list(_ path: String) throws(DiskError) -> [String] { try base.list(path) }
  func status(_ path: String) throws(DiskError) -> FileStatus? { try base.status(path) }
  func rename(_ source: String, to target: String) throws(DiskError) { try base.rename(source, to: target) }
  func unlink(_ path: String) throws(DiskError) { try base.unlink(path) }
  func removeDirectory(_ path: String) throws(DiskError) { try base.removeDirectory(path) }
  func syncDirectory(_ path: String) throws(DiskError) { try base.syncDirectory(path) }
  func watch(_ path: String, change: @escaping @Sendable () -> Void) throws(DiskError) -> any DiskWatch {
    try base.watch(path, change: change)
  }
  func now() -> Int64 { base.now() }
  func randomNumber() -> UInt64 { base.randomNumber() }
}

private final class HookedFile: DiskFile {
  private let base: any DiskFile
  private let disk: HookedDisk

  init(_ base: any DiskFile, _ disk: HookedDisk) {
    self.base = base
    self.disk = disk
  }

  var status: FileStatus {
    get throws(DiskError) {
      var status = try base.status
      status.changed = disk.changes.load(ordering: .acquiring)
      return status
    }
  }
  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(DiskError) -> Int {
    try base.read(into: buffer, at: offset)
  }
  func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(DiskError) {
    let hook = disk.hooks.withLock { $0.write }
    try hook()
    try base.write(bytes, at: offset)
    disk.changes.add(1, ordering: .releasing)
  }
  func zero(_ range: Range<UInt64>) throws(DiskError) {
    let hook = disk.hooks.withLock { $0.zero }
    try hook()
    try base.zero(range)
    disk.changes.add(1, ordering: .releasing)
  }
  func sync() throws(DiskError) {
    let hook = disk.hooks.withLock { $0.sync }
    try hook()
    try base.sync()
  }
  func map(capacity: Int) throws(DiskError) -> (any DiskMapping)? { try base.map(capacity: capacity) }
  func tryLock() throws(DiskError) -> Bool { try base.tryLock() }
  func unlock() throws(DiskError) { try base.unlock() }
  func isLockedElsewhere() throws(DiskError) -> Bool { try base.isLockedElsewhere() }
}
