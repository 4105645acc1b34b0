/// Dates as ISO 8601 text in UTC, exact: a written date reads back as the same number.
package enum DateText {
  /// Seconds from 1970 to 2001, the origin of Foundation's dates.
  package static let referenceSeconds: Int64 = 978_307_200

  /// `2026-11-17T09:00:00Z`, with as many digits after the point as the number has; `Date(1e+300)` outside the years 0
  /// to 9999.
  package static func text(of interval: Double) -> String {
    guard interval.isFinite, abs(interval) < 1e12, let digits = DecimalDigits("\(interval)"),
      digits.digits.count - digits.exponent <= 25
    else { return "Date(\(interval))" }
    let (whole, fraction) = split(digits)
    let moment = CivilTime(secondsSince1970: whole + referenceSeconds)
    guard 0...9999 ~= moment.year else { return "Date(\(interval))" }
    return "\(moment.dateText)T\(moment.clockText)\(fraction.isEmpty ? "" : "." + fraction)Z"
  }

  /// Reads `2026-11-17`, `2026-11-17 09:30`, `2026-11-17T09:30:00.25Z`, `…+02:00` (UTC if no zone is given) and the output of `text(of:)`;
  /// returns nil for anything else.
  package static func parse(_ text: some StringProtocol) -> Double? {
    if text.hasPrefix("Date("), text.hasSuffix(")") { return Double(text.dropFirst(5).dropLast()) }
    guard let (seconds, fraction) = parts(text, offset: 0) else { return nil }
    return combine(seconds - referenceSeconds, fraction)
  }

  /// Whole seconds since 1970 and the digits after the point. `offset` is the seconds east of UTC if no zone is given.
  package static func parts(_ text: some StringProtocol, offset: Int) -> (seconds: Int64, fraction: String)? {
    var scanner = DigitScanner(text)
    guard let year = scanner.number(4), scanner.consume("-"), let month = scanner.number(2), scanner.consume("-"),
      let day = scanner.number(2), let days = CivilTime.days(year: year, month: month, day: day)
    else { return nil }
    var seconds = Int64(days) * 86400
    var fraction = ""
    var zone: Int? = scanner.zone()
    if zone == nil, !scanner.isAtEnd {
      guard scanner.consume("T") || scanner.consume(" ") || scanner.consume("t"), let hour = scanner.number(2),
        hour < 24,
        scanner.consume(":"), let minute = scanner.number(2), minute < 60
      else { return nil }
      seconds += Int64(hour * 3600 + minute * 60)
      if scanner.consume(":") {
        guard let second = scanner.number(2), second <= 60 else { return nil }
        seconds += Int64(second)
        if scanner.consume(".") || scanner.consume(",") {
          fraction = scanner.digits()
          guard !fraction.isEmpty else { return nil }
        }
      }
      zone = scanner.zone()
    }
    guard scanner.isAtEnd else { return nil }
    return (seconds - Int64(zone ?? offset), fraction)
  }

  /// Whole seconds, rounded down, and the digits of the rest.
  package static func split(_ digits: DecimalDigits) -> (Int64, String) {
    let places = max(0, digits.digits.count - digits.exponent)
    let padded = Array(repeating: 0, count: max(0, -digits.exponent)) + digits.digits
    var whole: Int64 = 0
    for digit in padded.prefix(padded.count - places) { whole = whole * 10 + Int64(digit) }
    for _ in 0..<max(0, digits.exponent - digits.digits.count) { whole *= 10 }
    var fraction = Array(padded.suffix(places))
    if digits.isNegative {
      whole = -whole
      if !fraction.isEmpty {
        whole -= 1
        fraction = complement(fraction)
      }
    }
    return (whole, String(decoding: fraction.map { $0 + UInt8(ascii: "0") }, as: UTF8.self))
  }

  private static func combine(_ seconds: Int64, _ fraction: String) -> Double? {
    guard !fraction.isEmpty else { return Double(seconds) }
    guard seconds < 0, fraction.utf8.contains(where: { $0 != UInt8(ascii: "0") }) else {
      return Double("\(seconds).\(fraction)")
    }
    let rest = complement(fraction.utf8.map { $0 - UInt8(ascii: "0") }).map { $0 + UInt8(ascii: "0") }
    return Double("-\(-(seconds + 1)).\(String(decoding: rest, as: UTF8.self))")
  }

  /// The digits of 1 − 0.digits; not for zero.
  private static func complement(_ digits: [UInt8]) -> [UInt8] {
    var result = digits.map { 9 - $0 }
    for index in result.indices.reversed() {
      if result[index] < 9 {
        result[index] += 1
        break
      }
      result[index] = 0
    }
    return result
  }
}

