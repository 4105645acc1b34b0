/// A change set moved onto another commit.
package struct RebasedChanges: Sendable, Hashable {
  /// The changes as they are now to be made: their base is the new commit, and the old content of each is what lies
  /// there. Records in conflict are left as they were.
  package var changes: ChangeSet
  /// The commit that they were begun on, and the one that they are on now.
  package var from: CommitNumber?
  package var to: CommitNumber
  /// The records that had changed meanwhile in other fields, so that both changes were put together.
  package var merged: [RecordPlace] = []
  /// The records whose change turned out to be made already.
  package var alreadyMade: [RecordPlace] = []
  package var conflicts: [EditConflict] = []

  /// Whether the head had moved at all.
  package var hasMoved: Bool { from != to }
}
