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

  /// What the lock file says and whether its writer lives. Takes nothing.
  func look() throws(StorageError) -> (hold: LockHold?, isHeld: Bool) {
    let status = try engineCall { () throws(DiskError) in try lockFile.disk.status(lockFile.path) }
    guard let status else {
      opened.withLock { $0 = nil }
      return (nil, false)
    }
    if let opened = opened.withLock({ $0 }), opened.identity == status.identity {
      return try LockFile.look(opened.file)
    }
    guard let file = try? lockFile.disk.open(lockFile.path, .read), let identity = try? file.status.identity else {
      // It went meanwhile, or may not be read: the usual way tells which.
      return try lockFile.look()
    }
    opened.withLock { $0 = Opened(file: file, identity: identity) }
    return try LockFile.look(file)
  }
}
