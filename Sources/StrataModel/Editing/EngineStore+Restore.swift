import StrataExpressions
import StrataEngine

extension EngineStore {
  package func restore(
    _ commit: CommitNumber, datastore: String?, named action: String
  ) throws(ModelError) -> CommitNumber {
    _ = try engineView(at: commit)
    return try transact(CommitInfo(action: action, flags: .restore)) { transaction in
      // Taken inside: before the turn came, compaction may have put another file in place.
      let source = try engineView(at: commit)
      let present = try baseView(of: transaction)
      // Everything, except which letters of the inbox are done: those must not be applied again.
      let names =
        try datastore.map { try treeNames(of: $0, in: source, and: present) }
        ?? Set(present.treeNames()).union(source.treeNames()).subtracting([.letters]).sorted()
      if let datastore, names.isEmpty { throw ModelError.noSuchDatastore(datastore, known: try present.datastoreKeys) }
      guard try !names.allSatisfy({ try source.hasSameTree($0, as: present) }) else { return }
      try transaction.restore(names, from: source.view)
    }
  }

  /// All trees of a datastore that one of two views has: what the other has not got is dropped by a restore.
  func treeNames(of datastore: String, in first: EngineView, and second: EngineView) throws(ModelError) -> [TreeName] {
    try Set(first.treeNames()).union(second.treeNames()).sorted().filter { name in
      name == .records(of: datastore) || name == .leftOut(of: datastore) || name.indexName?.datastore == datastore
    }
  }

  package func pin(_ name: String, to commit: CommitNumber?) throws(ModelError) {
    if let commit {
      try Self.checkPinName(name)
      guard commit.rawValue > 0 else {
        throw .noSuchCommit(commit.description, reason: "it stands for the empty store before the first commit")
      }
      _ = try commitRecord(commit)
    } else if try !pins.contains(where: { $0.name == name }) {
      throw .noSuchCommit(name, reason: "there is no pin of this name")
    }
    let action = commit.map { "pin \(name) at \($0)" } ?? "unpin \(name)"
    _ = try transact(CommitInfo(action: action, names: [name: commit?.rawValue])) { _ in }
  }

  /// A pin is typed wherever a commit is, so its name must mean nothing else.
  private static func checkPinName(_ name: String) throws(ModelError) {
    func refuse(_ reason: String) -> ModelError { .invalid(text: name, column: nil, reason: reason) }
    guard !name.isEmpty, name.utf8.count <= 200 else { throw refuse("a pin's name has 1 to 200 bytes") }
    guard !name.contains(where: { $0.isWhitespace || $0 == "~" || $0 == "#" }) else {
      throw refuse("a pin's name has no spaces, “~” or “#”")
    }
    guard !name.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) else {
      throw refuse("a pin's name has no control characters")
    }
    guard UInt64(name) == nil, !name.lowercased().hasPrefix("head") else {
      throw refuse("“\(name)” means a commit already")
    }
    guard !name.hasPrefix("remotes/") else { throw refuse("“remotes/…” are the heads of other copies") }
    guard TimeExpression(parsing: name, now: 0) == nil else { throw refuse("“\(name)” means a time already") }
  }
}
