/// Who settles what both sides changed.
package enum MergePolicy: String, Sendable, Hashable, CaseIterable {
  /// A person: nothing is written while a conflict is open.
  case ask
  /// What this store has.
  case ours
  /// What the other store has.
  case theirs
  /// Who changed the field later; of two at the same moment the commit with the greater identity. An edit beats a delete.
  case later
}
