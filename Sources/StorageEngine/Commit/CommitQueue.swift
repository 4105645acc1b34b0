/// Who writes next, and whose commits wait for which sync: every decision about it, and nothing else.
///
/// A value without threads, locks or clocks. Each input is a method, and what it answers is what its caller has to do. `Writer` has
/// the one of a store behind its monitor: it calls with the monitor held, and wakes whom it is told to wake after letting go of it.
///
/// ```
/// takeTurn ─▶ has the turn ─▶ appended ─▶ passTurn ─▶ wait ─┬─▶ sleeps ───────────────┬─▶ durable
///     └─▶ waits in order ─┘                                 └─▶ leads: gather ─▶ sync ┘
/// ```
///
/// One of those that wait *leads*: it syncs for all. Before that it *gathers*, which is to say that it waits for those that are
/// writing at this moment, so that one sync serves them too. A thread leads itself; for tasks, which must not block a thread of their
/// pool, the writer's thread does.
///
/// Two things always hold, and the tests look at them after every input:
/// * where somebody sleeps, somebody leads, or was called to lead and is on its way;
/// * who sleeps waits for a commit that was appended, is not durable, and still may become so.
struct CommitQueue<Waiter> {
  /// Who writes next.
  private(set) var turns = TurnOrder<TurnWaiter>()
  /// The thread that the turn is lent to, and how many transactions it has begun in it that have not ended.
  private var lent: (thread: UInt, depth: Int)?
  /// The newest commit whose frame was written, and the newest one that is durable.
  private(set) var appended: UInt64
  private(set) var durable: UInt64
  /// Why nothing becomes durable any more.
  private(set) var failure: StorageError?
  private(set) var leadership = Leadership.vacant
  private var sleepers: [Sleeper] = []
  private var gatherings: UInt64 = 0

  enum Leadership: Equatable {
    case vacant
    /// Somebody was woken to lead and has not come yet.
    case called
    /// Numbered, because one that wakes late must not end what another has begun.
    case gathering(UInt64)
    /// The sync will make this commit durable, and all before it.
    case syncing(UInt64)
  }

  struct TurnWaiter {
    let waiter: Waiter
    let claim: Claim
  }

  /// How one that waits gets the turn.
  enum Claim {
    /// Whoever has the turn may make its changes.
    case job
    /// It is given the turn as it waits: a thread, or a task that may be suspended in its turn in any case.
    case certain
    /// It is woken and takes the turn once it runs, if nobody has it then. To give it to a task that waits would leave it unused for as
    /// long as others keep the threads of the pool.
    case running
  }

  private struct Sleeper {
    let number: UInt64
    let waiter: Waiter
    let canLead: Bool
  }

  /// So many sleepers are enough to begin a sync.
  static var enough: Int { 64 }

  init(durable: UInt64) {
    appended = durable
    self.durable = durable
  }

  // MARK: The turn

  /// Takes the turn where nobody has it, and within a turn that is lent to the calling thread.
  mutating func takeTurn(by thread: UInt = 0) -> Bool {
    if turns.take() { return true }
    guard let lent, lent.thread == thread else { return false }
    self.lent?.depth += 1
    return true
  }

  /// The holder of the turn lends it to a thread: the transactions that this one begins are a part of the turn.
  mutating func lendTurn(to thread: UInt) { lent = (thread, 0) }
  mutating func endLending() { lent = nil }

  /// Waits for the turn behind all who wait; the ticket is for leaving.
  @discardableResult
  mutating func waitForTurn(_ waiter: Waiter, as claim: Claim = .certain) -> UInt64 {
    turns.wait(TurnWaiter(waiter: waiter, claim: claim))
  }

  /// Takes one out that does not want to wait for the turn any longer; nil where it waits no more.
  mutating func leaveTurn(_ ticket: UInt64) -> Waiter? { turns.leave(ticket)?.waiter }

