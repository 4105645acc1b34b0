/// The rate of a step of work, measured: an average that forgets in about three seconds, and the rates since the beginning.
package struct RateMeter: Sendable, Hashable {
  package private(set) var rate: Double?
  /// The rates since the beginning, over parts of equal length; neighbours become one if there are too many.
  package private(set) var course: [Int] = []
  private var samplesInPart = 1
  private var samples: [Double] = []
  private var lastDone = 0
  private var lastSeconds = 0.0

  package init() {}

  /// Notes how much was done in how many seconds since the beginning.
  package mutating func add(done: Int, seconds: Double) {
    let length = seconds - lastSeconds
    guard length >= 0.09, done > lastDone else { return }
    let current = Double(done - lastDone) / length
    rate = rate.map { $0 + (current - $0) * min(1, length / 3) } ?? current
    (lastDone, lastSeconds) = (done, seconds)
    samples.append(current)
    guard samples.count >= samplesInPart else { return }
    course.append(Int((samples.reduce(0, +) / Double(samples.count)).rounded()))
    samples = []
    guard course.count > Self.limit else { return }
    course = stride(from: 0, to: course.count - 1, by: 2).map { (course[$0] + course[$0 + 1]) / 2 }
    samplesInPart *= 2
  }

  private static let limit = 120
}

/// How long work goes on, from how its share of the whole has grown.
package struct WorkEstimate: Sendable, Hashable {
  /// How much of the whole is done; it never goes back.
  package private(set) var share: Double?
  private var first: Point?
  private var last: Point?
  /// The lately measured growth of the share, a second.
  private var recent: [Double] = []

  private struct Point: Sendable, Hashable {
    var share: Double
    var at: Int64
  }

  package init() {}

  /// Notes the share at a time in nanoseconds.
  package mutating func add(_ share: Double, at now: Int64) {
    let share = max(share, self.share ?? 0)
    self.share = share
    guard let last else {
      first = Point(share: share, at: now)
      self.last = first
      return
    }
    let seconds = Double(now - last.at) / 1e9
    if seconds < 0 {
      // The clock was set back.
      first?.at += now - last.at
      self.last?.at = now
    }
    guard seconds >= 0.1 else { return }
    recent.append((share - last.share) / seconds)
    if recent.count > Self.window { recent.removeFirst() }
    self.last = Point(share: share, at: now)
  }

  /// Seconds that are left: from the faster to the slower of the whole course and of lately. Nil before a second, before two
  /// percent, and while the two say something very different.
  package var secondsLeft: ClosedRange<Double>? {
    guard let first, let last, recent.count >= 3, last.share < 1, last.share - first.share >= 0.02,
      last.at - first.at >= 1_000_000_000
    else { return nil }
    let sorted = recent.sorted()
    let overall = (last.share - first.share) / (Double(last.at - first.at) / 1e9)
    let rates = [overall, sorted[sorted.count / 5], sorted[min(sorted.count - 1, sorted.count * 4 / 5)]]
    guard let slow = rates.min(), let fast = rates.max(), slow > 0 else { return nil }
    let (least, most) = ((1 - last.share) / fast, (1 - last.share) / slow)
    return most <= 3 * least + 2 ? least...most : nil
  }

  private static let window = 30
}
