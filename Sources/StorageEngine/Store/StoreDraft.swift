/// A store that is being made, in a folder inside its own until it is whole, so that nobody takes for a store what a crash, a kill or a
/// full disk left of it.
///
/// Every store that takes more than one file write to make appears this way: it is built beside its place, made durable and renamed,
/// and the folder is synced. Salvages, conversions, clones, backups and copies from servers are such; a store that is empty, or the copy
/// of another file, is a draft by itself (`Creation`). What a maker that was killed has left is taken away by the next one at the same
/// place, whichever it is.
///
///     let draft = try StoreDraft(at: path)
///     do { … make a store at draft.workPath and close it …; try draft.finish() } catch { draft.cancel(); throw error }
///
/// It belongs to one owner, who calls from one thread at a time. Another process that makes a store at the same place waits for two
/// seconds, and gets `busy` then.
package final class StoreDraft {
  /// The folder in which the store is made. It is there, and empty.
  package let workPath: String
  private let creation: Creation
  /// Locked for as long as the store is being made.
  private let mark: DraftFile
  private let made: [String]
  private var isFinished = false
  private var hasMovedRemotes = false

  /// What a store's folder may hold before it is made: the mark, and what a maker that was killed while it finished has left.
  private static let leftovers: Set<String> = ["data.new", "remotes"]
  private static let workNames = ["/data.making", "/data.salvage"]

  /// Makes the folders that lead to the store. Throws `alreadyExists` if anything lies at the path but an empty folder or what
  /// is left of a maker, `dataMissing` where there was a store, and `busy`; then nothing is left.
  package init(at path: String, on disk: any Disk = SystemDisk()) throws(StorageError) {
    let creation = Creation(disk: disk, folder: path)
    try creation.requireNothing()
    let made = try creation.makeFolder()
    do {
      mark = try DraftFile.make(path + "/data.new", on: disk, patience: 2)
    } catch {
      creation.takeAway(made)
      throw error
    }
    (self.creation, self.made, workPath) = (creation, made, path + Self.workNames[0])
    do {
      Self.clear(path, on: disk)
      if try !Self.leftovers.isSuperset(of: disk.list(path)) { throw StorageError.alreadyExists(path: path) }
      try disk.makeDirectory(workPath)
    } catch {
      cancel()
      throw error as? StorageError ?? (error as? DiskError).map(StorageError.init) ?? .alreadyExists(path: path)
    }
  }

  /// Gives the store its name, and makes the name durable. The store at `workPath` is closed, or its data synced. The list of remotes
  /// that lies beside it comes along.
  package func finish() throws(StorageError) {
    let remotes = "/remotes"
    try engineCall { () throws(DiskError) in
      guard try creation.disk.status(workPath + remotes) != nil else { return }
      try creation.disk.rename(workPath + remotes, to: creation.folder + remotes)
      hasMovedRemotes = true
    }
    try creation.putInPlace(Reading.dataPath(workPath))
    isFinished = true
    Self.clear(creation.folder, on: creation.disk)
    mark.discard()
  }

  /// Takes away what was made. Harmless after `finish()`.
  package func cancel() {
    guard !isFinished else { return }
    Self.clear(creation.folder, on: creation.disk)
    if hasMovedRemotes { try? creation.disk.unlink(creation.folder + "/remotes") }
    mark.discard()
    creation.takeAway(made)
  }

  /// Takes away what a maker, or one that was killed, has built in a store's folder.
  static func clear(_ folder: String, on disk: any Disk) {
    for work in workNames.map({ folder + $0 }) {
      for name in (try? disk.list(work)) ?? [] { try? disk.unlink(work + "/" + name) }
      try? disk.removeDirectory(work)
    }
  }
}
