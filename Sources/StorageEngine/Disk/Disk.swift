#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Everything the engine asks of an operating system, as one small protocol.
///
/// There are two implementations: `SystemDisk`, the real one, and `SimulatedDisk`, which records every operation and
/// can replay every state that a power cut could leave behind. Nothing else in the engine makes a system call, so what
/// the crash tests prove of one they prove of the other.
///
/// All calls block the calling thread and may be made from any thread.
package protocol Disk: Sendable {
  /// Opens a file. `.create` makes it and fails with `EEXIST` where it is there already.
  func open(_ path: String, _ mode: OpenMode) throws(DiskError) -> any DiskFile
  /// Makes one directory; its parent must exist. Succeeds where the directory is there already.
  func makeDirectory(_ path: String) throws(DiskError)
  /// The names in a directory, without `.` and `..`, in no order.
  func list(_ path: String) throws(DiskError) -> [String]
  /// What lies at a path, or nil where nothing does.
  func status(_ path: String) throws(DiskError) -> FileStatus?
  /// Which file lies at a path, or nil where none does. Costs one system call, and the file's next write nothing.
  func identity(_ path: String) throws(DiskError) -> FileIdentity?
  /// An open directory, which stays the same one when it is moved.
  func openFolder(_ path: String) throws(DiskError) -> any DiskFolder
  /// Replaces `target` by `source` in one step.
  func rename(_ source: String, to target: String) throws(DiskError)
  func unlink(_ path: String) throws(DiskError)
  /// Takes away a directory that holds nothing; `ENOTEMPTY` where it holds something.
  func removeDirectory(_ path: String) throws(DiskError)
  /// Makes the names in a directory durable.
  func syncDirectory(_ path: String) throws(DiskError)
  /// How many bytes this process may still write to the file system of a path; nil if the disk cannot tell.
  func freeBytes(at path: String) throws(DiskError) -> UInt64?
  /// Calls `change` after each change of the file's contents, of its name, or of its directory entry, from a thread of
  /// the disk's own, until the token is let go. Several changes may be told as one. It never polls.
  func watch(_ path: String, change: @escaping @Sendable () -> Void) throws(DiskError) -> any DiskWatch
  /// The wall clock, in nanoseconds since 1970.
  func now() -> Int64
  /// A fresh 64-bit number for identities: random on a real disk, from a seed on a simulated one.
  func randomNumber() -> UInt64
}

extension Disk {
  package func identity(_ path: String) throws(DiskError) -> FileIdentity? { try status(path)?.identity }
  package func freeBytes(at path: String) throws(DiskError) -> UInt64? { nil }

  /// Opens the file that has a name, and that still has it when it is open. One that lost it in between may be freed by whoever
  /// had it open and did not see that it was being opened; one that has it when it is open is not.
  func openByName(_ path: String, _ mode: OpenMode) throws(DiskError) -> any DiskFile {
    // Where a file system gives a file another identity by its name, no look would do.
    for _ in 0..<8 {
      let file = try open(path, mode)
      let identity = try file.status.identity
      if try status(path)?.identity == identity { return file }
    }
    return try open(path, mode)
  }

  /// Whether a name leads to an open file.
  func leads(_ path: String, to file: any DiskFile) throws(DiskError) -> Bool {
    let identity = try file.status.identity
    guard let named = try status(path) else { return false }
    if named.identity == identity { return true }
    // There are file systems in layers that number an open file otherwise than its name.
    do {
      return try open(path, .read).status.identity == identity
    } catch {
      if error.isNotFound { return false }
      throw error
    }
  }
}

/// How a file is opened.
package enum OpenMode: Sendable {
  case read, readWrite, create
  /// As `readWrite`, but fails with `ELOOP` where the name is a symbolic link. For the files beside the data: a store may come from
  /// anywhere, and a link in it must not lead a writer to a file that is none of the store's.
  case readWriteNoLink
}

/// A watch on a file; it ends when the last reference is let go.
package protocol DiskWatch: AnyObject, Sendable {}

/// An open directory. It is closed when the last reference is let go.
package protocol DiskFolder: AnyObject, Sendable {
  /// Which file has a name in it, or nil where none has.
  func identity(of name: String) throws(DiskError) -> FileIdentity?
}

