/// Opening a store's data for reading, and looking whether it was replaced.
enum Reading {
  struct Opened {
    var state: Publication.State
    var result: Opening.Result
    /// Why the data cannot be written, or nil.
    var readOnlyReason: String?
  }

  static func dataPath(_ folder: String) -> String { folder + "/data" }

  /// Opens the data file that lies there now. `limit`: frames beyond it are not looked at. `left`: what a writer that is gone has
  /// left in the lock file.
  static func open(
    disk: any Disk, folder: String, options: StoreOptions, counters: Counters, limit: FileOffset?, left: LockHold? = nil
  ) throws(StorageError) -> Opened {
    let path = dataPath(folder)
    var reason: String? = options.isReadOnly ? "it was opened so" : nil
    var handle: (any DiskFile)?
    if reason == nil {
      do {
        handle = try disk.openByName(path, .readWrite)
      } catch {
        guard error.isForbidden else { throw try missing(disk, folder, error) }
        reason = systemMessage(error.code)
      }
    }
    let opened: any DiskFile
    if let handle { opened = handle } else { opened = try openForReading(disk, folder) }
    return try open(opened, disk, folder, options, counters, limit, left, reason)
  }

  /// Opens the data file as far as it is durable, by what the lock file says.
  static func open(
    disk: any Disk, folder: String, options: StoreOptions, counters: Counters,
    _ look: (hold: LockHold?, isHeld: Bool)
  ) throws(StorageError) -> Opened {
    let limit = look.isHeld ? look.hold?.durableEnd : nil
    let opened = try open(
      disk: disk, folder: folder, options: options, counters: counters, limit: limit,
      left: look.isHeld ? nil : look.hold)
    guard limit != nil, look.hold?.generation != opened.state.file.header.identity.generation else { return opened }
    // A hold of another generation says nothing about this file, which was whole before it got its name.
    return try open(disk: disk, folder: folder, options: options, counters: counters, limit: nil)
  }

  private static func openForReading(_ disk: any Disk, _ folder: String) throws(StorageError) -> any DiskFile {
    do {
      return try disk.openByName(dataPath(folder), .read)
    } catch {
      throw try missing(disk, folder, error)
    }
  }

  private static func open(
    _ handle: any DiskFile, _ disk: any Disk, _ folder: String, _ options: StoreOptions, _ counters: Counters,
    _ limit: FileOffset?, _ left: LockHold?, _ knownReason: String?
  ) throws(StorageError) -> Opened {
    var reason = knownReason
    let header = try FileHeader(reading: handle, of: folder, on: disk)
    if header.optionalFeatures != 0 { reason = reason ?? "it has features that this program does not know" }
    let file = try DataFile(
      file: handle, header: header, readsMapped: options.readsMapped, counters: counters)
    let end = try engineCall { () throws(DiskError) in try handle.status.end }
    file.extend(to: end)
    let result = try Opening(file: file, limit: min(limit ?? end, end), left: left).run()
    if let damage = result.damage { reason = "\(damage)" }
    if result.hasUnknownFrames { reason = reason ?? FrameScanner.unknownFrames }
    let state = try Publication.State(file: file, newest: result.newest, chain: result.chain)
    return Opened(state: state, result: result, readOnlyReason: reason)
  }

  private static func missing(_ disk: any Disk, _ folder: String, _ error: DiskError) throws(StorageError)
    -> StorageError
  {
    guard error.isNotFound else { return StorageError(error) }
    if let trace = FileStore.trace(at: folder, disk: disk) { return .dataMissing(path: folder, trace: trace) }
    let isThere = try engineCall { () throws(DiskError) in try disk.status(folder) } != nil
    return isThere ? .notAStore(path: folder) : .notFound(path: folder)
  }

  /// Whether another file than `file` has taken the store's name.
  static func isReplaced(_ file: DataFile, disk: any Disk, folder: String) throws(StorageError) -> Bool {
    try statusByName(disk: disk, folder: folder).map { $0.identity != file.identity } ?? false
  }

  /// What the file is that has the name of the store's data now; nil where there is none.
  static func statusByName(disk: any Disk, folder: String) throws(StorageError) -> FileStatus? {
    try engineCall { () throws(DiskError) in try disk.status(dataPath(folder)) }
  }
}
