import StrataModel

/// Gives a commit a name, or takes the name away.
struct PinRequest: Question {
  var name: String
  var commit: CommitNumber?

  func reply(in context: WorkContext) throws(ModelError) -> [Pin] {
    try context.editable().pin(name, to: commit)
    return try context.store.pins
  }
}
