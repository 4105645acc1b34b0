import Expressions
package import Documents
package import DatastoreModel

/// A change of an index from the browser; each is a commit.
package enum IndexChange: Sendable, Hashable {
  case add(name: String, path: DocumentPath, kind: IndexKind)
  case rebuild(String)
  case drop(String)

  package var title: String {
    switch self {
    case .add(let name, _, _): "add index \(name)"
    case .rebuild(let name): "rebuild index \(name)"
    case .drop(let name): "drop index \(name)"
    }
  }

  /// The command that takes it back, if one does.
  var wayBack: String? {
    if case .add(let name, _, _) = self { "drop-index \(name) drops it again" } else { nil }
  }

  /// Reads `NAME=PATH[:KIND]`, as the import takes it.
  package init(adding text: String) throws(ModelError) {
    guard let equals = text.firstIndex(of: "=") else {
      throw .invalid(text: text, column: text.count + 1, reason: "expected NAME=PATH[:KIND]")
    }
    let name = String(text[..<equals]).trimmed
    var path = String(text[text.index(after: equals)...]).trimmed
    var kind = IndexKind.oneToMany
    if let colon = path.lastIndex(of: ":"), let named = IndexKind(rawValue: String(path[path.index(after: colon)...])) {
      kind = named
      path = String(path[..<colon])
    }
    guard !name.isEmpty else { throw .invalid(text: text, column: 1, reason: "the name is missing") }
    self = .add(name: name, path: try onDocument(DocumentPath(parsing: path)), kind: kind)
  }
}

extension WorkContext {
  /// Records that the index cannot take are answered, and leave the store as it was unless they are among `leavingOut`.
  func change(
    _ change: IndexChange, of datastore: String, leavingOut: [RecordPlace], mending: [RecordEdit]
  ) throws(ModelError) -> Answer {
    do throws(ModelError) {
      return .indexChanged(try commit(change, of: datastore, leavingOut, mending), change)
    } catch .failures(let records, let total) {
      let present = try self.datastore(datastore, at: store.head.commit)
      return .indexFailed(
        records.map { record in
          WarmUpFailure(
            place: RecordPlace(datastore: datastore, identifier: record.identifier), reason: record.reason,
            byteCount: (try? present.record(record.identifier)?.content.count) ?? 0)
        }, total: total)
    }
  }

  private func commit(
    _ change: IndexChange, of datastore: String, _ leavingOut: [RecordPlace], _ mending: [RecordEdit]
  ) throws(ModelError) -> CommitNumber {
    let editable = try editable()
    let startedAt = LocalTime.now
    let leftOut = Set(leavingOut.filter { $0.datastore == datastore }.map(\.identifier))
    let options = EditOptions(
      leavingOut: leftOut, mending: ChangeSet(changes: mending.filter { $0.datastore == datastore })
    ) { [cancellation, report] done, total in
      let step = Activity.Step(title: change.title, done: done, total: total, isComplete: done == total)
      let activity = Activity(
        title: "\(datastore): \(change.title)", done: done, total: total, startedAt: startedAt, steps: [step])
      report(Progress(done: done, total: total, found: .activity(activity)))
      return !cancellation.isCancelled
    }
    switch change {
    case .add(let name, let path, let kind):
      let guess = try guess(path, kind, of: datastore)
      let index = IndexDescriptor(
        name: name, kind: kind, encoding: guess.encoding, valueType: guess.swiftName, rule: path.description)
      return try editable.addIndex(index, to: datastore, options: options)
    case .rebuild(let name): return try editable.rebuildIndex(name, of: datastore, options: options)
    case .drop(let name): return try editable.dropIndex(name, of: datastore)
    }
  }

  /// The type of a field by all its values, so that none of them is left out of the index.
  private func guess(
    _ path: DocumentPath, _ kind: IndexKind, of key: String
  ) throws(ModelError) -> (encoding: KeyEncoding, swiftName: String) {
    let datastore = try datastore(key, at: store.head.commit)
    var guess = TypeGuess()
    for piece in (0..<(try datastore.count)).pieces(of: 128) {
      try goOn()
      for entry in try datastore.primary.entries(at: piece) {
        let value = try datastore.record(entry.identifier)?.document()[path]
        if kind.hasManyValues, case .array(let elements)? = value {
          for element in elements { guess.see(element) }
        } else if !kind.hasManyValues || value != nil {
          guess.see(value)
        }
      }
    }
    return guess.encoding
  }
}

extension Range<Int> {
  /// The range in pieces of at most so many.
  fileprivate func pieces(of size: Int) -> [Range<Int>] {
    stride(from: lowerBound, to: upperBound, by: size).map { $0..<Swift.min(upperBound, $0 + size) }
  }
}
