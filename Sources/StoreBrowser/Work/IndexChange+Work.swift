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

  /// Of the index.
  var name: String {
    switch self {
    case .add(let name, _, _), .rebuild(let name), .drop(let name): name
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

/// What the change of an index came to.
package struct IndexChangeReport: Sendable, Hashable {
  package var change: IndexChange
  package var commit: CommitNumber
  /// Of the datastore, all of which were evaluated; and the entries of the index.
  package var records: Int
  package var entries: Int
  /// By how much the store grew.
  package var bytes: Int
  package var seconds: Double

  var sentence: String {
    if case .drop = change { return "\(change.title): complete: commit \(commit)" }
    return "\(change.title): complete: commit \(commit), \(NumberFormat.counted(records, "record")) evaluated, "
      + "\(NumberFormat.counted(entries, "entry", "entries")) written"
      + (bytes > 0 ? ", \(NumberFormat.bytes(bytes))" : "") + " in \(TimeText.duration(seconds: seconds))"
  }
}

extension WorkContext {
  /// Records that the index cannot take are answered, and leave the store as it was unless they are among `leavingOut`.
  func change(
    _ change: IndexChange, of datastore: String, leavingOut: [RecordPlace], mending: [RecordEdit]
  ) throws(ModelError) -> Answer {
    do throws(ModelError) {
      let (bytes, startedAt) = (try store.byteCount, LocalTime.now)
      let commit = try commit(change, of: datastore, leavingOut, mending)
      let present = try self.datastore(datastore, at: commit)
      return .indexChanged(
        IndexChangeReport(
          change: change, commit: commit, records: try present.count,
          entries: try present.indexes.first { $0.descriptor.name == change.name }?.count ?? 0,
          bytes: Int(clamping: try store.byteCount) - Int(clamping: bytes),
          seconds: Double(LocalTime.now - startedAt) / 1e9))
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
    var options = EditOptions(
      leavingOut: leftOut, mending: ChangeSet(changes: mending.filter { $0.datastore == datastore })
    )
    /// Hears of the building; the steps before it go with every word, since not every word arrives.
    func hear(after before: [Activity.Step]) -> ActivityProgress {
      { [cancellation, report] activity in
        var activity = activity
        activity.title = "\(datastore): \(change.title)"
        activity.startedAt = startedAt
        if !activity.steps.isEmpty { activity.steps = before + activity.steps }
        report(Progress(done: activity.done, total: activity.total, found: .activity(activity)))
        return !cancellation.isCancelled
      }
    }
    options.activity = hear(after: [])
    switch change {
    case .add(let name, let path, let kind):
      let guess = try guess(path, kind, of: datastore) { done, total in
        let step = Activity.Step(title: "learn the types", done: done, total: total, isComplete: done == total)
        let activity = Activity(
          title: "\(datastore): \(change.title)", done: done, total: total, startedAt: startedAt, steps: [step])
        report(Progress(done: done, total: total, found: .activity(activity)))
      }
      let count = try self.datastore(datastore, at: store.head.commit).count
      options.activity = hear(
        after: [Activity.Step(title: "learn the types", done: count, total: count, isComplete: true)])
      let index = IndexDescriptor(
        name: name, kind: kind, encoding: guess.encoding, valueType: guess.swiftName, rule: path.description)
      return try editable.addIndex(index, to: datastore, options: options)
    case .rebuild(let name): return try editable.rebuildIndex(name, of: datastore, options: options)
    case .drop(let name): return try editable.dropIndex(name, of: datastore)
    }
  }

  /// The type of a field by all its values, so that none of them is left out of the index.
  private func guess(
    _ path: DocumentPath, _ kind: IndexKind, of key: String, report: (_ done: Int, _ total: Int) -> Void
  ) throws(ModelError) -> (encoding: KeyEncoding, swiftName: String) {
    let datastore = try datastore(key, at: store.head.commit)
    var guess = TypeGuess()
    let count = try datastore.count
    for piece in (0..<count).pieces(of: 128) {
      try goOn()
      report(piece.lowerBound, count)
      for entry in try datastore.primary.entries(at: piece) {
        let value = try datastore.record(entry.identifier)?.document()[path]
        if kind.hasManyValues, case .array(let elements)? = value {
          for element in elements { guess.see(element) }
        } else if !kind.hasManyValues || value != nil {
          guess.see(value)
        }
      }
    }
    report(count, count)
    return guess.encoding
  }
}

extension Range<Int> {
  /// The range in pieces of at most so many.
  fileprivate func pieces(of size: Int) -> [Range<Int>] {
    stride(from: lowerBound, to: upperBound, by: size).map { $0..<Swift.min(upperBound, $0 + size) }
  }
}
