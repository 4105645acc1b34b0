import StrataLocks

/// The names of a store's data and lock, as the holder of the lock sees them: whether they still lead to the files that are open.
///
/// A user may replace the data by a backup, or delete `lock` as a leftover, while a program writes. Then the program's further commits
/// would be in no store. The names are looked up by the store's path. A store whose folder is moved is followed as long as nothing takes
/// the folder's place: so the folder is kept open.
///
/// Safe from any thread: a running sync checks the names while a compaction changes one of them.
final class StoreNames: Sendable {
  private let disk: any Disk
  private let path: String
  private let dataPath: String
  private let lockPath: String
  private let folder: any DiskFolder
  /// The files that the data's name may lead to: one, or both while the name passes to another file.
  private let data: Mutex<[FileIdentity]>
  private let lock: FileIdentity

  /// `data`, `lock`: the files that are open.
  init(disk: any Disk, path: String, data: any DiskFile, lock: any DiskFile) throws(StorageError) {
    self.disk = disk
    self.path = path
    dataPath = StoreReader.dataPath(path)
    lockPath = path + "/lock"
    folder = try engineCall { () throws(DiskError) in try disk.openFolder(path) }
    /// The identity by name, which some file systems do not give to an open file.
    func identity(of path: String, _ file: any DiskFile) throws(StorageError) -> FileIdentity {
      let found = try engineCall { () throws(DiskError) in
        try disk.leads(path, to: file) ? try disk.identity(path) : nil
      }
      guard let found else { throw .replaced(path: path) }
      return found
    }
    self.data = Mutex([try identity(of: dataPath, data)])
    self.lock = try identity(of: lockPath, lock)
  }

  /// Throws `replaced` if another file has one of the names, or none has it. Costs two system calls.
  ///
  /// - Parameter byPath: Whether to throw `busy` if the folder was moved.
  func check(byPath: Bool) throws(StorageError) {
    try check(dataPath, "data", byPath) { found in data.withLock { $0.contains(found) } }
    try check(lockPath, "lock", byPath) { $0 == lock }
  }

  private func check(
    _ path: String, _ name: String, _ byPath: Bool, isOurs: (FileIdentity) -> Bool
  ) throws(StorageError) {
    var found = try engineCall { () throws(DiskError) in try disk.identity(path) }
    if found == nil, try engineCall({ () throws(DiskError) in try disk.identity(self.path) }) == nil {
      found = try engineCall { () throws(DiskError) in try folder.identity(of: name) }
      if byPath, found != nil { throw .busy(what: "the folder \(self.path) was moved while the store was open") }
    }
    guard let found, isOurs(found) else { throw .replaced(path: path) }
  }

  /// Also accepts another file under the name of the data, which the holder of the lock is about to put there.
  func expect(_ identity: FileIdentity) { data.withLock { $0.append(identity) } }

  /// Accepts only that file from now on.
  func follow(_ identity: FileIdentity) { data.withLock { $0 = [identity] } }
}
