/// The one reading interface: all that the browser and the verbs know of a store.
///
/// Our own stores and the folders of the original library both offer it. Everything here is synchronous and may block
/// on the disk, so a user interface calls it from a thread of its own; everything is `Sendable` and safe from any
/// thread. Views and what hangs off them are immutable: they never change under a reader.
package protocol ReadableStore: AnyObject, Sendable {
  /// The location of the store, as the user gave it.
  var path: String { get }
  /// Whether it can be written, and if not, why.
  var access: StoreAccess { get }
  /// Whether it still lies where it was opened: false if it was deleted or moved.
  var isInPlace: Bool { get }
  /// Whether each search is a round trip to another computer.
  var isDistant: Bool { get }
  /// The findings of the last opening: recovery and damage.
  var openingReport: [String] { get }
  /// Describes the unreadable part of the store, and the commit up to which it can be read. Nil if opening found no damage.
  var damage: String? { get }
  /// The newest commit that is durable and known to this process, without looking at the disk.
  var head: any ReadableView { get }
  /// Checks whether another process has committed, and returns the newest view.
  func refresh() throws(ModelError) -> any ReadableView
  /// Calls `change` from another thread whenever a newer commit, another writer, or another activity may be there.
  /// Never polls. Ends when the returned token is released.
  func follow(_ change: @escaping @Sendable () -> Void) throws(ModelError) -> any Sendable & AnyObject
  /// The time of the next attempt to prune the history, in nanoseconds since 1970, if the last one (by the store's retention) failed.
  var nextPruning: Int64? { get }
  /// The state as of a commit.
  func view(at commit: CommitNumber) throws(ModelError) -> any ReadableView
  /// One commit, with the counts of its changes. O(log n), except for one that restored an older state: that is compared with its parent.
  func commit(_ number: CommitNumber) throws(ModelError) -> CommitDetails
  /// One commit; how many changes it made may be missing. O(log n).
  func commitUncounted(_ number: CommitNumber) throws(ModelError) -> CommitDetails
  /// Some commits and all that they were made on, up to `limit` in descending order, with the commits at which the next page begins.
  /// Commits that changed no data for a user (registrations of the original library) are folded unless `folded` is false.
  func commitPage(from open: [CommitNumber], limit: Int, folded: Bool) throws(ModelError) -> CommitPage
  /// The commit that a user means by a number, `#12`, `head`, `head~3`, a pin's name, or a time (the newest commit not
  /// later): "2026-11-17", "2026-11-17 09:30", "Tuesday", "yesterday", "2 hours ago".
  func resolve(_ name: String) throws(ModelError) -> CommitNumber
  /// Names that were given to commits, by name.
  var pins: [Pin] { get throws(ModelError) }
  /// The changes of a commit against its first parent, one datastore after the other, records in key order. The cost depends on the
  /// number of changes, not on the size of the store.
  func changes(of commit: CommitNumber) throws(ModelError) -> any ChangeReader
  /// The difference of any two commits; equal parts are skipped if the store can recognize them.
  func changes(from old: CommitNumber, to new: CommitNumber) throws(ModelError) -> any ChangeReader
  /// Every state that a record has had, newest first, even if it is deleted now, as seen from a commit.
  /// Up to `limit` of them, those not later than `before` (the cursor for the next page is the last one's commit).
  func versions(of key: StoredKey, in datastore: String, from newest: CommitNumber, limit: Int)
    throws(ModelError) -> [RecordVersion]
  /// The other process that holds the writer's lock, if there is one.
  var writer: WriterHold? { get }
  /// The long work that the writer of another process has reported, if any.
  var activity: Activity? { get }
  /// How many commits can be read: the number of the newest one, less the squashed ones.
  var commitCount: UInt64 { get }
  /// Another number after commits were removed from the history.
  var generation: UInt64 { get }
  /// The bytes that the store takes on disk.
  var byteCount: UInt64 { get throws(ModelError) }
  /// The bytes that only commits before the newest one need; nil if the store does not count them.
  var historyBytes: UInt64? { get }
  /// Releases memory that reading has taken and that can be read again: pages of a mapped file. For programs that stay
  /// open after they have read widely. Does nothing if a store has no such memory.
  func releaseMemory()
}

