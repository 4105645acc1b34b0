package import StrataDocuments

/// Which side of a conflict is kept.
package enum MergeSide: Hashable, Sendable { case base, mine, theirs }

extension EditConflict {
  /// The edit that settles this conflict by a choice per field (`mine` where none is made); where the conflict is one
  /// of whole records, by the choice for the root path. Nil where what lies in the store is kept as it is.
  ///
  /// - Parameter descriptor: of the datastore: how its records are written, and how their fields merge.
  package func resolved(
    by choices: [DocumentPath: MergeSide], descriptor: DatastoreDescriptor
  ) throws(ModelError) -> RecordEdit? {
    var new = whole(choices[.root] ?? .mine)
    if !fields.isEmpty, base != nil, mine != nil, theirs != nil {
      let merge = RecordMerge(descriptor, base: base, mine: mine, theirs: theirs)
      guard let settled = merge.withChoices({ choices[$0.path] ?? .mine }) else {
        throw .refused(reason: "\(name): what was chosen cannot be put together; choose one side for all fields")
      }
      new = settled
    }
    if new == theirs { return nil }
    return RecordEdit(datastore: place.datastore, identifier: place.identifier, old: theirs, new: new)
  }

  private func whole(_ side: MergeSide) -> RecordContent? {
    switch side {
    case .base: base
    case .mine: mine
    case .theirs: theirs
    }
  }
}
