/// A store that accepts changes from tools without the app's types.
///
/// Every call is one transaction and one named commit. It acquires the writer's lock for the call only. If another process holds the lock,
/// the call waits for `patience` and then throws `ModelError.locked` with the holder. Nothing is written when a call throws.
package protocol EditableStore: ReadableStore {
  /// The identity of the store wherever it lies, which another store at its path does not have.
  var identity: String { get }
  /// Applies a change set to `head` (each record must still have the old content named in it; otherwise `ModelError.conflict` lists the
  /// records), and updates every index by the index rules.
  func commit(_ changes: ChangeSet, named action: String, options: EditOptions) throws(ModelError) -> CommitNumber
  /// Returns the effects of committing these changes: index entries added and removed, conflicts, refusals. Writes nothing.
  func preview(_ changes: ChangeSet, options: EditOptions) throws(ModelError) -> ChangePreview
  /// Returns the same changes as if they had begun on `commit`. If a record changed since, both changes are merged if no field overlaps,
  /// and listed as conflicts otherwise.
  func rebase(
    _ changes: ChangeSet, onto commit: CommitNumber, progress: WorkProgress?
  ) throws(ModelError) -> RebasedChanges
  /// Undoes one commit in a new one: by roots if no datastore that it changed has changed since, otherwise record by record, which keeps
  /// later edits of other fields. Of the options only the progress listeners are used.
  func undoPreview(of commit: CommitNumber, progress: WorkProgress?) throws(ModelError) -> ChangeSet
  func undo(_ commit: CommitNumber, named action: String, options: EditOptions) throws(ModelError) -> CommitNumber
  /// The commit whose state of the changed datastores an undo would restore by roots, at once and for all types; nil if it would write
  /// record by record.
  func stateBroughtBack(byUndoing commit: CommitNumber) throws(ModelError) -> CommitNumber?
  /// The newest commit that is not undone itself (which `u` undoes), and the newest undo (which `^r` undoes).
  func undoCandidate() throws(ModelError) -> CommitNumber?
  func redoCandidate() throws(ModelError) -> CommitNumber?
  /// Makes a new commit with the state of `commit`: of one datastore, or of the whole store. Returns the newest commit if nothing differs.
  func restore(_ commit: CommitNumber, datastore: String?, named action: String) throws(ModelError) -> CommitNumber
  /// Estimates a compaction without doing it: bytes before and after. Walks the commits.
  func compactionEstimate(_ retention: CommitRetention) throws(ModelError) -> RewriteReport
  /// Rewrites the store without the data that no kept commit needs. Others may go on reading and writing. Progress counts commits.
  func compact(_ retention: CommitRetention, progress: WorkProgress?) throws(ModelError) -> RewriteReport
  /// Writes a consistent copy with the history up to a commit, or with all of it if that is nil, to another path; takes no lock.
  func copy(to path: String, at commit: CommitNumber?, progress: WorkProgress?) throws(ModelError) -> RewriteReport
  /// Sets, moves or (with nil) removes a name.
  func pin(_ name: String, to commit: CommitNumber?) throws(ModelError)
  /// Adds an index with a declared rule (`IndexDescriptor.rule` or its tiers' rules), or replaces the one of that
  /// name, and fills it. One commit, marked as maintenance.
  func addIndex(_ index: IndexDescriptor, to datastore: String, options: EditOptions) throws(ModelError) -> CommitNumber
  /// Rebuilds an index from the records, by its declared or proven rule.
  func rebuildIndex(_ name: String, of datastore: String, options: EditOptions) throws(ModelError) -> CommitNumber
  func dropIndex(_ name: String, of datastore: String) throws(ModelError) -> CommitNumber
}

extension EditableStore {
  /// Undoes a commit without reporting progress.
  package func undo(_ commit: CommitNumber, named action: String) throws(ModelError) -> CommitNumber {
    try undo(commit, named: action, options: EditOptions())
  }
}
