/// Opens a store's data for reading, and checks whether it was replaced.
struct StoreReader: Sendable {
  let disk: any Disk
  let folder: String
  let options: StoreOptions
  let counters: Counters

  struct Opened {
    var state: Publication.State
    var result: HeadSearch.Result
    /// Why the data cannot be written, or nil if it can.
    var readOnlyReason: String?
  }

  static func dataPath(_ folder: String) -> String { folder + "/data" }

  /// Opens the data file that has the name now, as far as it is durable according to the lock file.
  func open(_ look: (hold: LockHold?, isHeld: Bool)) throws(StorageError) -> Opened {
    guard look.isHeld else { return try open(left: look.hold) }
    let opened = try open(limit: look.hold?.durableEnd)
    // A hold of another generation says nothing about this file, which was whole before it got its name.
    let isOfFile = look.hold.map { $0.generation == opened.state.file.header.identity.generation } ?? true
    return isOfFile ? opened : try open()
  }

  /// Opens the data file that has the name now. `limit`: frames beyond it are not read. `left`: the hold that a vanished writer has left in
  /// the lock file.
  func open(limit: FileOffset? = nil, left: LockHold? = nil) throws(StorageError) -> Opened {
    var reason: String? = options.isReadOnly ? "it was opened so" : nil
    let handle: any DiskFile
    do {
      handle = try openByName(&reason)
    } catch {
      throw try Self.missing(error, in: folder, on: disk)
    }
    let header = try FileHeader(reading: handle, of: folder, on: disk)
    if header.optionalFeatures != 0 { reason = reason ?? "it has features that this program does not know" }
    let file = try DataFile(
      file: handle, header: header, readsMapped: options.readsMapped, counters: counters,
      nodeCacheSize: options.nodeCacheSize)
    let end = try engineCall { () throws(DiskError) in try handle.status.end }
    file.extend(to: end)
    let result = try HeadSearch(file: file, limit: min(limit ?? end, end), left: left).run()
    if let damage = result.damage { reason = "\(damage)" }
    if result.hasUnknownFrames { reason = reason ?? FrameScanner.unknownFrames }
    let state = try Publication.State(file: file, newest: result.newest, chain: result.chain)
    return Opened(state: state, result: result, readOnlyReason: reason)
  }

  private func openByName(_ reason: inout String?) throws(DiskError) -> any DiskFile {
    let path = Self.dataPath(folder)
    if reason == nil {
      do {
        return try disk.openByName(path, .readWrite)
      } catch {
        guard error.isForbidden else { throw error }
        reason = error.cause
      }
    }
    return try disk.openByName(path, .read)
  }

  /// The error for a store whose data cannot be opened.
  static func missing(_ error: DiskError, in folder: String, on disk: any Disk) throws(StorageError) -> StorageError {
    guard error.isNotFound else { return StorageError(error) }
    if let trace = FileStore.trace(at: folder, disk: disk) { return .dataMissing(path: folder, trace: trace) }
    let isThere = try engineCall { () throws(DiskError) in try disk.status(folder) } != nil
    return isThere ? .notAStore(path: folder) : .notFound(path: folder)
  }

  /// The status of the file that has the name of the store's data now. Returns nil if there is none.
  func statusByName() throws(StorageError) -> FileStatus? {
    try engineCall { () throws(DiskError) in try disk.status(Self.dataPath(folder)) }
  }
}
