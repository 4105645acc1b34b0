@testable import StrataEngine

/// A disk that asks another one for everything that it does not do itself.
protocol ForwardingDisk: Disk {
  var base: any Disk { get }
}

extension ForwardingDisk {
  func makeDirectory(_ path: String) throws(DiskError) { try base.makeDirectory(path) }
  func list(_ path: String) throws(DiskError) -> [String] { try base.list(path) }
  func status(_ path: String) throws(DiskError) -> FileStatus? { try base.status(path) }
  func openFolder(_ path: String) throws(DiskError) -> any DiskFolder { try base.openFolder(path) }
  func rename(_ source: String, to target: String) throws(DiskError) { try base.rename(source, to: target) }
  func unlink(_ path: String) throws(DiskError) { try base.unlink(path) }
  func removeDirectory(_ path: String) throws(DiskError) { try base.removeDirectory(path) }
  func syncDirectory(_ path: String) throws(DiskError) { try base.syncDirectory(path) }
  func watch(_ path: String, change: @escaping @Sendable () -> Void) throws(DiskError) -> any DiskWatch {
    try base.watch(path, change: change)
  }
  func freeBytes(at path: String) throws(DiskError) -> UInt64? { try base.freeBytes(at: path) }
  func now() -> Int64 { base.now() }
  func randomNumber() -> UInt64 { base.randomNumber() }
}

/// The same for a file.
protocol ForwardingFile: DiskFile {
  var base: any DiskFile { get }
}

extension ForwardingFile {
  var status: FileStatus { get throws(DiskError) { try base.status } }
  func reopened() throws(DiskError) -> (any DiskFile)? { try base.reopened() }
  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(DiskError) -> Int {
    try base.read(into: buffer, at: offset)
  }
  func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(DiskError) { try base.write(bytes, at: offset) }
  func zero(_ range: Range<UInt64>) throws(DiskError) { try base.zero(range) }
  func writeBack(_ range: Range<UInt64>) throws(DiskError) { try base.writeBack(range) }
  func sync() throws(DiskError) { try base.sync() }
  func map(capacity: Int) throws(DiskError) -> (any DiskMapping)? { try base.map(capacity: capacity) }
  func tryLock() throws(DiskError) -> Bool { try base.tryLock() }
  func unlock() throws(DiskError) { try base.unlock() }
  func isLockedElsewhere() throws(DiskError) -> Bool { try base.isLockedElsewhere() }
}
