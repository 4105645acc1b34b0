import Glibc
import StrataLocks

@testable import StrataEngine

/// A disk that asks before each write and sync of one file, the data unless another is named, so that a test can fail one, hold it
/// back, or do something else first.
final class HookedDisk: ForwardingDisk {
  typealias Hook = @Sendable () throws(DiskError) -> Void

  struct Hooks: Sendable {
    var write: Hook = {}
    var sync: Hook = {}
    var zero: Hook = {}
    var writeBack: Hook = {}
  }

  let base: any Disk
  private let name: String
  let hooks = Mutex(Hooks())
  /// What changed the data file, counted: when it last did, as a disk tells.
  fileprivate let changes = Atomic<Int64>(1)
  /// Pages that could not be brought to the disk, counted. As Linux does, each open that was there when it happened is told of it
  /// once, by its next sync or write-back; other opens of the file are told by theirs.
  fileprivate let lostPages = Atomic<Int>(0)
  /// The calls that were told of a lost page.
  let told = Mutex<[String]>([])

  init(_ base: any Disk = MemoryDisk(), of name: String = "data") {
    self.base = base
    self.name = "/" + name
  }

  /// Lets the system fail to bring a page of the file to the disk.
  func losePage() { lostPages.add(1, ordering: .sequentiallyConsistent) }

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
    return path.hasSuffix(name) ? HookedFile(file, self) : file
  }
}

private final class HookedFile: ForwardingFile {
  let base: any DiskFile
  private let disk: HookedDisk
  private let knownLostPages: Atomic<Int>

  init(_ base: any DiskFile, _ disk: HookedDisk) {
    self.base = base
    self.disk = disk
    knownLostPages = Atomic(disk.lostPages.load(ordering: .sequentiallyConsistent))
  }

  func reopened() throws(DiskError) -> (any DiskFile)? { HookedFile(base, disk) }

  private func tellOfLostPages(_ call: String) throws(DiskError) {
    let lost = disk.lostPages.load(ordering: .sequentiallyConsistent)
    guard knownLostPages.exchange(lost, ordering: .sequentiallyConsistent) < lost else { return }
    disk.told.withLock { $0.append(call) }
    throw DiskError(operation: call, path: "data", code: EIO)
  }

  var status: FileStatus {
    get throws(DiskError) {
      var status = try base.status
      status.changed = disk.changes.load(ordering: .acquiring)
      return status
    }
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
  func writeBack(_ range: Range<UInt64>) throws(DiskError) {
    let hook = disk.hooks.withLock { $0.writeBack }
    try hook()
    try base.writeBack(range)
    try tellOfLostPages("sync_file_range")
  }
  func sync() throws(DiskError) {
    let hook = disk.hooks.withLock { $0.sync }
    try hook()
    try base.sync()
    try tellOfLostPages("fdatasync")
  }
}
