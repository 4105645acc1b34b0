import StrataDocuments
import Testing

@testable import StrataExpressions

struct TimeExpressionTests {
  /// Friday, 2026-11-20 16:00:05.25 UTC.
  private let now: Int64 = 1_795_190_405_250_000_000

  private func last(_ text: String, _ zone: TimeExpression.Zone = .offset(0)) -> String? {
    TimeExpression(parsing: text, now: now, zone: zone).map { show($0.last) }
  }

  private func show(_ moment: Int64) -> String {
    let seconds = moment.dividedRoundingDown(by: 1_000_000_000)
    let time = CivilTime(secondsSince1970: seconds)
    let rest = moment - seconds * 1_000_000_000
    return "\(time.dateText) \(time.clockText)" + (rest == 0 ? "" : ".\(rest / 1_000_000)")
  }

  @Test(
    "times mean the end of what they name",
    arguments: [
      ("2026-11-17", "2026-11-17 23:59:59.999"), ("2026-11-17 09:30", "2026-11-17 09:30:59.999"),
      ("2026-11-17T09:30", "2026-11-17 09:30:59.999"),
      ("2026-11-17 09:30:15", "2026-11-17 09:30:15.999"), ("2026-11-17T09:30:00Z", "2026-11-17 09:30:00.999"),
      ("2026-11-17T09:30:00.5Z", "2026-11-17 09:30:00.599"),
      ("2026-11-17T09:30:00+02:00", "2026-11-17 07:30:00.999"), ("2026-11-17T09:30Z", "2026-11-17 09:30:59.999"),
      ("now", "2026-11-20 16:00:05.250"), ("2026-11-17 09:30:15.25", "2026-11-17 09:30:15.259"),
      ("today", "2026-11-20 23:59:59.999"), ("yesterday", "2026-11-19 23:59:59.999"),
      ("Yesterday 9:15", "2026-11-19 09:15:59.999"), ("yesterday at 09:15", "2026-11-19 09:15:59.999"),
      ("09:30", "2026-11-20 09:30:59.999"), ("Tuesday", "2026-11-17 23:59:59.999"), ("tue", "2026-11-17 23:59:59.999"),
      ("friday", "2026-11-20 23:59:59.999"), ("Saturday", "2026-11-14 23:59:59.999"),
      ("tuesday 10:00", "2026-11-17 10:00:59.999"), ("2 hours ago", "2026-11-20 14:00:05.250"),
      ("an hour ago", "2026-11-20 15:00:05.250"), ("90 min ago", "2026-11-20 14:30:05.250"),
      ("3d ago", "2026-11-17 16:00:05.250"),
      ("1 month ago", "2026-10-20 16:00:05.250"), ("2 years ago", "2024-11-20 16:00:05.250"),
      ("last week", "2026-11-13 16:00:05.250"),
    ])
  func times(text: String, end: String) { #expect(last(text) == end) }

  @Test(
    "what is not a time is none",
    arguments: [
      "", "ago", "soon", "2026-13-01", "2026-02-30", "25:00", "2 moons ago", "2262-04-11T23:47:16Z", "-2 hours ago",
      "99999999999999999999 days ago", "tuesday wednesday", "tu", "9", "head", "2026-11-17 x", "at 09:30", "2026",
    ])
  func none(text: String) { #expect(last(text) == nil) }

  @Test("days begin by the clock of the zone")
  func zones() {
    // 18:00 at UTC+2; the day ends two hours earlier.
    #expect(last("today", .offset(7200)) == "2026-11-20 21:59:59.999")
    #expect(last("09:30", .offset(7200)) == "2026-11-20 07:30:59.999")
    #expect(last("today", .offset(10 * 3600)) == "2026-11-21 13:59:59.999")
    let local = TimeExpression(parsing: "2026-11-17 09:30", now: now)
    #expect(local.map { LocalTime.civil(at: $0.first).minuteText } == "09:30")
  }

  @Test("a day begins where the one before ends")
  func firsts() throws {
    let monday = try #require(TimeExpression(parsing: "2026-11-16", now: now, zone: .offset(0)))
    let tuesday = try #require(TimeExpression(parsing: "2026-11-17", now: now, zone: .offset(0)))
    #expect(monday.last + 1 == tuesday.first)
  }
}
