/// Everything the engine asks of an operating system, as one small protocol.
///
/// There are two implementations: `SystemDisk`, the real one, and `SimulatedDisk`, which records every operation and
/// can replay every state that a power cut could leave behind. Nothing else in the engine makes a system call, so what
/// the crash tests prove of one they prove of the other.
///
/// All calls block the calling thread and may be made from any thread.
package protocol Disk: Sendable {
  /// Opens a file. `.create` makes it and fails with `EEXIST` if it exists already.
  func open(_ path: String, _ mode: OpenMode) throws(DiskError) -> any DiskFile
  /// Makes one directory; its parent must exist. Succeeds if the directory exists already.
  func makeDirectory(_ path: String) throws(DiskError)
  /// The names in a directory, without `.` and `..`, in no order.
  func list(_ path: String) throws(DiskError) -> [String]
  /// The status of the file at a path. Returns nil if there is none.
  func status(_ path: String) throws(DiskError) -> FileStatus?
  /// The identity of the file at a path. Returns nil if there is none. Costs one system call, and adds no cost to the file's next write.
  func identity(_ path: String) throws(DiskError) -> FileIdentity?
  /// Opens a directory. The result stays the same directory if it is moved.
  func openFolder(_ path: String) throws(DiskError) -> any DiskFolder
  /// Replaces `target` by `source` in one step.
  func rename(_ source: String, to target: String) throws(DiskError)
  func unlink(_ path: String) throws(DiskError)
  /// Removes an empty directory. Throws `ENOTEMPTY` if it is not empty.
  func removeDirectory(_ path: String) throws(DiskError)
  /// Makes the names in a directory durable.
  func syncDirectory(_ path: String) throws(DiskError)
  /// How many bytes this process may still write to the file system of a path. Returns nil if the disk cannot tell.
  func freeBytes(at path: String) throws(DiskError) -> UInt64?
  /// Calls `change` from a thread of the disk after each change of the file's contents (or of the names in a folder), of its name, or of
  /// its directory entry, until the token is released. Several changes may cause one call. It never polls.
  func watch(_ path: String, change: @escaping @Sendable () -> Void) throws(DiskError) -> any DiskWatch
  /// The wall clock, in nanoseconds since 1970.
  func now() -> Int64
  /// A fresh 64-bit number for identities: random on a real disk, from a seed on a simulated one.
  func randomNumber() -> UInt64
}

extension Disk {
  package func identity(_ path: String) throws(DiskError) -> FileIdentity? { try status(path)?.identity }
  package func freeBytes(at path: String) throws(DiskError) -> UInt64? { nil }
  package func now() -> Int64 { wallClock() }
  package func randomNumber() -> UInt64 { UInt64.random(in: 1 ... .max) }

  /// Opens the file that has a name, and that still has it when it is open. A file that lost its name in between may be freed by a process
  /// that had it open and did not see that it was being opened. A file that has its name when it is open is not freed.
  func openByName(_ path: String, _ mode: OpenMode) throws(DiskError) -> any DiskFile {
    // If a file system numbers an open file otherwise than its name, the identities never agree.
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
    // Some layered file systems number an open file otherwise than its name.
    do {
      return try open(path, .read).status.identity == identity
    } catch {
      if error.isNotFound { return false }
      throw error
    }
  }
}

/// The path of the folder that contains a path.
func parent(of path: String) -> String {
  guard let slash = path.lastIndex(of: "/") else { return "." }
  return slash == path.startIndex ? "/" : String(path[..<slash])
}

/// How a file is opened.
package enum OpenMode: Sendable {
  case read, readWrite, create
  /// As `readWrite`, but fails with `ELOOP` if the name is a symbolic link. For the files beside the data: a store may come from anywhere,
  /// and a link in it must not lead a writer to a file outside the store.
  case readWriteNoLink
}

/// A watch on a file. It ends when the last reference is released.
package protocol DiskWatch: AnyObject, Sendable {}

/// An open directory. It is closed when the last reference is released.
package protocol DiskFolder: AnyObject, Sendable {
  /// The identity of the file that has a name in this directory. Returns nil if there is none.
  func identity(of name: String) throws(DiskError) -> FileIdentity?
}

