import DatastoreModel

/// A migration as it was heard of: all its steps, also those of activities before, with measured times and rates.
struct MigrationRun: Sendable, Hashable {
  struct Step: Sendable, Hashable {
    var title: String
    var done: Int
    var total: Int
    var isComplete: Bool
    /// Whether it ended with an error, or with records that do not fit.
    var isFailed = false
    /// When it was first heard of with something done, and when as complete; nanoseconds since 1970.
    var firstSeen: Int64?
    var finished: Int64?

    var seconds: Double? {
      guard let firstSeen, let finished, finished > firstSeen else { return nil }
      return Double(finished - firstSeen) / 1e9
    }
  }

  private(set) var title: String
  let startedAt: Int64
  private(set) var steps: [Step] = []
  private(set) var rates = RateMeter()
  private(set) var done = 0
  private(set) var total = 0

  init(_ activity: Activity, at now: Int64) {
    title = activity.title
    startedAt = activity.startedAt
    take(activity, at: now)
  }

  /// Whether an activity goes on with this run.
  func isContinued(by activity: Activity) -> Bool { activity.startedAt == startedAt }

  mutating func take(_ activity: Activity, at now: Int64) {
    if activity.title != title {
      rates = RateMeter(course: rates.course)
      title = activity.title
    }
    (done, total) = (activity.done, activity.total)
    rates.note(done: activity.done, at: now)
    let heard =
      activity.steps.isEmpty
      ? [
        Activity.Step(
          title: activity.title, done: activity.done, total: activity.total,
          isComplete: activity.total > 0 && activity.done == activity.total)
      ] : activity.steps
    for step in heard { take(step, at: now) }
  }

  private mutating func take(_ step: Activity.Step, at now: Int64) {
    guard let place = steps.firstIndex(where: { $0.title == step.title }) else {
      steps.append(
        Step(
          title: step.title, done: step.done, total: step.total, isComplete: step.isComplete,
          firstSeen: step.done > 0 ? now : nil, finished: step.isComplete ? now : nil))
      return
    }
    if steps[place].firstSeen == nil, step.done > 0 { steps[place].firstSeen = now }
    if step.isComplete, !steps[place].isComplete { steps[place].finished = now }
    steps[place].done = step.done
    steps[place].total = step.total
    steps[place].isComplete = step.isComplete
  }

  /// The step that was under way failed, also where it had come to its end.
  mutating func fail() {
    guard let position = steps.indices.last else { return }
    steps[position].isComplete = false
    steps[position].isFailed = true
  }

  /// One line for each step that is done or failed.
  var log: [String] {
    ["started \(title)"]
      + steps.filter { $0.isComplete || $0.isFailed }.map { step in
        step.isFailed
          ? "failed \(step.title): at \(NumberFormat.count(step.done)) of \(NumberFormat.count(step.total)) records"
          : "complete \(step.title): \(NumberFormat.count(step.total)) records"
      }
  }
}

/// Rates of work, measured: an average that forgets in about three seconds, and the rates of the last pieces.
struct RateMeter: Sendable, Hashable {
  private struct Point: Sendable, Hashable {
    var done: Int
    var at: Int64
  }

  private(set) var rate: Double?
  private(set) var recent: [Double] = []
  /// The rates since the beginning, in parts of equal length; neighbours become one where there are too many.
  private(set) var course: [Double]
  private var samplesAPart = 1
  private var samples: [Double] = []
  private var last: Point?

  init(course: [Double] = []) { self.course = course }

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
    noteCourse(current)
    self.last = Point(done: done, at: now)
  }

  private static let courseLimit = 120

  private mutating func noteCourse(_ rate: Double) {
    samples.append(rate)
    guard samples.count >= samplesAPart else { return }
    course.append(samples.reduce(0, +) / Double(samples.count))
    samples = []
    guard course.count > Self.courseLimit else { return }
    course = stride(from: 0, to: course.count - 1, by: 2).map { (course[$0] + course[$0 + 1]) / 2 }
    samplesAPart *= 2
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
