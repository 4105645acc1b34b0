package import Documents
import StorageEngine

extension OwnStore {
  package func restore(
    _ commit: CommitNumber, datastore: String?, named action: String
  ) throws(ModelError) -> CommitNumber {
    _ = try ownView(at: commit)
    return try transact(CommitInfo(action: action, flags: .restore)) { transaction throws(ModelError) in
      // Taken inside: before the turn came, compaction may have put another file in place.
      let source = try ownView(at: commit)
      let names = try datastore.map { key throws(ModelError) in
        try treeNames(of: key, in: source, and: baseView(of: transaction))
      }
      try onStorage { () throws(StorageError) in try transaction.restore(names, from: source.view) }
    }
  }

  package func restorePreview(_ commit: CommitNumber, of record: RecordPlace) throws(ModelError) -> ChangeSet {
    let head = view(engine.head)
    let present = try head.requiredDatastore(record.datastore).record(record.identifier)?.stored
    let wanted = try ownView(at: commit).requiredDatastore(record.datastore).record(record.identifier)?.stored
    guard present != wanted else { return ChangeSet(base: head.commit) }
    return ChangeSet(
      base: head.commit,
      changes: [
        RecordEdit(datastore: record.datastore, identifier: record.identifier, old: present, new: wanted)
      ])
  }

  package func restorePreview(
    _ commit: CommitNumber, field: DocumentPath, of record: RecordPlace
  ) throws(ModelError) -> ChangeSet {
    let head = view(engine.head)
    let datastore = try head.requiredDatastore(record.datastore)
    guard let present = try datastore.record(record.identifier) else {
      throw .noSuchRecord(record.identifier.description, datastore: record.datastore)
    }
    let earlier = try ownView(at: commit).requiredDatastore(record.datastore).record(record.identifier)
    guard let earlier else {
      throw .refused(reason: "\(record.datastore) has no record \(record.identifier) at \(commit)")
    }
    let now = try present.document()
    let value = try earlier.document()[field]
    guard now[field] != value else { return ChangeSet(base: head.commit) }
    let document =
      if let value { try onDocument(now.setting(field, to: value)) } else { try onDocument(now.removing(field)) }
    let content = RecordContent(
      version: present.version, bytes: try onDocument(present.coding.encode(document, keeping: present.content)))
    return ChangeSet(
      base: head.commit,
      changes: [
        RecordEdit(
          datastore: record.datastore, identifier: record.identifier, old: present.stored, new: content)
      ])
  }

  /// All trees of a datastore that one of two views has: what the other has not got is dropped by a restore.
  func treeNames(of datastore: String, in first: OwnView, and second: OwnView) throws(ModelError) -> [TreeName] {
    var names: Set<TreeName> = [.leftOut(of: datastore)]
    for view in [first, second] {
      guard let found = try view.ownDatastore(datastore) else { continue }
      names.insert(.records(of: datastore))
      for index in found.descriptor.indexes { names.insert(.index(index.name, of: datastore)) }
    }
    guard names.contains(.records(of: datastore)) else {
      throw .noSuchDatastore(datastore, known: try second.datastoreKeys)
    }
    var present: [TreeName] = []
    for name in names {
      if try first.tree(name) != nil {
        present.append(name)
      } else if try second.tree(name) != nil {
        present.append(name)
      }
    }
    return present.sorted()
  }
}

extension OwnStore {
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
    guard CommitTime.parse(name, now: 0) == nil else { throw refuse("“\(name)” means a time already") }
  }
}
