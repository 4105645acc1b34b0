import StrataSystem

/// The system's number of this process.
package func processIdentifier() -> Int32 { getpid() }

extension DiskError {
  /// The system's words for the error number.
  package var cause: String {
    // strerror's buffer is shared between threads; the reentrant form differs between platforms in its result only.
    var buffer = [CChar](repeating: 0, count: 256)
    guard strerror_r(code, &buffer, buffer.count) == 0 else { return "error \(code)" }
    return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
  /// Whether the call failed for lack of room, so that it may succeed later.
  var isFull: Bool { code == ENOSPC || code == EDQUOT || code == EFBIG }
  /// Whether the disk could not return bytes that were written to it.
  var isUnreadable: Bool { code == EIO }
  /// Whether there is nothing at the path.
  package var isNotFound: Bool { code == ENOENT || code == ENOTDIR }
  /// Whether the bytes are on another computer that cannot be reached at present.
  package var isAway: Bool { code == ENOTCONN }
  /// The failure of a call for bytes on another computer that cannot be reached at present.
  package static func away(_ path: String) -> DiskError { DiskError(operation: "read", path: path, code: ENOTCONN) }
  /// The failure of a call on a disk that may only be read.
  package static func readOnly(_ path: String) -> DiskError { DiskError(operation: "write", path: path, code: EROFS) }
  /// The failure of a call for bytes of a file that has become shorter since its size was read.
  package static func shortened(_ path: String) -> DiskError { DiskError(operation: "read", path: path, code: EIO) }
  /// There is nothing at a path.
  package static func notFound(_ path: String) -> DiskError { DiskError(operation: "open", path: path, code: ENOENT) }
  /// Whether something exists at the path already.
  var isExisting: Bool { code == EEXIST }
  /// Whether this process lacks the right to do what it tried.
  var isForbidden: Bool { code == EACCES || code == EPERM || code == EROFS }
}

/// Nanoseconds since 1970.
package func wallClock() -> Int64 { time(of: CLOCK_REALTIME) }

/// Nanoseconds on a clock that cannot be set, from any beginning. Makes no system call if the kernel shares its clock with processes.
package func monotonicClock() -> Int64 { time(of: CLOCK_MONOTONIC) }

private func time(of clock: clockid_t) -> Int64 {
  var time = timespec()
  clock_gettime(clock, &time)
  return time.nanoseconds
}

extension timespec {
  var nanoseconds: Int64 { Int64(tv_sec) &* 1_000_000_000 &+ Int64(tv_nsec) }

  init(nanoseconds: Int64) {
    self.init(tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
  }
}

/// A mutex with two conditions, one for waiters for a change and one (the bell) for a thread that waits for work.
final class Monitor: @unchecked Sendable {
  // `@unchecked`: POSIX mutexes and conditions are made to be used from any thread; their storage never moves.
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
  private let bell = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
  #if DEBUG
    /// Checks, in debug builds, the invariants of the guarded state each time before another thread may take the lock. Set before the lock
    /// is first taken.
    var checkInvariants: (() -> Void)?
  #endif

  init() {
    #if canImport(Darwin)
      pthread_mutex_init(mutex, nil)
      // Waits are relative there, on a clock that cannot be set.
      pthread_cond_init(condition, nil)
      pthread_cond_init(bell, nil)
    #else
      // A holder releases it within a microsecond, so a thread tries a few times before it sleeps (PTHREAD_MUTEX_ADAPTIVE_NP, whose name is
      // hidden from Swift behind `_GNU_SOURCE`).
      var kind = pthread_mutexattr_t()
      pthread_mutexattr_init(&kind)
      pthread_mutexattr_settype(&kind, 3)
      pthread_mutex_init(mutex, &kind)
      pthread_mutexattr_destroy(&kind)
      // By default the end of a wait is a time of the wall clock: if the clock is set back by an hour, a wait lasts an hour longer.
      var attributes = pthread_condattr_t()
      pthread_condattr_init(&attributes)
      pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
      pthread_cond_init(condition, &attributes)
      pthread_cond_init(bell, &attributes)
      pthread_condattr_destroy(&attributes)
    #endif
  }

  deinit {
    pthread_cond_destroy(condition)
    pthread_cond_destroy(bell)
    pthread_mutex_destroy(mutex)
    condition.deallocate()
    bell.deallocate()
    mutex.deallocate()
  }

