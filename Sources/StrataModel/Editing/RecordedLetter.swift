import StrataLocks
import StrataEngine

/// A name that an edit notes in its commit, as a letter of the inbox does, so that the edit is made at most once however often it is asked
/// for.
final class RecordedLetter: Sendable {
  let name: LetterName
  private let isNoted = Mutex(false)

  init(_ name: LetterName) { self.name = name }

  /// Notes the name. Returns false if an earlier edit has noted it. An edit may take several transactions; its first notes the name.
  func record(in transaction: any WriteTransaction) throws -> Bool {
    try isNoted.withLock { $0 } || LetterNumbers.record(name, in: transaction)
  }

  /// Ends a transaction that has noted the name and was committed. One that failed or had a conflict is run again, and notes it again.
  func keep() { isNoted.withLock { $0 = true } }
}

extension EngineStore {
  /// The same store for one edit, which notes a name in its commit. If the name is noted already, the edit changes nothing.
  package func recording(_ letter: LetterName) -> EngineStore { EngineStore(self, noting: letter) }

  /// The commit that has noted a name. Returns nil if none has.
  package func commit(recording letter: LetterName) throws(ModelError) -> CommitNumber? {
    func isDone(at commit: CommitNumber) throws(ModelError) -> Bool {
      try LetterNumbers(engineView(at: commit).tree(.letters)).isDone(letter)
    }
    var commit = try refresh().commit
    guard try isDone(at: commit) else { return nil }
    while let parent = try commitRecord(commit).parents.first, parent > 0, try isDone(at: CommitNumber(parent)) {
      commit = CommitNumber(parent)
    }
    return commit
  }
}
