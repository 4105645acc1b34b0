import Dispatch

/// Threads beside those that tests share, for what waits on other processes for long.
enum OwnThread {
  private static let queue = DispatchQueue(label: "tests.waiting", attributes: .concurrent)

  /// Runs `body`, which may block, on another thread.
  static func run<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
    await withCheckedContinuation { continuation in queue.async { continuation.resume(returning: body()) } }
  }

  /// The same for what throws.
  static func trying<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
      queue.async { continuation.resume(with: Swift.Result { try body() }) }
    }
  }
}
