/// Decides which transaction writes next, and which commits wait for which sync. It does nothing else.
///
/// A value without threads, locks or clocks. Each input is a method, and its result says what the caller has to do. `Writer` keeps the
/// queue of a store behind its monitor: it calls with the monitor held, and wakes the returned waiters after releasing the monitor.
///
/// ```
/// acquireTurn ─▶ has the turn ─▶ appended ─▶ passTurn ─▶ wait ─┬─▶ sleeps ───────────────┬─▶ durable
///     └─▶ waits in order ─┘                                 └─▶ leads: gather ─▶ sync ┘
/// ```
///
/// One of the waiters *leads*: it syncs for all. Before that it *gathers*: it waits for the transactions that are writing at this moment,
/// so that one sync serves them too. A thread leads itself. Tasks must not block a thread of their pool, so the writer's thread leads for
/// them.
///
/// Two things always hold, and the tests check them after every input:
/// * if a waiter sleeps, a leader exists, or a waiter was called to lead and is on its way;
/// * each sleeper waits for a commit that was appended, is not durable, and still may become so.
struct CommitQueue<Waiter> {
  private(set) var turns = TurnOrder<TurnWaiter>()
  /// The thread that the turn is lent to, and how many transactions it has begun in it that have not ended.
  private var lent: (thread: UInt, depth: Int)?
  /// The newest commit whose frame was written, and the newest one that is durable.
  private(set) var appended: UInt64
  private(set) var durable: UInt64
  /// The reason why no further commit becomes durable.
  private(set) var failure: StorageError?
  private(set) var leadership = Leadership.vacant
  private var sleepers: [(number: UInt64, waiter: Waiter, canLead: Bool)] = []
  private var gatherings: UInt64 = 0

  enum Leadership: Equatable {
    case vacant
    /// A waiter was woken to lead and has not arrived yet.
    case called
    /// Numbered, because a leader that wakes late must not end a gathering that another has begun.
    case gathering(UInt64)
    /// The sync will make this commit durable, and all before it.
    case syncing(UInt64)
  }

  typealias TurnWaiter = (waiter: Waiter, claim: Claim)

  /// How a waiter gets the turn.
  enum Claim {
    /// The holder of the turn may make its changes.
    case job
    /// It is given the turn while it waits: a thread, or a task that may be suspended in its turn in any case.
    case certain
    /// It is woken, and takes the turn once it runs if the turn is free then. If a waiting task were given the turn, the turn would stay
    /// unused for as long as other tasks keep the threads of the pool.
    case running
  }

  /// The waiters to wake.
  struct Wakeups {
    /// They have the turn now, or their commits are durable or never will be, or they are to lead.
    var waiters: [Waiter] = []
    /// They take the turn by themselves.
    var running: [Waiter] = []
    /// The writer's thread is to lead.
    var callsThread = false
    /// The gathering leader need not wait longer: no transaction is open, or enough waiters sleep.
    var wakesGatherer = false
  }

  /// The number of sleepers that is enough to begin a sync.
  static var enough: Int { 64 }

  init(durable: UInt64) {
    appended = durable
    self.durable = durable
  }

  // MARK: The turn

  /// Takes the turn if it is free, or if it is lent to the calling thread.
  mutating func acquireTurn(by thread: UInt = 0) -> Bool {
    if turns.acquire() { return true }
    guard let lent, lent.thread == thread else { return false }
    self.lent?.depth += 1
    return true
  }

  /// Lends the turn to a thread: the transactions that the thread begins are a part of the turn. The caller must hold the turn.
  mutating func lendTurn(to thread: UInt) { lent = (thread, 0) }
  mutating func endLending() { lent = nil }

  /// Adds a waiter for the turn behind all others. The ticket is for leaving.
  @discardableResult
  mutating func waitForTurn(_ waiter: Waiter, as claim: Claim = .certain) -> UInt64 {
    turns.wait((waiter, claim))
  }

