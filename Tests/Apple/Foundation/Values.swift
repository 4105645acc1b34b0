// What the sources use of Foundation's values, with the availability as published.
@_exported import Dispatch

public struct Data: Hashable, Codable, Sendable, RandomAccessCollection, MutableCollection, RangeReplaceableCollection {
  public typealias Index = Int
  public struct Base64EncodingOptions: OptionSet, Sendable {
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }
  }
  public struct Base64DecodingOptions: OptionSet, Sendable {
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }
  }

  public init() { fatalError() }
  public init(capacity: Int) { fatalError() }
  public init(bytes: UnsafeRawPointer, count: Int) { fatalError() }
  public init<S: Sequence>(_ elements: S) where S.Element == UInt8 { fatalError() }
  public init?(base64Encoded text: String, options: Base64DecodingOptions = []) { fatalError() }
  public init(contentsOf url: URL) throws { fatalError() }
  public mutating func append(_ other: Data) { fatalError() }
  public func base64EncodedString(options: Base64EncodingOptions = []) -> String { fatalError() }
  public func write(to url: URL) throws { fatalError() }
  public func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
    fatalError()
  }
  public var startIndex: Int { fatalError() }
  public var endIndex: Int { fatalError() }
  public subscript(index: Int) -> UInt8 {
    get { fatalError() }
    set { fatalError() }
  }
  public subscript(bounds: Range<Int>) -> Data {
    get { fatalError() }
    set { fatalError() }
  }
  public mutating func replaceSubrange<C: Collection>(_ range: Range<Int>, with elements: C) where C.Element == UInt8 {
    fatalError()
  }
  public init(from decoder: any Decoder) throws { fatalError() }
  public func encode(to encoder: any Encoder) throws { fatalError() }
  public func hash(into hasher: inout Hasher) { fatalError() }
  public static func == (one: Data, other: Data) -> Bool { fatalError() }
}

public typealias TimeInterval = Double

public struct Date: Hashable, Comparable, Codable, Sendable, CustomStringConvertible {
  public init() { fatalError() }
  public init(timeIntervalSince1970 interval: TimeInterval) { fatalError() }
  public init(timeIntervalSinceReferenceDate interval: TimeInterval) { fatalError() }
  public init(timeIntervalSinceNow interval: TimeInterval) { fatalError() }
  public var timeIntervalSinceReferenceDate: TimeInterval { fatalError() }
  public var timeIntervalSince1970: TimeInterval { fatalError() }
  public func timeIntervalSince(_ date: Date) -> TimeInterval { fatalError() }
  public static var distantPast: Date { fatalError() }
  public static var distantFuture: Date { fatalError() }
  public static var now: Date { fatalError() }
  public static func < (one: Date, other: Date) -> Bool { fatalError() }
  public var description: String { fatalError() }
}

public typealias uuid_t = (
  UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8
)

public struct UUID: Hashable, Codable, Sendable, Comparable, CustomStringConvertible {
  public init() { fatalError() }
  public init?(uuidString: String) { fatalError() }
  public init(uuid: uuid_t) { fatalError() }
  public var uuid: uuid_t { fatalError() }
  public var uuidString: String { fatalError() }
  public static func < (one: UUID, other: UUID) -> Bool { fatalError() }
  public init(from decoder: any Decoder) throws { fatalError() }
  public func encode(to encoder: any Encoder) throws { fatalError() }
  public func hash(into hasher: inout Hasher) { fatalError() }
  public static func == (one: UUID, other: UUID) -> Bool { fatalError() }
  public var description: String { fatalError() }
}

public struct Decimal: Hashable, Comparable, Codable, Sendable, SignedNumeric, CustomStringConvertible {
  public typealias Magnitude = Decimal
  public init() { fatalError() }
  public init(_ value: Int) { fatalError() }
  public init(_ value: Int64) { fatalError() }
  public init(_ value: UInt64) { fatalError() }
  public init(_ value: Double) { fatalError() }
  public init?(string: String, locale: Locale? = nil) { fatalError() }
  public init?<T: BinaryInteger>(exactly source: T) { fatalError() }
  public init(integerLiteral value: Int) { fatalError() }
  public var isNaN: Bool { fatalError() }
  public static var nan: Decimal { fatalError() }
  public var magnitude: Decimal { fatalError() }
  public static func + (one: Decimal, other: Decimal) -> Decimal { fatalError() }
  public static func - (one: Decimal, other: Decimal) -> Decimal { fatalError() }
  public static func * (one: Decimal, other: Decimal) -> Decimal { fatalError() }
  public static func / (one: Decimal, other: Decimal) -> Decimal { fatalError() }
  public static func *= (one: inout Decimal, other: Decimal) { fatalError() }
  public static func < (one: Decimal, other: Decimal) -> Bool { fatalError() }
  public var description: String { fatalError() }
}

public struct Locale: Hashable, Sendable {
  public init(identifier: String) { fatalError() }
}

public struct URL: Hashable, Codable, Sendable, CustomStringConvertible {
  public enum DirectoryHint: Sendable { case isDirectory, notDirectory, checkFileSystem, inferFromPath }
  public init?(string: String) { fatalError() }
  public init(fileURLWithPath path: String) { fatalError() }
  @available(macOS 13, iOS 16, tvOS 16, watchOS 9, visionOS 1, *)
  public init(filePath: String, directoryHint: DirectoryHint = .inferFromPath, relativeTo base: URL? = nil) {
    fatalError()
  }
  @available(macOS 13, iOS 16, tvOS 16, watchOS 9, visionOS 1, *)
  public func appending(path: some StringProtocol, directoryHint: DirectoryHint = .inferFromPath) -> URL {
    fatalError()
  }
  @available(macOS 13, iOS 16, tvOS 16, watchOS 9, visionOS 1, *)
  public func path(percentEncoded: Bool = true) -> String { fatalError() }
  public var path: String { fatalError() }
  public var absoluteString: String { fatalError() }
  public var isFileURL: Bool { fatalError() }
  public var lastPathComponent: String { fatalError() }
  public var standardizedFileURL: URL { fatalError() }
  public func deletingLastPathComponent() -> URL { fatalError() }
  public mutating func deleteLastPathComponent() { fatalError() }
  public func resolvingSymlinksInPath() -> URL { fatalError() }
  public var description: String { fatalError() }
}

public protocol LocalizedError: Error {
  var errorDescription: String? { get }
  var failureReason: String? { get }
  var recoverySuggestion: String? { get }
  var helpAnchor: String? { get }
}

extension LocalizedError {
  public var errorDescription: String? { fatalError() }
  public var failureReason: String? { fatalError() }
  public var recoverySuggestion: String? { fatalError() }
  public var helpAnchor: String? { fatalError() }
}

extension Error {
  public var localizedDescription: String { fatalError() }
}

extension StringProtocol {
  public var precomposedStringWithCanonicalMapping: String { fatalError() }
  public func components(separatedBy separator: some StringProtocol) -> [String] { fatalError() }
}
