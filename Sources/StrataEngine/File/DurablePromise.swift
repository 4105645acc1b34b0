/// The promise of the last session in the lock file: the end that it had reported as durable.
///
/// A session that ends in good order records its end in a slot, and if there is a whole slot, that slot counts. A session that is killed
/// leaves its last hold in the lock file, which was written after the sync of the end that it names. So if the frames end before that,
/// durable data was lost: this is damage, and not a commit that was cut off while it was written. Bytes behind that end were never
/// promised, unless a whole frame there records that they were durable (`FrameSurvey.notedEnd`).
struct DurablePromise {
  /// All bytes before this were durable.
  let end: FileOffset
  /// Whether it was given for this very file, and not for one that this is a copy of. A copy made while the other was written may be older
  /// than the promise.
  let isOwn: Bool

  /// Returns nil if the lock file makes no promise for the file: it names another session or generation, or it was released.
  ///
  /// - Parameter hasSlot: Whether the file has a whole slot. If not, a released hold counts, too, and the session block may be lost as
  ///   well.
  init?(_ hold: LockHold?, for file: DataFile, hasSlot: Bool) {
    guard let hold, hold.processIdentifier != 0 || !hasSlot, hold.generation == file.header.identity.generation else {
      return nil
    }
    let sessions = file.sessions
    let session = sessions.first { $0.session == hold.session }
    guard session != nil || (sessions.isEmpty && !hasSlot) else { return nil }
    end = hold.durableEnd
    // The number of a device may change after a restart. A file without a session block is damaged, or newly made; then it may have
    // replaced the file that the promise was given for.
    isOwn = session.map { $0.file.inode == file.identity.inode } ?? false
  }

  /// Whether data is missing behind the end of the whole frames. For this file's own promise, any missing byte counts. A copy may be older
  /// than the promise: there it counts only if whole frames lie behind the missing ones.
  func isBroken(behind chain: ChainEnd, in file: DataFile) throws(StorageError) -> Bool {
    guard chain.end < end else { return false }
    if isOwn { return true }
    return try !FrameSurvey.wholeFrames(of: file, in: chain.end..<min(max(chain.end, file.end), end)).isEmpty
  }
}
