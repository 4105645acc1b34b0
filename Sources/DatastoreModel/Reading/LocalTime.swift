#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A moment as the clock on the wall shows it, by the process's time zone (`TZ`).
///
/// Only this file asks the C library for times of day, so that nothing needs a calendar of Foundation's.
package struct LocalTime: Hashable, Sendable {
  package var year: Int
  /// 1 to 12.
  package var month: Int
  /// 1 to 31.
  package var day: Int
  package var hour: Int
  package var minute: Int
  package var second: Int
  /// 0 is Sunday.
  package var weekday: Int

  /// The moment that lies so many nanoseconds after 1970-01-01 00:00 UTC.
  package init(nanoseconds: Int64) {
    var seconds = time_t(nanoseconds.dividedRoundingDown(by: 1_000_000_000))
    var fields = tm()
    localtime_r(&seconds, &fields)
    year = Int(fields.tm_year) + 1900
    month = Int(fields.tm_mon) + 1
    day = Int(fields.tm_mday)
    hour = Int(fields.tm_hour)
    minute = Int(fields.tm_min)
    second = Int(fields.tm_sec)
    weekday = Int(fields.tm_wday)
  }

  /// Midnight of a day.
  package init(year: Int, month: Int, day: Int) {
    (self.year, self.month, self.day) = (year, month, day)
    (hour, minute, second, weekday) = (0, 0, 0, 0)
  }

  /// Nanoseconds since 1970-01-01 00:00 UTC; fields out of range carry over (day 0 is the last of the month before).
  /// Nil where the clock cannot say it.
  package var nanoseconds: Int64? {
    guard let year = Int32(exactly: year - 1900), let month = Int32(exactly: month - 1), let day = Int32(exactly: day),
      let hour = Int32(exactly: hour), let minute = Int32(exactly: minute), let second = Int32(exactly: second)
    else { return nil }
    var fields = tm()
    (fields.tm_year, fields.tm_mon, fields.tm_mday) = (year, month, day)
    (fields.tm_hour, fields.tm_min, fields.tm_sec) = (hour, minute, second)
    fields.tm_isdst = -1
    let seconds = Int64(mktime(&fields))
    let (nanoseconds, isTooLarge) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    return isTooLarge ? nil : nanoseconds
  }

  /// The wall clock, in nanoseconds since 1970.
  package static var now: Int64 {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }

  /// `2026-11-17`.
  package var dayText: String { "\(Self.padded(year, to: 4))-\(Self.padded(month, to: 2))-\(Self.padded(day, to: 2))" }
  /// `09:14`.
  package var minuteText: String { "\(Self.padded(hour, to: 2)):\(Self.padded(minute, to: 2))" }
  /// `09:14:02`.
  package var secondText: String { "\(minuteText):\(Self.padded(second, to: 2))" }

  private static func padded(_ number: Int, to width: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, width - digits.count)) + digits
  }
}

extension Int64 {
  /// The quotient rounded towards minus infinity.
  func dividedRoundingDown(by divisor: Int64) -> Int64 {
    let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? quotient - 1 : quotient
  }
}
