import Dispatch
import StrataLocks

/// Runs a task on the thread that waits for it.
///
/// The thread is the executor that the task prefers: everything that is of no other actor runs there. So a read, which never has to wait
/// for another task, begins and ends on the calling thread. A write that waits for its turn leaves the thread asleep until the next job
/// wakes it.
final class CallingThread: TaskExecutor {
  private let jobs = Mutex<[UnownedJob]>([])
  private let wakeUp = DispatchSemaphore(value: 0)

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    jobs.withLock { $0.append(job) }
    wakeUp.signal()
  }

  /// Runs a call to its end, and returns its result. The call is in the transactions that the caller is in.
  static func run<Value>(_ body: () async throws -> Value) throws -> Value {
    try withoutActuallyEscaping(body) { body in
      let call = Call(body: body)
      let thread = CallingThread()
      Task(executorPreference: thread) {
        await call.run()
      }
      while call.result == nil { thread.runNextJob() }
      return try call.end()
    }
  }

  private func runNextJob() {
    wakeUp.wait()
    let job = jobs.withLock { $0.removeFirst() }
    job.runSynchronously(on: asUnownedTaskExecutor())
  }

  /// The closure of a call, and its result.
  ///
  /// Unchecked: only one thread uses it, on which both the caller and the jobs of the task run.
  private final class Call<Value>: @unchecked Sendable {
    private var body: (() async throws -> Value)?
    private(set) var result: Result<Value, any Error>?

    init(body: @escaping () async throws -> Value) { self.body = body }

    func run() async {
      guard let body else { return }
      do {
        result = .success(try await body())
      } catch {
        result = .failure(error)
      }
    }

    /// Releases the closure, which must not outlive the call.
    func end() throws -> Value {
      body = nil
      guard let result else { throw CancellationError() }
      return try result.get()
    }
  }
}

enum Blocking {
  /// The transaction whose closure is not async: blocking calls in it join.
  @TaskLocal private static var joined: TransactionScope?

  /// Runs a call of a store on the calling thread.
  ///
  /// - Throws: ``StoreError`` of kind `refused` in a transaction whose closure is async: it holds the turn that a write
  ///   would wait for, on the thread that would have to end it.
  static func call<Value>(_ store: _StoreHandle, _ body: () async throws -> Value) throws -> Value {
    if let scope = Transactions.scope(for: store), scope !== joined {
      throw StoreError.withinTransaction(
        "A blocking call would wait for itself: await the call of the datastore itself")
    }
    return try CallingThread.run(body)
  }

  /// Runs a program's closure, which is not async, in the transaction that the task is in.
  static func joining<Value>(_ body: () throws -> Value) rethrows -> Value {
    try $joined.withValue(Transactions.current, operation: body)
  }
}
