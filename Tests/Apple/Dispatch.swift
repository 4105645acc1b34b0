// What the library uses of Dispatch. Its Swift names have no lower bound in the published documentation.
public class DispatchQueue: @unchecked Sendable {
  public enum GlobalQueue { case background, utility, `default`, userInitiated }
  public struct Attributes: OptionSet, Sendable {
    public let rawValue: UInt64
    public init(rawValue: UInt64) { self.rawValue = rawValue }
    public static let concurrent = Attributes(rawValue: 1 << 1)
  }
  public init(label: String, qos: DispatchQoS = .unspecified, attributes: Attributes = []) { fatalError() }
  public class func global(qos: DispatchQoS.QoSClass = .default) -> DispatchQueue { fatalError() }
  public class func concurrentPerform(iterations: Int, execute work: (Int) -> Void) { fatalError() }
  @preconcurrency public func async(execute work: @escaping @Sendable @convention(block) () -> Void) { fatalError() }
  @preconcurrency public func asyncAfter(
    deadline: DispatchTime, execute work: @escaping @Sendable @convention(block) () -> Void
  ) { fatalError() }
  public func sync<T>(execute work: () throws -> T) rethrows -> T { fatalError() }
}

public struct DispatchQoS: Sendable {
  public static var unspecified: DispatchQoS { fatalError() }
  public enum QoSClass: Sendable { case background, utility, `default`, userInitiated, userInteractive, unspecified }
}

public struct DispatchTime: Comparable, Sendable {
  public static func now() -> DispatchTime { fatalError() }
  public var uptimeNanoseconds: UInt64 { fatalError() }
  public static func < (one: DispatchTime, other: DispatchTime) -> Bool { fatalError() }
}

public func + (time: DispatchTime, interval: DispatchTimeInterval) -> DispatchTime { fatalError() }
public func + (time: DispatchTime, seconds: Double) -> DispatchTime { fatalError() }

public enum DispatchTimeInterval: Equatable, Sendable {
  case seconds(Int), milliseconds(Int), microseconds(Int), nanoseconds(Int), never
}

public enum DispatchTimeoutResult: Sendable { case success, timedOut }

public class DispatchSemaphore: @unchecked Sendable {
  public init(value: Int) { fatalError() }
  @discardableResult public func signal() -> Int { fatalError() }
  public func wait() { fatalError() }
  public func wait(timeout: DispatchTime) -> DispatchTimeoutResult { fatalError() }
}

public class DispatchGroup: @unchecked Sendable {
  public init() { fatalError() }
  public func enter() { fatalError() }
  public func leave() { fatalError() }
  public func wait() { fatalError() }
}

public protocol DispatchSourceProtocol: AnyObject {
  func setEventHandler(handler: (@Sendable @convention(block) () -> Void)?)
  func setCancelHandler(handler: (@Sendable @convention(block) () -> Void)?)
  func activate()
  func resume()
  func cancel()
}

public protocol DispatchSourceFileSystemObject: DispatchSourceProtocol {}

public protocol DispatchSourceTimer: DispatchSourceProtocol {
  func schedule(deadline: DispatchTime, repeating interval: DispatchTimeInterval, leeway: DispatchTimeInterval)
}

extension DispatchSourceTimer {
  public func schedule(deadline: DispatchTime, leeway: DispatchTimeInterval = .nanoseconds(0)) { fatalError() }
}

public class DispatchSource {
  public struct TimerFlags: OptionSet, Sendable {
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }
  }

  public struct FileSystemEvent: OptionSet, Sendable {
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }
    public static var delete: FileSystemEvent { fatalError() }
    public static var write: FileSystemEvent { fatalError() }
    public static var extend: FileSystemEvent { fatalError() }
    public static var attrib: FileSystemEvent { fatalError() }
    public static var link: FileSystemEvent { fatalError() }
    public static var rename: FileSystemEvent { fatalError() }
  }

  public class func makeTimerSource(
    flags: TimerFlags = [], queue: DispatchQueue? = nil
  ) -> any DispatchSourceTimer { fatalError() }

  public class func makeFileSystemObjectSource(
    fileDescriptor: Int32, eventMask: FileSystemEvent, queue: DispatchQueue? = nil
  ) -> any DispatchSourceFileSystemObject { fatalError() }
}
