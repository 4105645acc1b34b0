import StrataDocuments

/// The changes of a commit that its undo leaves, because later commits changed the same, or because a content cannot be read.
package struct KeptChanges: Sendable, Equatable {
  /// Some records: their number, and the first ones by name.
  private struct Records: Equatable {
    var count = 0
    var first: [String] = []

    mutating func add(_ change: RecordChange, _ words: [String]) {
      count += 1
      if first.count < 20 { first.append("\(change.datastore) \(change.identifier)" + words.joined()) }
    }

    /// `2 records: Note 1 .a .b, Note 4`; nil if there are none.
    var list: String? {
      let rest = count > first.count ? " and \(count - first.count) more" : ""
      return count == 0 ? nil : "\(counted(count, "record")): \(first.joined(separator: ", "))\(rest)"
    }
  }

  private var changed = Records()
  private var damaged = Records()

  /// `later changes stay in 2 records: Note 1 .a .b, Note 4`; nil if all is taken back.
  package var sentence: String? {
    let parts = [changed.list.map { "later changes stay in \($0)" }, unreadable].compactMap(\.self)
    return parts.isEmpty ? nil : parts.joined(separator: "; ")
  }

  /// The part of the sentence about contents that cannot be read; nil if there are none.
  package var unreadable: String? { damaged.list.map { "damage keeps the undo from \($0)" } }

  /// Adds a change unless it is taken back in the present record.
  fileprivate mutating func add(_ change: RecordChange, unlessTakenBackIn present: Record?) {
    if present?.stored == change.old?.stored { return }
    if let damage = [change.old, change.new, present].lazy.compactMap({ $0?.damage }).first {
      return damaged.add(change, [" (\(damage))"])
    }
    guard let fields = change.fieldsKept(by: present) else { return }
    changed.add(change, fields.prefix(8).map { " \($0)" } + (fields.count > 8 ? [" …"] : []))
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
        kept.add(change, unlessTakenBackIn: try record(change.place))
      }
    }
    return kept
  }

  /// Compares the changes of a commit with a view of the state after its undo.
  package func changesKept(
    byUndoing commit: CommitNumber, in view: any ReadableView
  ) throws(ModelError) -> KeptChanges {
    try changesKept(byUndoing: commit) { place throws(ModelError) in
      try view.datastore(place.datastore)?.replaceable(place.identifier)
    }
  }
}

extension RecordChange {
  /// The changed fields that still have another value than before the change; empty stands for the whole record, also for one that is not
  /// a document. Returns nil if the change is taken back.
  fileprivate func fieldsKept(by present: Record?) -> [DocumentPath]? {
    guard let present = try? present?.document(), let before = try? old?.document() else { return [] }
    let paths = Document.fieldChanges(from: before, to: try? new?.document()).map(\.path)
      .filter { present[$0] != before[$0] }
    return paths.isEmpty ? nil : paths
  }
}
