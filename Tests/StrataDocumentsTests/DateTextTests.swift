import Foundation
import Testing

@testable import StrataDocuments

struct DateTextTests {
  @Test("dates read back exactly as they were", arguments: 1...4 as ClosedRange<UInt64>)
  func roundTrip(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var dates: [Double] = [
      0, -0.25, 0.1, -978_307_200, 1e-7, -1e-7, 816_685_200.123_456_7, 252_455_615_999, -63_114_076_800,
    ]
    for _ in 0..<2000 {
      dates.append(Double.random(in: -6e10...2.5e11, using: &random))
      dates.append(Double(Int.random(in: -1_000_000...1_000_000_000, using: &random)) / 1000)
    }
    for date in dates { #expect(DateText.parse(DateText.text(of: date)) == date, "\(date)") }
  }

  @Test("dates since the Gregorian calendar are shown as ISO 8601 in UTC, as Foundation shows them")
  func foundation() {
    var random = SeededGenerator(seed: 5)
    for _ in 0..<500 {
      let seconds = Double(Int.random(in: -13_000_000_000...200_000_000_000, using: &random))
      let date = Date(timeIntervalSinceReferenceDate: seconds)
      #expect(DateText.text(of: seconds) == date.ISO8601Format())
    }
    #expect(DateText.text(of: 0.5) == "2001-01-01T00:00:00.5Z")
    #expect(DateText.text(of: 1e300) == "Date(1e+300)")
    #expect(DateText.parse("Date(1e+300)") == 1e300)
  }

  @Test(
    "what is not a date is none",
    arguments: [
      "", "2026", "2026-13-01", "2026-02-29", "2026-1-1", "2026-11-17T", "2026-11-17T24:00", "2026-11-17T10:00:00.",
      "2026-11-17T10:00+1", "2026-11-17 10:00 x", "Date()", "Date(x)",
    ])
  func wrong(text: String) { #expect(DateText.parse(text) == nil) }

  @Test("zones are taken off")
  func zones() {
    #expect(DateText.parse("2001-01-01T00:00:00-01:30") == 5400)
    #expect(DateText.parse("2001-01-01T00:00+0100") == -3600)
    #expect(DateText.parse("2001-01-01") == 0)
  }
}
