import StrataLocks

@testable import StrataEngine

/// A disk that notes what it is asked: each call by name, with the last part of the file's path.
final class AskedDisk: ForwardingDisk {
  let base: any Disk
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
  func status(_ path: String) throws(DiskError) -> FileStatus? {
    note("status", path)
    return try base.status(path)
  }
}

private final class AskedFile: ForwardingFile {
  let base: any DiskFile
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
  func isLockedElsewhere() throws(DiskError) -> Bool {
    disk.note("lock query", path)
    return try base.isLockedElsewhere()
  }
}
