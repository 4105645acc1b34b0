/// Points counted into a grid of dots as they are read: memory depends on the dots only, and no point is left out.
package struct ScatterCount: Sendable, Hashable {
  /// The part of the plane that is shown.
  package struct Frame: Sendable, Hashable {
    package var x: ClosedRange<Double>
    package var y: ClosedRange<Double>

    package init(x: ClosedRange<Double>, y: ClosedRange<Double>) {
      self.x = x
      self.y = y
    }
  }

  package let frame: Frame
  package let columns: Int
  package let rows: Int
  /// By series, then row by row from the top.
  package private(set) var counts: [[UInt32]]
  /// Points inside the frame, and outside it.
  package private(set) var inside = 0
  package private(set) var outside = 0

  /// - Parameters:
  ///   - columns: dots across, as `rows` down; at least 1.
  ///   - series: at least 1.
  package init(_ frame: Frame, columns: Int, rows: Int, series: Int = 1) {
    self.frame = frame
    self.columns = max(1, columns)
    self.rows = max(1, rows)
    counts = Array(repeating: Array(repeating: 0, count: self.columns * self.rows), count: max(1, series))
  }

  /// Counts a point. Returns false if it is outside the frame.
  @discardableResult
  package mutating func add(_ x: Double, _ y: Double, series: Int = 0) -> Bool {
    guard let dot = dot(x, y), counts.indices.contains(series) else {
      outside += 1
      return false
    }
    let place = dot.row * columns + dot.column
    if counts[series][place] < .max { counts[series][place] += 1 }
    inside += 1
    return true
  }

  /// Returns the dot of a point, counted from the upper left, or nil outside the frame.
  package func dot(_ x: Double, _ y: Double) -> (column: Int, row: Int)? {
    guard frame.x.contains(x), frame.y.contains(y) else { return nil }
    return (Self.place(x, in: frame.x, of: columns), rows - 1 - Self.place(y, in: frame.y, of: rows))
  }

  private static func place(_ value: Double, in range: ClosedRange<Double>, of count: Int) -> Int {
    range.upperBound > range.lowerBound ? range.part(of: value, among: count) : count / 2
  }

  /// Returns the values that a dot stands for.
  package func values(column: Int, row: Int) -> Frame {
    func part(_ range: ClosedRange<Double>, _ place: Int, _ count: Int) -> ClosedRange<Double> {
      let half = range.width(ofParts: count) / 2
      let lower = range.lowerBound + half * Double(place) + half * Double(place)
      return lower...max(lower, min(range.upperBound, lower + half + half))
    }
    return Frame(x: part(frame.x, column, columns), y: part(frame.y, rows - 1 - row, rows))
  }
}
