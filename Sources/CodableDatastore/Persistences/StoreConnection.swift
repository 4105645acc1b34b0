import StrataEngine
import StrataFolders
import StrataFoundation
import StrataLocks
import StrataModel

/// One store as this process uses it: opened at its first use, shared by all persistences of its location.
final class StoreConnection: Sendable {
  /// The path of the store; nil in memory and on a server.
  let path: String?
  /// Opens the store on a server; nil if the store is not on one.
  private let opening: ServedOpening?
  /// The queue in which long changes on a server wait for each other.
  let servedChanges = TurnQueue()
  /// The transaction of a program's closure that has the writer's turn.
  let held = Mutex<HeldTurn?>(nil)
  let suspension = Suspension()
  /// The clock that measures how long such a transaction does nothing.
  let clock: any Clock<Duration>
  let publication = ChangeReporter()
  /// Decides when a caller that reads or writes in a loop yields.
  let slices: TimeSlices
  /// Whether other processes' commits are reported to observers.
  let isFollowing = Atomic(false)
  /// Whether observers wait for the store to be made, and the watch for that.
  let isAwaited = Atomic(false)
  let arrival = Mutex<(any DiskWatch)?>(nil)
  /// Commits on a server whose numbers are not known here yet.
  let underWay = Atomic(0)
  /// Whether a thread is about to report commits of a server.
  let isToNotice = Atomic(false)

  private let state: Mutex<State>
  private struct State {
    /// Opened by, or for, a persistence that writes.
    var writer: (any Engine)?
    /// Opened by one that only reads, while none writes.
    var reader: (any Engine)?
    var conversion: FolderConversion?
    var handles = 0
    /// How the store is kept from its next opening on, and how it was opened; nil while it is not open.
    var configuration = StoreConfiguration()
    var opened: StoreConfiguration?
  }

  /// Opens a store on a server, for reading alone or for writing too.
  typealias ServedOpening = @Sendable (_ forWriter: Bool) throws -> any Engine

  init(
    path: String?, writer: (any Engine)? = nil, opening: ServedOpening? = nil, slices: TimeSlices = .shared,
    clock: any Clock<Duration> = ContinuousClock()
  ) {
    self.path = path
    self.clock = clock
    self.opening = opening
    self.slices = slices
    state = Mutex(State(writer: writer))
  }

  /// Held while a folder of the original library is converted, instead of `state`, so that no reader of the state waits for it.
  private let converting = Mutex(())

  /// The report on the conversion of a folder, if one was converted here.
  var folderConversion: FolderConversion? { state.withLock { $0.conversion } }

  /// Whether a folder of the original library lies at the location of a store that is not open yet.
  func hasOldFolder(forWriter: Bool) -> Bool {
    guard let path, state.withLock({ $0.writer == nil && (forWriter || $0.reader == nil) }) else { return false }
    return FolderReplacement(at: path).state != .none
  }

  /// Replaces a folder of the original library with a store if the configuration says so, and refuses it otherwise.
  private func convertOldFolder(at path: String) throws {
    try converting.withLock { _ in
      let replacement = FolderReplacement(at: path)
      let policy = configuration.oldFolders
      switch replacement.state {
      case .none: return
      case .folder: if !policy.converts { try Self.refuseFolderOfOriginalLibrary(at: path) }
      // The folder was moved aside already and need not be refused; the remaining steps cost nothing.
      case .movedAside: break
      }
      let conversion = try replacement.run(policy)
      if let conversion { state.withLock { $0.conversion = conversion } }
    }
  }

  /// How the store is kept, from its next opening on.
  var configuration: StoreConfiguration { state.withLock { $0.configuration } }

  /// How the store is kept now, whatever later persistences of the location ask for.
  var configurationInForce: StoreConfiguration { state.withLock { $0.opened ?? $0.configuration } }

  /// The connection to a location; the same one for as long as it is in use.
  static func to(_ url: URL) -> StoreConnection {
    let trimmed = path(of: url)
    return shared(trimmed) { StoreConnection(path: trimmed) }
  }

  private static func shared(_ place: String, _ make: () -> StoreConnection) -> StoreConnection {
    openConnections.withLock { connections in
      if let connection = connections[place]?.connection, !connection.isOrphaned { return connection }
      connections = connections.filter { $0.value.connection != nil }
      let connection = make()
      connections[place] = WeakConnection(connection: connection)
      return connection
    }
  }

