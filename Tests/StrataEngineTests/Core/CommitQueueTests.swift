import DiskSimulation
import Testing

@testable import StrataEngine

@Suite("The queue of commits, as a value")
struct CommitQueueTests {
  private typealias Queue = CommitQueue<String>
  private let broken = StorageError.poisoned(cause: DiskError(operation: "fdatasync", path: "data", code: 5))

  /// A queue in which commits 1 to `appended` were written and none is durable.
  private func queue(appended: UInt64 = 3) -> Tested {
    let tested = Tested()
    tested.queue.append(appended)
    return tested
  }

  /// A reference, because an expectation cannot change what it looks at.
  private final class Tested {
    var queue = Queue(durable: 0)
  }

  @Test("one that is alone leads at once; those that come during its sync sleep, and one of them leads the next")
  func sharing() {
    let it = queue(appended: 1)
    #expect(it.queue.wait(for: 1, gathers: true, asleep: "a") == .sync)
    it.queue.append(3)
    #expect(it.queue.wait(for: 2, gathers: true, asleep: "b") == .sleep)
    #expect(it.queue.wait(for: 3, gathers: true, asleep: "c") == .sleep)
    it.queue.checkInvariants()
    // The sync that had begun says nothing about what came after.
    let woken = it.queue.synced()
    #expect(it.queue.durable == 1)
    #expect(woken.waiters == ["b"] && !woken.callsThread)
    #expect(it.queue.leadership == .called)
    #expect(it.queue.wait(for: 2, gathers: true, asleep: "b") == .sync)
    #expect(it.queue.synced().waiters == ["c"])
    #expect(it.queue.durable == 3)
    #expect(it.queue.wait(for: 3, gathers: true, asleep: "c") == .durable)
  }

  @Test("a task has the writer's thread lead, once, however many there are")
  func tasks() {
    let it = queue()
    #expect(it.queue.sleep(until: 1, "a")?.callsThread == true)
    #expect(it.queue.sleep(until: 2, "b").map(\.isEmpty) == true)
    #expect(it.queue.leadForSleepers(gathers: true) == .sync)
    #expect(it.queue.leadForSleepers(gathers: true) == nil)
    #expect(it.queue.synced().waiters == ["a", "b"])
    #expect(it.queue.sleep(until: 2, "b").map(\.isEmpty) == nil)
    it.queue.checkInvariants()
  }

  @Test("who leads gathers while another writes, and until the time is over")
  func gathering() {
    let it = queue()
    #expect(it.queue.acquireTurn() == true)
    #expect(it.queue.wait(for: 1, gathers: true, asleep: "a") == .gather(1))
    // The time is over: the same one asks again, and will not wait any more.
    it.queue.endGathering(1)
    #expect(it.queue.wait(for: 1, gathers: false, asleep: "a") == .sync)
  }

