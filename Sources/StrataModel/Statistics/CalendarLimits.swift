import StrataDocuments
import StrataSystem

/// Limits between dates at boundaries of a calendar and a clock: full hours, Mondays, firsts of a month, years.
package struct CalendarLimits: Hashable, Sendable {
  package enum Unit: Hashable, Sendable { case second, day, month, year }

  package var unit: Unit
  /// The number of units in a part.
  package var step: Int
  /// In seconds since 1970-01-01 00:00 of the relevant zone, ascending.
  package var limits: [Int64]

  /// The finest steps that cut a span of time into at most `parts` parts.
  ///
  /// - Parameters:
  ///   - least: seconds since 1970, as is `greatest`; years 1 to 9998.
  package init?(from least: Double, to greatest: Double, parts: Int) {
    guard least.isFinite, greatest.isFinite, least <= greatest, abs(least) < 1e12, abs(greatest) < 1e12, parts > 0
    else { return nil }
    let first = CivilTime(secondsSince1970: Int64(floor(least)))
    let last = CivilTime(secondsSince1970: Int64(floor(greatest)))
    guard first.year >= 1, last.year <= 9998 else { return nil }
    for (unit, step, seconds) in Self.steps where (greatest - least) / Double(seconds) <= Double(parts) {
      guard let limits = Self.limits(unit, step, from: Int64(floor(least)), to: Int64(floor(greatest)), parts: parts)
      else { continue }
      self.unit = unit
      self.step = step
      self.limits = limits
      return
    }
    return nil
  }

  /// The steps, each with the smallest number of seconds in a part.
  private static let steps: [(Unit, Int, Int64)] = {
    let day: Int64 = 86_400
    let seconds: [Int] = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200]
    return seconds.map { (.second, $0, Int64($0)) } + [(.day, 1, day), (.day, 7, 7 * day)]
      + [1, 2, 3, 6].map { (.month, $0, Int64($0) * 28 * day) }
      + [1, 2, 5, 10, 20, 25, 50, 100, 200, 250, 500, 1_000, 2_000, 5_000].map { (.year, $0, Int64($0) * 365 * day) }
  }()

  private static func limits(
    _ unit: Unit, _ step: Int, from least: Int64, to greatest: Int64, parts: Int
  ) -> [Int64]? {
    var limits: [Int64] = []
    var place = start(unit, step, at: least)
    while limits.count <= parts + 1 {
      guard let limit = second(unit, step, place) else { return nil }
      limits.append(limit)
      if limit > greatest { return limits.count - 1 <= parts ? limits : nil }
      place += 1
    }
    return nil
  }

  /// The number of the part that contains a moment.
  private static func start(_ unit: Unit, _ step: Int, at second: Int64) -> Int64 {
    let civil = CivilTime(secondsSince1970: second)
    return switch unit {
    case .second: second.dividedRoundingDown(by: Int64(step))
    // 1970-01-05 was a Monday.
    case .day: (second - Int64(step == 7 ? 4 * 86_400 : 0)).dividedRoundingDown(by: Int64(step) * 86_400)
    case .month: Int64(civil.year * 12 + civil.month - 1).dividedRoundingDown(by: Int64(step))
    case .year: Int64(civil.year).dividedRoundingDown(by: Int64(step))
    }
  }

  /// The beginning of a part.
  private static func second(_ unit: Unit, _ step: Int, _ place: Int64) -> Int64? {
    let (year, month): (Int64, Int64)
    switch unit {
    case .second: return place * Int64(step)
    case .day: return place * Int64(step) * 86_400 + (step == 7 ? 4 * 86_400 : 0)
    case .month: (year, month) = (place * Int64(step) / 12, place * Int64(step) % 12 + 1)
    case .year: (year, month) = (place * Int64(step), 1)
    }
    guard let days = CivilTime.days(year: Int(year), month: Int(month), day: 1) else { return nil }
    return Int64(days) * 86_400
  }

  /// Returns a limit as an axis shows it: only the parts that distinguish it from its neighbours.
  package func text(of limit: Int64) -> String {
    let civil = CivilTime(secondsSince1970: limit)
    return switch unit {
    case .year: String(civil.dateText.prefix(4))
    case .month: String(civil.dateText.prefix(7))
    case .day: civil.dateText
    case .second where step >= 60: "\(civil.dateText.suffix(5)) \(civil.minuteText)"
    case .second: civil.clockText
    }
  }
}

/// A text that is a date, read as the calendar and the clock of its own zone.
struct CivilText {
  /// The separator of date and time, and the zone. Texts in which both are equal have the order of their times.
  let spelling: String
  /// Since 1970-01-01 00:00 of that zone.
  let seconds: Double
  private let separator: String

  /// Reads `2026-11-17`, `2026-11-17 09:30`, `2026-11-17T09:00:00.25+02:00`; nil for anything else.
  init?(_ text: String) {
    let rest = text.dropFirst(10)
    let clock = rest.dropFirst().prefix { $0.isASCII && $0.isNumber || $0 == ":" || $0 == "." }
    let zone = rest.dropFirst(1 + clock.count)
    guard DateText.parse(text) != nil, let civil = DateText.parse(text.prefix(10) + rest.prefix(1) + clock) else {
      return nil
    }
    separator = String(rest.prefix(1))
    spelling = separator + zone
    seconds = civil + Double(DateText.referenceSeconds)
  }

  /// The least text of a moment and of later ones.
  func text(of limit: Int64, _ unit: CalendarLimits.Unit) -> String {
    let civil = CivilTime(secondsSince1970: limit)
    // A date without a time is the least text of its day.
    guard unit == .second, limit % 86_400 != 0 else { return civil.dateText }
    return civil.dateText + separator + (limit % 60 == 0 ? civil.minuteText : civil.clockText)
  }
}
