/// Values that one thread makes and another takes, in order. A few of them wait at most: the maker then waits itself.
package final class BoundedQueue<Value: Sendable>: @unchecked Sendable {
  // `@unchecked`: everything is only touched while `monitor` is held.
  private let monitor = Monitor()
  private var capacity: Int
  private var waiting: [Value] = []
  private var isComplete = false
  private var isRefused = false

  fileprivate init(capacity: Int) { self.capacity = max(1, capacity) }

  /// Whether no value waits: who takes them has nothing to do, or will have so soon.
  package var isEmpty: Bool { monitor.withLock { waiting.isEmpty } }

  /// Adds a value, as soon as there is room; false where no more are wanted.
  package func put(_ value: Value) -> Bool {
    monitor.withLock {
      while waiting.count >= capacity, !isRefused { monitor.wait() }
      guard !isRefused else { return false }
      waiting.append(value)
      monitor.notifyAll()
      return true
    }
  }

  /// The next value, as soon as it is there; nil after the last one.
  package func take() -> Value? {
    monitor.withLock {
      while waiting.isEmpty, !isComplete { monitor.wait() }
      guard !waiting.isEmpty else { return nil }
      monitor.notifyAll()
      return waiting.removeFirst()
    }
  }

  fileprivate func takeAll() { monitor.withLock { capacity = .max } }

  fileprivate func complete() {
    monitor.withLock {
      isComplete = true
      monitor.notifyAll()
    }
  }

  /// Has the maker hear that no more are wanted, and waits until it has ended.
  fileprivate func refuseAndWait() {
    monitor.withLock {
      isRefused = true
      monitor.notifyAll()
      while !isComplete { monitor.wait() }
    }
  }
}

/// Runs `make` on a thread of its own, and `use` on the caller's, which takes what the other has put into the queue. Comes back when
/// both have ended; where `use` ends before the last value, `make` hears of it at its next `put`. Where the system gives no thread,
/// the caller's runs one after the other, and all values wait.
///
/// - Parameter capacity: how many values may wait.
/// - Throws: what `use` throws.
package func workingAhead<Value: Sendable, Result, Failure: Error>(
  by capacity: Int, make: (BoundedQueue<Value>) -> Void, use: (BoundedQueue<Value>) throws(Failure) -> Result
) throws(Failure) -> Result {
  let queue = BoundedQueue<Value>(capacity: capacity)
  return try withoutActuallyEscaping(make) { make throws(Failure) in
    let making = Making(make: make)
    do {
      try startThread { making.run(queue) }
    } catch {
      queue.takeAll()
      making.run(queue)
    }
    defer { queue.refuseAndWait() }
    return try use(queue)
  }
}

/// What the other thread runs.
private final class Making<Value: Sendable>: @unchecked Sendable {
  // `@unchecked`: only the thread that runs it touches the closure, and nothing of what it captures is touched by the caller's before
  // the queue is complete.
  private var make: ((BoundedQueue<Value>) -> Void)?

  init(make: @escaping (BoundedQueue<Value>) -> Void) { self.make = make }

  /// Lets go of the closure before the caller hears that it has ended, which it must not outlive.
  func run(_ queue: BoundedQueue<Value>) {
    make?(queue)
    make = nil
    queue.complete()
  }
}
