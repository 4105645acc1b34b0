extension ClosedRange<Double> {
  /// Returns the number at a share of the range from 0 to 1; finite, even if the range is wider than any number.
  package func value(at share: Double) -> Double { lowerBound * (1 - share) + upperBound * share }

  /// Returns the width of one of `count` equal parts; finite from 2 parts on.
  package func width(ofParts count: Int) -> Double { upperBound / Double(count) - lowerBound / Double(count) }

  /// Returns which of `count` equal parts of the range contains a value, from 0; the first or the last part if the value is outside. Never
  /// traps, even if the range is wider than any number, or too narrow to be divided.
  package func part(of value: Double, among count: Int) -> Int {
    let span = upperBound - lowerBound
    // The difference of numbers at opposite ends of their range is not finite; that of their halves is.
    let share =
      span.isFinite
      ? (value - lowerBound) / span : (value / 2 - lowerBound / 2) / (upperBound / 2 - lowerBound / 2)
    let place = share * Double(count)
    guard place.isFinite, place > 0 else { return place == .infinity ? Swift.max(0, count - 1) : 0 }
    return place < Double(count) ? Int(place) : Swift.max(0, count - 1)
  }
}
