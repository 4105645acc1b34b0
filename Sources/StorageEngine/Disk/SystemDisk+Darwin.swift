#if canImport(Darwin)
  import Darwin
  import Dispatch

  // The calls that differ on Apple's systems: the full sync is asked for, because `fsync` leaves bytes in the drive's cache;
  // open-file-description locks have other numbers; and a file is watched through a dispatch source.
  let contentSyncName = "fcntl(F_FULLFSYNC)"
  // Nothing there brings a range to the disk.
  let writeBackName: String? = nil
  func writeBackContents(of descriptor: Int32, from start: off_t, count: Int) -> Int32 { 0 }
  /// A new open of an open file, for writing, by the name that it has now; nil where that cannot be.
  func openAnew(_ descriptor: Int32) -> Int32? {
    var path = [CChar](repeating: 0, count: Int(MAXPATHLEN))
    guard fcntl(descriptor, F_GETPATH, &path) == 0 else { return nil }
    let new = open(path, O_RDWR | O_CLOEXEC)
    return new < 0 ? nil : new
  }
  // Nothing there tells, and freeing takes no time worth mentioning.
  func isOpenNowhereElse(_ descriptor: Int32) -> Bool { false }
  /// Which file a name in a folder leads to; 0, or -1 and `errno`.
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

  func syncContents(of descriptor: Int32) -> Int32 { makeDurable(descriptor) }

  /// Makes a file's contents, or the names in a folder, durable. Returns 0, or -1 and `errno`.
  ///
  /// `fsync` alone brings them to the drive, which may lose them with the power, and may keep what was written later. This empties the
  /// drive's cache too, and so makes durable all that was synced on it before.
  package func makeDurable(_ descriptor: Int32) -> Int32 {
    let result = fcntl(descriptor, F_FULLFSYNC)
    // Some network volumes know only the plain one.
    return result < 0 && (errno == ENOTSUP || errno == EINVAL) ? fsync(descriptor) : result
  }

  func startWatch(_ path: String, _ change: @escaping @Sendable () -> Void) throws(DiskError) -> any DiskWatch {
    try FileWatch(path, change)
  }

  private let queue = DispatchQueue(label: "strata.watch")

  /// Watches a file and, for the day another file takes its name, the directory that holds it.
  // `@unchecked`: `file` is touched on the one serial queue only; the rest never changes.
  private final class FileWatch: DiskWatch, @unchecked Sendable {
    private let path: String
    private let change: @Sendable () -> Void
    private let directory: any DispatchSourceFileSystemObject
    private var file: (any DispatchSourceFileSystemObject)?

    init(_ path: String, _ change: @escaping @Sendable () -> Void) throws(DiskError) {
      self.path = path
      self.change = change
      let slash = path.lastIndex(of: "/")
      let parent = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
      directory = try source(parent, .write)
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
