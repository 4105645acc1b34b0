/// How a change set is committed or previewed.
package struct EditOptions: Sendable {
  /// If an index has no proven rule: mark it stale (to be rebuilt at the app's next warm-up) instead of refusing.
  package var marksIndexesStale: Bool
  /// If a record changed since it was read: merge both changes if no field overlaps, instead of refusing.
  package var mergesFields: Bool
  /// The records had these contents before, so their own identifier fields are not checked: an app may store an instance under another
  /// identifier.
  package var bringsBackContents: Bool
  /// While an index is built: leave out the records that it cannot take, and list them with the datastore, instead of throwing
  /// `ModelError.failures`.
  package var leavesFailuresOut: Bool
  /// While an index is built: leave out these records if it cannot take them.
  package var leavingOut: Set<StoredKey>
  /// While an index is built: changes of records to make first, in the same transaction.
  package var mending: ChangeSet
  /// While an index is added: give it the type of its values in all records, whatever its descriptor says.
  package var learnsType = false
  /// How many records a preview describes one by one.
  package var detailLimit: Int
  /// While the records that meet a condition are deleted: receives a sentence for each damaged one, which stays. If nil, the first one ends
  /// the work.
  package var leaveOut: (@Sendable (String) -> Void)?
  /// Receives the progress of the work, and returns whether to continue.
  package var progress: WorkProgress?
  /// Receives the number of records read to prove which fields the indexes are made from. A store without declared rules needs that proof
  /// once per state. Returns whether to continue.
  package var proving: WorkProgress?
  /// Receives the progress of the work with all its steps, and returns whether to continue.
  package var activity: ActivityProgress?

  package init(
    marksIndexesStale: Bool = false, mergesFields: Bool = false, bringsBackContents: Bool = false,
    leavesFailuresOut: Bool = false, leavingOut: Set<StoredKey> = [], mending: ChangeSet = ChangeSet(),
    detailLimit: Int = 200, progress: WorkProgress? = nil, proving: WorkProgress? = nil,
    activity: ActivityProgress? = nil
  ) {
    self.marksIndexesStale = marksIndexesStale
    self.mergesFields = mergesFields
    self.bringsBackContents = bringsBackContents
    self.leavesFailuresOut = leavesFailuresOut
    self.leavingOut = leavingOut
    self.mending = mending
    self.detailLimit = detailLimit
    self.progress = progress
    self.proving = proving
    self.activity = activity
  }
}

/// Receives the progress of long work, on the working thread, and returns whether to continue. `false` ends the work with
/// `ModelError.cancelled` and leaves everything unchanged.
package typealias WorkProgress = @Sendable (_ done: Int, _ total: Int) -> Bool

/// Returns the progress of one pass (from 0) of work that reads the same records several times. The listener gets one percentage, which
/// never goes back.
package func pass(_ pass: Int, of passes: Int, _ progress: @escaping WorkProgress) -> WorkProgress {
  { done, total in progress((pass * total + done) / passes, total) }
}

/// Receives the progress of long work with all its steps, on the working thread, and returns whether to continue. `false` cancels the work.
package typealias ActivityProgress = @Sendable (Activity) -> Bool
