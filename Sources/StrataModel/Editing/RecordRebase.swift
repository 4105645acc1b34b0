import StrataDocuments

/// The outcome of one record's edit if the record may have changed since it was read.
enum RecordRebase {
  /// The record is unchanged since it was read.
  case unmoved
  /// The record already has the content that the edit wants.
  case alreadyMade
  /// It changed in other fields; this is the merge of both changes.
  case merged(RecordContent)
  /// Both changed the same fields (listed if the documents can be compared).
  case conflict([FieldConflict])

  init(_ edit: RecordEdit, theirs: RecordContent?, descriptor: DatastoreDescriptor) {
    let merge = RecordMerge(descriptor, base: edit.old, mine: edit.new, theirs: theirs)
    if merge.isSame(edit.old, theirs) {
      self = .unmoved
    } else if merge.isSame(edit.new, theirs) {
      self = .alreadyMade
    } else {
      switch merge.outcome {
      case .mine: self = .unmoved
      // An edit that changes nothing keeps the changes made meanwhile.
      case .theirs: self = .alreadyMade
      case .merged(let content): self = .merged(content)
      case .conflict(let fields): self = .conflict(fields)
      }
    }
  }

  /// Returns the conflict for the user, also if the fields could have been merged but the caller did not allow that.
  func conflict(of edit: RecordEdit, theirs: RecordContent?) -> EditConflict {
    var fields: [FieldConflict] = []
    if case .conflict(let found) = self { fields = found }
    return EditConflict(place: edit.place, base: edit.old, mine: edit.new, theirs: theirs, fields: fields)
  }
}

extension RecordEdit {
  /// Returns the edit as a change of the stored content: its fields over the stored ones. A field that both changed keeps its old value,
  /// so that the edit stays in conflict. If the record is gone, the edit is returned as it is.
  ///
  /// - Returns: the resulting edit, and whether both changed a field.
  package func over(
    _ stored: RecordContent?, _ descriptor: DatastoreDescriptor
  ) -> (edit: RecordEdit, isConflict: Bool) {
    var edit = self
    switch RecordRebase(self, theirs: stored, descriptor: descriptor) {
    case .unmoved: return (self, false)
    case .alreadyMade: (edit.old, edit.new) = (stored, stored)
    case .merged(let content): (edit.old, edit.new) = (stored, content)
    case .conflict:
      let merge = RecordMerge(descriptor, base: old, mine: new, theirs: stored)
      guard let content = merge.withValues({ $0.mine }) else { return (self, true) }
      if old != nil, let before = merge.withValues({ $0.base }) { edit.old = before }
      edit.new = content
      return (edit, true)
    }
    return (edit, false)
  }
}

extension EngineStore {
  package func rebase(
    _ changes: ChangeSet, onto commit: CommitNumber, progress: WorkProgress?
  ) throws(ModelError) -> RebasedChanges {
    let view = try engineView(at: commit)
    var rebased = RebasedChanges(changes: ChangeSet(base: commit), from: changes.base, to: commit)
    var datastores: [String: EngineDatastore] = [:]
    for (position, edit) in changes.changes.enumerated() {
      if position % 256 == 0, let progress, !progress(position, changes.count) { throw .cancelled }
      var datastore = datastores[edit.datastore]
      if datastore == nil { datastore = try view.ownDatastore(edit.datastore) }
      datastores[edit.datastore] = datastore
      let theirs = try datastore?.record(edit.identifier)?.stored
      // The preview refuses edits of a datastore that was dropped.
      let outcome = datastore.map { RecordRebase(edit, theirs: theirs, descriptor: $0.descriptor) } ?? .unmoved
      switch outcome {
      case .unmoved: rebased.changes.changes.append(edit)
      case .alreadyMade: rebased.alreadyMade.append(edit.place)
      case .merged(let content):
        rebased.changes.changes.append(
          RecordEdit(datastore: edit.datastore, identifier: edit.identifier, old: theirs, new: content))
        rebased.merged.append(edit.place)
      case .conflict:
        rebased.changes.changes.append(edit)
        rebased.conflicts.append(outcome.conflict(of: edit, theirs: theirs))
      }
    }
    return rebased
  }
}