  /// Releases the writer lock of a store that this process has open, unless a transaction is open or waits: another opening of the store
  /// would wait for it.
  static func releaseIdleLock(ofStoreAt path: String) {
    let place = Self.path(of: URL(filePath: path))
    guard let store = openConnections.withLock({ $0[place]?.connection })?.openFile, store.writing.tryAcquireTurn()
    else { return }
    defer { store.writing.passTurn() }
    try? store.releaseLockInTurn()
  }

  /// The path of a location without symbolic links. If nothing lies there yet, the links in the path of the innermost existing folder are
  /// resolved.
  static func path(of url: URL) -> String {
    var (folder, names) = (url.standardizedFileURL, [String]())
    let path = StoreCopy.path
    while path(folder) != "/", ((try? disk.status(path(folder))) ?? nil) == nil {
      names.append(folder.lastPathComponent)
      folder.deleteLastPathComponent()
    }
    let resolved = path(folder.resolvingSymlinksInPath())
    return names.reversed().reduce(resolved) { $0 == "/" ? "/\($1)" : "\($0)/\($1)" }
  }

  /// The connection to a store on a server; the same one for as long as it is in use.
  ///
  /// - Parameter location: distinguishes the store from others.
  static func toServer(_ location: String, _ opening: @escaping ServedOpening) -> StoreConnection {
    shared(location) { StoreConnection(path: nil, opening: opening) }
  }

  /// Whether the store is on a server: its calls wait for the network, and its transactions do not wait for each other.
  var isServed: Bool { opening != nil }

  /// Whether the store was removed while it was open here. A caller that asks for the location then means another store.
  private var isOrphaned: Bool {
    guard let path, state.withLock({ $0.writer != nil || $0.reader != nil }) else { return false }
    return !FileStore.exists(at: path, disk: Self.disk)
  }

  static func inMemory(slices: TimeSlices, clock: any Clock<Duration> = ContinuousClock()) -> StoreConnection {
    // No other process can write to memory, so the lock is never released.
    var configuration = StoreConfiguration()
    configuration.writerIdleTime = .seconds(1_000_000_000)
    return StoreConnection(
      path: nil, writer: FileStore.memory(options: options(isReadOnly: false, configuration)), slices: slices,
      clock: clock)
  }

  /// The newest durable state, of this process or another; nil if there is no store.
  ///
  /// - Parameter foresight: the keys or pages that will be read of it, for a server.
  func currentView(forWriter: Bool, prefetching foresight: Prefetch? = nil) throws -> View? {
    guard let store = try storeForReading(forWriter: forWriter) else { return nil }
    return try throwingStoreErrors {
      if let foresight { return try store.refresh(prefetching: foresight) }
      return try store.refresh()
    }
  }

  /// A number that stays the same for as long as reads outside of transactions see the same state. Returns nil if only reading the store
  /// can tell.
  func visibleState(forWriter: Bool) -> UInt64? {
    let store = state.withLock { $0.writer ?? (forWriter ? nil : $0.reader) }
    return store?.visibleState
  }

  /// The store, if there is one. Opening takes no lock.
  func storeForReading(forWriter: Bool) throws -> (any Engine)? {
    if forWriter, let path, hasOldFolder(forWriter: true) { try convertOldFolder(at: path) }
    return try state.withLock { state in
      if let store = state.writer ?? (forWriter ? nil : state.reader) { return store }
      let store = try opening?(forWriter) ?? path.flatMap { try open($0, forWriter: forWriter, state.configuration) }
      if forWriter { state.writer = store } else { state.reader = store }
      if store != nil { state.opened = state.configuration }
      return store
    }
  }

  private func open(_ path: String, forWriter: Bool, _ configuration: StoreConfiguration) throws -> (any Engine)? {
    var place = path
    if !FileStore.exists(at: path, disk: Self.disk) {
      let replacement = FolderReplacement(at: path)
      switch forWriter ? .none : replacement.state {
      case .none:
        try requireNothingElse(at: path)
        return nil
      case .folder:
        // In memory, because a persistence that only reads changes nothing on the disk.
        let converted = Result {
          let builder = StoreBuilder(inMemoryFor: Self.programName)
          _ = try FolderConverter(from: path, into: builder).run()
          return builder.store
        }
        // A process that replaced the folder meanwhile took away files that were not read yet.
        guard replacement.state == .folder else { return try self.open(path, forWriter: false, configuration) }
        return try throwingStoreErrors { try converted.get() }
      case .movedAside: place = replacement.workPath
      }
    }
    return try throwingStoreErrors {
      try FileStore.open(
        at: place, options: Self.options(isReadOnly: !forWriter, configuration), disk: configuration.disk)
    }
  }

