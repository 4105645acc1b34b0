package import StrataDocuments

/// Which side of a conflict is kept.
package enum MergeSide: Hashable, Sendable {
  case base, mine, theirs

  /// Returns the value of this side.
  package func of<Value>(base: Value, mine: Value, theirs: Value) -> Value {
    switch self {
    case .base: base
    case .mine: mine
    case .theirs: theirs
    }
  }
}

extension EditConflict {
  /// Returns the edit that settles this conflict by a choice per field (`mine` if there is none), or by the choice for the root path if
  /// whole records conflict. Returns nil if the stored record stays as it is.
  ///
  /// - Parameter descriptor: of the datastore: how its records are written, and how their fields merge.
  package func resolved(
    by choices: [DocumentPath: MergeSide], descriptor: DatastoreDescriptor
  ) throws(ModelError) -> RecordEdit? {
    var new = (choices[.root] ?? .mine).of(base: base, mine: mine, theirs: theirs)
    if !fields.isEmpty {
      let merge = RecordMerge(descriptor, base: base, mine: mine, theirs: theirs)
      guard let settled = merge.withChoices({ choices[$0.path] ?? .mine }) else {
        throw .refused(reason: "\(name): what was chosen cannot be put together; choose one side for all fields")
      }
      new = settled
    }
    if new == theirs { return nil }
    return RecordEdit(datastore: place.datastore, identifier: place.identifier, old: theirs, new: new)
  }
}
