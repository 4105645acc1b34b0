/// How a change set is committed or previewed.
package struct EditOptions: Sendable {
  /// Where an index has no proven rule: mark it stale (to be rebuilt at the app's next warm-up) instead of refusing.
  package var marksIndexesStale: Bool
  /// Where a record changed since it was read: put both changes together where no field overlaps, instead of refusing.
  package var mergesFields: Bool
  /// The contents are such as the records had before, whatever they say of their identifiers: an app may keep an instance
  /// under another identifier than its own.
  package var bringsBackContents: Bool
  /// While an index is built: leave the records out that it cannot take, and list them with the datastore, instead of
  /// throwing `ModelError.failures`.
  package var leavesFailuresOut: Bool
  /// While an index is built: these records are left out where it cannot take them.
  package var leavingOut: Set<StoredKey>
  /// While an index is built: changes of records that are made first, in the same transaction.
  package var mending: ChangeSet
  /// While an index is added: give it the type that its values have in all records, whatever its descriptor says.
  package var learnsType = false
  /// How many records a preview describes one by one.
  package var detailLimit: Int
  /// Hears how far the work is; answers whether to go on.
  package var progress: WorkProgress?
  /// Hears how many records were read of those that prove which fields the indexes are made from, which is needed once
  /// per state of a store without declared rules; answers whether to go on.
  package var proving: WorkProgress?
  /// Hears of the work with all its steps; answers whether to go on.
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

/// Hears how much of a long work is done, from the working thread, and answers whether to go on; `false` ends the work
/// with `ModelError.cancelled` and leaves everything as it was.
package typealias WorkProgress = @Sendable (_ done: Int, _ total: Int) -> Bool

/// Hears of a long work with all its steps, from the working thread, and answers whether to go on; `false` ends the work
/// as cancelled.
package typealias ActivityProgress = @Sendable (Activity) -> Bool
