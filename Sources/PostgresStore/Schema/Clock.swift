#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// The time by this machine's clock.
enum Clock {
  /// Nanoseconds since 1970.
  static var now: Int64 { read(CLOCK_REALTIME) }

  /// Nanoseconds by a clock that nobody sets.
  static var monotonic: Int64 { read(CLOCK_MONOTONIC) }

  private static func read(_ clock: clockid_t) -> Int64 {
    var time = timespec()
    clock_gettime(clock, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }

  static func sleep(milliseconds: Int) { usleep(UInt32(milliseconds) * 1000) }
}
