/// Values that one thread makes and another takes, in order. If as many as the capacity are queued, the maker waits.
package final class BoundedQueue<Value: Sendable>: @unchecked Sendable {
  // `@unchecked`: everything is only touched while `monitor` is held.
  private let monitor = Monitor()
  private var capacity: Int
  private var waiting: [Value] = []
  private var isComplete = false
  private var isRefused = false

  fileprivate init(capacity: Int) { self.capacity = max(1, capacity) }

  /// Whether no value is queued: the taker has nothing to do, or soon will have nothing.
  package var isEmpty: Bool { monitor.withLock { waiting.isEmpty } }

  /// Adds a value as soon as there is room. Returns false if no more are wanted.
  package func put(_ value: Value) -> Bool {
    monitor.withLock {
      while waiting.count >= capacity, !isRefused { monitor.wait() }
      guard !isRefused else { return false }
      waiting.append(value)
      monitor.notifyAll()
      return true
    }
  }

  /// The next value, as soon as there is one. Returns nil after the last one.
  package func next() -> Value? {
    monitor.withLock {
      while waiting.isEmpty, !isComplete { monitor.wait() }
      guard !waiting.isEmpty else { return nil }
      monitor.notifyAll()
      return waiting.removeFirst()
    }
  }

  fileprivate func removeLimit() { monitor.withLock { capacity = .max } }

  fileprivate func complete() {
    monitor.withLock {
      isComplete = true
      monitor.notifyAll()
    }
  }

  /// Tells the maker that no more values are wanted, and waits until it has ended.
  fileprivate func refuseAndWait() {
    monitor.withLock {
      isRefused = true
      monitor.notifyAll()
      while !isComplete { monitor.wait() }
    }
  }
}

/// Runs `make` on a thread of its own, and `use` on the caller's, which takes the values that `make` puts into the queue. Returns when both
/// have ended. If `use` ends before the last value, `make` learns that at its next `put`. If the system gives no thread, the caller's
/// thread runs one after the other, and all values are queued.
///
/// - Parameter capacity: How many values may be queued.
/// - Throws: The error of `use`.
package func workingAhead<Value: Sendable, Result, Failure: Error>(
  by capacity: Int, make: (BoundedQueue<Value>) -> Void, use: (BoundedQueue<Value>) throws(Failure) -> Result
) throws(Failure) -> Result {
  let queue = BoundedQueue<Value>(capacity: capacity)
  return try withoutActuallyEscaping(make) { make throws(Failure) in
    let making = Production(make: make)
    do {
      try startThread { making.run(queue) }
    } catch {
      queue.removeLimit()
      making.run(queue)
    }
    defer { queue.refuseAndWait() }
    return try use(queue)
  }
}

/// The closure that the other thread runs.
private final class Production<Value: Sendable>: @unchecked Sendable {
  // `@unchecked`: only the thread that runs it touches the closure, and the caller's thread touches nothing that it captures before the
  // queue is complete.
  private var make: ((BoundedQueue<Value>) -> Void)?

  init(make: @escaping (BoundedQueue<Value>) -> Void) { self.make = make }

  /// Releases the closure before the caller learns that it has ended, because the closure must not outlive the call.
  func run(_ queue: BoundedQueue<Value>) {
    make?(queue)
    make = nil
    queue.complete()
  }
}
