// Everything of `Synchronization`: a file that needs a lock or an atomic imports this module instead, so that each lock of the
// package is one that the thread sanitizer can see.
@_exported public import Synchronization

#if THREAD_SANITIZER
  #if canImport(Darwin)
    import Darwin
  #else
    import Glibc
  #endif

  /// Replaces `Synchronization.Mutex` under the thread sanitizer. In that type, threads that compete for the lock wait in the kernel. The
  /// sanitizer does not see that, and reports accesses one after the other as a race; it knows POSIX mutexes.
  package struct Mutex<Value>: ~Copyable, @unchecked Sendable {
    // `@unchecked`: `value` is only touched while `mutex` is held.
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let value = UnsafeMutablePointer<Value>.allocate(capacity: 1)

    /// Puts `value` under a new lock, which no thread holds.
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

    /// Runs `body` on the calling thread while the lock is held, and rethrows its error. The thread must not hold the lock already.
    package func withLock<R, E: Error>(_ body: (inout Value) throws(E) -> R) throws(E) -> R {
      pthread_mutex_lock(mutex)
      defer { pthread_mutex_unlock(mutex) }
      return try body(&value.pointee)
    }
  }
#endif