/// Size and identity of the file at a path.
package struct FileStatus: Sendable, Hashable {
  package var identity: FileIdentity
  package var size: UInt64
  package var isDirectory: Bool
  /// The time of the last change of the contents or metadata, in nanoseconds since 1970, which no program can set. 0 if the disk does not
  /// report it.
  package var changed: Int64

  package init(identity: FileIdentity, size: UInt64, isDirectory: Bool, changed: Int64 = 0) {
    self.identity = identity
    self.size = size
    self.isDirectory = isDirectory
    self.changed = changed
  }
}

/// Identifies a file independently of its name: device and inode.
package struct FileIdentity: Sendable, Hashable, Codable {
  package var device: UInt64
  package var inode: UInt64

  package init(device: UInt64, inode: UInt64) {
    self.device = device
    self.inode = inode
  }
}

/// One open file, opened close-on-exec. It is closed when the last reference is released.
package protocol DiskFile: AnyObject, Sendable {
  var status: FileStatus { get throws(DiskError) }
  /// Opens the same file again for reading and writing, whatever its name is by now. Returns nil if the disk cannot do that. The system
  /// reports a page that it could not write to the disk once to each open. So a sync through an open of its own leaves that report to the
  /// other opens.
  func reopened() throws(DiskError) -> (any DiskFile)?
  /// Reads until `buffer` is full or the file ends; returns the bytes read. Short reads and EINTR are retried.
  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(DiskError) -> Int
  /// Writes all of `bytes`. Short writes and EINTR are retried.
  func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(DiskError)
  /// Writes zeros over a range, so that later writes there change no metadata and ENOSPC comes now.
  func zero(_ range: Range<UInt64>) throws(DiskError)
  /// Makes a range read as zeros, and may give its room back to the disk. For a nearly empty range this takes little time and no room.
  func clear(_ range: Range<UInt64>) throws(DiskError)
  /// The parts of a range in which something may have been written, in ascending order; the rest reads as zeros. Returns the whole range if
  /// the disk cannot tell.
  func writtenParts(of range: Range<UInt64>) throws(DiskError) -> [Range<UInt64>]
  /// Writes the dirty pages of a range to the disk, and waits for that. A later sync then has little left to do, and other users of the
  /// disk wait less. Does nothing if the system has no such call. It makes nothing durable. But the caller must treat its failure as that
  /// of a sync, because the next sync may not report it again.
  func writeBack(_ range: Range<UInt64>) throws(DiskError)
  /// Makes the file's contents (and size) durable: `fdatasync`, or the platform's full sync.
  func sync() throws(DiskError)
  /// A read-only mapping that reserves `capacity` bytes from the file's start. Returns nil if the disk does not map files, or if the
  /// process has not enough addresses left.
  /// Touching bytes beyond the file's end is the caller's mistake.
  func map(capacity: Int) throws(DiskError) -> (any DiskMapping)?
  /// Tries to take the one exclusive lock of this file (an open-file-description lock). Returns false if another open holds it.
  func tryLock() throws(DiskError) -> Bool
  func unlock() throws(DiskError)
  /// Whether any other open of the file, here or in another process, holds the lock. Takes no lock.
  func isLockedElsewhere() throws(DiskError) -> Bool
}

extension DiskFile {
  package func writtenParts(of range: Range<UInt64>) throws(DiskError) -> [Range<UInt64>] { [range] }

  package func clear(_ range: Range<UInt64>) throws(DiskError) {
    for part in try writtenParts(of: range) { try zero(part) }
  }
}

/// A read-only mapping of a file, unmapped when the last reference is released.
package protocol DiskMapping: AnyObject, Sendable {
  /// The first byte and the reserved length. Valid while the mapping is referenced.
  var bytes: UnsafeRawBufferPointer { get }
  /// Releases the memory of the pages that were read. The process reads them again from the system's cache when it needs them. The bytes
  /// stay valid. Cost: proportional to the pages read since the last release.
  func release()
}

extension DiskMapping {
  package func release() {}
}

package struct DiskError: Error, Hashable, Sendable, CustomStringConvertible {
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

  /// The failed call, its path and the cause, as `fdatasync of /a/data failed: No space left on device`.
  package var description: String {
    "\(operation)\(path.isEmpty ? "" : " of \(path)") failed: \(cause)"
  }
}
