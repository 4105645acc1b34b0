import StrataExpressions
import StrataDocuments

/// Times as text, in one zone.
package struct TimeText: Sendable {
  /// Seconds east of UTC at a time given in nanoseconds since 1970.
  var offset: @Sendable (Int64) -> Int

  package static let utc = TimeText(offset: { _ in 0 })

  /// In the process's time zone (`TZ`).
  package static let local = TimeText { LocalTime.offset(at: $0) }

  /// `09:14`.
  func clock(_ time: Int64) -> String { civil(time).minuteText }

  /// `09:14:02`.
  func clockWithSeconds(_ time: Int64) -> String { civil(time).clockText }

  /// `2026-11-20`.
  func day(_ time: Int64) -> String { civil(time).dateText }

  /// `2026-11-20 09:14`.
  func dayAndClock(_ time: Int64) -> String { "\(day(time)) \(clock(time))" }

  /// Returns the labels at the ends of a span: days, or times of one day.
  func ends(_ first: Int64, _ last: Int64) -> (first: String, last: String) {
    day(first) == day(last) ? (clockWithSeconds(first), clockWithSeconds(last)) : (day(first), day(last))
  }

  /// Returns the clock time for today, otherwise the day; in five cells without its year.
  func short(_ time: Int64, now: Int64, isNarrow: Bool = false) -> String {
    let day = day(time)
    if day == self.day(now) { return clock(time) }
    return isNarrow ? String(day.suffix(5)) : day
  }

  /// Returns the clock time, after the day unless the line above is of the same day: `2026-11-20 09:14`, `today 09:14`, `09:14`. In five
  /// cells the first line of a day has the day alone, `11-20`.
  func under(_ above: Int64?, _ time: Int64, now: Int64, isNarrow: Bool = false) -> String {
    let day = day(time)
    if above.map(self.day) == day { return clock(time) }
    if isNarrow { return short(time, now: now, isNarrow: true) }
    return "\(day == self.day(now) ? "today" : day) \(clock(time))"
  }

  /// `0:12`, `1:02:03`.
  static func duration(seconds: Double) -> String {
    guard seconds.isFinite, seconds >= 0, seconds < 1e9 else { return "—" }
    let whole = Int(seconds.rounded())
    let (hours, minutes, rest) = (whole / 3600, whole / 60 % 60, String(whole % 60).zeroFilled(2))
    return hours > 0 ? "\(hours):\(String(minutes).zeroFilled(2)):\(rest)" : "\(minutes):\(rest)"
  }

  /// `just now`, `5 min ago`, `3 d ago`, `in 2 h`.
  static func relative(_ time: Int64, now: Int64) -> String {
    // Moments may lie further apart than a number of nanoseconds can say.
    let seconds = now / 1_000_000_000 - time / 1_000_000_000
    let units: [(Int64, String)] = [(31_557_600, "y"), (2_629_800, "mo"), (86_400, "d"), (3_600, "h"), (60, "min")]
    guard let (length, unit) = units.first(where: { seconds.magnitude >= $0.0 }) else { return "just now" }
    let span = "\(seconds.magnitude / length.magnitude) \(unit)"
    return seconds > 0 ? "\(span) ago" : "in \(span)"
  }

  /// `today`, `3 d ago`, `in 2 d`, for the midnight in UTC of a day.
  func relative(day: Int64, now: Int64) -> String {
    let (length, clock) = (Int64(86_400_000_000_000), now + Int64(offset(now)) * 1_000_000_000)
    return clock / length == day / length ? "today" : Self.relative(day, now: clock / length * length)
  }

  private func civil(_ time: Int64) -> CivilTime { CivilTime(nanosecondsSince1970: time, offset: offset(time)) }
}