/// Size and identity of what lies at a path.
package struct FileStatus: Sendable, Hashable {
  package var identity: FileIdentity
  package var size: UInt64
  package var isDirectory: Bool
  /// When contents or anything else of it last changed, in nanoseconds since 1970, as nobody can set it; 0 where the disk does
  /// not tell.
  package var changed: Int64

  package init(identity: FileIdentity, size: UInt64, isDirectory: Bool, changed: Int64 = 0) {
    self.identity = identity
    self.size = size
    self.isDirectory = isDirectory
    self.changed = changed
  }
}

/// Which file it is, whatever its name: device and inode.
package struct FileIdentity: Sendable, Hashable {
  package var device: UInt64
  package var inode: UInt64

  package init(device: UInt64, inode: UInt64) {
    self.device = device
    self.inode = inode
  }
}

/// One open file. It is closed when the last reference is let go; opened close-on-exec.
package protocol DiskFile: AnyObject, Sendable {
  var status: FileStatus { get throws(DiskError) }
  /// Another open of the same file, for reading and writing, whatever its name is by now; nil where the disk has no way to it. The
  /// system tells each open once of a page that it could not bring to the disk: who syncs through an open of its own takes no
  /// such news away from others.
  func reopened() throws(DiskError) -> (any DiskFile)?
  /// Reads until `buffer` is full or the file ends; returns the bytes read. Short reads and EINTR are retried.
  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(DiskError) -> Int
  /// Writes all of `bytes`. Short writes and EINTR are retried.
  func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(DiskError)
  /// Writes zeros over a range, so that later writes there change no metadata and ENOSPC comes now.
  func zero(_ range: Range<UInt64>) throws(DiskError)
  /// The parts of a range in which something may have been written, in ascending order; elsewhere it reads as zeros. All of the
  /// range where the disk cannot tell.
  func writtenParts(of range: Range<UInt64>) throws(DiskError) -> [Range<UInt64>]
  /// Brings what was written to a range to the disk, and waits for it, so that a later sync has little left to do: others that
  /// use the disk meanwhile wait less. Does nothing where the system knows no such call. Nothing is durable by it; but its
  /// failure must be taken as that of a sync, because the next sync may not tell of it again.
  func writeBack(_ range: Range<UInt64>) throws(DiskError)
  /// Makes the file's contents (and size) durable: `fdatasync`, or the platform's full sync.
  func sync() throws(DiskError)
  /// A read-only mapping that reserves `capacity` bytes from the file's start, or nil where the disk does not map, or the process has
  /// no addresses left for so much.
  /// Touching bytes beyond the file's end is the caller's mistake.
  func map(capacity: Int) throws(DiskError) -> (any DiskMapping)?
  /// Tries to take the one exclusive lock of this file (an open-file-description lock); false where another holds it.
  func tryLock() throws(DiskError) -> Bool
  func unlock() throws(DiskError)
  /// Whether any other open of the file, here or in another process, holds the lock; takes nothing.
  func isLockedElsewhere() throws(DiskError) -> Bool
}

extension DiskFile {
  package func writtenParts(of range: Range<UInt64>) throws(DiskError) -> [Range<UInt64>] { [range] }

  /// Writes zeros over what was written in a range. Of a range that is all but empty that takes little time and no room.
  func clear(_ range: Range<UInt64>) throws(DiskError) {
    for part in try writtenParts(of: range) { try zero(part) }
  }
}

/// A read-only mapping of a file, unmapped when the last reference is let go.
package protocol DiskMapping: AnyObject, Sendable {
  /// The first byte and the reserved length. Valid while the mapping is referenced.
  var bytes: UnsafeRawBufferPointer { get }
  /// Lets go of the memory of what was read, which is read anew from the system's cache where it is needed again. The
  /// bytes stay valid. Cost: that of what was read since the last time.
  func release()
}

extension DiskMapping {
  package func release() {}
}

/// A system call that failed.
package struct DiskError: Error, Hashable, Sendable {
  /// The call, as `open` or `fdatasync`.
  package var operation: String
  package var path: String
  /// The C error number.
  package var code: Int32

  package init(operation: String, path: String, code: Int32) {
    self.operation = operation
    self.path = path
    self.code = code
  }
}

extension DiskError: CustomStringConvertible {
  /// What failed, on what, and why, as `fdatasync of /a/data failed: No space left on device`.
  package var description: String {
    let reason = strerror(code).map { String(cString: $0) } ?? "error \(code)"
    return path.isEmpty ? "\(operation) failed: \(reason)" : "\(operation) of \(path) failed: \(reason)"
  }
}
