import StrataEngine
import StrataLocks

/// The source of a data file's bytes.
protocol DurableBytes: AnyObject, Sendable {
  /// Reads bytes before the end of a file, which never change. Returns fewer only at the end.
  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64, of file: FileIdentity) throws(DiskError)
    -> Int
}

/// How far the data of a store is durable.
struct DurableEnd: Hashable, Codable, Sendable {
  var file: FileIdentity
  var generation: UInt64
  var end: UInt64
}

/// A disk that has one store, as far as that is known to be durable, and only reads it.
///
/// Both sides of a line open the store on such a disk. So both read the same bytes for the same work, and the side that has them knows
/// what the other side reads. The lock file shows a writer that has come to that end, so nothing behind the end is read or checked.
final class DurableDisk: Disk {
  private let folder: String
  private let source: any DurableBytes
  private let state: Mutex<DurableEnd>

  init(_ folder: String, _ source: any DurableBytes, _ end: DurableEnd) {
    self.folder = folder
    self.source = source
    state = Mutex(end)
  }

  var end: DurableEnd { state.withLock { $0 } }
  func setEnd(_ end: DurableEnd) { state.withLock { $0 = end } }

  func open(_ path: String, _ mode: OpenMode) throws(DiskError) -> any DiskFile {
    guard mode == .read else { throw .readOnly(path) }
    switch path {
    case folder + "/data": return DurableDataFile(source, self)
    case folder + "/lock": return DurableLockFile(self)
    default: throw .notFound(path)
    }
  }

  func status(_ path: String) throws(DiskError) -> FileStatus? {
    switch path {
    case folder: FileStatus(identity: FileIdentity(device: 0, inode: 0), size: 0, isDirectory: true)
    case folder + "/data": FileStatus(identity: end.file, size: end.end, isDirectory: false)
    case folder + "/lock": DurableLockFile(self).status
    default: nil
    }
  }

  func openFolder(_ path: String) throws(DiskError) -> any DiskFolder { throw .notFound(path) }
  func list(_ path: String) throws(DiskError) -> [String] { [] }
  func makeDirectory(_ path: String) throws(DiskError) { throw .readOnly(path) }
  func rename(_ source: String, to target: String) throws(DiskError) { throw .readOnly(source) }
  func unlink(_ path: String) throws(DiskError) { throw .readOnly(path) }
  func removeDirectory(_ path: String) throws(DiskError) { throw .readOnly(path) }
  func syncDirectory(_ path: String) throws(DiskError) { throw .readOnly(path) }
  func watch(_ path: String, change: @escaping @Sendable () -> Void) throws(DiskError) -> any DiskWatch {
    throw .notFound(path)
  }
}

/// The data of the store.
private final class DurableDataFile: ReadOnlyFile {
  private let source: any DurableBytes
  private let disk: DurableDisk
  private let opened: DurableEnd

  init(_ source: any DurableBytes, _ disk: DurableDisk) {
    self.source = source
    self.disk = disk
    opened = disk.end
  }

  var status: FileStatus {
    let now = disk.end
    let end = now.file == opened.file ? now.end : opened.end
    return FileStatus(identity: opened.file, size: end, isDirectory: false)
  }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(DiskError) -> Int {
    let end = status.size
    guard offset < end else { return 0 }
    let count = Int(min(UInt64(buffer.count), end - offset))
    return try source.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<count]), at: offset, of: opened.file)
  }
}

/// The lock of the store, as if a writer held it.
private final class DurableLockFile: ReadOnlyFile {
  private let disk: DurableDisk

  init(_ disk: DurableDisk) { self.disk = disk }

  private var block: [UInt8] {
    let end = disk.end
    return LockHold.block(generation: end.generation, durableEnd: FileOffset(end.end))
  }

  var status: FileStatus {
    FileStatus(identity: FileIdentity(device: 0, inode: 1), size: UInt64(block.count), isDirectory: false)
  }

  func isLockedElsewhere() throws(DiskError) -> Bool { true }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(DiskError) -> Int {
    let bytes = block.dropFirst(Int(clamping: offset)).prefix(buffer.count)
    buffer.copyBytes(from: bytes)
    return bytes.count
  }
}
