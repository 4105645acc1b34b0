// What the sources use of Foundation's classes for the process and its files, with the availability as published.
open class ProcessInfo: @unchecked Sendable {
  open class var processInfo: ProcessInfo { fatalError() }
  open var processName: String { fatalError() }
  open var environment: [String: String] { fatalError() }
  open var activeProcessorCount: Int { fatalError() }
  @available(iOS, unavailable)
  @available(tvOS, unavailable)
  @available(watchOS, unavailable)
  @available(visionOS, unavailable)
  open var userName: String { fatalError() }
}

public func NSUserName() -> String { fatalError() }
public func NSTemporaryDirectory() -> String { fatalError() }

open class Bundle: @unchecked Sendable {
  open class var main: Bundle { fatalError() }
  open var bundleIdentifier: String? { fatalError() }
  open var bundlePath: String { fatalError() }
}

open class FileManager: @unchecked Sendable {
  public enum SearchPathDirectory: UInt, Sendable { case applicationSupportDirectory = 14 }
  public struct SearchPathDomainMask: OptionSet, Sendable {
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }
    public static var userDomainMask: SearchPathDomainMask { fatalError() }
  }
  open class var `default`: FileManager { fatalError() }
  open var temporaryDirectory: URL { fatalError() }
  open func urls(for directory: SearchPathDirectory, in mask: SearchPathDomainMask) -> [URL] { fatalError() }
  open func containerURL(forSecurityApplicationGroupIdentifier identifier: String) -> URL? { fatalError() }
  open func fileExists(atPath path: String) -> Bool { fatalError() }
  open func removeItem(atPath path: String) throws { fatalError() }
  open func destinationOfSymbolicLink(atPath path: String) throws -> String { fatalError() }
}
