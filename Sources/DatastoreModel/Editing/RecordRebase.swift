import Documents

/// What becomes of one record's edit where the record may have changed since.
enum RecordRebase {
  /// The record is still what it was when it was read.
  case unmoved
  /// It is already what the edit makes of it.
  case alreadyMade
  /// It changed in other fields; this is both changes together.
  case merged(RecordContent)
  /// Both changed the same fields (listed where the documents can be compared).
  case conflict([FieldConflict])

  init(_ edit: RecordEdit, theirs: RecordContent?, descriptor: DatastoreDescriptor) {
    let sides = Sides(descriptor, base: edit.old, mine: edit.new, theirs: theirs)
    if sides.isSame(edit.old, theirs) {
      self = .unmoved
    } else if sides.isSame(edit.new, theirs) {
      self = .alreadyMade
    } else {
      self = sides.merged()
    }
  }

  /// The conflict for people, also where the fields could have been put together but that was not asked for.
  func conflict(of edit: RecordEdit, theirs: RecordContent?) -> EditConflict {
    var fields: [FieldConflict] = []
    if case .conflict(let found) = self { fields = found }
    return EditConflict(place: edit.place, base: edit.old, mine: edit.new, theirs: theirs, fields: fields)
  }
}

/// The three states of a record in a merge.
private struct Sides {
  let descriptor: DatastoreDescriptor
  let base: RecordContent?
  let mine: RecordContent?
  let theirs: RecordContent?

  init(_ descriptor: DatastoreDescriptor, base: RecordContent?, mine: RecordContent?, theirs: RecordContent?) {
    self.descriptor = descriptor
    self.base = base
    self.mine = mine
    self.theirs = theirs
  }

  func isSame(_ left: RecordContent?, _ right: RecordContent?) -> Bool {
    guard let left, let right else { return left == nil && right == nil }
    guard left.version == right.version else { return false }
    if left.bytes == right.bytes { return true }
    guard let left = document(left), let right = document(right) else { return false }
    return left == right
  }

  func merged() -> RecordRebase {
    guard let base, let mine, let theirs, base.version == theirs.version,
      let before = document(base), let wanted = document(mine), let present = document(theirs)
    else { return .conflict([]) }
    let merge = DocumentMerge(base: before, mine: wanted, theirs: present)
    guard merge.overlaps.isEmpty else { return .conflict(merge.overlaps.map { FieldConflict($0) }) }
    let coding = descriptor.coding(of: theirs.bytes)
    guard let bytes = try? coding.encode(merge.merged, keeping: theirs.bytes) else { return .conflict([]) }
    return .merged(RecordContent(version: mine.version, bytes: bytes))
  }

  private func document(_ content: RecordContent) -> Document? {
    let coding = descriptor.coding(of: content.bytes)
    return coding == .opaque ? nil : try? coding.document(of: content.bytes)
  }
}

extension FieldConflict {
  fileprivate init(_ overlap: DocumentMerge.Overlap) {
    self.init(path: overlap.path, base: overlap.base, mine: overlap.mine, theirs: overlap.theirs)
  }
}

extension OwnStore {
  package func rebase(_ changes: ChangeSet, onto commit: CommitNumber) throws(ModelError) -> RebasedChanges {
    let view = try ownView(at: commit)
    var rebased = RebasedChanges(changes: ChangeSet(base: commit), from: changes.base, to: commit)
    var datastores: [String: OwnDatastore] = [:]
    for edit in changes.changes {
      var known = datastores[edit.datastore]
      if known == nil { known = try view.requiredDatastore(edit.datastore) }
      guard let datastore = known else { continue }
      datastores[edit.datastore] = datastore
      let theirs = try datastore.record(edit.identifier)?.stored
      let outcome = RecordRebase(edit, theirs: theirs, descriptor: datastore.descriptor)
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
