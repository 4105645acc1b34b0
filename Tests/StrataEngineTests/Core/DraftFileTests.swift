import StrataLocks
import Testing

@testable import StrataEngine

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A disk that lets something happen before a file is opened or gets another name.
private final class NamesHookedDisk: ForwardingDisk {
  typealias Hook = @Sendable (_ path: String) throws -> Void
  let base: any Disk
  let beforeCreating = Mutex<Hook?>(nil)
  let beforeRenaming = Mutex<Hook?>(nil)
  let afterRenaming = Mutex<Hook?>(nil)

  init(_ base: any Disk = MemoryDisk()) { self.base = base }

  func open(_ path: String, _ mode: OpenMode) throws(DiskError) -> any DiskFile {
    if mode == .create { once(beforeCreating, path) }
    return try base.open(path, mode)
  }

  func rename(_ source: String, to target: String) throws(DiskError) {
    once(beforeRenaming, source)
    try base.rename(source, to: target)
    once(afterRenaming, target)
  }

  private func once(_ hook: borrowing Mutex<Hook?>, _ path: String) {
    let body = hook.withLock { hook in
      defer { hook = nil }
      return hook
    }
    do { try body?(path) } catch { Issue.record(error) }
  }
}

/// A disk with a folder that may be searched and written to, but not opened.
private final class ClosedFolderDisk: ForwardingDisk {
  let base: any Disk = MemoryDisk()

  func open(_ path: String, _ mode: OpenMode) throws(DiskError) -> any DiskFile { try base.open(path, mode) }

  func syncDirectory(_ path: String) throws(DiskError) {
    if path == "closed" { throw DiskError(operation: "open", path: path, code: EACCES) }
  }
}

@Suite("Files that are being written beside the data")
struct DraftFileTests {
  private static let busy = StorageError.busy(what: "someone else is writing store/data.compact")

  private func store(on disk: any Disk, commits: Int = 20) throws -> FileStore {
    let store = try FileStore.create(at: "store", options: StoreOptions(), disk: disk)
    try store.change { try $0.createTree(people, kind: .records) }
    for number in 1..<commits { try store.change { try $0.put(key(number % 5), bytes("\(number)"), in: people) } }
    return store
  }

  @Test("one that compacts while another does is refused, and leaves that one's work alone")
  func twoCompactors() throws {
    let disk = MemoryDisk()
    let first = try store(on: disk)
    let second = try FileStore.open(at: "store", options: StoreOptions(), disk: disk)
    var outcome: StorageError?
    var isSame = false
    let report = try first.compact(.last(2)) { _ in
      guard outcome == nil else { return true }
      first.releaseLock()
      let draft = try? disk.status("store/data.compact")?.identity
      outcome = #expect(throws: StorageError.self) { try second.compact(.last(1)) }
      isSame = (try? disk.status("store/data.compact")?.identity) == draft
      second.releaseLock()
      return true
    }
    #expect(outcome == Self.busy)
    #expect(isSame)
    #expect(report.commitsKept == 2)
    #expect(try disk.status("store/data.compact") == nil)
    try first.change { try $0.put(key(9), bytes("after"), in: people) }
    try first.close()
    #expect(try FileStore.verify(at: "store", disk: disk).isClean)
  }

  @Test("a compaction's file is nobody else's until it has its name")
  func lockedUntilNamed() throws {
    let disk = NamesHookedDisk()
    let store = try store(on: disk)
    let wasTaken = Mutex<Bool?>(nil)
    disk.beforeRenaming.withLock { hook in
      hook = { path in
        let other = try disk.open(path, .readWrite)
        wasTaken.withLock { $0 = (try? other.tryLock()) ?? true }
      }
    }
    _ = try store.compact(.last(1))
    #expect(wasTaken.withLock { $0 } == false)
    // What is the data now is nobody's draft, and locked by the one that writes it.
    #expect(try !disk.open("store/data", .readWrite).tryLock())
    store.releaseLock()
    #expect(try disk.open("store/data", .readWrite).tryLock())
    _ = try store.compact(.all)
    try store.close()
  }

