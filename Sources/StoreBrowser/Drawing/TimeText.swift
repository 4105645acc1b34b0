import DatastoreModel

/// Times as text, without a calendar library: the proleptic Gregorian calendar.
package struct TimeText: Sendable {
  /// Seconds east of UTC at a time given in nanoseconds since 1970.
  var offset: @Sendable (Int64) -> Int

  package static let utc = TimeText(offset: { _ in 0 })

  /// By the process's time zone (`TZ`).
  package static let local = TimeText { time in
    let seconds = floor(time, 1_000_000_000).quotient
    let local = LocalTime(nanoseconds: time)
    let days = CivilTime.days(year: local.year, month: local.month, day: local.day) ?? 0
    return days * 86_400 + local.hour * 3600 + local.minute * 60 + local.second - Int(seconds)
  }

  /// `09:14`.
  func clock(_ time: Int64) -> String {
    let parts = parts(time)
    return "\(Self.two(parts.hour)):\(Self.two(parts.minute))"
  }

  /// `09:14:02`.
  func clockWithSeconds(_ time: Int64) -> String { "\(clock(time)):\(Self.two(parts(time).second))" }

  /// `2026-11-20`.
  func day(_ time: Int64) -> String {
    let parts = parts(time)
    return "\(Self.four(parts.year))-\(Self.two(parts.month))-\(Self.two(parts.day))"
  }

  /// `2026-11-20 09:14`.
  func dayAndClock(_ time: Int64) -> String { "\(day(time)) \(clock(time))" }

  /// The clock time for today, otherwise the day; in five cells without its year.
  func short(_ time: Int64, now: Int64, isNarrow: Bool = false) -> String {
    let day = day(time)
    if day == self.day(now) { return clock(time) }
    return isNarrow ? String(day.suffix(5)) : day
  }

  /// How long ago, in one unit: `2 min`, `3 days`.
  static func age(_ time: Int64, now: Int64) -> String {
    let seconds = max(0, now.subtractingReportingOverflow(time).partialValue / 1_000_000_000)
    switch seconds {
    case ..<60: return "\(seconds) s"
    case ..<3600: return "\(seconds / 60) min"
    case ..<86_400: return "\(seconds / 3600) h"
    case ..<172_800: return "1 day"
    default: return "\(NumberFormat.count(seconds / 86_400)) days"
    }
  }

  /// `0:12`, `1:02:03`.
  static func duration(seconds: Double) -> String {
    guard seconds.isFinite, seconds >= 0, seconds < 1e9 else { return "—" }
    let whole = Int(seconds.rounded())
    let (hours, minutes, rest) = (whole / 3600, whole / 60 % 60, whole % 60)
    return hours > 0 ? "\(hours):\(two(Int64(minutes))):\(two(Int64(rest)))" : "\(minutes):\(two(Int64(rest)))"
  }

  private struct Parts { var year: Int64, month: Int64, day: Int64, hour: Int64, minute: Int64, second: Int64 }

  private func parts(_ time: Int64) -> Parts {
    let seconds = Self.floor(time, 1_000_000_000).quotient + Int64(offset(time))
    let (days, second) = Self.floor(seconds, 86_400)
    let date = Self.civil(days: days)
    return Parts(
      year: date.year, month: date.month, day: date.day, hour: second / 3600, minute: second / 60 % 60,
      second: second % 60)
  }

  /// The date of a number of days since 1970-01-01, counted in eras of 400 years that begin on 1 March.
  private static func civil(days: Int64) -> (year: Int64, month: Int64, day: Int64) {
    let (era, dayOfEra) = floor(days + 719_468, 146_097)
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shifted = (5 * dayOfYear + 2) / 153
    let month = shifted < 10 ? shifted + 3 : shifted - 9
    return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * shifted + 2) / 5 + 1)
  }

  private static func floor(_ value: Int64, _ divisor: Int64) -> (quotient: Int64, remainder: Int64) {
    let (quotient, remainder) = value.quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
  }

  private static func two(_ value: Int64) -> String { value < 10 ? "0\(value)" : "\(value)" }
  private static func four(_ value: Int64) -> String {
    let digits = String(value)
    return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
  }
}
