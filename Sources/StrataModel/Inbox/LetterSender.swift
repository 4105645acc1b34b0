import StrataLocks
import StrataEngine

/// Sends letters to the owner of a store. It takes no lock of the store and opens none of its files.
///
/// Number, rename and sync of the folder happen under one lock, so letters appear in the order of their numbers. Safe from any thread.
package final class LetterSender: Sendable {
  private struct State {
    var sender: UInt64
    var number: UInt32 = 0
    /// How many letters may still be sent before the folder is counted again.
    var room = 0
  }

  package let folder: InboxFolder
  private let mostLetters: Int
  private let state: Mutex<State>

  /// - Parameter mostLetters: how many letters may wait; a sender that finds more fails.
  package init(_ folder: InboxFolder, mostLetters: Int = 10_000) {
    self.folder = folder
    self.mostLetters = mostLetters
    state = Mutex(State(sender: folder.disk.randomNumber()))
  }

  /// Sends a letter; it is durable when this returns.
  ///
  /// - Throws: `ModelError.refused` if the letter is too long or too many wait; `ModelError.storage` if it cannot be written. A letter
  ///   whose sending fails is not there, with one exception: if the folder cannot be synced, it may appear nevertheless.
  @discardableResult
  package func send(_ letter: Letter) throws(ModelError) -> LetterName {
    try letter.requireShortTexts()
    let bytes = letter.bytes
    try Letter.requireLength(bytes.count)
    // The bytes become durable before the lock is taken, so that senders of one process wait for one sync only.
    let draft = "\(folder.draftsPath)/\(String(folder.disk.randomNumber(), radix: 16))"
    try inFolders { () throws(DiskError) in try folder.disk.writeDurably(bytes, to: draft) }
    do throws(ModelError) {
      return try next(date: letter.date) { name throws(ModelError) in
        try inFolders { () throws(DiskError) in try folder.disk.rename(draft, to: "\(folder.waitingPath)/\(name)") }
        try folder.onDisk { () throws(DiskError) in try folder.disk.syncDirectory(folder.waitingPath) }
      }
    } catch {
      // It is not there any more if it has its name already.
      try? folder.disk.unlink(draft)
      throw error
    }
  }

  /// Sends a letter again that was refused. It gets a number of this sender, and the name that is returned.
  func sendAgain(_ name: LetterName) throws(ModelError) -> LetterName {
    try next(date: name.date) { new throws(ModelError) in try folder.sendAgain(name, as: new) }
  }

  /// Gives the next number to a letter that `place` puts into the folder.
  private func next(
    date: Int64, _ place: (LetterName) throws(ModelError) -> Void
  ) throws(ModelError) -> LetterName {
    try state.withLock { state throws(ModelError) in
      if state.room == 0 {
        state.room = mostLetters - (try folder.waitingCount())
        guard state.room > 0 else {
          state.room = 0
          throw .refused(reason: "the inbox is full: \(mostLetters) letters wait for the store's owner")
        }
        state.room = min(state.room, Self.recount)
      }
      let name = LetterName(date: date, sender: state.sender, number: state.number + 1)
      do throws(ModelError) {
        try place(name)
      } catch {
        // The letter may be there or not. Another sender begins with 1, so that no number is left open for ever.
        state.sender = folder.disk.randomNumber()
        state.number = 0
        throw error
      }
      state.number += 1
      state.room -= 1
      return name
    }
  }

  private static let recount = 64

  /// The folders are looked for only after a failure, because they are there but for the first letter.
  private func inFolders(_ call: () throws(DiskError) -> Void) throws(ModelError) {
    do throws(DiskError) {
      try call()
    } catch {
      try folder.makeFolders()
      try folder.onDisk(call)
    }
  }
}
