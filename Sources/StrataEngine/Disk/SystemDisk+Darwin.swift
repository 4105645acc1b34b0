#if canImport(Darwin)
  import Darwin
  import Dispatch

  // The calls that differ on Apple's systems: the full sync is asked for, because `fsync` leaves bytes in the drive's cache;
  // open-file-description locks have other numbers; and a file is watched through a dispatch source.
  let contentSyncName = "fsync"
  // The system has no call that brings a range to the disk.
  let writeBackName: String? = nil
  func writeBackContents(of descriptor: Int32, from start: off_t, count: Int) -> Int32 { 0 }
  // A hole there must begin and end with a block.
  func freeContents(of descriptor: Int32, from start: off_t, count: Int) -> Bool { false }
  /// Opens an open file again, for writing, by its present name. Returns nil if that is impossible.
  func openAnew(_ descriptor: Int32) -> Int32? {
    var path = [CChar](repeating: 0, count: Int(MAXPATHLEN))
    guard fcntl(descriptor, F_GETPATH, &path) == 0 else { return nil }
    let new = systemOpen(path, O_RDWR | O_CLOEXEC)
    return new < 0 ? nil : new
  }
  // The system cannot tell, and freeing takes no time worth mentioning.
  func isOpenNowhereElse(_ descriptor: Int32) -> Bool { false }
  /// Finds the file that a name in a folder leads to. Returns 0, or -1 and `errno`.
  func findIdentity(of name: UnsafePointer<CChar>, in folder: Int32, _ found: inout FileIdentity) -> Int32 {
    var status = stat()
    guard fstatat(folder, name, &status, 0) == 0 else { return -1 }
    found = FileStatus(status).identity
    return 0
  }
  func changeTime(of status: stat) -> timespec { status.st_ctimespec }
  let getOpenFileLock: Int32 = 92
  let setOpenFileLock: Int32 = 90
  let seekData = SEEK_DATA
  let seekHole = SEEK_HOLE

  func syncContents(of descriptor: Int32, _ strength: SyncStrength) -> Int32 {
    switch strength {
    case .full: return makeDurable(descriptor)
    case .barrier:
      let result = fcntl(descriptor, F_BARRIERFSYNC)
      return result < 0 && (errno == ENOTSUP || errno == EINVAL) ? fsync(descriptor) : result
    case .system: return fsync(descriptor)
    }
  }

  /// Makes a file's contents, or the names in a folder, durable. Returns 0, or -1 and `errno`.
  ///
  /// `fsync` alone brings them to the drive, which may lose them with the power, and may keep later writes. This call empties the drive's
  /// cache, too, and so makes everything durable that was synced on it before.
  package func makeDurable(_ descriptor: Int32) -> Int32 {
    let result = fcntl(descriptor, F_FULLFSYNC)
    // Some network volumes support only the plain one.
    return result < 0 && (errno == ENOTSUP || errno == EINVAL) ? fsync(descriptor) : result
  }

  func startWatch(_ path: String, _ change: @escaping @Sendable () -> Void) throws(DiskError) -> any DiskWatch {
    try FileWatch(path, change)
  }

  private let queue = DispatchQueue(label: "strata.watch")

  /// Watches a file, and the directory that holds it in case another file takes its name.
  // `@unchecked`: `file` is touched on the one serial queue only; the rest never changes.
  private final class FileWatch: DiskWatch, @unchecked Sendable {
    private let path: String
    private let change: @Sendable () -> Void
    private let directory: any DispatchSourceFileSystemObject
    private var file: (any DispatchSourceFileSystemObject)?

    init(_ path: String, _ change: @escaping @Sendable () -> Void) throws(DiskError) {
      self.path = path
      self.change = change
      directory = try source(parent(of: path), .write)
      file = try? source(path, [.write, .extend, .attrib, .rename, .delete])
      directory.setEventHandler { [weak self] in self?.followName() }
      file?.setEventHandler(handler: change)
      file?.activate()
      directory.activate()
    }

    deinit {
      directory.cancel()
      file?.cancel()
    }

    private func followName() {
      file?.cancel()
      file = try? source(path, [.write, .extend, .attrib, .rename, .delete])
      file?.setEventHandler(handler: change)
      file?.activate()
      change()
    }
  }

  private func source(
    _ path: String, _ events: DispatchSource.FileSystemEvent
  ) throws(DiskError) -> any DispatchSourceFileSystemObject {
    let descriptor = try calling("open", path) { open($0, O_EVTONLY | O_CLOEXEC) }
    let source = DispatchSource.makeFileSystemObjectSource(fileDescriptor: descriptor, eventMask: events, queue: queue)
    source.setCancelHandler { close(descriptor) }
    return source
  }
#endif
