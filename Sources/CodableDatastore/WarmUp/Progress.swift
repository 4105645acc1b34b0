package import StrataModel

/// Called with the progress of a warm-up or a migration.
public typealias ProgressHandler = @Sendable (_ progress: Progress) async -> Void

/// How far a warm-up or a migration is.
///
/// Programs that also import Foundation name it `CodableDatastore.Progress`.
public enum Progress: Sendable {
  /// It looks what there is to do, which may mean evaluating instances of older versions again. Always reported.
  case evaluating
  /// It is about to work on an instance: the first is number 0, again if the work has to begin again.
  case working(current: Int, total: Int)
  /// It is done, and durable unless a transaction goes on around it. Always reported, with the number of instances.
  case complete(total: Int)
}

/// How far a warm-up is, step by step.
public struct WarmUpProgress: Hashable, Sendable {
  /// A part of the work.
  public struct Step: Hashable, Sendable {
    /// The name of the step, as `decode and migrate` or `write index population`.
    public var title: String
    /// Instances, or entries, that are done.
    public var done: Int
    /// How many there are.
    public var total: Int
    /// Whether the step has ended.
    public var isComplete: Bool { done >= total }
  }

  /// An instance that could not be converted.
  public struct Failure: Hashable, Sendable {
    /// Its identifier, as a person writes it.
    public var identifier: String
    /// The version under which it was written.
    public var version: String
    /// The path in it at which decoding failed, as `address.city`; empty if it is not known.
    public var decodingPath: String
    /// The reason of the failure.
    public var reason: String
    /// The stored key of its identifier.
    package var key: [UInt8] = []
    /// How long its record is.
    package var byteCount = 0
  }

  /// The parts of the work, in their order: what is done, what goes on, and what follows. Records are read and decoded in turns.
  public var steps: [Step]
  /// Instances a second, since the work began.
  public var rate: Double
  /// Seconds that are left, at that rate; nil before there is one.
  public var remainingSeconds: Double?
  /// Instances that could not be converted so far, at most 100. Any of them makes the warm-up fail when all instances
  /// have been looked at.
  public var failures: [Failure]
  /// Whether the work is done.
  public var isComplete: Bool
  /// The same with all that a pane shows of it.
  package var activity: Activity?
}

/// Called with the progress of a warm-up, step by step, at most 20 times a second and at the end of each step.
public typealias WarmUpHandler = @Sendable (_ progress: WarmUpProgress) async -> Void
