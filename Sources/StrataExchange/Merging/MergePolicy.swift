/// The way to settle a conflict of two sides.
package enum MergePolicy: String, Sendable, Hashable, CaseIterable {
  /// A person: nothing is written while a conflict is open.
  case ask
  /// This store's value.
  case ours
  /// The other store's value.
  case theirs
  /// The later change of the field; of two at the same moment that of the commit with the greater identity. An edit beats a delete.
  case later
}
