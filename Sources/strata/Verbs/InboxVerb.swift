import StrataModel
import StrataDocuments
import StrataExpressions
import StoreBrowser

// The letters that other programs have left for a store.

extension VerbRun {
  func inbox() throws -> Int32 {
    let inbox = try inboxFolder()
    if let name = arguments.value("--drop") {
      try ownStore(editableStore()).dropLetter(letterName(name))
      return 0
    }
    if let name = arguments.value("--again") {
      let store = try ownStore(editableStore())
      try store.sendAgain(letterName(name), by: LetterSender(inbox))
      return try apply(to: store)
    }
    if arguments.has("--apply") { return try apply(to: ownStore(editableStore())) }
    let letters = try inbox.notices()
    if letters.isEmpty { _ = try store() }
    for letter in letters { try print(letter) }
    return 0
  }

  /// Leaves changes for the owner of the store, instead of committing them.
  func send(_ changes: ChangeSet, named action: String) throws {
    let letter = Letter(
      date: LocalTime.now, program: "strata", author: currentUser(), action: action,
      changes: changes.changes.map { edit in
        Letter.Change(
          datastore: edit.datastore, identifier: edit.identifier.value.document,
          kind: edit.new.map { .put($0, isNew: false) } ?? .delete)
      })
    guard !letter.changes.isEmpty else { throw ModelError.refused(reason: "all of it is stored already") }
    let name = try LetterSender(inboxFolder()).send(letter)
    try tell(["letter": .string(name.description)], or: name.description)
  }

  /// Applies what waits; ends with 1 if a letter was refused or still waits.
  private func apply(to store: EngineStore) throws -> Int32 {
    var outcomes: [LetterOutcome] = []
    let result = Result { () throws(ModelError) in try store.applyLetters(note: { outcomes += $0 }) }
    for outcome in outcomes {
      switch outcome {
      case .applied(let name, let commit):
        try tell(["letter": .string(name.description), "commit": .commit(commit)], or: "\(commit)  \(name)")
      case .refused(let name, let reason):
        try tell(
          ["letter": .string(name.description), "state": "refused", "reason": .string(reason)],
          or: "\(name)  refused: \(reason)")
      }
    }
    _ = try result.get()
    let left = try inboxFolder().waiting()
    if let first = left.first { complain("\(counted(left.count, "letter")) still waiting, the first: \(first)") }
    let isAnyRefused = outcomes.contains { if case .refused = $0 { true } else { false } }
    return isAnyRefused || !left.isEmpty ? 1 : 0
  }

  private func print(_ letter: LetterNotice) throws {
    let state = letter.isRefused ? "refused" : "waiting"
    let isRead = letter.changeCount > 0
    let contents = isRead ? "  \(letter.program): \(letter.action), \(counted(letter.changeCount, "change"))" : ""
    try tell(
      .object(of: [
        "letter": .string(letter.name.description), "state": .string(state),
        "date": .string(Clock.iso8601(letter.name.date)), "program": isRead ? .string(letter.program) : nil,
        "author": isRead ? .string(letter.author) : nil, "action": isRead ? .string(letter.action) : nil,
        "changes": isRead ? .count(letter.changeCount) : nil, "reason": letter.reason.map(Document.string),
      ]), or: "\(letter.name)  \(state)\(contents)\(letter.reason.map { ": \($0)" } ?? "")".onOneLine)
  }

  private func letterName(_ text: String) throws(ModelError) -> LetterName {
    guard let name = LetterName(text) else {
      throw .invalid(
        text: text, column: nil, reason: "“\(text)” is not the name of a letter; strata inbox PATH prints them")
    }
    return name
  }

  private func inboxFolder() throws -> InboxFolder {
    let path = try required(0)
    guard !isServer(path) else {
      throw ModelError.refused(reason: "a store on a server has no inbox: other programs write to it themselves")
    }
    return InboxFolder(ofStoreAt: path)
  }
}
