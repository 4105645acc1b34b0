package import DatastoreModel
package import StorageEngine

/// Commits of a store on their way to another copy, which lacks them.
package struct OutgoingCommits {
  /// What the other side's head is to become; the last of them, or one that it has.
  package var head: CommitIdentity
  /// Where they lie.
  package var store: OwnStore
  package var graph: CommitGraph
  /// Their numbers there.
  package var numbers: [UInt64]
  /// Hears of commits that have gone over, where they go by another way than `write`.
  package var progress: WorkProgress?
  /// Hands them to a sink as the lines of a stream, which tells `progress` itself.
  package var write: (_ sink: @escaping ([UInt8]) throws -> Void) throws -> Void
}