  /// Takes all out that wait for the turn and may be refused it.
  mutating func refuseTurn(to mayBeRefused: (Waiter) -> Bool) -> [Waiter] {
    turns.leaveAll { mayBeRefused($0.waiter) }.map(\.waiter)
  }

  /// Who is to be woken.
  struct Passed {
    /// They take the turn by themselves.
    var running: [Waiter] = []
    /// Has the turn now.
    var next: Waiter?
    /// Nobody writes any more, and the one that gathers need not wait longer.
    var wakesGatherer = false
  }

  /// Gives the turn to the one that has waited longest. `willWait`: the caller has appended and is about to wait for its commit,
  /// which will wake the one that gathers; otherwise this does.
  mutating func passTurn(willWait: Bool) -> Passed {
    var passed = Passed()
    if let lent, lent.depth > 0 {
      self.lent?.depth -= 1
      return passed
    }
    while turns.next?.claim == .running, let next = turns.pass() { passed.running.append(next.waiter) }
    if let next = turns.pass() {
      passed.next = next.waiter
    } else if !willWait {
      passed.wakesGatherer = isGathering
    }
    return passed
  }

  /// What the holder of the turn does after its jobs.
  enum NextJobs {
    /// It does these too, and keeps the turn.
    case take([Waiter])
    /// Another has the turn now.
    case pass(Passed)
    /// Nobody waits; the caller still has the turn.
    case none
  }

  /// `most`: for how many more the holder of the turn has the patience.
  mutating func nextJobs(most: Int) -> NextJobs {
    guard turns.count > 0, lent == nil else { return .none }
    var jobs: [Waiter] = []
    while jobs.count < most, turns.next?.claim == .job, let job = turns.pass() { jobs.append(job.waiter) }
    return jobs.isEmpty ? .pass(passTurn(willWait: true)) : .take(jobs)
  }

  // MARK: Appending

  /// The holder of the turn has written a frame.
  mutating func append(_ number: UInt64) { appended = number }

  /// Another writer's commits, which recovery has made sure of.
  mutating func recover(_ number: UInt64) {
    appended = number
    durable = number
  }

  // MARK: Waiting

  enum Wait: Equatable {
    case durable
    case failed(StorageError)
    /// The caller was noted as asleep, and hears when the answer is another one.
    case sleep
    /// The caller leads: it waits, for a time, until it is woken, calls `endGathering` with this number, and asks again.
    case gather(UInt64)
    /// The caller leads: it syncs up to `appended`, and calls `synced` or `failed`.
    case sync
  }

  /// What a thread does that waits for a commit. `gathers`: whether it would wait for those that write. `sleeper` is asked for only
  /// where the thread is to sleep.
  mutating func wait(for number: UInt64, gathers: Bool, asleep sleeper: @autoclosure () -> Waiter) -> Wait {
    if durable >= number { return .durable }
    if let failure { return .failed(failure) }
    switch leadership {
    case .syncing: break
    case .gathering where gathers && isWritten && sleepers.count + 1 < Self.enough: break
    case .vacant, .called, .gathering: return lead(gathers: gathers)
    }
    sleepers.append(Sleeper(number: number, waiter: sleeper(), canLead: true))
    return .sleep
  }

  /// Whom a task's waiting concerns.
  enum Call: Equatable {
    case nobody
    /// The writer's thread is to lead.
    case thread
    /// The one that gathers has enough.
    case gatherer
  }

  /// Notes a task as asleep; nil where there is nothing to wait for.
  mutating func sleep(until number: UInt64, _ waiter: Waiter) -> Call? {
    guard durable < number, failure == nil else { return nil }
    sleepers.append(Sleeper(number: number, waiter: waiter, canLead: false))
    switch leadership {
    case .vacant:
      leadership = .called
      return .thread
    case .gathering: return isToGather ? .nobody : .gatherer
    case .called, .syncing: return .nobody
    }
  }

  /// What the writer's thread does for those that sleep: `gather` and `sync` as in `wait`; nil where it is not needed.
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

