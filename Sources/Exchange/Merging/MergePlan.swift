package import DatastoreModel
import Documents
package import StorageEngine

/// What a merge would do, found without writing anything.
package struct MergePlan: Sendable {
  package enum Kind: Hashable, Sendable {
    /// What is to be merged is in head's history already.
    case nothing
    /// Head is in the history of what is to be merged: it moves there, without a commit.
    case fastForward
    case merge
  }

  package var kind: Kind
  package var ours: CommitIdentity?
  package var theirs: CommitIdentity
  /// The nearest common ancestors; several after a criss-cross, none of unrelated stores.
  package var bases: [CommitIdentity]
  /// Whether the common ancestor's content is gone, so that every difference is a conflict.
  package var isTwoWay = false
  package var changes: MergedChanges
  /// Records that were changed by one side alone, or that both changed without conflict.
  package var cleanCount = 0
  package var conflicts: [MergeConflict] = []
  /// What else a person may want to know, as sentences.
  package var notes: [String] = []

  /// Conflicts that nobody has settled.
  package var open: [MergeConflict] { conflicts.filter { !$0.isSettled } }

  /// Adds a conflict, with its result where it is settled.
  package mutating func add(_ conflict: MergeConflict) {
    conflicts.append(conflict)
    make(conflict)
  }

  /// Settles open conflicts as a person has decided; those for which `decide` answers nil stay open.
  package mutating func settle(_ decide: (MergeConflict) throws -> Settlement?) rethrows {
    for position in conflicts.indices where !conflicts[position].isSettled {
      guard let settlement = try decide(conflicts[position]) else { continue }
      conflicts[position].settle(as: settlement.result)
      make(conflicts[position])
    }
  }

  /// What becomes of a record in conflict.
  package struct Settlement: Hashable, Sendable {
    /// Nil deletes the record.
    package var result: RecordContent?

    package init(result: RecordContent?) { self.result = result }
  }

  /// Takes what a settled conflict comes to among the changes.
  private mutating func make(_ conflict: MergeConflict) {
    guard conflict.isSettled, conflict.result != conflict.ours else { return }
    changes.edits.changes.append(
      RecordEdit(
        datastore: conflict.place.datastore, identifier: conflict.place.identifier, old: conflict.ours,
        new: conflict.result))
  }

  /// Whether two stores that make it at once make the same commit of it: nobody chose anything.
  var isMechanical: Bool {
    conflicts.isEmpty && changes.descriptors.isEmpty && notes.isEmpty && !isTwoWay
  }
}

/// A record that both sides changed in ways that exclude one another.
package struct MergeConflict: Sendable, Hashable {
  package var place: RecordPlace
  package var base: RecordContent?
  package var ours: RecordContent?
  package var theirs: RecordContent?
  /// Fields that both changed, `mine` being ours; none where one side deleted the record, or the contents cannot be compared.
  package var fields: [FieldConflict]
  package private(set) var isSettled = false
  /// What comes out, where it is settled; nil deletes the record.
  package private(set) var result: RecordContent?

  package init(
    place: RecordPlace, base: RecordContent?, ours: RecordContent?, theirs: RecordContent?, fields: [FieldConflict]
  ) {
    self.place = place
    self.base = base
    self.ours = ours
    self.theirs = theirs
    self.fields = fields
  }

  package mutating func settle(as result: RecordContent?) {
    self.result = result
    isSettled = true
  }

  package var sentence: String {
    let name = "\(place.datastore)/\(place.identifier)"
    switch (ours, theirs) {
    case (nil, _): return "\(name) was deleted here and edited there"
    case (_, nil): return "\(name) was edited here and deleted there"
    default:
      return fields.isEmpty
        ? "\(name) was changed on both sides"
        : "\(name) was changed on both sides in \(fields.map(\.path.description).joined(separator: ", "))"
    }
  }
}
