/// How a store is kept, whatever datastores are in it.
///
/// ```swift
/// var configuration = StoreConfiguration()
/// configuration.retention = .younger(than: .seconds(30 * 24 * 60 * 60))
/// let persistence = try DiskPersistence(readWriteURL: url, configuration: configuration)
/// ```
public struct StoreConfiguration: Hashable, Sendable {
  /// Which commits the store keeps by itself; everything, unless it is told otherwise.
  ///
  /// The history is shortened when the store is closed or idle after writes, and only where more of its file is dead
  /// than alive. The newest commit and all named ones stay. See ``DiskPersistence/shortenHistory(keeping:)`` for
  /// shortening it at once.
  public var retention = HistoryRetention.everything

  /// The usual configuration.
  public init() {}
}