  @Test(
    "a commit whose sync is under way while a compaction gives its file the data's name is durable, and no file was replaced"
  )
  func syncDuringRename() throws {
    let hooked = HookedDisk()
    let disk = NamesHookedDisk(hooked)
    let store = try store(on: disk)
    let (begins, goesOn, ended) = (Signal(), Signal(), Signal())
    let isFirst = Mutex(true)
    hooked.hooks.withLock { hooks in
      hooks.sync = {
        let isHeldBack = isFirst.withLock { isFirst in
          defer { isFirst = false }
          return isFirst
        }
        guard isHeldBack else { return }
        begins.fire()
        goesOn.wait()
      }
    }
    disk.afterRenaming.withLock { hook in hook = { _ in goesOn.fire() } }
    let failure = Mutex<(any Error)?>(nil)
    try startThread {
      do { try store.change { try $0.put(key(9), bytes("meanwhile"), in: people) } } catch {
        failure.withLock { $0 = error }
      }
      ended.fire()
    }
    begins.wait()
    _ = try store.compact(.last(1))
    ended.wait()
    #expect(failure.withLock { $0 } == nil)
    try store.change { try $0.put(key(8), bytes("after"), in: people) }
    #expect(try store.head.text(key(9)) == "meanwhile")
    try store.close()
    #expect(try FileStore.verify(at: "store", disk: hooked).isClean)
  }

