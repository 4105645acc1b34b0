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

  /// Whether the store's file is read through a mapping into memory, which is the fastest way.
  ///
  /// Where a file system's mappings are in doubt, as over a network, or another program may cut the file short, which ends a
  /// process
  /// that has it mapped, let each read be a call: what cannot be read is an error then.
  public var readsThroughMapping = true

  /// What becomes of a folder that the original library wrote and that lies where the store shall be.
  public var oldFolders = OldFolderPolicy.refuse

  /// The usual configuration.
  public init() {}
}
