extension ClosedRange<Double> {
  /// Which of so many equal parts of the range a value lies in, from 0; the first or the last where it lies outside. Never traps,
  /// also where the range is wider than any number, or too narrow to be cut.
  package func part(of value: Double, among count: Int) -> Int {
    let span = upperBound - lowerBound
    // The span of numbers at opposite ends of their range is no number; that of their halves is.
    let share =
      span.isFinite
      ? (value - lowerBound) / span : (value / 2 - lowerBound / 2) / (upperBound / 2 - lowerBound / 2)
    let place = share * Double(count)
    guard place.isFinite, place > 0 else { return place == .infinity ? Swift.max(0, count - 1) : 0 }
    return place < Double(count) ? Int(place) : Swift.max(0, count - 1)
  }
}
