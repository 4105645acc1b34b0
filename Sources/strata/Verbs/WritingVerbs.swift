import StrataModel
import StrataDocuments
import StrataExchange
import StrataExpressions
import StoreBrowser

// The verbs that change a store by one commit and print its number: delete, undo, redo, restore, pin.

extension VerbRun {
  func delete() throws {
    let store = try editableStore()
    let view = try store.refresh()
    let datastore = try datastore(in: view)
    let key = datastore.descriptor.key
    var options = EditOptions(progress: ProgressMeter("deleting").report)
    options.leaveOut = { [notice] in notice.give($0) }
    var changes = ChangeSet(base: view.commit)
    var identifiers: Set<StoredKey> = []
    let texts = arguments.operands(from: 2)
    guard texts.isEmpty == arguments.has("--where") else {
      throw UsageError("give either an ID or --where", verb: arguments.verb)
    }
    if arguments.has("--where"), let own = store as? EngineStore {
      return try printCommit(
        own.delete(
          query(in: datastore, deletes: true), from: key, named: arguments.value("--name"), options: options))
    }
    for text in texts {
      let identifier = try datastore.identifier(parsing: text)
      guard let record = try datastore.replaceable(identifier) else {
        throw ModelError.noSuchRecord(identifier.description, datastore: key)
      }
      guard identifiers.insert(record.identifier).inserted else { continue }
      changes.changes.append(RecordEdit(datastore: key, identifier: record.identifier, old: record.stored, new: nil))
    }
    let name = changes.count == 1 ? "delete \(key) \(changes.changes[0].identifier)" : "delete \(changes.count) records"
    return try printCommit(
      store.commit(changes, named: arguments.value("--name") ?? name, options: options))
  }

  func undo() throws {
    let store = try editableStore()
    let named = try arguments.operand(1).map { try store.resolve($0) }
    guard let commit = try named ?? store.undoCandidate() else {
      throw ModelError.refused(reason: "there is no commit left to take back")
    }
    if let own = store as? EngineStore, let merge = try StoreExchange(own, now: LocalTime.now).undo(of: commit) {
      complain("\(commit) is a merge: \(merge.sentence)" + (merge.canStepBack ? ": strata merge --step-back" : ""))
    }
    return try undoCommit(commit, named: "undo \(commit)", in: store)
  }

  func redo() throws {
    let store = try editableStore()
    guard let commit = try store.redoCandidate() else {
      throw ModelError.refused(reason: "there is no undo to take back")
    }
    return try undoCommit(commit, named: "redo \(commit)", in: store)
  }

  private func undoCommit(_ commit: CommitNumber, named action: String, in store: any EditableStore) throws {
    let isWhole = try store.stateBroughtBack(byUndoing: commit) != nil
    try printCommit(
      store.undo(commit, named: action, options: EditOptions(progress: ProgressMeter(action).report)))
    if isWhole { return }
    let kept = try store.changesKept(byUndoing: commit, in: store.head)
    if let sentence = kept.sentence { kept.unreadable == nil ? complain(sentence) : notice.give(sentence) }
  }

  func restore() throws {
    let store = try editableStore()
    let (head, commit) = (try store.refresh().commit, try store.resolve(required(1)))
    guard let text = arguments.operand(3), let key = arguments.operand(2) else {
      let subject = arguments.operand(2) ?? "the store"
      return try printCommit(
        store.restore(commit, datastore: arguments.operand(2), named: "restore \(subject) to \(commit)"),
        unless: head, or: "nothing to restore: \(subject) is as it was at \(commit)")
    }
    let (then, now) = (try datastore(key, in: store.view(at: commit)), try store.head.datastore(key))
    let identifier = try then.identifier(parsing: text)
    let (old, new) = (try now?.replaceable(identifier), try then.record(identifier))
    if old == nil, new == nil { throw ModelError.noSuchRecord(identifier.description, datastore: key) }
    let edit = RecordEdit(datastore: key, identifier: identifier, old: old?.stored, new: new?.stored)
    return try printCommit(
      store.commit(
        ChangeSet(base: store.head.commit, changes: [edit]), named: "restore \(key) \(identifier) to \(commit)",
        options: EditOptions()),
      unless: head, or: "nothing to restore: \(identifier) is as it was at \(commit)")
  }

  func pin() throws {
    guard let name = arguments.operand(1) else {
      if arguments.has("--remove") { throw UsageError("--remove needs a NAME", verb: arguments.verb) }
      for pin in try store().pins {
        try tell(["name": .string(pin.name), "commit": .commit(pin.commit)], or: "\(pin.name)  \(pin.commit)")
      }
      return
    }
    let store = try editableStore()
    if arguments.has("--remove") {
      guard try store.pins.contains(where: { $0.name == name }) else { throw ModelError.noSuchCommit(name) }
      try store.pin(name, to: nil)
      return
    }
    let commit = try arguments.operand(2).map { try store.resolve($0) } ?? store.head.commit
    try store.pin(name, to: commit)
    try printCommit(commit)
  }

  /// Prints the number of the commit that a verb made, or a sentence if that is the commit from before, because nothing was to be written.
  func printCommit(_ commit: CommitNumber, unless known: CommitNumber? = nil, or sentence: String = "") throws {
    try tell(["commit": commit == known ? .null : .commit(commit)], or: commit == known ? sentence : commit.description)
  }
}
