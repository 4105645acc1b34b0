package import StrataModel
package import StrataEngine

/// Commits of a store on their way to another copy, which lacks them.
package struct OutgoingCommits {
  /// The new head for the other side: the last of the commits, or one that it has.
  package var head: CommitIdentity
  /// The store with the commits.
  package var store: EngineStore
  package var graph: CommitGraph
  /// The numbers of the commits in that store.
  package var numbers: [UInt64]
  /// Those that `write` sends with all their content, because the other side lacks their parents.
  package var whole: [CommitIdentity] = []
  /// Reports commits that have gone over, if they are sent by another way than `write`.
  package var progress: WorkProgress?
  /// Hands them to a sink as the lines of a stream, and calls `progress` itself.
  package var write: (_ sink: @escaping ([UInt8]) throws -> Void) throws -> Void
}