  /// Removes a waiter that does not want to wait for the turn any longer. Returns nil if it no longer waits.
  mutating func leaveTurn(_ ticket: UInt64) -> Waiter? { turns.leave(ticket)?.waiter }

  /// Removes all waiters for the turn that may be refused.
  mutating func refuseTurn(to mayBeRefused: (Waiter) -> Bool) -> [Waiter] {
    turns.leaveAll { mayBeRefused($0.waiter) }.map(\.waiter)
  }

  /// Gives the turn to the longest waiter. If `willWait` is true, the caller has appended and is about to wait for its commit, which will
  /// wake the gathering leader; otherwise this call wakes it.
  mutating func passTurn(willWait: Bool) -> Wakeups {
    var passed = Wakeups()
    if let lent, lent.depth > 0 {
      self.lent?.depth -= 1
      return passed
    }
    while turns.next?.claim == .running, let next = turns.pass() { passed.running.append(next.waiter) }
    if let next = turns.pass() {
      passed.waiters = [next.waiter]
    } else if !willWait {
      passed.wakesGatherer = isGathering
    }
    return passed
  }

  /// The jobs that the holder of the turn does next, keeping the turn: at most `most`. Returns no jobs if it is to pass the turn on, and
  /// nil if the queue is empty.
  mutating func nextJobs(most: Int) -> [Waiter]? {
    guard turns.count > 0, lent == nil else { return nil }
    var jobs: [Waiter] = []
    while jobs.count < most, turns.next?.claim == .job, let job = turns.pass() { jobs.append(job.waiter) }
    return jobs
  }

  // MARK: Appending

  /// Records that the holder of the turn has written a frame.
  mutating func append(_ number: UInt64) { appended = number }

  /// Records another writer's commits, which recovery has made durable.
  mutating func recover(_ number: UInt64) {
    appended = number
    durable = number
  }

  // MARK: Waiting

  enum Wait: Equatable {
    case durable
    case failed(StorageError)
    /// The caller was recorded as asleep, and is woken when the result changes.
    case sleep
    /// The caller leads: it waits, for a time, until it is woken, calls `endGathering` with this number, and asks again.
    case gather(UInt64)
    /// The caller leads: it syncs up to `appended`, and calls `synced` or `failed`.
    case sync
  }

  /// Decides what a thread that waits for a commit does. `gathers`: whether it would wait for transactions that are writing. `sleeper` is
  /// evaluated only if the thread is to sleep.
  mutating func wait(for number: UInt64, gathers: Bool, asleep sleeper: @autoclosure () -> Waiter) -> Wait {
    if durable >= number { return .durable }
    if let failure { return .failed(failure) }
    switch leadership {
    case .syncing: break
    case .gathering where gathers && isWritten && sleepers.count + 1 < Self.enough: break
    case .vacant, .called, .gathering: return lead(gathers: gathers)
    }
    sleepers.append((number, sleeper(), true))
    return .sleep
  }

  /// Records a task as asleep. Returns nil if it need not wait.
  mutating func sleep(until number: UInt64, _ waiter: Waiter) -> Wakeups? {
    guard durable < number, failure == nil else { return nil }
    sleepers.append((number, waiter, false))
    switch leadership {
    case .vacant:
      leadership = .called
      return Wakeups(callsThread: true)
    case .gathering: return Wakeups(wakesGatherer: !isToGather)
    case .called, .syncing: return Wakeups()
    }
  }

  /// Decides what the writer's thread does for sleepers: `gather` and `sync` as in `wait`. Returns nil if it is not needed.
  mutating func leadForSleepers(gathers: Bool) -> Wait? {
    guard !sleepers.isEmpty else {
      if leadership == .called { leadership = .vacant }
      return nil
    }
    switch leadership {
    case .vacant, .called: return lead(gathers: gathers)
    case .gathering, .syncing: return nil
    }
  }

