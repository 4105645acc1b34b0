import Glibc
import StrataLocks
import Testing

@testable import StrataEngine

@Suite("The real disk")
struct SystemDiskTests {
  private let disk = SystemDisk()

  /// A directory of its own for a test, removed afterwards.
  private func withDirectory<R>(_ body: (String) async throws -> R) async throws -> R {
    let path = "/tmp/strata-disk-\(disk.randomNumber())"
    try disk.makeDirectory(path)
    defer {
      for name in (try? disk.list(path)) ?? [] { try? disk.unlink("\(path)/\(name)") }
      rmdir(path)
    }
    return try await body(path)
  }

  @Test("bytes written are read back, through the file and through its mapping")
  func readsBack() async throws {
    try await withDirectory { directory in
      let file = try disk.open("\(directory)/data", .create)
      let mapping = try #require(try file.map(capacity: 1 << 30))
      try write([1, 2, 3], at: 5, to: file)
      try file.zero(100..<3_000_000)
      try file.sync()
      try disk.syncDirectory(directory)
      #expect(try file.status.size == 3_000_000)
      #expect(try read(10, at: 0, from: file) == [0, 0, 0, 0, 0, 1, 2, 3, 0, 0])
      #expect(try read(10, at: 2_999_996, from: file) == [0, 0, 0, 0])
      #expect(try read(10, at: 4_000_000, from: file) == [])
      #expect(Array(mapping.bytes[5..<8]) == [1, 2, 3])
    }
  }

  @Test("a process with too few addresses gets no mapping, and that is not an error")
  func tooLarge() async throws {
    try await withDirectory { directory in
      let file = try disk.open("\(directory)/data", .create)
      #expect(try file.map(capacity: 1 << 62) == nil)
      #expect(try file.map(capacity: 1 << 20) != nil)
    }
  }

  @Test("a cleared range reads as zeros, and a long one takes no room any more; the file stays as long as it was")
  func clear() async throws {
    try await withDirectory { directory in
      let path = "\(directory)/data"
      let file = try disk.open(path, .create)
      try write([UInt8](repeating: 1, count: 8 << 20), at: 0, to: file)
      func blocks() -> Int {
        var found = stat()
        return stat(path, &found) == 0 ? Int(found.st_blocks) * 512 : -1
      }
      let before = blocks()
      try file.clear(5_000..<6_000)
      #expect(blocks() == before)
      try file.clear(10_001..<(8 << 20) - 3)
      #expect(try file.status.size == 8 << 20)
      #expect(try read(4, at: 9_999, from: file) == [1, 1, 0, 0])
      #expect(try read(4, at: (8 << 20) - 4, from: file) == [0, 1, 1, 1])
      #expect(try read(3, at: 4_999, from: file) == [1, 0, 0])
      // A file system without holes gets zeros.
      if try file.writtenParts(of: 0..<8 << 20).count > 1 { #expect(blocks() < 1 << 20) }
    }
  }

  @Test("a file never gets the number of a standard stream that the process has closed")
  func closedStreams() async throws {
    try await withDirectory { directory in
      _ = await #expect(processExitsWith: .success) { [directory = directory as String] in
        for stream in 0...2 as ClosedRange<Int32> { close(stream) }
        let file = try SystemDisk().open("\(directory)/data", .create)
        let again = try file.reopened()
        let written = (0...2 as ClosedRange<Int32>).map { Glibc.write($0, "x", 1) }
        let size = try (again ?? file).status.size
        precondition(written == [-1, -1, -1] && size == 0)
      }
    }
  }

