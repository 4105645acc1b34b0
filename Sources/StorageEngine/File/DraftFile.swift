/// A file beside the data of a store that is being written, to take the data's name once it is whole.
///
/// It belongs to the one that holds its lock. Nobody else writes to it, takes it away, or gives it another name; and its owner
/// keeps the lock until it has the data's name, or none. So what has the draft's name while its lock is held is the draft.
struct DraftFile: Sendable {
  let disk: any Disk
  let path: String
  let file: any DiskFile

  /// Makes an empty draft, in the place of one that nobody works at any more. Waits for at most `patience` seconds for somebody
  /// who does, and throws `busy` then.
  static func make(_ path: String, on disk: any Disk, patience: Double = 0) throws(StorageError) -> DraftFile {
    // Where several make one at once, each may find a file that another has made and not locked yet, or lose its own to one who
    // took it for left over.
    for _ in 0..<64 {
      try taking(path, on: disk, patience: patience)?.discard()
      let draft: DraftFile
      do {
        draft = DraftFile(disk: disk, path: path, file: try disk.open(path, .create))
      } catch {
        if error.isExisting { continue }
        throw StorageError(error)
      }
      do {
        if try draft.file.tryLock(), try draft.isInPlace { return draft }
      } catch {
        draft.discard()
        throw StorageError(error)
      }
    }
    throw busy(path)
  }

  /// The draft that lies there, taken over from one that does not work at it any more; nil where there is none.
  static func taking(_ path: String, on disk: any Disk, patience: Double = 0) throws(StorageError) -> DraftFile? {
    // The name leads elsewhere where its owner was just done with it.
    for _ in 0..<8 {
      let file: any DiskFile
      do {
        file = try disk.open(path, .readWriteNoLink)
      } catch {
        if error.isNotFound { return nil }
        throw StorageError(error)
      }
      let draft = DraftFile(disk: disk, path: path, file: file)
      guard try engineCall({ () throws(DiskError) in try file.lock(patience: patience) }) else { break }
      if try engineCall({ () throws(DiskError) in try draft.isInPlace }) { return draft }
    }
    throw busy(path)
  }

  private static func busy(_ path: String) -> StorageError { .busy(what: "someone else is writing \(path)") }

  /// Whether the name still leads to it.
  var isInPlace: Bool { get throws(DiskError) { try disk.leads(path, to: file) } }

  /// Takes it away, if it did not get another name already.
  func discard() {
    guard (try? isInPlace) ?? false else { return }
    try? disk.unlink(path)
  }
}

extension DiskFile {
  /// Takes the file's lock, waiting for at most `patience` seconds for another open of it that has the lock; whether it was taken.
  func lock(patience: Double) throws(DiskError) -> Bool {
    let patience = Int64(min(max(0, patience), 1e9) * 1e9)
    // Another process's lock cannot wake anyone here, so it is asked for again, at growing distances.
    var waited: Int64 = 0
    var pause: Int64 = 500_000
    while true {
      if try tryLock() { return true }
      guard waited < patience else { return false }
      rest(nanoseconds: min(pause, patience - waited))
      waited += pause
      pause = min(pause * 2, 20_000_000)
    }
  }
}
