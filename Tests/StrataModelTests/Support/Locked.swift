import StrataLocks

/// A value behind a lock.
final class Locked<Value: Sendable>: Sendable {
  private let mutex: Mutex<Value>
  init(_ value: Value) { mutex = Mutex(value) }
  func with<Result: Sendable>(_ body: @Sendable (inout Value) -> Result) -> Result { mutex.withLock { body(&$0) } }
}
