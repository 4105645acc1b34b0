import Synchronization

@testable import StorageEngine

/// A disk that notes what it is asked: each call by name, with the last part of the file's path.
final class AskedDisk: Disk {
  private let base: any Disk
  private let noted = Mutex<[String]>([])

  init(_ base: any Disk = MemoryDisk()) { self.base = base }

  /// What it was asked since the last time.
  func questions() -> [String] {
    noted.withLock { noted in
      defer { noted = [] }
      return noted
    }
  }

  fileprivate func note(_ call: String, _ path: String) {
    let name = path.split(separator: "/").last.map(String.init) ?? path
    noted.withLock { $0.append("\(call) \(name)") }
  }

  func open(_ path: String, _ mode: OpenMode) throws(DiskError) -> any DiskFile {
    note("open", path)
    return AskedFile(try base.open(path, mode), path, self)
  }
  func makeDirectory(_ path: String) throws(DiskError) { try base.makeDirectory(path) }
  func list(_ path: String) throws(DiskError) -> [String] { try base.list(path) }
  func status(_ path: String) throws(DiskError) -> FileStatus? {
    note("status", path)
    return try base.status(path)
  }
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

private final class AskedFile: DiskFile {
  private let base: any DiskFile
  private let path: String
  private let disk: AskedDisk

  init(_ base: any DiskFile, _ path: String, _ disk: AskedDisk) {
    self.base = base
    self.path = path
    self.disk = disk
  }

  var status: FileStatus {
    get throws(DiskError) {
      disk.note("status of open", path)
      return try base.status
    }
  }
  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(DiskError) -> Int {
    disk.note("read", path)
    return try base.read(into: buffer, at: offset)
  }
  func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(DiskError) {
    disk.note("write", path)
    try base.write(bytes, at: offset)
  }
  func zero(_ range: Range<UInt64>) throws(DiskError) { try base.zero(range) }
  func sync() throws(DiskError) { try base.sync() }
  func map(capacity: Int) throws(DiskError) -> (any DiskMapping)? { try base.map(capacity: capacity) }
  func tryLock() throws(DiskError) -> Bool { try base.tryLock() }
  func unlock() throws(DiskError) { try base.unlock() }
  func isLockedElsewhere() throws(DiskError) -> Bool {
    disk.note("lock query", path)
    return try base.isLockedElsewhere()
  }
}
