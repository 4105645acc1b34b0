/// Accounts for a long work while it goes on: its steps with the time that each took, the share of the whole, the time left, and the
/// records that failed. A plain value: the caller passes the time.
package struct WorkAccount: Sendable, Hashable {
  /// The state of the work now.
  package private(set) var activity: Activity
  /// The position of the step that time and units are counted for.
  private var place: Int
  private var enteredAt: Int64
  private var rates: [RateMeter]
  private var estimate = WorkEstimate()
  private var measuredAt: Int64?

  /// - Parameters:
  ///   - steps: the finished steps, the first one to do, and the others as far as they are known.
  ///   - startedAt: when the work began, and `now`, in nanoseconds since 1970.
  ///   - storeBefore: the size of the store's file when the work began, if that is known.
  package init(
    _ title: String, _ steps: [Activity.Step], startedAt: Int64, at now: Int64, storeBefore: UInt64? = nil
  ) {
    activity = Activity(title: title, done: 0, total: 0, startedAt: startedAt, steps: steps)
    activity.storeBefore = storeBefore
    place = steps.firstIndex { !$0.isComplete } ?? max(0, steps.count - 1)
    enteredAt = now
    rates = steps.map { _ in RateMeter() }
    tellStep()
  }

  /// Turns to a step, planned or not, and leaves the one before as far as it is: steps may alternate.
  package mutating func enter(_ step: String, total: Int? = nil, at now: Int64) {
    addElapsedTime(at: now)
    place = activity.steps.firstIndex { $0.title == step } ?? activity.steps.endIndex
    if place == activity.steps.endIndex {
      // An unplanned step is mostly an index to be written.
      let cost = activity.steps.allSatisfy { $0.cost != nil } ? Self.costOfEntry : nil
      activity.steps.append(Activity.Step(title: step, done: 0, total: total ?? 0, isComplete: false, cost: cost))
      rates.append(RateMeter())
    }
    if let total { activity.steps[place].total = total }
    tellStep()
  }

  /// The cost of writing an entry; the decoding of a record costs 20.
  package static let costOfEntry = 4

  /// Plans the steps of a build: each record is read and decoded, then the entries are sorted and written.
  ///
  /// - Parameters:
  ///   - decoding: the name of the step in which records are decoded.
  ///   - count: how many records there are.
  package static func build(decoding: String, indexes: [String], count: Int) -> [Activity.Step] {
    let steps = [(WorkStep.read, 4), (decoding, 20), (WorkStep.sort, 1)]
    return (steps + indexes.map { (WorkStep.writing($0), costOfEntry) }).map {
      Activity.Step(title: $0.0, done: 0, total: count, isComplete: false, cost: $0.1)
    }
  }

  /// Turns to a step for good: all steps before it are complete.
  package mutating func begin(_ step: String, total: Int, at now: Int64) {
    enter(step, total: total, at: now)
    for position in activity.steps.indices where position < place { complete(position) }
    measure(at: now)
  }

  /// Sets how much the step and those planned after it have to do.
  package mutating func expect(_ total: Int) {
    for position in activity.steps.indices where position >= place { activity.steps[position].total = total }
    tellStep()
  }

  package mutating func advance(by count: Int) {
    activity.steps[place].done += count
    tellStep()
  }

  /// Sets how much of the step is done, and of how much.
  package mutating func set(done: Int, total: Int) {
    activity.steps[place].done = done
    activity.steps[place].total = total
    tellStep()
  }

  package mutating func fail(_ failure: Activity.Failure) {
    activity.failureCount = (activity.failureCount ?? 0) + 1
    if (activity.failures ?? []).count < 100 { activity.failures = (activity.failures ?? []) + [failure] }
  }

  package mutating func update(_ figures: WorkFigures) { activity.figures = figures }

  /// Completes the step and those before it.
  package mutating func finish(at now: Int64) {
    addElapsedTime(at: now)
    for position in activity.steps.indices where position <= place { complete(position) }
    tellStep()
    measure(at: now)
  }

  /// Completes all steps.
  package mutating func end(at now: Int64) {
    addElapsedTime(at: now)
    place = max(0, activity.steps.count - 1)
    finish(at: now)
  }

  /// Measures rates, share and remaining time, at most every 50 milliseconds.
  package mutating func update(at now: Int64) {
    if let measuredAt, 0..<50_000_000 ~= now - measuredAt { return }
    addElapsedTime(at: now)
    measure(at: now)
  }

  private mutating func measure(at now: Int64) {
    measuredAt = now
    let share = activity.weighedShare
    if let share { estimate.add(share, at: now) }
    activity.share = share == nil ? nil : estimate.share
    activity.secondsLeft = share == nil ? nil : estimate.secondsLeft
  }

  /// Gives the time since the step was entered to it.
  private mutating func addElapsedTime(at now: Int64) {
    defer { enteredAt = now }
    guard activity.steps.indices.contains(place), !activity.steps[place].isComplete else { return }
    let step = activity.steps[place]
    let seconds = (step.seconds ?? 0) + Double(max(0, now - enteredAt)) / 1e9
    rates[place].add(done: step.done, seconds: seconds)
    activity.steps[place].seconds = seconds
    // A rate of a moment says nothing.
    activity.steps[place].rate = seconds < Activity.Step.measurable ? nil : rates[place].rate
    activity.steps[place].course = rates[place].course
  }

  private mutating func complete(_ position: Int) {
    guard !activity.steps[position].isComplete else { return }
    let total = max(activity.steps[position].done, activity.steps[position].total)
    (activity.steps[position].done, activity.steps[position].total) = (total, total)
    activity.steps[position].isComplete = true
  }

  private mutating func tellStep() {
    guard activity.steps.indices.contains(place) else { return }
    if activity.steps[place].done > activity.steps[place].total, activity.steps[place].total > 0 {
      activity.steps[place].total = activity.steps[place].done
    }
    (activity.done, activity.total) = (activity.steps[place].done, activity.steps[place].total)
  }
}
