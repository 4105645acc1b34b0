import StrataModel

extension WorkContext {
  /// How many letters are shown.
  private static var letterLimit: Int { 20 }

  /// The letters that other programs have left for the store, the first of them.
  var letters: [LetterNotice] {
    (try? (store as? EngineStore)?.letters(limit: Self.letterLimit)) ?? []
  }

  func changes(of letter: LetterNotice) throws(ModelError) -> ChangeSet {
    let store = try ownStore()
    guard let inbox = store.inbox else { return ChangeSet() }
    return try store.edits(of: inbox.letter(letter.name, isRefused: letter.isRefused))
  }

  /// Applies a letter, with those of its sender that were sent before it.
  func applied(_ letter: LetterNotice) throws(ModelError) -> CommitNumber {
    let store = try ownStore()
    guard let inbox = store.inbox else { throw .readOnly(reason: "this kind of store has no inbox") }
    let name = letter.isRefused ? try store.sendAgain(letter.name, by: LetterSender(inbox)) : letter.name
    let outcomes = try store.applyLetters { due, _ in due.sender == name.sender && due.number <= name.number }
    for outcome in outcomes {
      switch outcome {
      case .applied(name, let commit): return commit
      case .refused(name, let reason): throw .refused(reason: reason)
      default: break
      }
    }
    throw .refused(
      reason: try inbox.waiting().contains(name)
        ? "a letter of its sender that was sent before it is missing" : "another process has applied it")
  }

  func ownStore() throws(ModelError) -> EngineStore {
    guard let store = store as? EngineStore else { throw .readOnly(reason: "this kind of store has no inbox") }
    return store
  }
}
