package import StrataDocuments
import StrataSystem

/// The clock on the wall, by the process's time zone (`TZ`).
///
/// Only this file asks the C library for times of day, so that nothing needs a calendar of Foundation's.
package enum LocalTime {
  /// Nanoseconds since 1970-01-01 00:00 UTC.
  package static var now: Int64 {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }

  /// Calendar and clock at a moment, in nanoseconds since 1970.
  package static func civil(at moment: Int64) -> CivilTime {
    CivilTime(nanosecondsSince1970: moment, offset: offset(at: moment))
  }

  /// Seconds east of UTC at a moment, in nanoseconds since 1970.
  package static func offset(at moment: Int64) -> Int {
    var seconds = time_t(moment.dividedRoundingDown(by: 1_000_000_000))
    var fields = tm()
    localtime_r(&seconds, &fields)
    return Int(fields.tm_gmtoff)
  }

  /// The moment of a time of day, in nanoseconds since 1970; nil if the clock cannot express it.
  ///
  /// - Parameters:
  ///   - day: Days since 1970-01-01.
  ///   - second: The time that the clock shows, as seconds since its midnight.
  package static func moment(day: Int, second: Int) -> Int64? {
    let date = CivilTime(secondsSince1970: Int64(day) * 86400)
    guard let year = Int32(exactly: date.year - 1900), let second = Int32(exactly: second) else { return nil }
    var fields = tm()
    (fields.tm_year, fields.tm_mon, fields.tm_mday) = (year, Int32(date.month - 1), Int32(date.day))
    (fields.tm_hour, fields.tm_min, fields.tm_sec) = (second / 3600, second / 60 % 60, second % 60)
    fields.tm_isdst = -1
    let (moment, isTooLarge) = Int64(mktime(&fields)).multipliedReportingOverflow(by: 1_000_000_000)
    return isTooLarge ? nil : moment
  }
}
