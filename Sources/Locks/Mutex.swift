// Everything of `Synchronization`: a file that needs a lock or an atomic imports this module instead, so that each lock of the
// package is one that the thread sanitizer can see.
@_exported public import Synchronization

#if THREAD_SANITIZER
  #if canImport(Darwin)
    import Darwin
  #else
    import Glibc
  #endif

  /// Stands in the place of `Synchronization.Mutex` where the thread sanitizer looks. There two threads that meet are parted by the
  /// kernel, which the sanitizer does not see, so that it takes what they do one after the other for a race; POSIX mutexes it
  /// knows.
  package struct Mutex<Value>: ~Copyable, @unchecked Sendable {
    // `@unchecked`: `value` is only touched while `mutex` is held.
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let value = UnsafeMutablePointer<Value>.allocate(capacity: 1)

    /// Puts `value` under a new lock, which nobody holds.
    package init(_ value: Value) {
      pthread_mutex_init(mutex, nil)
      self.value.initialize(to: value)
    }

    deinit {
      pthread_mutex_destroy(mutex)
      mutex.deallocate()
      value.deinitialize(count: 1)
      value.deallocate()
    }

    /// Runs `body` on the calling thread while the lock is held, and passes on what it throws. The thread must not hold it already.
    package func withLock<R, E: Error>(_ body: (inout Value) throws(E) -> R) throws(E) -> R {
      pthread_mutex_lock(mutex)
      defer { pthread_mutex_unlock(mutex) }
      return try body(&value.pointee)
    }
  }
#endif
