import StrataEngine

/// How a store is kept, whatever datastores are in it.
///
/// ```swift
/// var configuration = StoreConfiguration()
/// configuration.retention = .younger(than: .seconds(30 * 24 * 60 * 60))
/// let persistence = try DiskPersistence(readWriteURL: url, configuration: configuration)
/// ```
public struct StoreConfiguration: Hashable, Sendable {
  /// The commits that the store keeps by itself; all of them by default.
  ///
  /// The history is shortened when the store is idle after writes, on a thread of its own and beside new writes, and only if more of its
  /// file is dead than alive. A store of less than 16 MiB is shortened on closing too. The newest commit and all named ones stay. See
  /// ``DiskPersistence/shortenHistory(keeping:)`` for shortening it at once.
  public var retention = HistoryRetention.everything

  /// Whether the values of those datastores are compressed whose formats do not say it (``DatastoreFormat/compression``); as the store has
  /// them by default.
  public var compression = ValueCompression.none

  /// The time after its last transaction for which this process keeps others from writing; two seconds by default.
  ///
  /// A process that writes holds the store's lock, because acquiring it costs more than a small commit. If nothing was written for this
  /// long, it releases the lock, and another process, such as the browser, can commit beside a running app. The next transaction acquires
  /// it again, sees the commits made meanwhile, and builds on them. A process that wants to write while another holds the lock waits for
  /// two seconds and then throws ``StoreError`` with the kind ``StoreError/Kind/locked(processIdentifier:program:)``.
  ///
  /// With `.zero` each call that waits for its commit releases the lock before it returns, unless another write has begun.
  public var writerIdleTime = Duration.seconds(2)

  /// How far the system brings a commit before a write returns; onto the drive's medium by default.
  public var durability = Durability.full

  /// How far the system brings a commit before a write returns. It matters on Apple's systems only: elsewhere each is the system's data
  /// sync, `fdatasync` on Linux.
  public enum Durability: Hashable, Sendable {
    /// Onto the drive's medium (`F_FULLFSYNC`): a power cut undoes no write that has returned.
    case full
    /// To the drive, which keeps the order (`F_BARRIERFSYNC`): a power cut may undo the last writes that have returned, and leaves a whole
    /// state.
    case barrier
    /// To the drive (`fsync`): a power cut may undo the last writes that have returned, and may leave a file that has to be salvaged. A
    /// crash of the program or of the system undoes nothing.
    case system
  }

  /// The time that a write waits for a transaction whose closure neither reads nor writes; 30 seconds by default.
  ///
  /// A closure given to `perform` has the store to itself until it returns. A closure that awaits something that itself waits to write
  /// would never return. So a write that has waited through this much silence throws ``StoreError`` of kind ``StoreError/Kind/refused``,
  /// which names the closure's action. Imports, warm-ups and other work of the library are waited for however long they take.
  public var longestSilence = Duration.seconds(30)

  /// Whether the store's file is read through a memory mapping, which is the fastest way.
  ///
  /// Set it to false if the file system's mappings are unreliable, as over a network, or if another program may truncate the file, which
  /// ends a process that has it mapped. Each read is then a system call, and unreadable bytes are an error.
  public var readsThroughMapping = true

  /// The limit for the bytes of changes that wait for an observer that does not read them; 64 MiB by default.
  ///
  /// Beyond it the waiting changes are dropped, and the iteration throws ``ChangesMissed`` once instead. A live result reads everything
  /// again instead.
  public var waitingChangesLimit = 64 << 20

  /// Whether this process applies the letters that other programs send by an ``Outbox``; false by default.
  ///
  /// The process that declares the store's datastores applies them: when it first uses the store, and when a letter arrives. A letter
  /// for a datastore that this process has not declared waits.
  public var appliesInbox = false

  /// The policy for a folder that the original library wrote at the location of the store.
  public var oldFolders = OldFolderPolicy.refuse

  /// The usual configuration.
  public init() {}

  var disk: SystemDisk {
    let strength: SyncStrength =
      switch durability {
      case .full: .full
      case .barrier: .barrier
      case .system: .system
      }
    return SystemDisk(syncStrength: strength)
  }
}
