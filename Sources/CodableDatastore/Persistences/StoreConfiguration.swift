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
  /// The history is shortened when the store is idle after writes, on a thread of its own and beside those that write then, and
  /// only where more of its file is dead than alive. A store of less than 16 MiB is shortened on closing too. The newest commit and
  /// all named ones stay. See ``DiskPersistence/shortenHistory(keeping:)`` for
  /// shortening it at once.
  public var retention = HistoryRetention.everything

  /// For how long after its last transaction this process keeps others from writing; two seconds, unless it is told otherwise.
  ///
  /// A process that writes holds the store's lock, because to take it costs more than a small commit. When nothing was written for
  /// this long it lets go of it, and another process, such as the browser, can commit beside a running app; the next transaction
  /// takes it again, sees what was committed meanwhile, and builds on it. A process that wants to write while another holds the lock
  /// waits for two seconds and then throws ``StoreError`` with the kind ``StoreError/Kind/locked(processIdentifier:program:)``.
  public var writerIdleTime = Duration.seconds(2)

  /// For how long a write waits for a transaction whose closure neither reads nor writes; 30 seconds, unless it is told otherwise.
  ///
  /// A closure given to `perform` has the store to itself until it returns. One that awaits something which itself waits to write
  /// would never return. So a write that has waited through this much silence throws ``StoreError`` of kind
  /// ``StoreError/Kind/refused``, which names the closure's action. Imports, warm-ups and other work of the library are waited for
  /// however long they take.
  public var longestSilence = Duration.seconds(30)

  /// Whether the store's file is read through a mapping into memory, which is the fastest way.
  ///
  /// Where a file system's mappings are in doubt, as over a network, or another program may cut the file short, which ends a
  /// process
  /// that has it mapped, let each read be a call: what cannot be read is an error then.
  public var readsThroughMapping = true

  /// How many bytes of changes may wait for an observer that does not read them; 64 MiB, unless it is told otherwise.
  ///
  /// Beyond that what waits is dropped, and the iteration throws ``ChangesMissed`` once in its place. A live result reads everything
  /// anew instead.
  public var waitingChangesLimit = 64 << 20

  /// What becomes of a folder that the original library wrote and that lies where the store shall be.
  public var oldFolders = OldFolderPolicy.refuse

  /// The usual configuration.
  public init() {}
}
