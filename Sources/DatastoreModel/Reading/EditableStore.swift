/// A store that takes changes from tools that need not know the app's types.
///
/// Every call is one transaction and one commit with a name, made under the writer's lock, which is taken for the call
/// only and let go after it. Where another process holds the lock the call waits for `patience` and then throws
/// `ModelError.locked` with the holder. Nothing is written when a call throws.
package protocol EditableStore: ReadableStore {
  /// Applies a change set to `head` (each record must still have the old content named in it; otherwise
  /// `ModelError.conflict` lists the records), keeping every index right by the index rules.
  func commit(_ changes: ChangeSet, named action: String, options: EditOptions) throws(ModelError) -> CommitNumber
  /// What a commit of these changes would do: index entries that come and go, conflicts, refusals. Writes nothing.
  func preview(_ changes: ChangeSet, options: EditOptions) throws(ModelError) -> ChangePreview
  /// The same changes as if they had been begun on `commit`: where the records changed since, both changes are put
  /// together if no field overlaps, and listed as conflicts otherwise.
  func rebase(_ changes: ChangeSet, onto commit: CommitNumber) throws(ModelError) -> RebasedChanges
  /// A new commit that takes back one commit: by roots where it is the newest, else record by record, keeping later
  /// edits of other fields. Of the options only what hears of the progress counts.
  func undoPreview(of commit: CommitNumber, progress: WorkProgress?) throws(ModelError) -> ChangeSet
  func undo(_ commit: CommitNumber, named action: String, options: EditOptions) throws(ModelError) -> CommitNumber
  /// The commit whose state would be brought back by its roots, whatever the types and at once; nil where records are put one by one.
  func stateBroughtBack(byUndoing commit: CommitNumber) throws(ModelError) -> CommitNumber?
  /// The newest commit that is not itself taken back (what `u` takes back), and the newest undo (what `^r` does).
  func undoCandidate() throws(ModelError) -> CommitNumber?
  func redoCandidate() throws(ModelError) -> CommitNumber?
  /// A new commit with the state of `commit`: of one datastore, or of the whole store.
  func restore(_ commit: CommitNumber, datastore: String?, named action: String) throws(ModelError) -> CommitNumber
  /// About what compaction would do, without doing it: bytes before and after. Walks the commits.
  func compactionEstimate(_ retention: HistoryRetention) throws(ModelError) -> RewriteReport
  /// Rewrites the store without what no kept commit needs; others may go on reading and writing. Progress is of commits.
  func compact(_ retention: HistoryRetention, progress: WorkProgress?) throws(ModelError) -> RewriteReport
  /// Writes a consistent copy with the history up to a commit (nil: all of it) to another path; takes no lock.
  func copy(to path: String, at commit: CommitNumber?, progress: WorkProgress?) throws(ModelError) -> RewriteReport
  /// Sets, moves or (with nil) removes a name.
  func pin(_ name: String, to commit: CommitNumber?) throws(ModelError)
  /// Adds an index with a declared rule (`IndexDescriptor.rule` or its tiers' rules), or replaces the one of that
  /// name, and fills it. One commit, marked as maintenance.
  func addIndex(_ index: IndexDescriptor, to datastore: String, options: EditOptions) throws(ModelError) -> CommitNumber
  /// Fills an index anew from the records, by its declared or proven rule.
  func rebuildIndex(_ name: String, of datastore: String, options: EditOptions) throws(ModelError) -> CommitNumber
  func dropIndex(_ name: String, of datastore: String) throws(ModelError) -> CommitNumber
}

extension EditableStore {
  /// Takes back a commit, unheard.
  package func undo(_ commit: CommitNumber, named action: String) throws(ModelError) -> CommitNumber {
    try undo(commit, named: action, options: EditOptions())
  }
}
