#if THREAD_SANITIZER
  /// Stands in the place of `Synchronization.Mutex` where the thread sanitizer looks. There two threads that meet are parted by the
  /// kernel, which the sanitizer does not see, so that it takes what they do one after the other for a race; POSIX mutexes it
  /// knows.
  struct Mutex<Value>: ~Copyable, @unchecked Sendable {
    // `@unchecked`: `value` is only touched while `monitor` is held.
    private let monitor = Monitor()
    private let value: UnsafeMutablePointer<Value>

    init(_ value: Value) {
      self.value = .allocate(capacity: 1)
      self.value.initialize(to: value)
    }

    deinit {
      value.deinitialize(count: 1)
      value.deallocate()
    }

    func withLock<R, E: Error>(_ body: (inout Value) throws(E) -> R) throws(E) -> R {
      monitor.lock()
      defer { monitor.unlock() }
      return try body(&value.pointee)
    }
  }
#endif
