/// What the lock file says of a session that was killed: up to where it had told somebody that its commits are durable.
///
/// A session that ends in good order notes its end in a slot. One that is killed leaves its last hold in the lock file, which was
/// written after the sync of what it speaks of. So where the frames end before that, something was lost that was safe: damage,
/// and no commit that was cut off while it was written. What lies behind it was promised to nobody.
struct DurablePromise {
  /// All bytes before this were durable.
  let end: FileOffset
  /// Whether it was given for this very file, and not for one that this is a copy of. A copy that was made while the other was
  /// written may have been made before the promise.
  let isOwn: Bool

  /// Nil where the lock file says nothing of the file: it was let go of, or is another session's or another generation's.
  init?(_ hold: LockHold?, for file: DataFile) {
    guard let hold, hold.processIdentifier != 0, hold.generation == file.header.identity.generation,
      let session = file.sessions.first(where: { $0.session == hold.session })
    else { return nil }
    end = hold.durableEnd
    // The number of a device may be another one after a restart.
    isOwn = session.file.inode == file.identity.inode
  }

  /// Whether something is missing behind a place where the whole frames end: all of a promise for this file; in a copy, which may be
  /// older than the promise, only where there are whole frames behind the missing ones.
  func isBroken(behind chain: ChainEnd, in file: DataFile) throws(StorageError) -> Bool {
    guard chain.end < end else { return false }
    if isOwn { return true }
    return try !FrameSurvey.wholeFrames(of: file, in: chain.end..<min(max(chain.end, file.end), end)).isEmpty
  }
}
