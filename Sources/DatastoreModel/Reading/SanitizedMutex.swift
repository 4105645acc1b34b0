#if THREAD_SANITIZER
  #if canImport(Darwin)
    import Darwin
  #else
    import Glibc
  #endif

  /// Stands in the place of `Synchronization.Mutex` where the thread sanitizer looks. There two threads that meet are parted by the
  /// kernel, which the sanitizer does not see, so that it takes what they do one after the other for a race; POSIX mutexes it
  /// knows. The other modules that it looks at have links to this file.
  struct Mutex<Value>: ~Copyable, @unchecked Sendable {
    // `@unchecked`: `value` is only touched while `mutex` is held.
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let value = UnsafeMutablePointer<Value>.allocate(capacity: 1)

    init(_ value: Value) {
      pthread_mutex_init(mutex, nil)
      self.value.initialize(to: value)
    }

    deinit {
      pthread_mutex_destroy(mutex)
      mutex.deallocate()
      value.deinitialize(count: 1)
      value.deallocate()
    }

    func withLock<R, E: Error>(_ body: (inout Value) throws(E) -> R) throws(E) -> R {
      pthread_mutex_lock(mutex)
      defer { pthread_mutex_unlock(mutex) }
      return try body(&value.pointee)
    }
  }
#endif