  @Test("a missing file, a second creation and a path with a zero byte are errors that name the call and the path")
  func errors() async throws {
    try await withDirectory { directory in
      let path = "\(directory)/data"
      #expect(throws: DiskError(operation: "open", path: path, code: ENOENT)) { try disk.open(path, .read) }
      #expect(try disk.status(path) == nil)
      _ = try disk.open(path, .create)
      #expect(throws: DiskError(operation: "open", path: path, code: EEXIST)) { try disk.open(path, .create) }
      #expect(throws: DiskError(operation: "open", path: path + "\0x", code: EINVAL)) {
        try disk.open(path + "\0x", .read)
      }
      let readOnly = try disk.open(path, .read)
      #expect(throws: DiskError(operation: "pwrite", path: path, code: EBADF)) { try write([1], at: 0, to: readOnly) }
      #expect(throws: DiskError(operation: "pwrite", path: path, code: EFBIG)) {
        try write([1], at: .max, to: readOnly)
      }
      #expect(DiskError(operation: "open", path: path, code: ENOENT).description.hasSuffix("No such file or directory"))
      try disk.makeDirectory(directory)
      #expect(throws: DiskError.self) { try disk.makeDirectory(path) }
    }
  }

  @Test("a pipe in the place of a file is an error, and is not waited for")
  func pipe() async throws {
    try await withDirectory { directory in
      let path = "\(directory)/data"
      try #require(mkfifo(path, 0o600) == 0)
      #expect(throws: DiskError(operation: "pread", path: path, code: ESPIPE)) {
        try read(10, at: 0, from: disk.open(path, .read))
      }
      #expect(throws: StorageError.self) { try FileStore.open(at: directory, options: StoreOptions(isReadOnly: true)) }
    }
  }

  #if os(Linux)
    @Test(
      "a file of which another program has a lease is waited for until that is given back",
      .enabled(if: FileReleaseTests.isKnown))
    func lease() async throws {
      try await withDirectory { directory in
        let path = "\(directory)/data"
        try write([1, 2, 3], at: 0, to: disk.open(path, .create))
        // F_SETSIG, F_SETLEASE and F_GETLEASE; the usual signal for who gives back would end the process.
        let (setSignal, setLease, getLease): (Int32, Int32, Int32) = (10, 1024, 1025)
        let holder = open(path, O_RDONLY | O_CLOEXEC)
        defer { close(holder) }
        try #require(fcntl(holder, setSignal, SIGURG) == 0 && fcntl(holder, setLease, F_RDLCK) == 0)
        let isGivenBack = Atomic(false)
        try startThread {
          // It says what the lease is to become as soon as somebody waits for it.
          while fcntl(holder, getLease) == F_RDLCK { sched_yield() }
          isGivenBack.store(true, ordering: .releasing)
          _ = fcntl(holder, setLease, F_UNLCK)
        }
        #expect(try read(3, at: 0, from: disk.open(path, .readWrite)) == [1, 2, 3])
        let wasGivenBack = isGivenBack.load(ordering: .acquiring)
        #expect(wasGivenBack)
      }
    }
  #endif

  @Test("rename replaces the target, list and status see it, the old file lives on while it is open")
  func renames() async throws {
    try await withDirectory { directory in
      let old = try disk.open("\(directory)/data", .create)
      try write([1], at: 0, to: old)
      let new = try disk.open("\(directory)/data.new", .create)
      try write([2, 2], at: 0, to: new)
      #expect(try Set(disk.list(directory)) == ["data", "data.new"])
      try disk.rename("\(directory)/data.new", to: "\(directory)/data")
      #expect(try disk.list(directory) == ["data"])
      #expect(try disk.status("\(directory)/data")?.identity == new.status.identity)
      #expect(try disk.status("\(directory)/data")?.size == 2)
      #expect(try disk.status(directory)?.isDirectory == true)
      #expect(try read(9, at: 0, from: old) == [1])
    }
  }

  @Test("a sync reaches the system: what cannot be synced says so")
  func syncsReachTheSystem() async throws {
    try await withDirectory { directory in
      let path = "\(directory)/pipe"
      #expect(mkfifo(path, 0o600) == 0)
      let pipe = try disk.open(path, .readWrite)
      #expect(throws: DiskError(operation: "fdatasync", path: path, code: EINVAL)) { try pipe.sync() }
      // A pipe has no ranges, which the system tells before it tries anything.
      try pipe.writeBack(0..<4096)
      // The kernel's own directory of processes has nothing to make durable.
      #expect(throws: DiskError(operation: "fsync", path: "/proc", code: EINVAL)) { try disk.syncDirectory("/proc") }
    }
  }

  @Test("one open of a file excludes another, and letting it go frees the lock")
  func locks() async throws {
    try await withDirectory { directory in
      var first: (any DiskFile)? = try disk.open("\(directory)/lock", .create)
      let second = try disk.open("\(directory)/lock", .readWrite)
      let reader = try disk.open("\(directory)/lock", .read)
      #expect(try first?.tryLock() == true)
      #expect(try first?.isLockedElsewhere() == false)
      #expect(try second.tryLock() == false)
      #expect(try second.isLockedElsewhere())
      #expect(try reader.isLockedElsewhere())
      // An open and close of the same file in the process must not drop it, as it does with POSIX locks.
      _ = try disk.open("\(directory)/lock", .readWrite)
      #expect(try second.tryLock() == false)
      try first?.unlock()
      #expect(try second.tryLock())
      try second.unlock()
      #expect(try first?.tryLock() == true)
      first = nil
      #expect(try second.tryLock())
    }
  }

  @Test("a watch tells of new contents, of another file taking the name, and of that one's contents")
  func watches() async throws {
    try await withDirectory { directory in
      let path = "\(directory)/data"
      let file = try disk.open(path, .create)
      let neighbour = try disk.open("\(directory)/other", .create)
      let (changes, told) = AsyncStream.makeStream(of: Void.self)
      var watch: (any DiskWatch)? = try disk.watch(path) { told.yield() }
      var next = changes.makeAsyncIterator()
      try write([1], at: 0, to: neighbour)
      try write([1], at: 0, to: file)
      await next.next()
      try disk.rename("\(directory)/other", to: path)
      await next.next()
      // The new file is followed from the moment its arrival has been told.
      try write([2], at: 0, to: neighbour)
      await next.next()
      // A second watch of the same file outlives the first.
      let (others, otherTold) = AsyncStream.makeStream(of: Void.self)
      let other = try disk.watch(path) { otherTold.yield() }
      watch = nil
      try write([3], at: 0, to: neighbour)
      var nextOther = others.makeAsyncIterator()
      await nextOther.next()
      withExtendedLifetime((watch, other)) {}
    }
  }

  #if os(Linux)
    @Test("a watch of a folder reports the names in it, and not what is written to its files")
    func watchedFolder() async throws {
      try await withDirectory { directory in
        let (inner, last) = ("\(directory)/inner", "\(directory)/last")
        try disk.makeDirectory(inner)
        let (file, end) = (try disk.open("\(inner)/data", .create), try disk.open(last, .create))
        let count = Atomic(0)
        let watch = try disk.watch(inner) { count.add(1, ordering: .relaxed) }
        let (changes, told) = AsyncStream.makeStream(of: Void.self)
        let lastWatch = try disk.watch(last) { told.yield() }
        var next = changes.makeAsyncIterator()
        /// Returns what is reported of a change. The second report of another file comes after all calls that belong to earlier events.
        func reports(of change: () throws -> Void) async throws -> Int {
          let before = count.load(ordering: .relaxed)
          try change()
          for _ in 0..<2 {
            try write([1], at: 0, to: end)
            await next.next()
          }
          return count.load(ordering: .relaxed) - before
        }
        // If the system's queue runs over, as another test has it, every watch reports once.
        var isQuiet = false
        for _ in 0..<20 where !isQuiet { isQuiet = try await reports { try write([1], at: 0, to: file) } == 0 }
        #expect(isQuiet)
        #expect(try await reports { _ = try disk.open("\(inner)/new", .create) } > 0)
        withExtendedLifetime((watch, lastWatch)) {}
      }
    }

    @Test("a watch follows a name whose new file came while more happened than the system queues")
    func lostEvents() async throws {
      try await withDirectory { directory in
        let path = "\(directory)/data"
        let names = [path, "\(directory)/newer", "\(directory)/noise", "\(directory)/quiet"]
        let files = try names.map { try disk.open($0, .create) }
        let (begins, ends) = (Signal(), Signal())
        let count = Atomic(0)
        let watch = try disk.watch(path) {
          begins.fire()
          ends.wait()
          count.add(1, ordering: .relaxed)
        }
        let noise = try disk.watch(names[2]) {}
        let (changes, told) = AsyncStream.makeStream(of: Void.self)
        let quiet = try disk.watch(names[3]) { told.yield() }
        var next = changes.makeAsyncIterator()
        try write([1], at: 0, to: files[0])
        begins.wait()
        for _ in 0..<20_000 { for file in [files[0], files[2]] { try write([1], at: 0, to: file) } }
        try disk.rename(names[1], to: path)
        ends.fire()
        // The quiet file reports only the loss. Its later events come after all earlier ones.
        await next.next()
        try write([1], at: 0, to: files[3])
        await next.next()
        let before = count.load(ordering: .relaxed)
        try write([2], at: 0, to: files[1])
        for _ in 0..<2 {
          try write([2], at: 0, to: files[3])
          await next.next()
        }
        #expect(count.load(ordering: .relaxed) > before)
        withExtendedLifetime((watch, noise, quiet)) {}
      }
    }
  #endif

  @Test("watching in a directory that is not there is an error")
  func watchWithoutDirectory() {
    #expect(throws: DiskError.self) { try disk.watch("/nonexistent-\(disk.randomNumber())/data") {} }
  }

  @Test("interrupted and short calls are carried on until all is done; other failures are told")
  func interference() async throws {
    try await withDirectory { directory in
      let calls = Atomic(0)
      let torn = SystemDisk { _ in
        calls.add(1, ordering: .relaxed).newValue.isMultiple(of: 2) ? .short : .failure(EINTR)
      }
      let bytes = (0..<10_000).map { UInt8(truncatingIfNeeded: $0 / 3) }
      let file = try torn.open("\(directory)/data", .create)
      try write(bytes, at: 3, to: file)
      try file.sync()
      #expect(try read(20_000, at: 3, from: file) == bytes)
      #expect(calls.load(ordering: .relaxed) > 20)
      let failing = SystemDisk { $0 == "fdatasync" ? .failure(EIO) : .usual }
      let other = try failing.open("\(directory)/data", .readWrite)
      #expect(throws: DiskError(operation: "fdatasync", path: "\(directory)/data", code: EIO)) { try other.sync() }
      // Whatever its number, an error of bringing bytes to the disk is told once only, so it is told here.
      for code in [EIO, EINVAL, EPERM] {
        let failing = SystemDisk { $0 == "sync_file_range" ? .failure(code) : .usual }
        let file = try failing.open("\(directory)/data", .readWrite)
        #expect(throws: DiskError(operation: "sync_file_range", path: "\(directory)/data", code: code)) {
          try file.writeBack(0..<4096)
        }
      }
    }
  }
}
