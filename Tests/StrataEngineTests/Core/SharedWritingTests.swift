import StrataLocks
import Testing

@testable import StrataEngine

@Suite("Threads that write at once")
struct SharedWritingTests {
  private struct Mistake: Error {}
  private typealias Outcome = Result<UInt64?, any Error>

  private func store(on disk: HookedDisk) throws -> FileStore {
    let store = try FileStore.create(at: "store", options: StoreOptions(), disk: disk)
    try store.change { try $0.createTree(people, kind: .records) }
    return store
  }

  /// Eight threads that write while the turn is taken, in a known order; the third does `third` besides.
  private func eight(
    _ store: FileStore, third: @escaping @Sendable (any WriteTransaction) throws -> Void = { _ in }
  ) throws -> [Outcome] {
    let opener = try store.beginBlocking()
    let outcomes = Guarded<[Int: Outcome]>([:])
    var signals: [Signal] = []
    for number in 1...8 {
      let signal = Signal()
      signals.append(signal)
      try startThread {
        let outcome = Outcome {
          try store.write { transaction throws(any Error) in
            try transaction.put(key(number), bytes("\(number)"), in: people)
            if number == 3 { try third(transaction) }
          }.get()
        }
        outcomes.withLock { $0[number] = outcome }
        signal.fire()
      }
      while store.writing.waitingForTurn < number { yieldThread() }
    }
    opener.cancel()
    for signal in signals { signal.wait() }
    return outcomes.withLock { outcomes in (1...8).compactMap { outcomes[$0] } }
  }

  @Test("one of them does the work of all: a commit for each, in the order of the calls, one sync")
  func together() throws {
    let store = try store(on: HookedDisk())
    let before = store.counts
    let outcomes = try eight(store)
    #expect(try outcomes.map { try $0.get() } == (2...9).map { $0 })
    #expect(store.counts.commits - before.commits == 8)
    #expect(store.counts.syncs - before.syncs == 1)
    for number in 1...8 { #expect(try store.head.text(key(number)) == "\(number)") }
  }

  @Test("whose own closure throws fails alone, with its own error")
  func ownFailure() throws {
    let store = try store(on: HookedDisk())
    let outcomes = try eight(store) { _ in throw Mistake() }
    #expect(outcomes.map { (try? $0.get()) != nil } == [true, true, false, true, true, true, true, true])
    #expect(throws: Mistake.self) { try outcomes[2].get() }
    #expect(outcomes.compactMap { try? $0.get() } == Array(2...8))
    #expect(try store.head.text(key(3)) == nil)
  }

  @Test("a full disk fails the one that met it")
  func fullDisk() throws {
    let disk = HookedDisk()
    let store = try store(on: disk)
    let cause = DiskError(operation: "pwrite", path: "store/data", code: MemoryDiskCode.tooLarge)
    let outcomes = try eight(store) { _ in disk.failNextWrite(cause) }
    #expect(throws: StorageError.full(cause)) { try outcomes[2].get() }
    #expect(outcomes.indices.filter { (try? outcomes[$0].get()) == nil } == [2])
    for number in 1...8 { #expect(try store.head.text(key(number)) == (number == 3 ? nil : "\(number)")) }
  }

  @Test("a failed sync fails all, and no one is told that a commit is durable")
  func failedSync() throws {
    let disk = HookedDisk()
    let store = try store(on: disk)
    let cause = DiskError(operation: "fdatasync", path: "store/data", code: 5)
    let outcomes = try eight(store) { _ in
      disk.hooks.withLock { $0.sync = { () throws(DiskError) in throw cause } }
    }
    for outcome in outcomes { #expect(throws: StorageError.poisoned(cause: cause)) { try outcome.get() } }
    #expect(store.head.commit.number == 1)
  }

  @Test("where nothing changed there is no commit")
  func nothing() throws {
    let store = try store(on: HookedDisk())
    #expect(try store.write { _ in }.get() == nil)
    #expect(store.head.commit.number == 1)
  }

  @Test("more threads than one leads, and none is forgotten")
  func manyThreads() throws {
    let store = try store(on: HookedDisk())
    let before = store.counts
    let (threads, each) = (80, 12)
    let numbers = Guarded<[UInt64]>([])
    let signals = (0..<threads).map { _ in Signal() }
    for thread in 0..<threads {
      try startThread {
        for step in 0..<each {
          let number = try? store.write { transaction throws(StorageError) in
            try transaction.put(key(thread * each + step), bytes("x"), in: people)
          }.get()
          if let number = number ?? nil { numbers.withLock { $0.append(number) } }
        }
        signals[thread].fire()
      }
    }
    for signal in signals { signal.wait() }
    #expect(numbers.withLock { $0.sorted() } == (2...UInt64(threads * each + 1)).map { $0 })
    #expect(try store.head.tree(people)?.entryCount == UInt64(threads * each))
    #expect(store.counts.syncs - before.syncs <= UInt64(threads * each))
  }
}

/// What several threads touch, behind a mutex that the thread sanitizer knows.
private final class Guarded<Value>: @unchecked Sendable {
  // `@unchecked`: `value` is only touched while `monitor` is held.
  private let monitor = Monitor()
  private var value: Value

  init(_ value: Value) { self.value = value }

  func withLock<R>(_ body: (inout Value) -> R) -> R { monitor.withLock { body(&value) } }
}
