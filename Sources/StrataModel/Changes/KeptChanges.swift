import StrataDocuments

/// The changes of a commit that its undo leaves, because later commits changed the same.
package struct KeptChanges: Sendable, Equatable {
  package private(set) var count = 0
  /// The first records, each with its fields.
  private var first: [String] = []

  /// `later changes stay in 2 records: Note 1 .a .b, Note 4`; nil if all is taken back.
  package var sentence: String? {
    guard count > 0 else { return nil }
    let rest = count > first.count ? " and \(count - first.count) more" : ""
    return "later changes stay in \(counted(count, "record")): \(first.joined(separator: ", "))\(rest)"
  }

  fileprivate mutating func add(_ change: RecordChange, _ fields: [DocumentPath]) {
    count += 1
    guard first.count < 20 else { return }
    let names = fields.prefix(8).map { " \($0)" } + (fields.count > 8 ? [" …"] : [])
    first.append("\(change.datastore) \(change.identifier)" + names.joined())
  }
}

extension ReadableStore {
  /// Compares the changes of a commit with the state after its undo. Reads each record that the commit changed.
  ///
  /// - Parameter record: returns a record of the state after the undo, or nil if it is not there.
  package func changesKept(
    byUndoing commit: CommitNumber, record: (RecordPlace) throws(ModelError) -> Record?
  ) throws(ModelError) -> KeptChanges {
    let reader = try changes(of: commit)
    var kept = KeptChanges()
    while case let changes = try reader.next(512), !changes.isEmpty {
      for change in changes {
        let place = RecordPlace(datastore: change.datastore, identifier: change.identifier)
        if let fields = change.fieldsKept(by: try record(place)) { kept.add(change, fields) }
      }
    }
    return kept
  }
}

extension RecordChange {
  /// The changed fields that still have another value than before the change; empty stands for the whole record, also for one that cannot
  /// be read as a document. Returns nil if the change is taken back.
  fileprivate func fieldsKept(by present: Record?) -> [DocumentPath]? {
    if present?.stored == old?.stored { return nil }
    guard let present = try? present?.document(), let before = try? old?.document() else { return [] }
    let paths = Document.fieldChanges(from: before, to: try? new?.document()).map(\.path)
      .filter { present[$0] != before[$0] }
    return paths.isEmpty ? nil : paths
  }
}
