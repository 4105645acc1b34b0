import StrataExpressions
import StrataSystem

/// The work of a writer, as its own panes and those of other processes show it.
///
/// An older program writes fewer fields: the optional ones are then nil and are not shown.
package struct Activity: Hashable, Codable, Sendable {
  /// As `warm-up City`.
  package var title: String
  /// How far the step under way is, and of how much; 0 if that is unknown.
  package var done: Int
  package var total: Int
  /// Nanoseconds since 1970.
  package var startedAt: Int64
  /// The finished steps, those under way, and the planned ones, as far as they are known.
  package var steps: [Step]
  /// How it ended; nil while it goes on.
  package var ending: Ending?
  /// How much of the whole is done, from 0 to 1. It never goes back. Nil if not all steps are known.
  package var share: Double?
  /// How many seconds are left, at least and at most; nil while too little is known.
  package var secondsLeft: ClosedRange<Double>?
  /// The records that could not be taken so far: the first of them, and how many there are.
  package var failures: [Failure]?
  package var failureCount: Int?
  /// Memory, temporary files and the store's file, and the size of that file when the work began.
  package var figures: WorkFigures?
  package var storeBefore: UInt64?
  /// The process that works, and the machine that it runs on.
  package var worker: Worker?

  package init(title: String, done: Int, total: Int, startedAt: Int64, steps: [Step] = []) {
    self.title = title
    self.done = done
    self.total = total
    self.startedAt = startedAt
    self.steps = steps
  }

  /// A part of the work.
  package struct Step: Hashable, Codable, Sendable {
    package var title: String
    package var done: Int
    package var total: Int
    package var isComplete: Bool
    /// The cost of one unit in comparison with the other steps; nil if these are unknown at the beginning.
    package var cost: Int?
    /// How long the writer has worked at it.
    package var seconds: Double?
    /// How many units it does in a second of that time, lately.
    package var rate: Double?
    /// The rates since it began, over parts of equal length.
    package var course: [Int]?

    /// The seconds from which on the time of a step says how fast it is.
    package static let measurable = 0.05

    package init(title: String, done: Int, total: Int, isComplete: Bool, cost: Int? = nil) {
      self.title = title
      self.done = done
      self.total = total
      self.isComplete = isComplete
      self.cost = cost
    }
  }

  /// A record that could not be taken.
  package struct Failure: Hashable, Codable, Sendable {
    package var datastore: String
    package var identifier: [UInt8]
    package var reason: String

    package init(datastore: String, identifier: [UInt8], reason: String) {
      self.datastore = datastore
      self.identifier = identifier
      self.reason = reason
    }
  }

  /// A process and its machine.
  package struct Worker: Hashable, Codable, Sendable {
    package var processIdentifier: Int32
    package var program: String
    package var host: String
  }

  /// The result of work.
  package struct Ending: Hashable, Codable, Sendable {
    /// The process that did it.
    package var processIdentifier: Int32
    /// Nanoseconds since 1970.
    package var at: Int64
    /// The commit that was made.
    package var commit: UInt64?
    /// Why no commit was made; nil if one was made, or if the work was cancelled.
    package var reason: String?
    /// By how many bytes the store grew.
    package var bytes: Int = 0
    /// The first of the records that could not be taken, and how many there are.
    package var failures: [Failure] = []
    package var failureCount = 0
    /// The rows that were left out of a commit.
    package var leftOut: Int?

    /// By default work of this process that ends now.
    package init(processIdentifier: Int32 = getpid(), at: Int64 = LocalTime.now) {
      self.processIdentifier = processIdentifier
      self.at = at
    }
  }

  /// By how many bytes the store's file has grown since the work began; nil if it has not, or if that was not measured.
  package var growth: UInt64? {
    guard let figures, let storeBefore, figures.store > storeBefore else { return nil }
    return figures.store - storeBefore
  }

  /// The step that is under way: the last that has begun and is not complete. Of steps that alternate, it is the later one.
  package var currentStep: Step? {
    steps.last { !$0.isComplete && $0.done > 0 } ?? steps.first { !$0.isComplete } ?? steps.last
  }

  /// How many records the work decoded, and how many entries it wrote. The names of steps may begin with a datastore.
  package var counts: (records: Int, entries: Int) {
    func sum(_ isMeant: (String) -> Bool) -> Int { steps.filter { isMeant($0.title) }.reduce(0) { $0 + $1.done } }
    return (
      sum { $0.hasSuffix(WorkStep.decode) || $0.hasSuffix(WorkStep.migrate) }, sum { $0.contains(WorkStep.writing("")) }
    )
  }

  /// The finished share of the whole. A unit of a step weighs the time that it was measured to take, or its cost. Nil if the steps have
  /// no costs.
  var weighedShare: Double? {
    guard !steps.isEmpty, steps.allSatisfy({ $0.cost != nil && ($0.total > 0 || $0.isComplete) }) else { return nil }
    let measured = steps.filter { ($0.seconds ?? 0) >= Step.measurable && $0.done > 0 }
    let cost = measured.reduce(0.0) { $0 + Double($1.done) * Double($1.cost ?? 1) }
    let seconds = measured.reduce(0.0) { $0 + ($1.seconds ?? 0) }
    let secondsPerCost = cost > 0 ? seconds / cost : 1
    var (done, all) = (0.0, 0.0)
    for step in steps {
      var weight = Double(step.cost ?? 1) * secondsPerCost
      if let seconds = step.seconds, seconds >= Step.measurable, step.done > 0 { weight = seconds / Double(step.done) }
      let total = max(step.total, step.done)
      all += weight * Double(total)
      done += weight * Double(step.isComplete ? total : step.done)
    }
    return all > 0 ? min(1, done / all) : nil
  }
}

/// The names of the steps of a build, the same for every program that builds.
package enum WorkStep {
  package static let mend = "mend records"
  package static let learn = "learn the types"
  package static let read = "read"
  package static let decode = "decode"
  package static let migrate = "decode and migrate"
  package static let sort = "sort"
  package static let commit = "commit"
  package static func writing(_ index: String) -> String { "write index \(index)" }
}
