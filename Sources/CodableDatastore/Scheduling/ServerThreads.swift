import Dispatch
import StrataEngine

/// Runs calls that ask a server, on threads that may wait for the network, so that neither an actor nor a thread of the cooperative pool
/// does.
final class ServerThreads: TaskExecutor {
  static let shared = ServerThreads()

  private let queue = DispatchQueue(label: "strata.server", attributes: .concurrent)

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }

  /// Whether the current task already runs on such a thread.
  @TaskLocal private static var isHere = false

  /// Runs a call on such a thread, and returns its result. The caller is suspended meanwhile.
  static func run<Value: Sendable>(_ body: @Sendable () async throws -> Value) async throws -> Value {
    if isHere { return try await body() }
    return try await withTaskExecutorPreference(shared) { try await leave(body) }
  }

  /// Runs a closure that waits for the network: on the caller's thread, if that is such a thread, and otherwise on one.
  static func blocking<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    if isHere { return try body() }
    return try await onThread(body)
  }

  /// Leaves the caller's actor, if it has one.
  @concurrent private static func leave<Value: Sendable>(
    _ body: @Sendable () async throws -> Value
  ) async throws -> Value {
    try await $isHere.withValue(true) { try await body() }
  }
}

extension _StoreHandle {
  /// Runs a closure that asks the store: on the caller's thread for a file or memory, and on threads that may wait for one on a server.
  func asking<Value: Sendable>(_ body: @Sendable () async throws -> Value) async throws -> Value {
    connection.isServed ? try await ServerThreads.run(body) : try await body()
  }

  /// Does long work that one program does for all, such as a warm-up; waits while another program does it. `body` receives the lease that
  /// its transaction requires, or nil if no other program can do this work.
  func leased<Value>(_ what: String, _ body: ((any ClaimedWork)?) async throws -> Value) async throws -> Value {
    guard connection.isServed else { return try await body(nil) }
    while true {
      let lease = try await onThread { [connection] in try connection.storeForWriting().lease(what) }
      switch lease {
      case .held: try await Task.sleep(for: .milliseconds(200))
      case .needless: return try await body(nil)
      case .taken(let work):
        defer { withExtendedLifetime(work) {} }
        return try await body(work)
      }
    }
  }
}
