/// The progress of a check or a conversion of a folder.
package struct FolderProgress: Hashable, Sendable {
  /// The current step: `records of things`, `checking index n of things`, `commit 12: import`.
  package var title: String
  /// The part of the work that is done; of a conversion, the number of commits.
  package var done: Int
  package var total: Int
  /// The records and index entries that a conversion has written so far, counted in thousands.
  package var writtenCount = 0
}
