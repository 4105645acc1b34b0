import StrataDocuments

extension RecordMerge.Outcome {
  /// Returns the conflict for the user, also if the fields could have been merged but the caller did not allow that.
  func conflict(of edit: RecordEdit, theirs: RecordContent?) -> EditConflict {
    var fields: [FieldConflict] = []
    if case .conflict(let found) = self { fields = found }
    return EditConflict(place: edit.place, base: edit.old, mine: edit.new, theirs: theirs, fields: fields)
  }
}

extension RecordEdit {
  /// Returns the outcome of the edit over the present content, which may have changed since the record was read. If it has not, the edit is
  /// made even if it changes nothing. If it has, an edit that changes nothing keeps the changes made meanwhile.
  func outcome(over stored: RecordContent?, _ descriptor: DatastoreDescriptor) -> RecordMerge.Outcome {
    let merge = RecordMerge(
      descriptor, base: old, mine: new, theirs: stored, countsEqualChanges: countsEqualChanges)
    return merge.isSame(old, stored) ? .mine : merge.outcome
  }

  /// Returns the edit as a change of the stored content: its fields over the stored ones. A field that both changed keeps its old value,
  /// so that the edit stays in conflict. If the record is gone, the edit is returned as it is.
  ///
  /// - Returns: the resulting edit, and whether both changed a field.
  package func over(
    _ stored: RecordContent?, _ descriptor: DatastoreDescriptor
  ) -> (edit: RecordEdit, isConflict: Bool) {
    var edit = self
    switch outcome(over: stored, descriptor) {
    case .mine: return (self, false)
    case .theirs: (edit.old, edit.new) = (stored, stored)
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
      let theirs = try datastore?.replaceable(edit.identifier)?.stored
      // The preview refuses edits of a datastore that was dropped.
      let outcome = datastore.map { edit.outcome(over: theirs, $0.descriptor) } ?? .mine
      switch outcome {
      case .mine: rebased.changes.changes.append(edit)
      case .theirs: rebased.alreadyMade.append(edit.place)
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
