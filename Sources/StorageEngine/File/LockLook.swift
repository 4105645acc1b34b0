import Synchronization

/// Looks at a store's lock file again and again. A reader does so at every refresh, so the file is kept open between; it
/// is opened anew where another file has its name.
final class LockLook: Sendable {
  private let lockFile: LockFile
  private let opened = Mutex<Opened?>(nil)

  private struct Opened: Sendable {
    var file: any DiskFile
    var identity: FileIdentity
  }

  init(_ lockFile: LockFile) { self.lockFile = lockFile }

  /// Whether a writer lives, and what it says in the lock file. Takes nothing.
  func look() throws(StorageError) -> (hold: LockHold?, isHeld: Bool) {
    let status = try engineCall { () throws(DiskError) in try lockFile.disk.status(lockFile.path) }
    guard let status else {
      opened.withLock { $0 = nil }
      return (nil, false)
    }
    if let opened = opened.withLock({ $0 }), opened.identity == status.identity {
      return try Self.look(opened.file)
    }
    guard let file = try? lockFile.disk.open(lockFile.path, .read), let identity = try? file.status.identity else {
      // It went meanwhile, or may not be read: the usual way tells which.
      return try lockFile.look()
    }
    opened.withLock { $0 = Opened(file: file, identity: identity) }
    return try Self.look(file)
  }

  /// What a writer that is gone has left there says nothing to a reader, so it is not read.
  private static func look(_ file: any DiskFile) throws(StorageError) -> (hold: LockHold?, isHeld: Bool) {
    let isHeld = try engineCall { () throws(DiskError) in try file.isLockedElsewhere() }
    return (isHeld ? try LockFile.hold(in: file) : nil, isHeld)
  }
}
