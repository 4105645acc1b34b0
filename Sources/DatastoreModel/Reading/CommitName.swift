/// What a person calls a commit: a number, `head`, a step back from it, the name of a pin, or a time.
package enum CommitName: Hashable, Sendable {
  case number(CommitNumber)
  /// `head` is 0 steps, `head~3` is 3.
  case stepsBeforeHead(Int)
  case pin(String)
  /// The newest commit that is not later than this moment, in nanoseconds since 1970.
  case time(Int64)

  /// Reads `4818`, `#4818`, `head`, `head~3`, one of the pins, or a time as `CommitTime` reads it.
  ///
  /// - Parameter now: nanoseconds since 1970, for times that are meant from today.
  package init(parsing text: String, pins: [String], now: Int64 = LocalTime.now) throws(ModelError) {
    let name = text.trimmingSpaces
    if let number = UInt64(name.hasPrefix("#") ? name.dropFirst() : name[...]) {
      self = .number(CommitNumber(number))
    } else if let steps = Self.stepsBeforeHead(name.lowercased()) {
      self = .stepsBeforeHead(steps)
    } else if pins.contains(name) {
      self = .pin(name)
    } else if let moment = CommitTime.parse(name, now: now) {
      self = .time(moment)
    } else {
      throw .noSuchCommit(name, reason: "it is no number, no head~N, no pin and no time")
    }
  }

  private static func stepsBeforeHead(_ name: String) -> Int? {
    guard name.hasPrefix("head") else { return nil }
    let rest = name.dropFirst(4)
    if rest.isEmpty { return 0 }
    guard rest.first == "~" else { return nil }
    return rest.count == 1 ? 1 : Int(rest.dropFirst()).flatMap { $0 >= 0 ? $0 : nil }
  }
}

