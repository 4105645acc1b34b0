import StrataSystem

/// A number that users see as round: few digits and a power of ten, exact.
package struct RoundNumber: Hashable, Sendable {
  package var coefficient: Int128
  package var exponent: Int

  /// Its digits, without an exponent if there are few: `250000`, `0.25`, `1e30`.
  package var text: String {
    var magnitude = String(coefficient.magnitude)
    guard coefficient != 0 else { return "0" }
    let sign = coefficient < 0 ? "-" : ""
    if exponent >= 0, magnitude.count + exponent <= 21 {
      return sign + magnitude + String(repeating: "0", count: exponent)
    }
    guard exponent < 0, exponent >= -12 else { return "\(sign)\(magnitude)e\(exponent)" }
    while magnitude.count <= -exponent { magnitude = "0" + magnitude }
    let point = magnitude.index(magnitude.endIndex, offsetBy: exponent)
    var fraction = magnitude[point...]
    while fraction.last == "0" { fraction.removeLast() }
    return sign + magnitude[..<point] + (fraction.isEmpty ? "" : "." + fraction)
  }

  package var double: Double { Double("\(coefficient)e\(exponent)") ?? .nan }
}

/// Round limits between numbers, for bins and for the marks of an axis.
package enum RoundNumbers {
  /// The largest number of parts that is ever made.
  package static let partLimit = 4_096

  /// Equal steps of 1, 2, 2.5, 4 or 5 times a power of ten, from a limit at or below `least` to one above `greatest`: at
  /// most `parts` parts, and as many as the steps allow.
  ///
  /// - Parameter isWhole: whether steps are whole numbers, never narrower than 1.
  package static func linear(
    from least: Double, to greatest: Double, parts: Int, isWhole: Bool
  ) -> [RoundNumber] {
    guard least.isFinite, greatest.isFinite, least <= greatest else { return [] }
    let parts = min(max(1, parts), partLimit)
    // The difference of numbers at opposite ends of their range is not finite.
    let span = greatest / 2 - least / 2
    let smallest = span / Double(parts) * 2
    let start =
      span > 0
      ? Int(floor(log10(max(span / Double(parts), .leastNonzeroMagnitude))))
      : least == 0 ? 0 : Int(floor(log10(abs(least)))) - (isWhole ? 0 : 1)
    for exponent in max(start - 1, isWhole ? -1 : -330)...max(start + 3, isWhole ? 3 : -327) {
      for (digits, shift) in [(1, 0), (2, 0), (25, -1), (4, 0), (5, 0)] as [(Int128, Int)] {
        let step = RoundNumber(coefficient: digits, exponent: exponent + shift)
        if isWhole, step.exponent < 0 { continue }
        guard step.double >= smallest, let limits = limits(of: step, from: least, to: greatest, parts: parts) else {
          continue
        }
        return limits
      }
    }
    return []
  }

  private static func limits(
    of step: RoundNumber, from least: Double, to greatest: Double, parts: Int
  ) -> [RoundNumber]? {
    let width = step.double
    guard width > 0, abs(least / width) < 1e30, abs(greatest / width) < 1e30 else { return nil }
    func limit(_ place: Int128) -> RoundNumber {
      RoundNumber(coefficient: place * step.coefficient, exponent: step.exponent)
    }
    var first = Int128(floor(least / width))
    var end = Int128(floor(greatest / width)) + 1
    // A quotient is rounded, a limit is not.
    while limit(first).double > least { first -= 1 }
    while limit(first + 1).double <= least, first + 1 < end { first += 1 }
    while limit(end).double <= greatest { end += 1 }
    while limit(end - 1).double > greatest, end - 1 > first { end -= 1 }
    guard end - first <= Int128(parts) else { return nil }
    return (first...end).map(limit)
  }

  /// Limits that are about equally far apart on a logarithmic scale, from one at or below `least` to one above `greatest`: the preferred
  /// numbers of ISO 3 (1, 1.25, 1.6, 2, …), as many per decade as `parts` allow.
  ///
  /// - Parameter least: above zero.
  package static func logarithmic(
    from least: Double, to greatest: Double, parts: Int, isWhole: Bool
  ) -> [RoundNumber] {
    guard least > 0, least.isFinite, greatest.isFinite, least <= greatest else { return [] }
    let parts = min(max(1, parts), partLimit)
    let decades = Int(floor(log10(least))) - 1...Int(floor(log10(greatest))) + 1
    for series in preferred {
      let limits = trimmed(
        decades.flatMap { decade in series.compactMap { whole($0, decade, isWhole: isWhole) } }, from: least,
        to: greatest)
      if limits.count - 1 <= parts { return limits }
    }
    let stride = (decades.count + parts - 1) / parts + 1
    return trimmed(
      decades.filter { ($0 - decades.lowerBound).isMultiple(of: stride) }.map {
        RoundNumber(coefficient: 1, exponent: $0)
      } + [RoundNumber(coefficient: 1, exponent: decades.upperBound + stride)], from: least, to: greatest)
  }

  /// In hundredths, the finest series first.
  private static let preferred: [[Int128]] = [
    [
      100, 112, 125, 140, 160, 180, 200, 224, 250, 280, 315, 355, 400, 450, 500, 560, 630, 710, 800, 900,
    ],
    [100, 125, 160, 200, 250, 315, 400, 500, 630, 800], [100, 160, 250, 400, 630], [100, 200, 500], [100, 300], [100],
  ]

  private static func whole(_ hundredths: Int128, _ decade: Int, isWhole: Bool) -> RoundNumber? {
    var number = RoundNumber(coefficient: hundredths, exponent: decade - 2)
    while number.coefficient.isMultiple(of: 10) {
      number.coefficient /= 10
      number.exponent += 1
    }
    return isWhole && number.exponent < 0 ? nil : number
  }

  private static func trimmed(_ limits: [RoundNumber], from least: Double, to greatest: Double) -> [RoundNumber] {
    let first = limits.lastIndex { $0.double <= least } ?? 0
    let last = limits.firstIndex { $0.double > greatest } ?? limits.count - 1
    return first < last ? Array(limits[first...last]) : limits
  }
}
