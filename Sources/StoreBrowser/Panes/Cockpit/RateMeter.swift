/// Rates of work, measured: an average that forgets in about three seconds, and the rates of the last pieces.
struct RateMeter: Sendable, Hashable {
  private struct Point: Sendable, Hashable {
    var done: Int
    var at: Int64
  }

  private(set) var rate: Double?
  private(set) var recent: [Double] = []
  /// The rates since the beginning, in parts of equal length; neighbours become one where there are too many.
  private(set) var course: [Double] = []
  /// The top of a picture of `course` that is drawn while the work goes on: it grows at once, and shrinks where nothing has come
  /// near it for ten seconds, so that what is slow after a quick beginning is not flat.
  private(set) var scale = 0.0
  /// When a rate was last more than half of the scale, and the greatest since.
  private var nearedAt: Int64 = 0
  private var greatestSince = 0.0
  private var samplesAPart = 1
  private var samples: [Double] = []
  private var last: Point?

  /// Another step begins: its rate has nothing to do with that before, and stands behind it in the same course.
  mutating func beginStep() {
    rate = nil
    recent = []
    last = nil
  }

  mutating func note(done: Int, at now: Int64) {
    guard let last else {
      self.last = Point(done: done, at: now)
      return
    }
    let seconds = Double(now - last.at) / 1e9
    guard seconds >= 0.05, done > last.done else { return }
    let current = Double(done - last.done) / seconds
    let weight = min(1, seconds / 3)
    rate = rate.map { $0 + (current - $0) * weight } ?? current
    recent.append(current)
    if recent.count > 24 { recent.removeFirst() }
    noteCourse(current, at: now)
    self.last = Point(done: done, at: now)
  }

  private static let courseLimit = 120

  private mutating func noteCourse(_ rate: Double, at now: Int64) {
    samples.append(rate)
    guard samples.count >= samplesAPart else { return }
    let part = samples.reduce(0, +) / Double(samples.count)
    course.append(part)
    samples = []
    noteScale(part, at: now)
    guard course.count > Self.courseLimit else { return }
    course = stride(from: 0, to: course.count - 1, by: 2).map { (course[$0] + course[$0 + 1]) / 2 }
    samplesAPart *= 2
  }

  private static let patience: Int64 = 10_000_000_000

  private mutating func noteScale(_ rate: Double, at now: Int64) {
    greatestSince = max(greatestSince, rate)
    if rate > scale / 2 {
      scale = max(scale, rate)
    } else if now - nearedAt >= Self.patience {
      scale = greatestSince
    } else {
      return
    }
    (nearedAt, greatestSince) = (now, 0)
  }

  /// Seconds that so much more takes, from the 80th to the 20th percentile of the recent rates; nil before three.
  func remaining(of work: Int) -> ClosedRange<Double>? {
    guard recent.count >= 3, work >= 0 else { return nil }
    let sorted = recent.sorted()
    let slow = sorted[sorted.count / 5]
    let fast = sorted[min(sorted.count - 1, sorted.count * 4 / 5)]
    guard slow > 0, fast >= slow else { return nil }
    return Double(work) / fast...Double(work) / slow
  }
}