extension ReadableStore {
  package var isInPlace: Bool { true }
  package var isDistant: Bool { false }
  package var generation: UInt64 { 0 }
  package var historyBytes: UInt64? { nil }

  package func releaseMemory() {}

  package func commitUncounted(_ number: CommitNumber) throws(ModelError) -> CommitDetails { try commit(number) }

  package var nextPruning: Int64? { nil }

  /// The commits of a page that begins with one commit.
  package func commits(from newest: CommitNumber, limit: Int, folded: Bool) throws(ModelError) -> [CommitDetails] {
    try commitPage(from: [newest], limit: limit, folded: folded).commits
  }

  package var damage: String? { nil }
}

/// The number of a commit in this store.
package struct CommitNumber: Hashable, Comparable, Codable, Sendable, CustomStringConvertible {
  package var rawValue: UInt64
  package init(_ rawValue: UInt64) { self.rawValue = rawValue }
  package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
  package var description: String { "#\(rawValue)" }
}

/// Whether a store takes changes.
package enum StoreAccess: Hashable, Sendable {
  case readWrite
  /// With the reason, as a sentence a user can read.
  case readOnly(reason: String)
}

/// One commit, as a row of the history.
package struct CommitDetails: Hashable, Sendable {
  package var number: CommitNumber
  /// First the one it was made on; two after a merge; none for the first.
  package var parents: [CommitNumber]
  /// Nanoseconds since 1970.
  package var date: Int64
  /// The action name; empty if none was given.
  package var action: String
  /// The program that wrote it, and on whose behalf.
  package var program = ""
  package var author = ""
  /// The counts of changes per datastore, in the order of the datastores' keys.
  package var changes: [ChangeCount]
  /// The commit that this one undoes, if it is an undo.
  package var undoes: CommitNumber?
  /// The commit whose state this one restores, if it is a restore.
  package var restores: CommitNumber?
  /// Several commits that compaction made one.
  package var isSquashed = false
  /// Warm-up, re-indexing and the like: no record's content changed for a user.
  package var isMaintenance: Bool
  /// Bytes that the commit added to the store.
  package var byteCount: UInt64

  package init(
    number: CommitNumber, parents: [CommitNumber], date: Int64, action: String, changes: [ChangeCount] = [],
    isMaintenance: Bool = false, byteCount: UInt64 = 0
  ) {
    self.number = number
    self.parents = parents
    self.date = date
    self.action = action
    self.changes = changes
    self.isMaintenance = isMaintenance
    self.byteCount = byteCount
  }
}

/// Some commits of a history, newest first, and the commits at which the next page begins.
package struct CommitPage: Hashable, Sendable {
  package var commits: [CommitDetails] = []
  /// The newest of what is older, one for each way that leads back; none at the end.
  package var next: [CommitNumber] = []
  /// Commits that were left out because they changed no data, each with the one that it was made on (0: none).
  package var passed: [CommitNumber: CommitNumber] = [:]

  package init() {}
}

/// How many records of a datastore a commit changed.
package struct ChangeCount: Hashable, Sendable {
  package var datastore: String
  package var inserted = 0
  package var updated = 0
  package var deleted = 0

  package var total: Int { inserted + updated + deleted }

  mutating func count(_ kind: ChangeKind, times: Int) {
    switch kind {
    case .insert: inserted += times
    case .update: updated += times
    case .delete: deleted += times
    }
  }

  /// The counts of a commit that undoes these changes.
  package var takenBack: ChangeCount {
    ChangeCount(datastore: datastore, inserted: deleted, updated: updated, deleted: inserted)
  }
}

/// A name given to a commit.
package struct Pin: Hashable, Sendable {
  package var name: String
  package var commit: CommitNumber
}

/// The holder of the writer's lock.
package struct WriterHold: Hashable, Codable, Sendable {
  package var processIdentifier: Int32
  package var program: String
  /// Nanoseconds since 1970.
  package var since: Int64

  package init(processIdentifier: Int32, program: String, since: Int64) {
    self.processIdentifier = processIdentifier
    self.program = program
    self.since = since
  }
}