  /// Those that write now will want a sync soon, so that it pays to wait for them.
  private var isToGather: Bool { isWritten && sleepers.count < Self.enough }

  /// Whether somebody writes who may want a sync. Nobody does beside the thread that the turn is lent to.
  private var isWritten: Bool { turns.isTaken && lent == nil }

  mutating func endGathering(_ gathering: UInt64) {
    if leadership == .gathering(gathering) { leadership = .vacant }
  }

  // MARK: Durable

  /// Who is to be woken.
  struct Wakeups {
    /// Their commits are durable, or never will be, or they are to lead.
    var waiters: [Waiter] = []
    /// The writer's thread is to lead.
    var callsThread = false
  }

  /// A sync has succeeded. Where something failed meanwhile, nobody can tell which of the two it concerned, and nothing becomes
  /// durable by it.
  mutating func synced() -> Wakeups {
    guard case .syncing(let number) = leadership else {
      preconditionFailure("a sync ended that had not begun: \(leadership)")
    }
    leadership = .vacant
    if failure == nil { durable = max(durable, number) }
    return settle()
  }

  /// A sync has failed: what became of what it was to make durable is unknown for good.
  mutating func syncFailed(_ error: StorageError) -> Wakeups {
    leadership = .vacant
    return fail(error)
  }

  /// Nothing may be appended any more. The first cause is the one that is told.
  mutating func fail(_ error: StorageError) -> Wakeups {
    failure = failure ?? error
    return settle()
  }

  /// All commits up to this one are durable by another way than a sync: a compaction has written them into a file that is.
  mutating func madeDurable(_ number: UInt64) -> Wakeups {
    appended = max(appended, number)
    durable = max(durable, number)
    return settle()
  }

  /// One that has led, or was called to, needs nothing more and goes; where others sleep, somebody is called to lead them.
  mutating func leave() -> Wakeups {
    // It may be the one that was called. Where it is not, one more than needed comes, and finds that another leads.
    if leadership == .called { leadership = .vacant }
    return callLeader()
  }

  /// Takes those out that need not sleep any longer.
  private mutating func settle() -> Wakeups {
    let limit = failure == nil ? durable : .max
    var woken: [Waiter] = []
    sleepers.removeAll { sleeper in
      guard sleeper.number <= limit else { return false }
      woken.append(sleeper.waiter)
      return true
    }
    let called = callLeader()
    return Wakeups(waiters: woken + called.waiters, callsThread: called.callsThread)
  }

  private mutating func callLeader() -> Wakeups {
    guard leadership == .vacant, !sleepers.isEmpty else { return Wakeups() }
    leadership = .called
    guard let position = sleepers.firstIndex(where: \.canLead) else { return Wakeups(callsThread: true) }
    return Wakeups(waiters: [sleepers.remove(at: position).waiter])
  }

  // MARK: For who looks on

  var isGathering: Bool { if case .gathering = leadership { true } else { false } }
  var isSyncing: Bool { if case .syncing = leadership { true } else { false } }
  /// How many wait for a commit to become durable, and how many of them are threads.
  var sleeping: (all: Int, threads: Int) { (sleepers.count, sleepers.count(where: \.canLead)) }
  /// Whether there is anything that a sync would make durable.
  var hasPending: Bool { durable < appended && failure == nil }

  /// Begins a sync that nobody waits for; false where one is under way.
  mutating func beginSync() -> Bool {
    guard !isSyncing else { return false }
    leadership = .syncing(appended)
    return true
  }

  /// What always holds, see above.
  func checkInvariants() {
    precondition(durable <= appended, "commit \(durable) is durable and was not appended")
    precondition(sleepers.isEmpty || leadership != .vacant, "\(sleepers.count) sleep and nobody leads")
    precondition(failure == nil || sleepers.isEmpty, "\(sleepers.count) sleep though nothing becomes durable any more")
    precondition(sleepers.allSatisfy { $0.number > durable }, "somebody sleeps whose commit is durable")
  }
}