  func lock() { pthread_mutex_lock(mutex) }
  func unlock() {
    check()
    pthread_mutex_unlock(mutex)
  }

  /// Releases the lock, waits for a notification, and takes the lock again. May return without cause.
  func wait() { _ = wait(for: condition, nanoseconds: nil) }

  /// As `wait`, for at most `nanoseconds`. Returns false when the time is over.
  func wait(nanoseconds: Int64) -> Bool { wait(for: condition, nanoseconds: nanoseconds) }

  /// Releases the lock until the bell rings, for at most `nanoseconds` if given. Returns false when the time is over.
  func waitForBell(nanoseconds: Int64? = nil) -> Bool { wait(for: bell, nanoseconds: nanoseconds) }

  private func check() {
    #if DEBUG
      checkInvariants?()
    #endif
  }

  private func wait(for condition: UnsafeMutablePointer<pthread_cond_t>, nanoseconds: Int64?) -> Bool {
    check()
    guard let nanoseconds else { return pthread_cond_wait(condition, mutex) == 0 }
    #if canImport(Darwin)
      var time = timespec(nanoseconds: nanoseconds)
      return pthread_cond_timedwait_relative_np(condition, mutex, &time) == 0
    #else
      var time = timespec(nanoseconds: monotonicClock() &+ nanoseconds)
      return pthread_cond_timedwait(condition, mutex, &time) == 0
    #endif
  }

  func ring() { pthread_cond_signal(bell) }

  func notifyAll() { pthread_cond_broadcast(condition) }

  func withLock<R, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
    lock()
    defer { unlock() }
    return try body()
  }
}

/// An event that one thread causes, once, and others wait for.
///
/// Unlike a condition, firing it does not make the woken thread wait for a mutex.
final class Signal: @unchecked Sendable {
  #if canImport(Darwin)
    // `@unchecked`: `isFired` is only touched while `monitor` is held. The system has no semaphores without a name.
    private let monitor = Monitor()
    private var isFired = false

    func fire() {
      monitor.withLock {
        isFired = true
        monitor.notifyAll()
      }
    }

    func wait() { monitor.withLock { while !isFired { monitor.wait() } } }
  #else
    // `@unchecked`: POSIX semaphores are made to be used from any thread; their storage never moves.
    private let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

    init() { sem_init(semaphore, 0, 0) }

    deinit {
      sem_destroy(semaphore)
      semaphore.deallocate()
    }

    func fire() { sem_post(semaphore) }

    /// Returns when the event has happened, and lets the next waiter go on.
    func wait() {
      while sem_wait(semaphore) != 0 {}
      sem_post(semaphore)
    }
  #endif
}

/// Suspends a thread for a time, to wait for something that cannot notify: the lock of another process.
func rest(nanoseconds: Int64) {
  var time = timespec(nanoseconds: nanoseconds)
  nanosleep(&time, nil)
}

/// Distinguishes the calling thread from all other living threads.
///
/// It is hidden from the optimiser, because the C library declares `pthread_self` constant: an async function that can see it calls it once,
/// and keeps the answer after a wait, on another thread.
@inline(never) @_optimize(none)
package func threadIdentity() -> UInt {
  #if canImport(Darwin)
    UInt(bitPattern: pthread_self())
  #else
    UInt(pthread_self())
  #endif
}

/// Yields the processor to any other thread that can run.
package func yieldThread() { sched_yield() }

package func startThread(_ body: @escaping @Sendable () -> Void) throws(DiskError) {
  final class Body: Sendable {
    let run: @Sendable () -> Void
    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
  }
  let context = Unmanaged.passRetained(Body(body))
  #if canImport(Darwin)
    var thread: pthread_t?
    let code = pthread_create(
      &thread, nil,
      {
        Unmanaged<Body>.fromOpaque($0).takeRetainedValue().run(); return nil
      }, context.toOpaque())
    if code == 0, let thread { pthread_detach(thread) }
  #else
    var thread = pthread_t()
    let code = pthread_create(
      &thread, nil,
      { context in
        if let context { Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run() }
        return nil
      }, context.toOpaque())
    if code == 0 { pthread_detach(thread) }
  #endif
  guard code == 0 else {
    context.release()
    throw DiskError(operation: "pthread_create", path: "", code: code)
  }
}
