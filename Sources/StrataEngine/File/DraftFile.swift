/// A file beside the data of a store that is being written, to take the data's name once it is whole.
///
/// It belongs to the holder of its lock. No other process writes to it, removes it, or renames it; and its owner keeps the lock until it
/// has the data's name, or none. So a file with the draft's name is the draft while the owner holds its lock.
struct DraftFile: Sendable {
  let disk: any Disk
  let path: String
  let file: any DiskFile

  /// Makes an empty draft, and removes an abandoned one. Waits for at most `patience` seconds for a living owner, then throws `busy`.
  static func make(_ path: String, on disk: any Disk, patience: Double = 0) throws(StorageError) -> DraftFile {
    // If several processes make one at once, each may find a file that another has made and not locked yet, or lose its own to a process
    // that took it for abandoned.
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

  /// Takes over the draft at a path from an owner that does not work on it any more. Returns nil if there is none.
  static func taking(_ path: String, on disk: any Disk, patience: Double = 0) throws(StorageError) -> DraftFile? {
    let file = try disk.openLocked(path, patience: patience) { _ in busy(path) }
    return file.map { DraftFile(disk: disk, path: path, file: $0) }
  }

  private static func busy(_ path: String) -> StorageError { .busy(what: "someone else is writing \(path)") }

  var isInPlace: Bool { get throws(DiskError) { try disk.leads(path, to: file) } }

  /// Removes the draft, unless it got another name already.
  func discard() {
    guard (try? isInPlace) ?? false else { return }
    try? disk.unlink(path)
  }
}

extension Disk {
  /// Opens the file at a path and takes its lock, waiting for at most `patience` seconds. Returns nil if there is no file.
  ///
  /// - Parameter refusal: Returns the error for a file whose lock is held elsewhere, or, without a file, for a name that always changes.
  package func openLocked(
    _ path: String, patience: Double, refusal: ((any DiskFile)?) throws(StorageError) -> StorageError
  ) throws(StorageError) -> (any DiskFile)? {
    // The name leads elsewhere if its owner was just done with it. The lock of a file without a name keeps no process away.
    for _ in 0..<8 {
      let file: any DiskFile
      do {
        file = try open(path, .readWriteNoLink)
      } catch {
        if error.isNotFound { return nil }
        throw StorageError(error)
      }
      guard try engineCall({ () throws(DiskError) in try file.lock(patience: patience) }) else {
        throw try refusal(file)
      }
      if try engineCall({ () throws(DiskError) in try leads(path, to: file) }) { return file }
    }
    throw try refusal(nil)
  }

  /// Opens the file at a path, which is created if there is none, and takes its lock as ``openLocked(_:patience:refusal:)`` does.
  package func createLocked(
    _ path: String, patience: Double, refusal: ((any DiskFile)?) throws(StorageError) -> StorageError
  ) throws(StorageError) -> any DiskFile {
    for _ in 0..<8 {
      if let file = try openLocked(path, patience: patience, refusal: refusal) { return file }
      do {
        _ = try open(path, .create)
      } catch {
        // Another process made it in between.
        if !error.isExisting { throw StorageError(error) }
      }
    }
    throw try refusal(nil)
  }
}

extension DiskFile {
  /// Takes the file's lock, waiting for at most `patience` seconds for another open that holds it. Returns whether it was taken.
  func lock(patience: Double) throws(DiskError) -> Bool {
    let patience = Int64(min(max(0, patience), 1e9) * 1e9)
    // Another process's lock cannot wake a thread here, so this tries again, at growing intervals.
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
