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

extension Browser {
  mutating func pin(_ name: String, to commit: CommitNumber?) {
    let request = PinRequest(name: name, commit: commit)
    session.start(.pin, request, label: commit == nil ? "unpin" : "pin") { browser, pins in
      browser.session.outline?.pins = pins
      browser.session.say("pins: \(pins.isEmpty ? "none" : pins.map(\.name).joined(separator: ", "))")
    }
  }
}
