import Glibc
import StrataLocks
import StrataEngine
import Testing

/// A writer in another process, and what this one sees of it.
@Suite("Two processes")
struct TwoProcessTests {
  /// Where the other process tells what it has promised, and waits until it may end.
  private struct Board: Sendable {
    let directory: String

    var promised: UInt64 {
      let descriptor = open("\(directory)/promised", O_RDONLY | O_CLOEXEC)
      defer { if descriptor >= 0 { close(descriptor) } }
      var number: UInt64 = 0
      pread(descriptor, &number, 8, 0)
      return number
    }

    func promise(_ number: UInt64) {
      let descriptor = open("\(directory)/promised", O_WRONLY | O_CREAT | O_CLOEXEC, 0o644)
      defer { close(descriptor) }
      var number = number
      pwrite(descriptor, &number, 8, 0)
    }

    func make() -> Bool { mkfifo("\(directory)/end", 0o600) == 0 }

    /// Holds the thread until the other side lets it go, or is gone.
    func waitForEnd() {
      let descriptor = open("\(directory)/end", O_RDONLY | O_CLOEXEC)
      defer { close(descriptor) }
      var byte: UInt8 = 0
      Glibc.read(descriptor, &byte, 1)
    }

    func end() {
      // Also for writing, so that it does not wait for a reader that has died.
      let descriptor = open("\(directory)/end", O_RDWR | O_CLOEXEC)
      var byte: UInt8 = 1
      Glibc.write(descriptor, &byte, 1)
    }
  }

  /// Commits 400 times, with two compactions in between that keep everything; then waits, holding the lock, until it may end.
  private static func write(_ path: String, _ board: Board) throws {
    var options = StoreOptions(program: "counting")
    options.idleSeconds = 3600
    let store = try FileStore.create(at: path, options: options)
    for number in 1...400 as ClosedRange<UInt64> {
      let transaction = try store.beginBlocking()
      if number == 1 { try transaction.createTree(CountingWriter.tree, kind: .records, attributes: []) }
      try transaction.put(
        CountingWriter.bytes(number % CountingWriter.keys), CountingWriter.bytes(number), in: CountingWriter.tree)
      try transaction.commit(CommitInfo(action: "count to \(number)"))?.wait()
      board.promise(number)
      if number == 150 || number == 300 { _ = try store.compact(.all) }
    }
    board.waitForEnd()
    try store.close()
  }

  /// Looks each time it is told of a change, and only then; ends when the 400th commit was seen.
  private final class Follower: Sendable {
    struct State {
      var seen: UInt64 = 0
      var looks = 0
      var generations: Set<UInt64> = []
      var failure: String?
    }

    let store: FileStore
    let board: Board
    let state = Mutex(State())
    let steps: AsyncStream<Void>.Continuation

    init(_ store: FileStore, _ board: Board, _ steps: AsyncStream<Void>.Continuation) {
      self.store = store
      self.board = board
      self.steps = steps
    }

    func look() {
      state.withLock { state in
        guard state.failure == nil, state.seen < 400 else { return }
        do {
          let promised = board.promised
          _ = try store.refresh()
          let newest = try CountingWriter.check(store)
          guard newest >= promised else { throw Disagreement(description: "\(promised) was told, \(newest) is seen") }
          guard newest >= state.seen else { throw Disagreement(description: "\(newest) after \(state.seen)") }
          // None is lost: all that came since the last look, in order.
          for number in state.seen..<newest {
            let commit = try store.commit(number + 1)
            guard commit.action == "count to \(number + 1)", commit.parents == (number == 0 ? [] : [number]) else {
              throw Disagreement(description: "commit \(number + 1) is \(commit.action), on \(commit.parents)")
            }
          }
          state.seen = newest
          state.looks += 1
          state.generations.insert(store.identity.generation)
        } catch {
          state.failure = "\(error)"
        }
        if state.failure != nil || state.seen == 400 { steps.finish() }
      }
    }
  }

  @Test(
    "a reader follows another process's writer through 400 commits and two compactions: whole commits, in order, none lost; a second writer is told who the first one is"
  )
  func following() async throws {
    let disk = SystemDisk()
    let directory = "/tmp/strata-two-\(disk.randomNumber())"
    try disk.makeDirectory(directory)
    defer { removeStore(directory) }
    let path = "\(directory)/counted.strata"
    let board = Board(directory: directory)
    #expect(board.make())
    async let writer = #expect(processExitsWith: .success) { [path = path as String, directory = directory as String] in
      try TwoProcessTests.write(path, Board(directory: directory))
    }
    try await arrival(of: path, in: directory, disk)

    let (steps, continuation) = AsyncStream.makeStream(of: Void.self)
    let reader = try FileStore.open(at: path, options: StoreOptions(isReadOnly: true))
    let follower = Follower(reader, board, continuation)
    let watch = try reader.follow { follower.look() }
    follower.look()
    for await _ in steps {}
    let state = follower.state.withLock { $0 }
    #expect(state.failure == nil)
    #expect(state.seen == 400)
    #expect(state.generations.contains(3))
    #expect(reader.head.commit.number == 400)

    // The other process still holds the lock.
    let second = try FileStore.open(at: path, options: StoreOptions(lockPatience: 0.01))
    let refusal = #expect(throws: StorageError.self) { try second.beginBlocking() }
    guard case .locked(let hold)? = refusal else {
      Issue.record("refused with \(String(describing: refusal))")
      board.end()
      _ = await writer
      return
    }
    #expect(hold.program == "counting")
    #expect(hold.processIdentifier != getpid() && kill(hold.processIdentifier, 0) == 0)
    #expect(refusal?.description == "held by counting (pid \(hold.processIdentifier))")
    #expect(reader.writer == hold)
    board.end()
    _ = await writer
    #expect(reader.writer == nil)
    let transaction = try second.beginBlocking()
    #expect(transaction.base.number == 400)
    transaction.cancel()
    #expect(try FileStore.verify(at: path, disk: disk).findings.isEmpty)
    withExtendedLifetime(watch) {}
  }

  /// Waits until the other process has made its store, without asking again and again.
  private func arrival(of path: String, in directory: String, _ disk: SystemDisk) async throws {
    let (changes, told) = AsyncStream.makeStream(of: Void.self)
    let first = try disk.watch(path) { told.yield() }
    var inner: (any DiskWatch)?
    var next = changes.makeAsyncIterator()
    while !FileStore.exists(at: path, disk: disk) {
      if inner == nil, try disk.status(path) != nil {
        inner = try disk.watch(path + "/data") { told.yield() }
        continue
      }
      guard await next.next() != nil else { throw Disagreement(description: "no store came") }
    }
    withExtendedLifetime((first, inner)) {}
  }

  @Test("the lock of a writer that was killed is free, and the next writer goes on from what it had promised")
  func killedWriter() async throws {
    let disk = SystemDisk()
    let directory = "/tmp/strata-two-\(disk.randomNumber())"
    try disk.makeDirectory(directory)
    defer { removeStore(directory) }
    let path = "\(directory)/counted.strata"
    await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
      try CountingWriter.run(path) { number, _ in if number == 7 { kill(getpid(), SIGKILL) } }
    }
    let reader = try FileStore.open(at: path, options: StoreOptions(isReadOnly: true))
    #expect(reader.writer == nil)
    #expect(try CountingWriter.check(reader) >= 7)
    let store = try FileStore.open(at: path, options: StoreOptions(lockPatience: 0))
    let transaction = try store.beginBlocking()
    #expect(transaction.base.number >= 7)
    #expect(reader.writer?.processIdentifier == getpid())
    transaction.cancel()
    try store.close()
  }
}
