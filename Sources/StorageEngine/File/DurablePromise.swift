/// What the lock file says of the last session: up to where it had told somebody that its commits are durable.
///
/// A session that ends in good order notes its end in a slot, and where there is a whole slot, that one counts. A session that is
/// killed leaves its last hold in the lock file, which was written after the sync of what it speaks of. So where the frames end
/// before that, something was lost that was safe: damage, and no commit that was cut off while it was written. What lies behind it
/// was promised to nobody, unless a whole frame there notes that it was durable (`FrameSurvey.notedEnd`).
struct DurablePromise {
  /// All bytes before this were durable.
  let end: FileOffset
  /// Whether it was given for this very file, and not for one that this is a copy of. A copy that was made while the other was
  /// written may have been made before the promise.
  let isOwn: Bool

  /// Nil if the lock file says nothing of the file: it is another session's or another generation's, or it was let go of.
  ///
  /// - Parameter hasSlot: whether the file has a whole slot. If it has none, a hold that was let go of counts too; and the session
  ///   block may be lost with the slots.
  init?(_ hold: LockHold?, for file: DataFile, hasSlot: Bool) {
    guard let hold, hold.processIdentifier != 0 || !hasSlot, hold.generation == file.header.identity.generation else {
      return nil
    }
    let sessions = file.sessions
    let session = sessions.first { $0.session == hold.session }
    guard session != nil || (sessions.isEmpty && !hasSlot) else { return nil }
    end = hold.durableEnd
    // The number of a device may be another one after a restart. A file without a session block is damaged, or as new as when it was
    // made, and then it may have taken the place of the one that the promise was given for.
    isOwn = session.map { $0.file.inode == file.identity.inode } ?? false
  }

  /// Whether something is missing behind a place where the whole frames end: all of a promise for this file; in a copy, which may be
  /// older than the promise, only where there are whole frames behind the missing ones.
  func isBroken(behind chain: ChainEnd, in file: DataFile) throws(StorageError) -> Bool {
    guard chain.end < end else { return false }
    if isOwn { return true }
    return try !FrameSurvey.wholeFrames(of: file, in: chain.end..<min(max(chain.end, file.end), end)).isEmpty
  }
}
