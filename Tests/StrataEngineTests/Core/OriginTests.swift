import Testing

@testable import StrataEngine

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A commit's lasting identity is its origin and its number there: whatever is done with a store's files, no two commits get the same.
@Suite("Copies and identities")
struct OriginTests {
  private let folder = TemporaryFolder()

  /// What each commit is, by its identity: told by its action, which is different in each.
  private func remember(_ store: FileStore, in all: inout [[UInt64]: String], _ place: String) throws {
    for number in 1...store.head.commit.number {
      let commit = try store.commit(number)
      let before = all.updateValue(commit.action, forKey: [commit.origin, commit.originNumber])
      #expect(before == nil || before == commit.action, "\(place): \(commit.action) is also \(before ?? "")")
    }
  }

  /// Commits a few times under names that no other commit has.
  private func write(_ name: String, _ count: Int = 3, closes: Bool = true) throws -> FileStore {
    let path = folder.store("A")
    let store =
      FileStore.exists(at: path, disk: SystemDisk())
      ? try FileStore.open(at: path, options: StoreOptions()) : try FileStore.create(at: path, options: StoreOptions())
    for number in 0..<count {
      try store.change(CommitInfo(action: "\(name) \(number)")) { transaction in
        if try transaction.tree(people) == nil { try transaction.createTree(people, kind: .records) }
        try transaction.put(key(number), bytes(name), in: people)
      }
    }
    if closes { try store.close() }
    return store
  }

  /// Copies a store's files as `cp` does: over what is there, into the same files.
  private func copy(_ source: String, to target: String, lock: Bool = true) throws {
    mkdir(folder.store(target), 0o777)
    for name in lock ? ["data", "lock"] : ["data"] {
      let from = try SystemDisk().open(folder.store(source) + "/" + name, .read)
      let block = MemoryBlock(count: Int(try from.status.size))
      _ = try from.read(into: block.bytes, at: 0)
      let descriptor = open(folder.store(target) + "/" + name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
      #expect(descriptor >= 0 && pwrite(descriptor, block.bytes.baseAddress, block.bytes.count, 0) == block.bytes.count)
      close(descriptor)
    }
  }

  private func remove(_ name: String) {
    for file in ["data", "lock", "activity"] { unlink(folder.store(name) + "/" + file) }
    rmdir(folder.store(name))
  }

  private func move(_ source: String, to target: String) {
    #expect(rename(folder.store(source), folder.store(target)) == 0)
  }

  /// Waits, working, until the clock of file changes has moved on since a file was last changed: what one person does after another.
  private func letTimePass() throws {
    let path = folder.store("A") + "/data"
    guard let before = try SystemDisk().status(path)?.changed else { return }
    let probe = folder.path + "/clock"
    while try SystemDisk().status(probe)?.changed ?? 0 <= before {
      unlink(probe)
      close(open(probe, O_WRONLY | O_CREAT | O_CLOEXEC, 0o644))
    }
    unlink(probe)
  }

  enum Way: String, CaseIterable, Sendable {
    case withLock = "copied with its lock file"
    case withoutLock = "copied without its lock file"
    case whileOpen = "copied while it is open and locked"
    case renamedBack = "renamed, copied back, and both written"
    case copiedOver = "an older copy written over it, lock and all"
    case copiedOverWithoutLock = "an older copy of its data written over it"
    case removedAndRestored = "removed, and an older copy put in its place, lock and all"
    case copiedOverWhileReleased = "an older copy written over it while it is open and nobody holds its lock"
  }

  @Test("no two commits get one identity", arguments: Way.allCases)
  func identities(_ way: Way) throws {
    var all: [[UInt64]: String] = [:]
    _ = try write("base")
    let letsOthersIn = way == .whileOpen
    let open = letsOthersIn ? try write("open", closes: false) : nil
    try copy("A", to: "B", lock: way != .withoutLock && way != .copiedOverWithoutLock)
    try open?.close()
    try remember(write("first of A"), in: &all, "A")
    try letTimePass()
    switch way {
    case .withLock, .withoutLock, .whileOpen: break
    case .renamedBack:
      move("A", to: "C")
      try copy("C", to: "A")
    case .copiedOver, .copiedOverWithoutLock:
      try copy("A", to: "C")
      try copy("B", to: "A", lock: way == .copiedOver)
    case .removedAndRestored:
      try copy("A", to: "C")
      remove("A")
      try copy("B", to: "A")
    case .copiedOverWhileReleased:
      try copy("A", to: "C")
      try copy("B", to: "A")
      let store = try write("released", closes: false)
      store.releaseLock()
      try copy("A", to: "D")
      try store.change(CommitInfo(action: "seen by D not")) { try $0.put(key(9), bytes("x"), in: people) }
      store.releaseLock()
      try remember(store, in: &all, "A")
      try store.close()
      try letTimePass()
      try copy("D", to: "A")
    }
    try remember(write("second of A"), in: &all, "A")
    // The same is then done to each of the copies.
    for name in ["B", "C", "D"] where FileStore.exists(at: folder.store(name), disk: SystemDisk()) {
      try letTimePass()
      move("A", to: "aside")
      move(name, to: "A")
      try remember(write("of \(name)"), in: &all, name)
      move("A", to: name)
      move("aside", to: "A")
    }
  }

  @Test("a store that was let go of and is written again, by this process or another one, keeps its origin")
  func origin() throws {
    let store = try write("first", closes: false)
    let origin = store.head.commit.origin
    for _ in 0..<3 {
      store.releaseLock()
      try store.change { try $0.put(key(1), bytes("again"), in: people) }
      #expect(store.head.commit.origin == origin)
    }
    try store.close()
    #expect(try write("second").head.commit.origin == origin)
  }
}