  /// Throws if something other than a store lies at a location: it must not read as an empty store.
  private func requireNothingElse(at path: String) throws {
    let status = (try? Self.disk.status(path)) ?? nil
    if let status, !status.isDirectory { throw StoreError(.notAStore, "\(path) is a file, not a store.") }
    if status == nil, (try? FileManager.default.destinationOfSymbolicLink(atPath: path)) != nil {
      throw StoreError(.danglingLink(path: path))
    }
    try Self.refuseFolderOfOriginalLibrary(at: path)
  }

  /// Throws if a folder of the original library lies at a path, and says how to make a store of it.
  static func refuseFolderOfOriginalLibrary(at path: String) throws {
    if OriginalFolder.exists(at: path) {
      throw StoreError(
        .notAStore,
        OriginalFolder.advice(for: path) + "; an app has it done by StoreConfiguration.oldFolders = .convert.")
    }
  }

  /// The store if it is a file, not on a server, and open for writing.
  var openFile: FileStore? { state.withLock { $0.writer as? FileStore } }

  /// Whether the store exists and is open for writing, so that getting it touches no disk.
  var isOpenForWriting: Bool { state.withLock { $0.writer != nil } }

  /// The store for writing; it is created if there is none, which takes two syncs.
  func storeForWriting() throws -> any Engine {
    if let store = try storeForReading(forWriter: true) { return store }
    return try state.withLock { state in
      if let store = state.writer { return store }
      guard let path else { throw StoreError.closed }
      let store = try throwingStoreErrors {
        // The original library makes its store in any folder.
        try FileStore.openOrCreate(
          at: path, options: Self.options(state.configuration), allowsOtherFiles: true, disk: state.configuration.disk)
      }
      (state.writer, state.opened) = (store, state.configuration)
      return store
    }
  }

  /// Adds the handle of a persistence, which may change how the store is kept from its next opening on.
  ///
  /// - Parameter configure: Receives the configuration, and whether other persistences of the location have it. If it throws, there is no
  ///   new handle. It must not use the connection.
  func addHandle(_ configure: (inout StoreConfiguration, _ hasOthers: Bool) throws -> Void) rethrows {
    try state.withLock { state in
      try configure(&state.configuration, state.handles > 0)
      state.handles += 1
    }
  }

  func removeHandle() { state.withLock { $0.handles -= 1 } }

  /// Removes the handle of a persistence that is closed. If it is the last one, returns the stores to close: the next use opens the store
  /// again, even if it comes before they are.
  func removeClosedHandle() -> [any Engine]? {
    state.withLock { state in
      state.handles -= 1
      guard state.handles == 0 else { return nil }
      defer { if path != nil || opening != nil { (state.writer, state.reader, state.opened) = (nil, nil, nil) } }
      return [state.writer, state.reader].compactMap(\.self)
    }
  }

  func close(_ stores: [any Engine]) throws {
    isFollowing.store(false, ordering: .releasing)
    endAwaiting()
    publication.endFollowing()
    for store in stores {
      try throwingStoreErrors { try store.close() }
    }
  }

  private static let disk = SystemDisk()

  /// The program and the user that commits record as their makers.
  static var programName: String { ProcessInfo.processInfo.processName }
  static var userName: String { currentUserName() }

  private static func options(
    isReadOnly: Bool = false, _ configuration: StoreConfiguration = StoreConfiguration()
  ) -> StoreOptions {
    let retention = configuration.retention
    var options = StoreOptions(
      isReadOnly: isReadOnly, program: programName, author: userName,
      readsMapped: configuration.readsThroughMapping, idleSeconds: configuration.writerIdleTime / .seconds(1),
      retention: isReadOnly || retention == .everything ? nil : retention.engineRetention)
    let compressesAll = configuration.compression == .values
    options.compresses = { tree, attributes in
      DatastoreDescriptor.compresses(tree, attributes) ?? (compressesAll && tree.datastoreKey != nil ? true : nil)
    }
    return options
  }
}

private struct WeakConnection {
  weak var connection: StoreConnection?
}

private let openConnections = Mutex<[String: WeakConnection]>([:])