  @Test("one who opened a draft that has become the data meanwhile does not take it for what was left over")
  func becameData() throws {
    let disk = MemoryDisk()
    let draft = try DraftFile.make("data.compact", on: disk)
    #expect(throws: StorageError.busy(what: "someone else is writing data.compact")) {
      try DraftFile.make("data.compact", on: disk)
    }
    let hooked = OpeningDisk(disk) { try? disk.rename("data.compact", to: "data") }
    try draft.file.unlock()
    #expect(try DraftFile.taking("data.compact", on: hooked) == nil)
    #expect(try disk.status("data") != nil)
    draft.discard()
    #expect(try disk.status("data") != nil)
  }

  /// Does something after each open, before who opened looks at what it has.
  private final class OpeningDisk: ForwardingDisk {
    let base: any Disk
    private let body: @Sendable () -> Void

    init(_ base: any Disk, _ body: @escaping @Sendable () -> Void) {
      self.base = base
      self.body = body
    }

    func open(_ path: String, _ mode: OpenMode) throws(DiskError) -> any DiskFile {
      let file = try base.open(path, mode)
      body()
      return file
    }
  }

  @Test(
    "a draft that somebody put another file in the place of is neither given the data's name nor is that file taken away"
  )
  func replacedDraft() throws {
    let disk = MemoryDisk()
    let store = try store(on: disk)
    let data = try disk.status("store/data")?.identity
    var other: FileIdentity?
    let error = #expect(throws: StorageError.self) {
      try store.compact(.last(1)) { _ in
        guard other == nil else { return true }
        try? disk.unlink("store/data.compact")
        other = try? disk.open("store/data.compact", .create).status.identity
        return true
      }
    }
    #expect(error == .busy(what: "someone has taken store/data.compact away"))
    #expect(try disk.status("store/data.compact")?.identity == other)
    #expect(try disk.status("store/data")?.identity == data)
    try store.change { try $0.put(key(9), bytes("after"), in: people) }
    // Nobody works at it: the next compaction takes its place.
    #expect(try store.compact(.last(1)).commitsKept == 1)
    try store.close()
    #expect(try FileStore.verify(at: "store", disk: disk).isClean)
  }

  @Test("of two that make a store in one place at once, the later one finds the first one's and does not write over it")
  func twoCreators() throws {
    let disk = NamesHookedDisk()
    let identity = Mutex<FileIdentity?>(nil)
    disk.beforeCreating.withLock { hook in
      hook = { path in
        #expect(path == "store/data.new")
        try self.store(on: disk.base, commits: 3).close()
        identity.withLock { $0 = try? disk.base.status("store/data")?.identity }
      }
    }
    #expect(throws: StorageError.alreadyExists(path: "store")) {
      try FileStore.create(at: "store", options: StoreOptions(), disk: disk)
    }
    #expect(try disk.status("store/data")?.identity == identity.withLock { $0 })
    #expect(try disk.status("store/data.new") == nil)
    #expect(try FileStore.open(at: "store", options: StoreOptions(), disk: disk).head.commit.number == 3)

    // As long as the first is at it, its file is not taken for what a crash has left.
    let other = NamesHookedDisk()
    other.beforeRenaming.withLock { hook in
      hook = { path in
        #expect(throws: StorageError.busy(what: "someone else is writing store/data.new")) {
          try DraftFile.make(path, on: other)
        }
      }
    }
    try store(on: other).close()
    #expect(try FileStore.verify(at: "store", disk: other).isClean)
  }

  @Test("of many that make a store in one place at once, one makes it, and all write to it")
  func manyCreators() throws {
    let folder = TemporaryFolder()
    var options = StoreOptions()
    // However long the others take.
    options.lockPatience = 3600
    for round in 0..<8 {
      let (path, count) = (folder.path + "/new/\(round).strata", 6)
      let outcomes = Mutex<[Result<UInt64?, StorageError>]>([])
      let ends = try (0..<count).map { [options] creator in
        let end = Signal()
        try startThread {
          let outcome = Result { () throws(StorageError) in
            let store = try FileStore.openOrCreate(at: path, options: options)
            let number = try store.write(CommitInfo(action: "\(creator)")) { transaction throws(StorageError) in
              if try transaction.tree(people) == nil { try transaction.createTree(people, kind: .records) }
              try transaction.put(key(creator), bytes("x"), in: people)
            }
            try store.close()
            return try number.get()
          }
          outcomes.withLock { $0.append(outcome) }
          end.fire()
        }
        return end
      }
      for end in ends { end.wait() }
      let numbers = try outcomes.withLock { try $0.compactMap { try $0.get() } }
      #expect(numbers.sorted() == Array(1...UInt64(count)))
      let store = try FileStore.open(at: path, options: StoreOptions())
      #expect(try store.head.tree(people)?.entryCount == UInt64(count))
      #expect(try SystemDisk().list(path).sorted() == ["data", "lock"])
    }
  }

  @Test("a store is made in a folder that may not be opened, as a sandbox has them above what a person has chosen")
  func closedFolder() throws {
    let disk = ClosedFolderDisk()
    let store = try FileStore.create(at: "closed/store", options: StoreOptions(), disk: disk)
    try store.change { try $0.createTree(people, kind: .records) }
    try store.close()
    #expect(try FileStore.open(at: "closed/store", options: StoreOptions(), disk: disk).head.number == 1)
  }

  @Test("a store that cannot be made leaves no folder behind, and the reason is told")
  func failedCreation() throws {
    let folder = TemporaryFolder()
    let name = String(repeating: "n", count: 100)
    let deep = folder.path + String(repeating: "/" + name, count: 45)
    let long = folder.path + "/a/b/" + String(repeating: "n", count: 300)
    for path in [deep, long] {
      let error = #expect(throws: StorageError.self) { try FileStore.openOrCreate(at: path, options: StoreOptions()) }
      #expect("\(error as Any)".contains("File name too long"))
    }
    #expect(symlink(folder.path + "/nowhere", folder.path + "/link") == 0)
    for path in ["/link", "/link/store"] {
      #expect(throws: StorageError.danglingLink(path: folder.path + "/link")) {
        try FileStore.openOrCreate(at: folder.path + path, options: StoreOptions())
      }
    }
    #expect(try SystemDisk().list(folder.path) == ["link"])
  }
}