/// Times as people say them, by the clock on the wall: `2026-11-17`, `2026-11-17 09:30`, `09:30`, `Tuesday`,
/// `yesterday`, `2 hours ago`, `2026-11-17T09:00:00Z`.
///
/// What is said names a span (a day, a minute, a second), and "not later than" it reaches to its end: a commit of
/// Tuesday evening is not later than Tuesday.
package enum CommitTime {
  /// The last nanosecond of what `text` names, since 1970; nil where it is no time.
  package static func parse(_ text: String, now: Int64) -> Int64? {
    let text = text.trimmingSpaces
    let words = text.lowercased().split(separator: " ").map(String.init)
    return ago(words, now: now) ?? dayWord(words, now: now) ?? calendarTime(text, now: now)
  }

  private static let second: Int64 = 1_000_000_000
  private static let unitSeconds: [String: Int64] = [
    "second": 1, "sec": 1, "s": 1, "minute": 60, "min": 60, "m": 60, "hour": 3600, "h": 3600, "day": 86400, "d": 86400,
    "week": 604_800, "w": 604_800,
  ]
  private static let weekdays = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"]

  /// `2 hours ago`, `an hour ago`, `3d ago`.
  private static func ago(_ words: [String], now: Int64) -> Int64? {
    guard words.last == "ago", words.count == 3 || words.count == 2 else { return nil }
    var count = words[0]
    var unit = words.count == 3 ? words[1] : ""
    if words.count == 2 {
      unit = String(count.drop { $0.isNumber })
      count = String(count.prefix { $0.isNumber })
    }
    guard let number = count == "a" || count == "an" ? 1 : Int64(count), number >= 0 else { return nil }
    if unit.count > 1, unit.hasSuffix("s") { unit.removeLast() }
    if unit == "month" || unit == "year" { return monthsAgo(number, times: unit == "year" ? 12 : 1, now: now) }
    guard let length = unitSeconds[unit] else { return nil }
    let (span, isTooLong) = number.multipliedReportingOverflow(by: length)
    let (nanoseconds, isTooLongStill) = span.multipliedReportingOverflow(by: second)
    guard !isTooLong, !isTooLongStill else { return nil }
    return now.subtractingReportingOverflow(nanoseconds).partialValue
  }

  private static func monthsAgo(_ number: Int64, times factor: Int64, now: Int64) -> Int64? {
    guard number < 100_000 else { return nil }
    var time = LocalTime(nanoseconds: now)
    time.month -= Int(number * factor)
    return time.nanoseconds
  }

  /// `today`, `yesterday`, `Tuesday`, each with a time of day after it if wanted: `yesterday 09:30`.
  private static func dayWord(_ words: [String], now: Int64) -> Int64? {
    guard let word = words.first, words.count <= 2 else { return nil }
    if word == "now" { return words.count == 1 ? now : nil }
    var day = LocalTime(nanoseconds: now)
    switch word {
    case "today": break
    case "yesterday": day.day -= 1
    default:
      guard word.count >= 3, let weekday = weekdays.firstIndex(where: { $0.hasPrefix(word) }) else { return nil }
      day.day -= (day.weekday - weekday + 7) % 7
    }
    return end(of: day, clock: words.count == 2 ? words[1] : nil)
  }

  private static func calendarTime(_ text: String, now: Int64) -> Int64? {
    let parts = text.split(maxSplits: 1) { $0 == " " || $0 == "T" || $0 == "t" }.map(String.init)
    guard let first = parts.first else { return nil }
    if parts.count == 1, first.contains(":") { return end(of: LocalTime(nanoseconds: now), clock: first) }
    let numbers = first.split(separator: "-", omittingEmptySubsequences: false).map { Int($0) }
    guard numbers.count == 3, let year = numbers[0], let month = numbers[1], let day = numbers[2],
      (1...9999).contains(year), (1...12).contains(month), (1...31).contains(day)
    else { return nil }
    return end(of: LocalTime(year: year, month: month, day: day), clock: parts.count == 2 ? parts[1] : nil)
  }

  /// The end of a day, or of the minute or second of it that `clock` names (`09:30`, `09:30:12.5`, with a `Z` or an
  /// offset as `+02:00` where it is not local).
  private static func end(of day: LocalTime, clock: String?) -> Int64? {
    var day = LocalTime(year: day.year, month: day.month, day: day.day)
    guard let clock else {
      day.day += 1
      return day.nanoseconds.map { $0 - 1 }
    }
    guard let (time, offset) = splitOffset(clock) else { return nil }
    let parts = time.split(separator: ":", omittingEmptySubsequences: false)
    guard (2...3).contains(parts.count), let hour = Int(parts[0]), (0...23).contains(hour),
      let minute = Int(parts[1]), (0...59).contains(minute)
    else { return nil }
    var precision = 60 * second
    var nanoseconds = (Int64(hour) * 3600 + Int64(minute) * 60) * second
    if parts.count == 3 {
      let pieces = parts[2].split(separator: ".", maxSplits: 1)
      guard let seconds = pieces.first.flatMap({ Int64($0) }), (0...60).contains(seconds) else { return nil }
      precision = second
      nanoseconds += seconds * second
      if pieces.count == 2 {
        let digits = pieces[1].prefix(9)
        guard let fraction = Int64(digits), fraction >= 0 else { return nil }
        for _ in 0..<digits.count { precision /= 10 }
        nanoseconds += fraction * precision
      }
    }
    if let offset {
      let days = daysSince1970(year: day.year, month: day.month, day: day.day)
      return (days * 86400 - offset) * second + nanoseconds + precision - 1
    }
    (day.hour, day.minute) = (hour, minute)
    let intoMinute = nanoseconds % (60 * second)
    return day.nanoseconds.map { $0 + intoMinute + precision - 1 }
  }

  /// The time of day and the seconds east of Greenwich, or nil for local time.
  private static func splitOffset(_ clock: String) -> (time: String, offset: Int64?)? {
    if clock.hasSuffix("Z") || clock.hasSuffix("z") { return (String(clock.dropLast()), 0) }
    guard let sign = clock.lastIndex(where: { $0 == "+" || $0 == "-" }) else { return (clock, nil) }
    let digits = clock[clock.index(after: sign)...].filter { $0 != ":" }
    guard digits.count == 4, let number = Int64(digits), number % 100 < 60 else { return nil }
    let offset = (number / 100 * 60 + number % 100) * 60
    return (String(clock[..<sign]), clock[sign] == "-" ? -offset : offset)
  }

  /// Days of the Gregorian calendar since 1970-01-01.
  private static func daysSince1970(year: Int, month: Int, day: Int) -> Int64 {
    let shifted = month <= 2 ? year - 1 : year
    let era = (shifted >= 0 ? shifted : shifted - 399) / 400
    let yearOfEra = shifted - era * 400
    let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
    let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    return Int64(era) * 146_097 + Int64(dayOfEra) - 719_468
  }
}
