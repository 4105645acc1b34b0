import Locks

/// The names of a store's data and lock, as the one sees them who holds the lock: whether they still lead to the files that are
/// open.
///
/// Somebody may put a backup in the place of the data, or take `lock` for a leftover and delete it, while a program writes. What
/// that program went on to write would be in no store. The names are looked up by the store's path. A store whose folder is moved is
/// followed as long as nothing takes the folder's place: so the folder is kept open.
///
/// Safe from any thread: a sync that is under way looks at the names while a compaction changes one of them.
final class StoreNames: Sendable {
  private let disk: any Disk
  private let path: String
  private let dataPath: String
  private let lockPath: String
  private let folder: any DiskFolder
  /// The files that the data's name may lead to: one, and while it is being given to another one both.
  private let data: Mutex<[FileIdentity]>
  private let lock: FileIdentity

  /// `data`, `lock`: the files that are open.
  init(disk: any Disk, path: String, data: any DiskFile, lock: any DiskFile) throws(StorageError) {
    self.disk = disk
    self.path = path
    dataPath = Reading.dataPath(path)
    lockPath = path + "/lock"
    folder = try engineCall { () throws(DiskError) in try disk.openFolder(path) }
    /// The identity by name, which not every file system gives an open file too.
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

  /// Throws `replaced` where another file has one of the names, or none has it. Costs two system calls.
  ///
  /// - Parameter byPath: whether to throw `busy` where the folder was moved.
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

  /// Expects another file under the name of the data too, which who holds the lock is about to put there.
  func expect(_ identity: FileIdentity) { data.withLock { $0.append(identity) } }

  /// Expects that file only, from now on.
  func follow(_ identity: FileIdentity) { data.withLock { $0 = [identity] } }
}
