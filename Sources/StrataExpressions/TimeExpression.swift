import StrataDocuments

/// A time as a person names it: `2026-11-17`, `2026-11-17 09:30`, `09:30`, `Tuesday`, `yesterday`, `2 hours ago`, `now`.
///
/// It means a span of time (a day, a minute, a second, or no length at all): a commit “not later than Tuesday” is one made before Tuesday
/// was over.
package struct TimeExpression: Hashable, Sendable {
  /// Nanoseconds since 1970, both within the stretch.
  package var first: Int64
  package var last: Int64

  /// Reads typed text; returns nil for anything else. Names of days are English, in full or three letters; a weekday is the last one, today
  /// included.
  ///
  /// - Parameters:
  ///   - now: Nanoseconds since 1970.
  ///   - zone: The clock by which days begin.
  package init?(parsing text: String, now: Int64, zone: Zone = .local) {
    let words = text.lowercased().split(whereSeparator: \.isWhitespace).map(String.init)
    guard let first = words.first else { return nil }
    if words == ["now"] {
      self.init(at: now)
    } else if words.count >= 2, words.last == "ago" {
      guard let span = Self.span(words.dropLast()), let moment = span.before(now, zone: zone) else { return nil }
      self.init(at: moment)
    } else if words.count == 2, first == "last", let span = Self.span(["1", words[1]]),
      let moment = span.before(now, zone: zone)
    {
      self.init(at: moment)
    } else {
      self.init(dayAndClock: words, text: text, now: now, zone: zone)
    }
  }

  private init(at moment: Int64) { (first, last) = (moment, moment) }

  /// A span of `length` nanoseconds; nil if it is beyond the clock.
  private init?(at moment: Int64, plus fraction: Int64, lasting length: Int64) {
    let (start, isTooLate) = moment.addingReportingOverflow(fraction)
    let (end, endIsTooLate) = start.addingReportingOverflow(length - 1)
    guard !isTooLate, !endIsTooLate else { return nil }
    (first, last) = (start, end)
  }

  /// A day, a clock time of today, or both.
  private init?(dayAndClock words: [String], text: String, now: Int64, zone: Zone) {
    let trimmed = text.trimmingSpaces
    if let exact = Self.exact(trimmed) {
      self = exact
      return
    }
    var words = words
    // `2026-11-17T09:30`
    if words.count == 1, let separator = words[0].firstIndex(of: "t"), words[0].first?.isNumber == true {
      words = [String(words[0][..<separator]), String(words[0][words[0].index(after: separator)...])]
    }
    let today = zone.day(of: now)
    let day = words.first.flatMap { Self.day($0, today: today) }
    if day != nil { words.removeFirst() }
    if words.first == "at", day != nil { words.removeFirst() }
    guard words.count <= 1, day != nil || !words.isEmpty else { return nil }
    if let word = words.first {
      guard let clock = Self.clock(word), let start = zone.moment(day: day ?? today, second: clock.second) else {
        return nil
      }
      self.init(at: start, plus: clock.nanosecond, lasting: clock.length)
    } else {
      guard let start = zone.moment(day: day ?? today, second: 0),
        let next = zone.moment(day: (day ?? today) + 1, second: 0)
      else { return nil }
      self.init(at: start, plus: 0, lasting: next - start)
    }
  }

  /// A time with its own zone, so that no local clock is needed: `2026-11-17T09:30:00.5Z`.
  private static func exact(_ text: String) -> TimeExpression? {
    guard text.utf8.count > 16,
      text.last == "Z" || text.last == "z" || text.suffix(6).contains(where: { $0 == "+" || $0 == "-" }),
      let (seconds, fraction) = DateText.parts(text, offset: 0)
    else { return nil }
    let (base, isTooLarge) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    guard !isTooLarge else { return nil }
    let hasSeconds = text.dropFirst(11).prefix(8).count { $0 == ":" } == 2
    guard !fraction.isEmpty else {
      return TimeExpression(at: base, plus: 0, lasting: hasSeconds ? 1_000_000_000 : 60_000_000_000)
    }
    guard let (nanoseconds, length) = Self.nanoseconds(String(fraction.prefix(9))) else { return nil }
    return TimeExpression(at: base, plus: nanoseconds, lasting: length)
  }

  /// The value of up to nine digits after the point, and of one unit in the last place.
  private static func nanoseconds(_ digits: String) -> (Int64, Int64)? {
    guard 1...9 ~= digits.utf8.count, var fraction = Int64(digits) else { return nil }
    var unit: Int64 = 1
    for _ in digits.utf8.count..<9 {
      fraction *= 10
      unit *= 10
    }
    return (fraction, unit)
  }

  /// Days since 1970-01-01.
  private static func day(_ word: String, today: Int) -> Int? {
    switch word {
    case "today": return today
    case "yesterday": return today - 1
    default: break
    }
    let weekdays = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
    if let index = weekdays.firstIndex(where: { $0 == word || (word.count >= 3 && $0.hasPrefix(word)) }) {
      // 1970-01-01 was a Thursday.
      let now = ((today + 3) % 7 + 7) % 7
      return today - (now - index + 7) % 7
    }
    var scanner = DigitScanner(word)
    guard let year = scanner.number(4), scanner.consume("-"), let month = scanner.number(2), scanner.consume("-"),
      let day = scanner.number(2), scanner.isAtEnd
    else { return nil }
    return CivilTime.days(year: year, month: month, day: day)
  }

  /// A time of day (`9:30`, `09:30:12`, `09:30:12.5`) and how long it lasts, in nanoseconds.
  private static func clock(_ word: String) -> (second: Int, nanosecond: Int64, length: Int64)? {
    let padded = word.prefix { $0 != ":" }.count == 1 ? "0" + word : word
    var scanner = DigitScanner(padded)
    guard let hour = scanner.number(2), hour < 24, scanner.consume(":"), let minute = scanner.number(2), minute < 60
    else {
      return nil
    }
    let start = hour * 3600 + minute * 60
    if scanner.isAtEnd { return (start, 0, 60_000_000_000) }
    guard scanner.consume(":"), let second = scanner.number(2), second < 60 else { return nil }
    if scanner.isAtEnd { return (start + second, 0, 1_000_000_000) }
    guard scanner.consume("."), let (fraction, length) = nanoseconds(scanner.digits()), scanner.isAtEnd else {
      return nil
    }
    return (start + second, fraction, length)
  }

  private enum Span {
    case nanoseconds(Int64)
    case months(Int)

    func before(_ now: Int64, zone: Zone) -> Int64? {
      switch self {
      case .nanoseconds(let span):
        let (moment, overflow) = now.subtractingReportingOverflow(span)
        return overflow ? nil : moment
      case .months(let months): return zone.moment(now, monthsBefore: months)
      }
    }
  }

  /// `2 hours`, `an hour`, `90 min`, `1h`.
  private static func span(_ words: some Collection<String>) -> Span? {
    var words = Array(words)
    if words.count == 1, let unit = words[0].firstIndex(where: { !$0.isNumber }) {
      words = [String(words[0][..<unit]), String(words[0][unit...])]
    }
    guard words.count == 2 else { return nil }
    guard let count = words[0] == "a" || words[0] == "an" ? 1 : Int64(words[0]), 0...1_000_000 ~= count else {
      return nil
    }
    var unit = words[1]
    if unit.count > 2, unit.hasSuffix("s") { unit.removeLast() }
    let second: Int64 = 1_000_000_000
    let length: Int64
    switch unit {
    case "s", "sec", "second": length = second
    case "m", "min", "minute": length = 60 * second
    case "h", "hr", "hour": length = 3600 * second
    case "d", "day": length = 86400 * second
    case "w", "week": length = 7 * 86400 * second
    case "month": return .months(Int(count))
    case "y", "year": return .months(12 * Int(count))
    default: return nil
    }
    let (span, overflow) = count.multipliedReportingOverflow(by: length)
    return overflow ? nil : .nanoseconds(span)
  }

  /// The clock by which a day begins.
  package enum Zone: Hashable, Sendable {
    /// The clock of the process (`TZ`).
    case local
    /// A fixed distance, in seconds east of UTC.
    case offset(Int)

    /// The day of a moment, since 1970-01-01.
    func day(of moment: Int64) -> Int {
      switch self {
      case .offset(let seconds):
        return Int((moment.dividedRoundingDown(by: 1_000_000_000) + Int64(seconds)).dividedRoundingDown(by: 86400))
      case .local: return Zone.offset(LocalTime.offset(at: moment)).day(of: moment)
      }
    }

    func moment(day: Int, second: Int) -> Int64? {
      switch self {
      case .offset(let offset):
        let (moment, overflow) = (Int64(day) * 86400 + Int64(second - offset)).multipliedReportingOverflow(
          by: 1_000_000_000)
        return overflow ? nil : moment
      case .local: return LocalTime.moment(day: day, second: second)
      }
    }

    /// The same day and time of an earlier month, or its last day if it is shorter.
    func moment(_ now: Int64, monthsBefore months: Int) -> Int64? {
      let day = day(of: now)
      guard let midnight = moment(day: day, second: 0) else { return nil }
      let date = CivilTime(secondsSince1970: Int64(day) * 86400)
      let month = date.year * 12 + date.month - 1 - months
      guard month >= 0 else { return nil }
      let (year, monthOfYear) = (month / 12, month % 12 + 1)
      let target = (0..<4).lazy.compactMap { CivilTime.days(year: year, month: monthOfYear, day: date.day - $0) }.first
      guard let target, let start = moment(day: target, second: 0) else { return nil }
      return start + (now - midnight)
    }
  }
}
