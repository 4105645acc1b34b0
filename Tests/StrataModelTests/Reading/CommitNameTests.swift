import StrataExpressions
import StrataDocuments
import Testing

@testable import StrataModel

@Suite("Names of commits")
struct CommitNameTests {
  /// Tuesday, 17 November 2026, 14:30:15 local time.
  private let now = moment(2026, 11, 17, second: 52_215)

  private static func moment(_ year: Int, _ month: Int, _ day: Int, second: Int = 0) -> Int64 {
    CivilTime.days(year: year, month: month, day: day).flatMap { LocalTime.moment(day: $0, second: second) } ?? 0
  }

  private func parse(_ text: String) throws -> CommitName {
    try CommitName(parsing: text, pins: ["pre-v3", "yesterday"], now: now)
  }

  private func end(of year: Int, _ month: Int, _ day: Int) -> CommitName {
    .time(Self.moment(year, month, day, second: 86_400) - 1)
  }

  @Test("a moment reads back from its text up to the ends of its range, and one beyond is refused")
  func moments() {
    for moment in [Int64.min, -1_000_000_001, -1_000_000_000, -1, 0, 1, .max] {
      #expect(MomentText.nanoseconds(MomentText.text(moment)) == moment)
    }
    for text in ["1677-09-21T00:12:43.145224191Z", "2262-04-11T23:47:16.854775808Z"] {
      #expect(MomentText.nanoseconds(text) == nil)
    }
  }

  @Test("numbers, head, steps before it, and pins")
  func simpleNames() throws {
    #expect(try parse("4818") == .number(CommitNumber(4818)))
    #expect(try parse(" #12 ") == .number(CommitNumber(12)))
    #expect(try parse("HEAD") == .stepsBeforeHead(0))
    #expect(try parse("head~3") == .stepsBeforeHead(3))
    #expect(try parse("head~") == .stepsBeforeHead(1))
    #expect(try parse("pre-v3") == .pin("pre-v3"))
    #expect(try parse("yesterday") == .pin("yesterday"))
  }

  @Test("a day means its end, so what was committed in its evening is not later")
  func days() throws {
    #expect(try parse("2026-11-16") == end(of: 2026, 11, 16))
    #expect(try parse("today") == end(of: 2026, 11, 17))
    #expect(try parse("Tuesday") == end(of: 2026, 11, 17))
    #expect(try parse("wed") == end(of: 2026, 11, 11))
    #expect(try parse("2026-01-31") == end(of: 2026, 1, 31))
  }

  @Test("a minute means its end, a second its own")
  func clock() throws {
    let minute: Int64 = 60_000_000_000
    let start = Self.moment(2026, 11, 17)
    #expect(try parse("2026-11-17 09:30") == .time(start + 571 * minute - 1))
    #expect(try parse("09:30") == .time(start + 571 * minute - 1))
    #expect(try parse("today 09:30:12") == .time(start + 570 * minute + 13_000_000_000 - 1))
  }

  @Test("UTC and offsets are exact whatever the time zone")
  func offsets() throws {
    let utc = try parse("2026-11-17T09:00:00Z")
    #expect(utc == .time(1_794_906_000_999_999_999))
    #expect(try parse("2026-11-17T11:00:00+02:00") == utc)
    #expect(try parse("2026-11-17T09:00:00.999999999Z") == utc)
  }

  @Test("so long ago")
  func ago() throws {
    let hour: Int64 = 3_600_000_000_000
    #expect(try parse("2 hours ago") == .time(now - 2 * hour))
    #expect(try parse("an hour ago") == .time(now - hour))
    #expect(try parse("3d ago") == .time(now - 72 * hour))
    #expect(try parse("1 week ago") == .time(now - 168 * hour))
  }

  @Test(
    "what is none of these is refused with the text in the sentence",
    arguments: ["", "head~x", "2026-13-01", "2026-11-17 25:00", "soon", "ago", "9223372036854775807 weeks ago x", "T"])
  func refusals(text: String) {
    #expect(throws: ModelError.self) { try parse(text) }
  }
}
