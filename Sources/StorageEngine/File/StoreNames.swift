import Locks

/// The names of a store's data and lock, as the one sees them who holds the lock: whether they still lead to the files that are
/// open.
///
/// Somebody may put a backup in the place of the data, or take `lock` for a leftover and delete it, while a program writes. What
/// that program went on to write would be in no store, or beside another writer. The folder is kept open, so one that is moved
/// is followed.
///
/// Safe from any thread: a sync that is under way looks at the names while a compaction changes one of them.
final class StoreNames: Sendable {
  private let disk: any Disk
  private let path: String
  private let folder: any DiskFolder
  /// The files that the data's name may lead to: one, and while it is being given to another one both.
  private let data: Mutex<[FileIdentity]>
  private let lock: FileIdentity

  /// `data`, `lock`: the files that are open.
  init(disk: any Disk, path: String, data: any DiskFile, lock: any DiskFile) throws(StorageError) {
    self.disk = disk
    self.path = path
    let folder = try engineCall { () throws(DiskError) in try disk.openFolder(path) }
    self.folder = folder
    /// The identity by name, which not every file system gives an open file too.
    func identity(of name: String, _ file: any DiskFile) throws(StorageError) -> FileIdentity {
      let found = try engineCall { () throws(DiskError) in
        try disk.leads(path + "/" + name, to: file) ? try folder.identity(of: name) : nil
      }
      guard let found else { throw .replaced(path: path + "/" + name) }
      return found
    }
    self.data = Mutex([try identity(of: "data", data)])
    self.lock = try identity(of: "lock", lock)
  }

  /// Throws `replaced` where another file has one of the names, or none has it. Costs two system calls.
  func check() throws(StorageError) {
    try check("data") { found in data.withLock { $0.contains(found) } }
    try check("lock") { $0 == lock }
  }

  private func check(_ name: String, _ isOurs: (FileIdentity) -> Bool) throws(StorageError) {
    let found = try engineCall { () throws(DiskError) in try folder.identity(of: name) }
    guard let found, isOurs(found) else { throw .replaced(path: path + "/" + name) }
  }

  /// As `check`, for who is about to change names by their path: it must lead to the folder that is kept open.
  func checkPath() throws(StorageError) {
    try check()
    let named = try? disk.openFolder(path).identity
    guard named == (try engineCall { () throws(DiskError) in try folder.identity }) else {
      throw .busy(what: "the folder \(path) was moved while the store was open")
    }
  }

  /// Expects another file under the name of the data too, which who holds the lock is about to put there.
  func expect(_ identity: FileIdentity) { data.withLock { $0.append(identity) } }

  /// Expects that file only, from now on.
  func follow(_ identity: FileIdentity) { data.withLock { $0 = [identity] } }
}