/// A moment as calendar and clock show it, in the Gregorian calendar.
package struct CivilTime: Hashable, Sendable {
  package var year: Int
  package var month: Int
  package var day: Int
  package var hour: Int
  package var minute: Int
  package var second: Int

  /// `seconds` counts from 1970-01-01 00:00 of the zone to be shown.
  package init(secondsSince1970 seconds: Int64) {
    let days = seconds.dividedRoundingDown(by: 86400)
    let rest = Int(seconds - days * 86400)
    (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60)
    // Eras of 400 years that begin on the first of March.
    let shifted = days + 719_468
    let era = shifted.dividedRoundingDown(by: 146_097)
    let dayOfEra = Int(shifted - era * 146_097)
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shiftedMonth = (5 * dayOfYear + 2) / 153
    day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
    month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
    year = yearOfEra + Int(era) * 400 + (month <= 2 ? 1 : 0)
  }

  /// `offset` is the seconds east of UTC of the zone to be shown.
  package init(nanosecondsSince1970 moment: Int64, offset: Int = 0) {
    self.init(secondsSince1970: moment.dividedRoundingDown(by: 1_000_000_000) + Int64(offset))
  }

  /// `2026-11-17`.
  package var dateText: String {
    "\(String(year).zeroFilled(4))-\(String(month).zeroFilled(2))-\(String(day).zeroFilled(2))"
  }
  /// `09:30:00`.
  package var clockText: String { "\(minuteText):\(String(second).zeroFilled(2))" }
  /// `09:30`.
  package var minuteText: String { "\(String(hour).zeroFilled(2)):\(String(minute).zeroFilled(2))" }

  /// Days since 1970-01-01; nil if there is no such day. `year` is 0…9999.
  package static func days(year: Int, month: Int, day: Int) -> Int? {
    guard 0...9999 ~= year, 1...12 ~= month, day >= 1, day <= length(ofMonth: month, year: year) else { return nil }
    let shifted = month <= 2 ? year - 1 : year
    let era = Int(Int64(shifted).dividedRoundingDown(by: 400))
    let yearOfEra = shifted - era * 400
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }

  private static func length(ofMonth month: Int, year: Int) -> Int {
    switch month {
    case 2: year.isMultiple(of: 4) && (!year.isMultiple(of: 100) || year.isMultiple(of: 400)) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }
}

/// Reads numbers of a fixed width from a text.
package struct DigitScanner {
  private let bytes: [UInt8]
  private var at = 0

  package init(_ text: some StringProtocol) { bytes = Array(text.utf8) }

  package var isAtEnd: Bool { at == bytes.count }

  package mutating func number(_ width: Int) -> Int? {
    guard bytes.count - at >= width else { return nil }
    var value = 0
    for byte in bytes[at..<(at + width)] {
      guard byte.isDigit else { return nil }
      value = value * 10 + Int(byte - UInt8(ascii: "0"))
    }
    at += width
    return value
  }

  package mutating func digits() -> String {
    let start = at
    while at < bytes.count, bytes[at].isDigit { at += 1 }
    return String(decoding: bytes[start..<at], as: UTF8.self)
  }

  package mutating func consume(_ scalar: Unicode.Scalar) -> Bool {
    guard at < bytes.count, bytes[at] == UInt8(ascii: scalar) else { return false }
    at += 1
    return true
  }

  /// A zone (`Z`, `+02:00`, `-0330`, `+02`) as seconds east of UTC; returns nil and takes nothing if there is none.
  package mutating func zone() -> Int? {
    if consume("Z") || consume("z") { return 0 }
    let start = at
    let isWest = consume("-")
    guard isWest || consume("+"), let hours = number(2), hours < 24 else {
      at = start
      return nil
    }
    let hasColon = consume(":")
    let minutes = number(2)
    guard !hasColon || minutes != nil, minutes ?? 0 < 60 else {
      at = start
      return nil
    }
    return (isWest ? -1 : 1) * (hours * 3600 + (minutes ?? 0) * 60)
  }
}

extension Int64 {
  /// The quotient rounded towards minus infinity.
  package func dividedRoundingDown(by divisor: Int64) -> Int64 {
    let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? quotient - 1 : quotient
  }
}