  @Test("a transaction that appends nothing, and leaves nobody who writes, wakes the one that gathers")
  func failedTransaction() {
    for willWait in [false, true] {
      let it = queue()
      #expect(it.queue.acquireTurn() == true)
      #expect(it.queue.sleep(until: 1, "a")?.callsThread == true)
      #expect(it.queue.leadForSleepers(gathers: true) == .gather(1))
      it.queue.waitForTurn("b")
      // Another writes after it, so there is still something to wait for.
      #expect(it.queue.passTurn(willWait: false).wakesGatherer == false)
      // Who waits for its commit wakes the one that gathers by that.
      #expect(it.queue.passTurn(willWait: willWait).wakesGatherer == !willWait)
      if willWait { #expect(it.queue.sleep(until: 3, "b")?.wakesGatherer == true) }
      it.queue.endGathering(1)
      #expect(it.queue.leadForSleepers(gathers: true) == .sync)
    }
  }

  @Test("a thread that comes when nobody writes any more syncs itself, and the one that gathered sleeps meanwhile")
  func takenOver() {
    let it = queue()
    #expect(it.queue.acquireTurn() == true)
    #expect(it.queue.wait(for: 1, gathers: true, asleep: "a") == .gather(1))
    #expect(it.queue.passTurn(willWait: true).wakesGatherer == false)
    #expect(it.queue.wait(for: 3, gathers: true, asleep: "b") == .sync)
    it.queue.endGathering(1)
    #expect(it.queue.isSyncing)
    #expect(it.queue.wait(for: 1, gathers: true, asleep: "a") == .sleep)
    #expect(it.queue.synced().waiters == ["a"])
  }

  @Test("one that wakes late from gathering does not end what another has begun")
  func lateGatherer() {
    let it = queue()
    #expect(it.queue.acquireTurn() == true)
    #expect(it.queue.wait(for: 1, gathers: true, asleep: "a") == .gather(1))
    #expect(it.queue.wait(for: 1, gathers: false, asleep: "impatient") == .sync)
    _ = it.queue.synced()
    it.queue.append(4)
    #expect(it.queue.wait(for: 4, gathers: true, asleep: "b") == .gather(2))
    it.queue.endGathering(1)
    #expect(it.queue.leadership == .gathering(2))
  }

  @Test("64 that sleep are enough, whoever writes")
  func enough() {
    let it = queue(appended: 100)
    #expect(it.queue.acquireTurn() == true)
    #expect(it.queue.sleep(until: 1, "1")?.callsThread == true)
    #expect(it.queue.leadForSleepers(gathers: true) == .gather(1))
    for number in 2...63 { #expect(it.queue.sleep(until: UInt64(number), "\(number)").map(\.isEmpty) == true) }
    #expect(it.queue.sleep(until: 64, "64")?.wakesGatherer == true)
    it.queue.endGathering(1)
    #expect(it.queue.leadForSleepers(gathers: true) == .sync)
  }

  @Test("one that was called and has what it wants leaves the rest to another")
  func leaving() {
    let it = queue()
    #expect(it.queue.wait(for: 1, gathers: true, asleep: "a") == .sync)
    it.queue.append(9)
    #expect(it.queue.wait(for: 2, gathers: true, asleep: "b") == .sleep)
    #expect(it.queue.sleep(until: 9, "task").map(\.isEmpty) == true)
    #expect(it.queue.synced().waiters == ["b"])
    // A compaction makes all durable that "b" waits for, before it comes to itself.
    #expect(it.queue.madeDurable(8).waiters == [])
    #expect(it.queue.wait(for: 2, gathers: true, asleep: "b") == .durable)
    let woken = it.queue.leave()
    #expect(woken.callsThread)
    it.queue.checkInvariants()
    #expect(it.queue.leadForSleepers(gathers: true) == .sync)
    #expect(it.queue.synced().waiters == ["task"])
  }

  @Test("a leader that was called for nothing keeps nobody from leading later")
  func calledForNothing() {
    let it = queue()
    #expect(it.queue.sleep(until: 1, "a")?.callsThread == true)
    #expect(it.queue.madeDurable(3).waiters == ["a"])
    #expect(it.queue.leadForSleepers(gathers: true) == nil)
    it.queue.append(4)
    #expect(it.queue.sleep(until: 4, "b")?.callsThread == true)
  }

  @Test("a failed sync fails all that sleep and all that come, and the first cause is told")
  func failedSync() {
    let it = queue()
    #expect(it.queue.wait(for: 1, gathers: true, asleep: "a") == .sync)
    #expect(it.queue.sleep(until: 2, "b").map(\.isEmpty) == true)
    #expect(it.queue.synced(broken).waiters == ["b"])
    _ = it.queue.fail(.closed)
    #expect(it.queue.wait(for: 1, gathers: true, asleep: "a") == .failed(broken))
    #expect(it.queue.sleep(until: 2, "b").map(\.isEmpty) == nil)
    it.queue.checkInvariants()
  }

  @Test("an error that is met elsewhere while a sync is under way fails that sync")
  func failedMeanwhile() {
    let it = queue()
    #expect(it.queue.wait(for: 3, gathers: true, asleep: "a") == .sync)
    _ = it.queue.fail(broken)
    _ = it.queue.synced()
    #expect(it.queue.durable == 0)
    #expect(it.queue.wait(for: 3, gathers: true, asleep: "a") == .failed(broken))
  }

  @Test(
    "jobs are done in their order by the one that has the turn, until one comes that it cannot do, or its patience ends"
  )
  func jobs() {
    let it = queue()
    #expect(it.queue.acquireTurn() == true)
    it.queue.waitForTurn("job 0", as: .job)
    it.queue.waitForTurn("job 1", as: .job)
    it.queue.waitForTurn("task")
    it.queue.waitForTurn("job 2", as: .job)
    it.queue.waitForTurn("job 3", as: .job)
    #expect(it.queue.nextJobs(most: 9) == ["job 0", "job 1"])
    // The one behind them is no job: it gets the turn.
    #expect(it.queue.nextJobs(most: 9) == [])
    #expect(it.queue.passTurn(willWait: true).waiters == ["task"])
    #expect(it.queue.passTurn(willWait: true).waiters == ["job 2"])
    #expect(it.queue.nextJobs(most: 0) == [])
    #expect(it.queue.passTurn(willWait: true).waiters == ["job 3"])
    #expect(it.queue.nextJobs(most: 9) == nil)
    #expect(it.queue.turns.isTaken)
  }

  @Test(
    "the turn is given to no task that waits for a thread: all of those are woken, and one that runs takes it meanwhile"
  )
  func running() {
    let it = queue()
    #expect(it.queue.acquireTurn() == true)
    for name in ["a", "b"] { it.queue.waitForTurn(name, as: .running) }
    let passed = it.queue.passTurn(willWait: true)
    #expect(passed.running == ["a", "b"] && passed.waiters.first == nil)
    #expect(it.queue.turns.isTaken == false && it.queue.turns.count == 0)
    #expect(it.queue.acquireTurn() == true)
    // One that waits for certain has it all the same, behind them or before.
    it.queue.waitForTurn("a", as: .running)
    it.queue.waitForTurn("thread")
    it.queue.waitForTurn("b", as: .running)
    let handed = it.queue.passTurn(willWait: true)
    #expect(handed.running == ["a"] && handed.waiters.first == "thread" && it.queue.turns.isTaken)
    #expect(it.queue.passTurn(willWait: true).running == ["b"])
  }

  @Test(
    "who is cancelled or refused leaves the queue of those that wait for the turn, and the others keep their places")
  func leavingTurn() {
    let it = queue()
    #expect(it.queue.acquireTurn() == true)
    let tickets = ["a", "b", "c", "thread", "d"].map { it.queue.waitForTurn($0) }
    #expect(it.queue.leaveTurn(tickets[1]) == "b")
    #expect(it.queue.leaveTurn(tickets[1]) == nil)
    #expect(it.queue.passTurn(willWait: true).waiters.first == "a")
    #expect(it.queue.leaveTurn(tickets[0]) == nil)
    #expect(it.queue.refuseTurn { $0 != "thread" } == ["c", "d"])
    #expect(it.queue.turns.count == 1)
    #expect(it.queue.passTurn(willWait: true).waiters.first == "thread")
    #expect(it.queue.passTurn(willWait: true).waiters.first == nil)
    #expect(it.queue.acquireTurn() == true)
  }

  @Test("a turn that is lent serves the transactions of one thread, and of no other")
  func lending() {
    let it = queue()
    #expect(it.queue.acquireTurn(by: 1) == true)
    it.queue.lendTurn(to: 2)
    it.queue.waitForTurn("job", as: .job)
    for _ in 0..<2 {
      #expect(it.queue.acquireTurn(by: 2) == true)
      #expect(it.queue.acquireTurn(by: 3) == false)
      // No job comes between.
      #expect(it.queue.nextJobs(most: 9) == nil)
      // Nobody else writes, so there is nobody to wait for before a sync.
      #expect(it.queue.wait(for: it.queue.appended, gathers: true, asleep: "a") == .sync)
      _ = it.queue.synced()
      it.queue.append(it.queue.appended + 1)
      #expect(it.queue.passTurn(willWait: true).waiters.first == nil)
      #expect(it.queue.turns.isTaken)
    }
    it.queue.endLending()
    #expect(it.queue.acquireTurn(by: 2) == false)
    #expect(it.queue.passTurn(willWait: true).waiters.first == "job")
  }

  @Test("a task does not get the turn that is lent to a thread, whatever thread it seems to run on")
  func lendingBesideTasks() throws {
    let store = try FileStore.create(at: "/store", options: StoreOptions(), disk: MemoryDisk())
    #expect(store.writing.tryAcquireTurn())
    store.writing.lendingTurn { #expect(!store.writing.tryAcquireTurn()) }
    store.writing.passTurn()
    #expect(store.writing.tryAcquireTurn())
    store.writing.passTurn()
  }

  @Test("whatever the order of events, nobody is forgotten and nobody is told what is not so")
  func random() {
    for seed in 0..<300 {
      var random = RandomSource(seed: UInt64(seed))
      var world = World()
      for _ in 0..<400 { world.step(&random) }
      world.finish(&random)
    }
  }

  /// Threads and tasks that write and wait at random, a writer's thread, and a disk that fails now and then.
  private struct World {
    var queue = Queue(durable: 0)
    var turn: String?
    /// Those that were woken to take the turn by themselves.
    var running: [String] = []
    /// What each that is awake waits for, those that sleep, and what those that lead are at.
    var awake: [String: UInt64] = [:]
    var asleep: [String: UInt64] = [:]
    var gathering: [(who: String?, number: UInt64)] = []
    var syncing: String??
    var isThreadCalled = false
    var names = 0

    mutating func step(_ random: inout RandomSource) {
      switch random.next() % 12 {
      case 0...2:
        names += 1
        let name = "\(random.next() % 2 == 0 ? "task" : "thread") \(names)"
        take(name, random.next() % 2 == 0 ? .running : .certain)
      case 3: if let name = running.popLast() { take(name, random.next() % 2 == 0 ? .running : .certain) }
      case 4...5: endTransaction(appends: random.next() % 4 > 0)
      case 6...8: if let name = awake.keys.sorted().first { wait(name, gathers: random.next() % 3 > 0) }
      case 9: if isThreadCalled { leadForSleepers(gathers: random.next() % 3 > 0) }
      case 10: if !gathering.isEmpty { endGathering(random.next() % 2 == 0) }
      default: endSync(fails: random.next() % 50 == 0)
      }
      queue.checkInvariants()
    }

    mutating func endTransaction(appends: Bool) {
      guard let name = turn else { return }
      if appends, queue.failure == nil {
        queue.append(queue.appended + 1)
        awake[name] = queue.appended
      }
      let passed = queue.passTurn(willWait: appends)
      turn = passed.waiters.first
      running += passed.running
    }

    mutating func take(_ name: String, _ claim: Queue.Claim) {
      if queue.acquireTurn() {
        #expect(turn == nil)
        turn = name
      } else {
        queue.waitForTurn(name, as: claim)
      }
    }

    mutating func wait(_ name: String, gathers: Bool) {
      guard let number = awake[name] else { return }
      if name.hasPrefix("task") {
        guard let call = queue.sleep(until: number, name) else { return end(name) }
        awake[name] = nil
        asleep[name] = number
        if call.callsThread { isThreadCalled = true }
        return
      }
      switch queue.wait(for: number, gathers: gathers, asleep: name) {
      case .durable, .failed: end(name)
      case .sleep:
        awake[name] = nil
        asleep[name] = number
      case .gather(let gathering):
        self.gathering.append((name, gathering)); awake[name] = nil; asleep[name] = nil
        led[name] = number
      case .sync:
        #expect(syncing == nil)
        syncing = .some(name)
        led[name] = number
        awake[name] = nil
      }
    }
    var led: [String: UInt64] = [:]

    mutating func end(_ name: String) {
      #expect(queue.failure != nil || queue.durable >= awake[name] ?? 0)
      awake[name] = nil
      if name.hasPrefix("thread") { wake(queue.leave()) }
    }

    mutating func leadForSleepers(gathers: Bool) {
      switch queue.leadForSleepers(gathers: gathers) {
      case .gather(let number): gathering.append((nil, number))
      case .sync:
        #expect(syncing == nil)
        syncing = .some(nil)
      default: isThreadCalled = false
      }
    }

    mutating func endGathering(_ isFirst: Bool) {
      let one = isFirst ? gathering.removeFirst() : gathering.removeLast()
      queue.endGathering(one.number)
      guard let name = one.who else { return leadForSleepers(gathers: false) }
      awake[name] = led.removeValue(forKey: name)
      wait(name, gathers: false)
    }

    mutating func endSync(fails: Bool) {
      guard let leader = syncing else { return }
      syncing = nil
      wake(fails ? queue.synced(.closed) : queue.synced())
      if let leader { awake[leader] = led.removeValue(forKey: leader) } else { isThreadCalled = true }
    }

    mutating func wake(_ woken: Queue.Wakeups) {
      if woken.callsThread { isThreadCalled = true }
      for name in woken.waiters {
        let number = asleep.removeValue(forKey: name)
        #expect(number != nil, "\(name) was woken and did not sleep")
        awake[name] = number
      }
    }

    /// Nobody writes any more: all that wait come to an end.
    mutating func finish(_ random: inout RandomSource) {
      for _ in 0..<10_000
      where !(awake.isEmpty && asleep.isEmpty && led.isEmpty && running.isEmpty && turn == nil && syncing == nil) {
        if let name = running.popLast() { take(name, .certain) }
        if turn != nil { endTransaction(appends: false) }
        for name in awake.keys.sorted() { wait(name, gathers: true) }
        if isThreadCalled { leadForSleepers(gathers: true) }
        if !gathering.isEmpty { endGathering(true) }
        endSync(fails: false)
        queue.checkInvariants()
      }
      #expect(queue.turns.count == 0 && !queue.turns.isTaken)
      #expect(asleep.isEmpty && awake.isEmpty && led.isEmpty, "\(asleep) sleep, \(awake) wait, \(led) lead")
    }
  }
}

extension CommitQueue.Wakeups {
  /// Whether nobody is to be woken.
  fileprivate var isEmpty: Bool { waiters.isEmpty && running.isEmpty && !callsThread && !wakesGatherer }
}