  private mutating func lead(gathers: Bool) -> Wait {
    guard gathers, isToGather else {
      leadership = .syncing(appended)
      return .sync
    }
    gatherings &+= 1
    leadership = .gathering(gatherings)
    return .gather(gatherings)
  }

  /// Transactions that write now will need a sync soon, so that waiting for them pays off.
  private var isToGather: Bool { isWritten && sleepers.count < Self.enough }

  /// Whether a transaction writes that may need a sync. If the turn is lent to a thread, no other thread writes.
  private var isWritten: Bool { turns.isTaken && lent == nil }

  mutating func endGathering(_ gathering: UInt64) {
    if leadership == .gathering(gathering) { leadership = .vacant }
  }

  // MARK: Durable

  /// Ends a sync. After a failure the outcome of the commits that wait for it is unknown for good. If something else failed meanwhile,
  /// the failure may concern either, and nothing becomes durable by the sync.
  mutating func synced(_ failure: StorageError? = nil) -> Wakeups {
    guard case .syncing(let number) = leadership else {
      preconditionFailure("a sync ended that had not begun: \(leadership)")
    }
    leadership = .vacant
    if let failure { return fail(failure) }
    return self.failure == nil ? madeDurable(number) : removeSatisfiedSleepers()
  }

  /// Makes the queue fail: nothing may be appended any more. The first cause is the one that is reported.
  mutating func fail(_ error: StorageError) -> Wakeups {
    failure = failure ?? error
    return removeSatisfiedSleepers()
  }

  /// Records that all commits up to this one are durable: by a sync, or because a compaction has written them into a durable file.
  mutating func madeDurable(_ number: UInt64) -> Wakeups {
    appended = max(appended, number)
    durable = max(durable, number)
    return removeSatisfiedSleepers()
  }

  /// Ends the part of a waiter that has led, or was called to lead, and needs nothing more. If others sleep, one of them is called to lead.
  mutating func leave() -> Wakeups {
    // This may be the waiter that was called. If it is not, one more leader than needed comes, and finds that another one leads.
    if leadership == .called { leadership = .vacant }
    return callLeader()
  }

  /// Removes the waiters that need not sleep any longer.
  private mutating func removeSatisfiedSleepers() -> Wakeups {
    let limit = failure == nil ? durable : .max
    var woken: [Waiter] = []
    sleepers.removeAll { sleeper in
      guard sleeper.number <= limit else { return false }
      woken.append(sleeper.waiter)
      return true
    }
    var called = callLeader()
    called.waiters = woken + called.waiters
    return called
  }

  private mutating func callLeader() -> Wakeups {
    guard leadership == .vacant, !sleepers.isEmpty else { return Wakeups() }
    leadership = .called
    guard let position = sleepers.firstIndex(where: \.canLead) else { return Wakeups(callsThread: true) }
    return Wakeups(waiters: [sleepers.remove(at: position).waiter])
  }

  // MARK: State for observers

  var isGathering: Bool { if case .gathering = leadership { true } else { false } }
  var isSyncing: Bool { if case .syncing = leadership { true } else { false } }
  /// How many threads wait for a commit to become durable.
  var sleepingThreads: Int { sleepers.count(where: \.canLead) }
  /// Whether there is anything that a sync would make durable.
  var hasPending: Bool { durable < appended && failure == nil }

  /// Begins a sync for which no commit waits. Returns false if a sync is under way.
  mutating func beginSync() -> Bool {
    guard !isSyncing else { return false }
    leadership = .syncing(appended)
    return true
  }

  /// Checks the two invariants above.
  func checkInvariants() {
    precondition(durable <= appended, "commit \(durable) is durable and was not appended")
    precondition(sleepers.isEmpty || leadership != .vacant, "\(sleepers.count) sleep and none leads")
    precondition(failure == nil || sleepers.isEmpty, "\(sleepers.count) sleep though nothing becomes durable any more")
    precondition(sleepers.allSatisfy { $0.number > durable }, "a thread sleeps whose commit is durable")
  }
}
