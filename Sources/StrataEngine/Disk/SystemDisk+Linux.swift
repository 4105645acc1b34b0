#if !canImport(Darwin)
  import Glibc
  import StrataLocks

  // The parts that are particular to Linux: the data sync, open-file-description locks (their names are hidden from Swift behind
  // `_GNU_SOURCE`; the numbers are the kernel's and fixed), and watching files through inotify.
  let contentSyncName = "fdatasync"
  func syncContents(of descriptor: Int32, _ strength: SyncStrength) -> Int32 { fdatasync(descriptor) }
  /// Makes a file's contents, or the names in a folder, durable. Returns 0, or -1 and `errno`.
  package func makeDurable(_ descriptor: Int32) -> Int32 { fsync(descriptor) }
  let writeBackName: String? = "sync_file_range"
  func writeBackContents(of descriptor: Int32, from start: off_t, count: Int) -> Int32 {
    guard let syncFileRange else { return 0 }
    // Without flags the call only reports whether it is known and allowed. It is asked first, because after a failed call with flags it is
    // unknown whether that call tried, and a file system's own error may have any number.
    guard syncFileRange(descriptor, Int64(start), Int64(count), 0) == 0 else { return 0 }
    // SYNC_FILE_RANGE_WAIT_BEFORE, _WRITE and _WAIT_AFTER.
    return syncFileRange(descriptor, Int64(start), Int64(count), 1 | 2 | 4)
  }
  /// Looked up by name, because the headers show it only to programs that define `_GNU_SOURCE`. The type is the one of its manual page:
  /// `int sync_file_range(int, off64_t, off64_t, unsigned int)`.
  private let syncFileRange = dlsym(nil, "sync_file_range").map {
    unsafeBitCast($0, to: (@convention(c) (Int32, Int64, Int64, UInt32) -> Int32).self)
  }
  /// Makes a range of a file a hole, which reads as zeros. Returns whether the file system can do that. The length of the file stays: other
  /// processes may have mapped it.
  func freeContents(of descriptor: Int32, from start: off_t, count: Int) -> Bool {
    // FALLOC_FL_KEEP_SIZE and FALLOC_FL_PUNCH_HOLE.
    allocateContents?(descriptor, 1 | 2, start, off_t(count)) == 0
  }
  /// `int fallocate(int, int, off_t, off_t)`, shown to programs that define `_GNU_SOURCE`.
  private let allocateContents = dlsym(nil, "fallocate").map {
    unsafeBitCast($0, to: (@convention(c) (Int32, Int32, off_t, off_t) -> Int32).self)
  }
  /// Opens an open file again, for writing. Returns nil if that is impossible.
  func openAnew(_ descriptor: Int32) -> Int32? {
    let new = systemOpen("/proc/self/fd/\(descriptor)", O_RDWR | O_CLOEXEC)
    return new < 0 ? nil : new
  }

  /// Whether no other open of a file exists that the caller may write to, here or in another process; mappings count as opens. The system
  /// gives a write lease in that case only (`fcntl(2)`, `F_SETLEASE`). The lease is given back at once.
  func isOpenNowhereElse(_ descriptor: Int32) -> Bool {
    let (setSignal, setLease): (Int32, Int32) = (10, 1024)
    // If a process opens the file at this moment, the system sends a signal, and the usual one would end this process.
    guard countsOpens(descriptor), fcntl(descriptor, setSignal, SIGURG) == 0,
      fcntl(descriptor, setLease, F_WRLCK) == 0
    else { return false }
    _ = fcntl(descriptor, setLease, F_UNLCK)
    return true
  }

  /// Whether this system sees every open of a file. Over a network, or shared with the host of a virtual machine, others have it open
  /// elsewhere. If a file lies in layers, as in containers, mappings are counted in the layer only.
  func countsOpens(_ descriptor: Int32) -> Bool {
    // `struct statfs`, which begins with the kind, a word.
    var status = [Int](repeating: 0, count: 32)
    guard let fileSystemStatus, fileSystemStatus(descriptor, &status) == 0 else { return false }
    return countingFileSystems.contains(UInt32(truncatingIfNeeded: status[0]))
  }

  /// The numbers of ext2 to ext4, XFS, Btrfs, F2FS, bcachefs, and memory in `statfs(2)`.
  private let countingFileSystems: [UInt32] = [
    0xEF53, 0x5846_5342, 0x9123_683E, 0xF2F5_2010, 0xCA45_1A4E, 0x0102_1994,
  ]
  /// `int fstatfs(int, struct statfs *)`, which the headers that Swift knows leave out.
  private let fileSystemStatus = dlsym(nil, "fstatfs").map {
    unsafeBitCast($0, to: (@convention(c) (Int32, UnsafeMutableRawPointer) -> Int32).self)
  }
  /// Finds the file that a name in a folder leads to, as `fstatat` does. Returns 0, or -1 and `errno`.
  ///
  /// It asks for the file's number alone. `fstatat` asks for the times, too, and since Linux 6.13 the next write to a file whose times a
  /// program has seen writes a time of its own into the inode: that call before each commit made each sync 40 µs longer.
  func findIdentity(of name: UnsafePointer<CChar>, in folder: Int32, _ found: inout FileIdentity) -> Int32 {
    let numberOnly: UInt32 = 0x100  // STATX_INO
    // `struct statx`: 256 bytes, the file's number at 32, major and minor number of its device at 136.
    var status = [UInt64](repeating: 0, count: 32)
    let answer = extendedStatus?(folder, name, 0, numberOnly, &status) ?? -1
    if answer == 0 {
      let (major, minor) = (status[17] & 0xFFFF_FFFF, status[17] >> 32)
      // Combined as `makedev(3)` does for `st_dev`.
      let device = (major & ~0xFFF) << 32 | (major & 0xFFF) << 8 | (minor & ~0xFF) << 12 | minor & 0xFF
      found = FileIdentity(device: device, inode: status[4])
      return 0
    }
    // Before Linux 4.11, and in containers that forbid calls they do not know.
    guard extendedStatus == nil || errno == ENOSYS || errno == EPERM else { return answer }
    var plain = stat()
    guard fstatat(folder, name, &plain, 0) == 0 else { return -1 }
    found = FileStatus(plain).identity
    return 0
  }
  /// `int statx(int, const char *, int, unsigned, struct statx *)`, shown to programs that define `_GNU_SOURCE`.
  private let extendedStatus = dlsym(nil, "statx").map {
    unsafeBitCast(
      $0, to: (@convention(c) (Int32, UnsafePointer<CChar>, Int32, UInt32, UnsafeMutableRawPointer) -> Int32).self)
  }
  func changeTime(of status: stat) -> timespec { status.st_ctim }
  let getOpenFileLock: Int32 = 36
  let setOpenFileLock: Int32 = 37
  // `lseek(2)`.
  let seekData: Int32 = 3
  let seekHole: Int32 = 4

  func startWatch(_ path: String, _ change: @escaping @Sendable () -> Void) throws(DiskError) -> any DiskWatch {
    try FileWatcher.shared.get().watch(path, change)
  }

  /// All watches of the process: one inotify descriptor and one thread that blocks in `read` until something happens.
  ///
  /// A watch has two halves. The file itself reports new contents. Its directory reports when another file takes the name, and then the
  /// first half moves over to that file. Writes to neighbouring files wake no thread.
  private final class FileWatcher: Sendable {
    static let shared: Result<FileWatcher, DiskError> = Result { () throws(DiskError) in try FileWatcher() }

    private struct Watch {
      var path: String
      var name: String
      var directory: Int32
      var file: Int32?
      var change: @Sendable () -> Void
    }

    private struct State {
      var watches: [UInt64: Watch] = [:]
      var lastIdentifier: UInt64 = 0
    }

    private let descriptor: Int32
    private let state = Mutex(State())

    private static let selfMask = UInt32(IN_MOVE_SELF | IN_DELETE_SELF | IN_MASK_ADD)
    private static let fileMask = selfMask | UInt32(IN_MODIFY | IN_ATTRIB)
    private static let directoryMask =
      UInt32(IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_MASK_ADD)

    private init() throws(DiskError) {
      descriptor = inotify_init1(Int32(IN_CLOEXEC))
      guard descriptor >= 0 else { throw DiskError(operation: "inotify_init1", path: "", code: errno) }
      try startThread { self.run() }
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    func watch(_ path: String, _ change: @escaping @Sendable () -> Void) throws(DiskError) -> any DiskWatch {
      var path = path
      while path.count > 1, path.hasSuffix("/") { path.removeLast() }
      let name = path.lastIndex(of: "/").map { String(path[path.index(after: $0)...]) } ?? path
      let identifier = try state.withLock { state throws(DiskError) in
        let parent = try add(parent(of: path), FileWatcher.directoryMask)
        let file: Int32?
        do throws(DiskError) { file = try addFile(path) } catch {
          release(parent, in: state)
          throw error
        }
        state.lastIdentifier += 1
        state.watches[state.lastIdentifier] = Watch(
          path: path, name: name, directory: parent, file: file, change: change)
        return state.lastIdentifier
      }
      return Token(watcher: self, identifier: identifier)
    }

    private func add(_ path: String, _ mask: UInt32) throws(DiskError) -> Int32 {
      try calling("inotify_add_watch", path) { inotify_add_watch(descriptor, $0, mask) }
    }

    /// Watches the contents of a file, or the names in a folder but not what is written to its files. Returns nil if there is neither.
    private func addFile(_ path: String) throws(DiskError) -> Int32? {
      let folderMask = FileWatcher.selfMask | FileWatcher.directoryMask | UInt32(IN_ONLYDIR)
      do throws(DiskError) {
        do throws(DiskError) { return try add(path, folderMask) } catch { if error.code != ENOTDIR { throw error } }
        return try add(path, FileWatcher.fileMask)
      } catch {
        if error.code == ENOENT { return nil }
        throw error
      }
    }

    fileprivate func end(_ identifier: UInt64) {
      state.withLock { state in
        guard let watch = state.watches.removeValue(forKey: identifier) else { return }
        release(watch.directory, in: state)
        if let file = watch.file { release(file, in: state) }
      }
    }

    /// One kernel watch serves all watches of the same file. It is removed with the last of them.
    private func release(_ number: Int32, in state: borrowing State) {
      let isNeeded = state.watches.values.contains { $0.directory == number || $0.file == number }
      if !isNeeded { inotify_rm_watch(descriptor, number) }
    }

    private func run() {
      let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 8)
      defer { buffer.deallocate() }
      while true {
        let count = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { return }
        for change in state.withLock({ callbacks(for: UnsafeRawBufferPointer(rebasing: buffer[..<count]), &$0) }) {
          change()
        }
      }
    }

    /// The callbacks of the watches that the events concern, each once.
    private func callbacks(for events: UnsafeRawBufferPointer, _ state: inout State) -> [@Sendable () -> Void] {
      var concerned: Set<UInt64> = []
      forEachEvent(in: events) { number, mask, name in
        for (identifier, watch) in state.watches {
          if watch.file == number, mask & UInt32(IN_IGNORED) == 0 {
            concerned.insert(identifier)
          } else if mask & UInt32(IN_Q_OVERFLOW) != 0 || watch.directory == number && name == watch.name {
            // Where events were lost, another file may have taken the name too.
            concerned.insert(identifier)
            followName(identifier, &state)
          }
        }
      }
      return concerned.compactMap { state.watches[$0]?.change }
    }

    /// Another file may have taken the name, or none may have it now.
    private func followName(_ identifier: UInt64, _ state: inout State) {
      guard let watch = state.watches[identifier] else { return }
      let file = (try? addFile(watch.path)) ?? nil
      state.watches[identifier]?.file = file
      if let before = watch.file, before != file { release(before, in: state) }
    }

    private func forEachEvent(
      in events: UnsafeRawBufferPointer, _ body: (_ number: Int32, _ mask: UInt32, _ name: String) -> Void
    ) {
      let headerSize = MemoryLayout<inotify_event>.size
      var offset = 0
      while offset + headerSize <= events.count {
        let event = events.loadUnaligned(fromByteOffset: offset, as: inotify_event.self)
        let end = offset + headerSize + Int(event.len)
        guard end <= events.count else { return }
        let name = String(decoding: events[(offset + headerSize)..<end].prefix { $0 != 0 }, as: UTF8.self)
        body(event.wd, event.mask, name)
        offset = end
      }
    }
  }

  private final class Token: DiskWatch {
    private let watcher: FileWatcher
    private let identifier: UInt64

    init(watcher: FileWatcher, identifier: UInt64) {
      self.watcher = watcher
      self.identifier = identifier
    }

    deinit { watcher.end(identifier) }
  }
#endif
