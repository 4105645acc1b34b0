import Dispatch
import StrataLocks

/// Runs asynchronous work and blocks the calling thread until it is done. The thread must not be one of the cooperative
/// pool, which the work itself may need.
func waiting<Value: Sendable>(_ work: @escaping @Sendable () async throws -> Value) throws -> Value {
  let outcome = Mutex<Result<Value, any Error>?>(nil)
  let finished = DispatchSemaphore(value: 0)
  Task.detached {
    let result: Result<Value, any Error>
    do { result = .success(try await work()) } catch { result = .failure(error) }
    outcome.withLock { $0 = result }
    finished.signal()
  }
  finished.wait()
  guard let result = outcome.withLock({ $0 }) else { throw CancellationError() }
  return try result.get()
}
