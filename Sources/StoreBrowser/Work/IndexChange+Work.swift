import StrataExpressions
package import StrataDocuments
import StrataLocks
package import StrataModel

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
    // A colon in quotes is part of a name.
    if let colon = path.lastIndex(of: ":"), !path[colon...].contains("\"") {
      guard let named = IndexKind(rawValue: String(path[path.index(after: colon)...]).trimmed), named != .primary else {
        let kinds = IndexKind.allCases.filter { $0 != .primary }.map(\.rawValue).joined(separator: ", ")
        throw .invalid(text: text, column: nil, reason: "the kind is one of \(kinds)")
      }
      kind = named
      path = String(path[..<colon])
    }
    guard !name.isEmpty else { throw .invalid(text: text, column: 1, reason: "the name is missing") }
    self = .add(name: name, path: try onDocument(DocumentPath(named: path.trimmed)), kind: kind)
  }
}

/// The result of a change of an index.
package struct IndexChangeReport: Sendable, Hashable {
  package var change: IndexChange
  package var commit: CommitNumber
  /// The number of records that were evaluated, and of entries that were written.
  package var records: Int
  package var entries: Int
  /// By how much the store grew.
  package var bytes: Int
  package var seconds: Double

  var sentence: String {
    if case .drop = change { return "\(change.title): complete: commit \(commit)" }
    return "\(change.title): complete: commit \(commit)"
      + Self.figures(records: records, entries: entries, bytes: bytes, seconds: seconds)
  }

  static func figures(records: Int, entries: Int, bytes: Int, seconds: Double) -> String {
    ", \(NumberFormat.counted(records, "record")) evaluated, \(NumberFormat.counted(entries, "entry", "entries")) written"
      + (bytes > 0 ? ", \(NumberFormat.bytes(bytes))" : "") + " in \(TimeText.duration(seconds: seconds))"
  }
}

/// Changes an index. Records that it cannot take are answered, and leave the store as it was unless they are among `leavingOut`.
package struct IndexChangeRequest: Question {
  package var change: IndexChange
  package var datastore: String
  package var leavingOut: [RecordPlace] = []
  package var mending: [RecordEdit] = []

  package enum Reply: EndingReply {
    case changed(IndexChangeReport)
    case failed([WarmUpFailure], total: Int)

    var ending: WorkRun.Ending {
      switch self {
      case .changed(let report): .done(report.sentence)
      case .failed(_, let total):
        .failed("\(total == 1 ? "1 record does" : "\(NumberFormat.count(total)) records do") not fit the index")
      }
    }
  }

  package func reply(in context: WorkContext) throws(ModelError) -> Reply {
    let store = context.store
    do throws(ModelError) {
      let (bytes, startedAt) = (try store.byteCount, LocalTime.now)
      let last = Mutex<Activity?>(nil)
      let commit = try commit(in: context) { activity in
        last.withLock { $0 = activity }
        return context.going(activity)
      }
      let counts = last.withLock { $0 }?.counts
      return .changed(
        IndexChangeReport(
          change: change, commit: commit, records: counts?.records ?? 0, entries: counts?.entries ?? 0,
          bytes: Int(clamping: try store.byteCount) - Int(clamping: bytes),
          seconds: Double(LocalTime.now - startedAt) / 1e9))
    } catch .failures(let records, let total) {
      let present = try context.datastore(datastore, at: store.head.commit)
      return .failed(
        records.map { record in
          WarmUpFailure(
            place: RecordPlace(datastore: datastore, identifier: record.identifier), reason: record.reason,
            byteCount: (try? present.record(record.identifier)?.content.count) ?? 0)
        }, total: total)
    }
  }

  private func commit(
    in context: WorkContext, _ activity: @escaping ActivityProgress
  ) throws(ModelError) -> CommitNumber {
    let editable = try context.editable()
    let leftOut = Set(leavingOut.filter { $0.datastore == datastore }.map(\.identifier))
    var options = EditOptions(
      leavingOut: leftOut, mending: ChangeSet(changes: mending.filter { $0.datastore == datastore })
    )
    options.activity = activity
    switch change {
    case .add(let name, let path, let kind):
      options.learnsType = true
      let index = IndexDescriptor(
        name: name, kind: kind, encoding: .string, valueType: "String", rule: path.description)
      return try editable.addIndex(index, to: datastore, options: options)
    case .rebuild(let name): return try editable.rebuildIndex(name, of: datastore, options: options)
    case .drop(let name): return try editable.dropIndex(name, of: datastore)
    }
  }
}
