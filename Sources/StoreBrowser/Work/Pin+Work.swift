import StrataModel

extension Browser {
  /// Gives a commit a name, or takes the name away.
  mutating func pin(_ name: String, to commit: CommitNumber?) {
    let change = Inquiry { context throws(ModelError) in
      try context.editable().pin(name, to: commit)
      return try context.store.pins
    }
    session.start(.pin, change, label: commit == nil ? "unpin" : "pin") { browser, pins in
      browser.session.outline?.pins = pins
      browser.session.say("pins: \(pins.isEmpty ? "none" : pins.map(\.name).joined(separator: ", "))")
    }
  }
}
