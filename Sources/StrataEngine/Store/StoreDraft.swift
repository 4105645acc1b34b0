/// A store that is being made, in a folder inside its own until it is whole. So the remains of a crash, a kill or a full disk are never
/// taken for a store.
///
/// Every store that takes more than one file write to make appears this way: it is built beside its place, made durable and renamed, and
/// the folder is synced. Salvages, conversions, clones, backups and copies from servers are such. An empty store, or the copy of another
/// file, is a draft by itself (`Creation`). The remains of a killed maker are removed by the next one at the same place, of whatever kind.
///
///     let draft = try StoreDraft(at: path)
///     defer { draft.cancel() }
///     … make a store at draft.workPath and close it …
///     try draft.finish()
///
/// It belongs to one owner, which calls from one thread at a time. Another process that makes a store at the same place waits for two
/// seconds, and then gets `busy`.
package final class StoreDraft {
  /// The folder in which the store is made. It exists, and is empty.
  package let workPath: String
  private let creation: Creation
  /// Locked as long as the store is being made.
  private let mark: DraftFile
  private let made: [String]
  private var isFinished = false
  private var hasMovedRemotes = false

  private static let workNames = ["/data.making", "/data.salvage"]

  /// Makes the folders that lead to the store. Throws `alreadyExists` if there is a store or a file, `otherFiles` if the folder holds files
  /// of others, `dataMissing` if there was a store, and `busy`; then nothing is left.
  package init(at path: String, on disk: any Disk = SystemDisk()) throws(StorageError) {
    creation = Creation(disk: disk, folder: path)
    (mark, made) = try creation.begin()
    workPath = path + Self.workNames[0]
    do {
      try disk.makeDirectory(workPath)
    } catch {
      cancel()
      throw StorageError(error)
    }
  }

  /// Gives the store its name, and makes the name durable. The store at `workPath` must be closed, or its data synced. The list of remotes
  /// beside it is moved, too.
  package func finish() throws(StorageError) {
    let remotes = "/remotes"
    try engineCall { () throws(DiskError) in
      guard try creation.disk.status(workPath + remotes) != nil else { return }
      try creation.disk.rename(workPath + remotes, to: creation.folder + remotes)
      hasMovedRemotes = true
    }
    try creation.putInPlace(StoreReader.dataPath(workPath))
    isFinished = true
    Self.clear(creation.folder, on: creation.disk)
    mark.discard()
  }

  /// Removes everything that was made. Does nothing after `finish()`.
  package func cancel() {
    guard !isFinished else { return }
    Self.clear(creation.folder, on: creation.disk)
    if hasMovedRemotes { try? creation.disk.unlink(creation.folder + "/remotes") }
    mark.discard()
    creation.removeDirectories(made)
  }

  /// Removes everything that a maker, or a killed one, has built in a store's folder.
  static func clear(_ folder: String, on disk: any Disk) {
    for work in workNames.map({ folder + $0 }) {
      for name in (try? disk.list(work)) ?? [] { try? disk.unlink(work + "/" + name) }
      try? disk.removeDirectory(work)
    }
  }
}
