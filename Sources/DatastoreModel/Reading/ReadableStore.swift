/// The one reading interface: all that the browser and the verbs know of a store.
///
/// Our own stores and the folders of the original library both offer it. Everything here is synchronous and may block
/// on the disk, so a user interface calls it from a thread of its own; everything is `Sendable` and safe from any
/// thread. Views and what hangs off them are immutable: they never change under a reader.
package protocol ReadableStore: AnyObject, Sendable {
  /// Where the store lies, as the user gave it.
  var path: String { get }
  /// Whether it can be written, and if not, why.
  var access: StoreAccess { get }
  /// What the last opening found: recovery, damage.
  var openingReport: [String] { get }
  /// What of the store cannot be read, and up to which commit it can be; nil where opening found no damage.
  var damage: String? { get }
  /// The newest commit that is durable and known to this process, without looking at the disk.
  var head: any ReadableView { get }
  /// Looks whether another process has committed and answers the newest view.
  func refresh() throws(ModelError) -> any ReadableView
  /// Calls `change` from another thread whenever a newer commit, another writer, or another activity may be there.
  /// Never polls. Ends when the token is let go.
  func follow(_ change: @escaping @Sendable () -> Void) throws(ModelError) -> any Sendable & AnyObject
  /// When the history is tried to be shortened again, in nanoseconds since 1970, if the store's retention could not be carried out.
  var nextPruning: Int64? { get }
  /// Whether the store is a server's, and those who follow it have lost that and not found it again. They hear of both.
  var isAway: Bool { get }
  /// The state as of a commit.
  func view(at commit: CommitNumber) throws(ModelError) -> any ReadableView
  /// One commit, with the counts of its changes. O(log n), but for one that restored an older state: that is compared with its parent.
  func commit(_ number: CommitNumber) throws(ModelError) -> Commit
  /// One commit; how many changes it made may be missing. O(log n).
  func commitUncounted(_ number: CommitNumber) throws(ModelError) -> Commit
  /// Up to `limit` commits in descending order, `newest` and all that it was made on. Commits that changed no data
  /// for a user (registrations of the original library) are folded unless `folded` is false.
  func commits(from newest: CommitNumber, limit: Int, folded: Bool) throws(ModelError) -> [Commit]
  /// The same from several commits on, by all ways that lead back from them, with where the history goes on: a page of it.
  func commitPage(from open: [CommitNumber], limit: Int, folded: Bool) throws(ModelError) -> CommitPage
  /// The commit that a user means by a number, `#12`, `head`, `head~3`, a pin's name, or a time (the newest commit not
  /// later): "2026-11-17", "2026-11-17 09:30", "Tuesday", "yesterday", "2 hours ago".
  func resolve(_ name: String) throws(ModelError) -> CommitNumber
  /// Names that were given to commits, by name.
  var pins: [Pin] { get throws(ModelError) }
  /// What a commit did to its first parent, one datastore after the other, records in key order; cost is that of the
  /// changes, not of the store.
  func changes(of commit: CommitNumber) throws(ModelError) -> any ChangeReader
  /// The difference of any two commits; equal parts are skipped where the store can tell.
  func changes(from old: CommitNumber, to new: CommitNumber) throws(ModelError) -> any ChangeReader
  /// Every state that a record has had, newest first, also where it is deleted now, as seen from a commit.
  /// Up to `limit` of them, those not later than `before` (the cursor for the next page is the last one's commit).
  func versions(of key: StoredKey, in datastore: String, from newest: CommitNumber, limit: Int)
    throws(ModelError) -> [RecordVersion]
  /// Who holds the writer's lock in another process, if anyone.
  var writer: WriterHold? { get }
  /// What the writer of another process is busy with, if it says so.
  var activity: Activity? { get }
  /// How many commits can be read: as many as the newest one's number, but for those that were squashed.
  var commitCount: UInt64 { get }
  /// The bytes that the store takes on disk.
  var byteCount: UInt64 { get throws(ModelError) }
  /// Lets go of memory that reading has taken and that can be had again: pages of a mapped file. For programs that stay
  /// open after they have read widely. Does nothing where a store has no such memory.
  func releaseMemory()
}

extension ReadableStore {
  package func releaseMemory() {}

  package func commitUncounted(_ number: CommitNumber) throws(ModelError) -> Commit { try commit(number) }

  package var isAway: Bool { false }
  package var nextPruning: Int64? { nil }

  /// Where every commit was made on one other.
  package func commitPage(
    from open: [CommitNumber], limit: Int, folded: Bool
  ) throws(ModelError) -> CommitPage {
    var page = CommitPage()
    guard let newest = open.max(), newest.rawValue > 0 else { return page }
    page.commits = try commits(from: newest, limit: limit, folded: folded)
    var expected: CommitNumber? = newest
    for commit in page.commits {
      if let expected, expected != commit.number { page.passed[expected] = commit.number }
      expected = commit.parents.first
    }
    if page.commits.count == limit, let expected { page.next = [expected] }
    return page
  }
}

/// The number of a commit in this store.
package struct CommitNumber: Hashable, Comparable, Sendable, CustomStringConvertible {
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
package struct Commit: Hashable, Sendable {
  package var number: CommitNumber
  /// First the one it was made on; two after a merge; none for the first.
  package var parents: [CommitNumber]
  /// Nanoseconds since 1970.
  package var date: Int64
  /// The action name; empty where none was given.
  package var action: String
  /// The program that wrote it, and on whose behalf.
  package var program: String
  package var author: String
  /// What changed, per datastore, in the order of their keys.
  package var changes: [ChangeCount]
  /// The commit that this one takes back, where it is an undo.
  package var undoes: CommitNumber?
  /// The commit whose state this one brings back, where it is a restore.
  package var restores: CommitNumber?
  /// Several commits that compaction made one.
  package var isSquashed: Bool
  /// Warm-up, re-indexing and the like: no record's content changed for a user.
  package var isMaintenance: Bool
  /// Bytes that the commit added to the store.
  package var byteCount: UInt64

  package init(
    number: CommitNumber, parents: [CommitNumber], date: Int64, action: String, program: String = "",
    author: String = "", changes: [ChangeCount] = [], undoes: CommitNumber? = nil, restores: CommitNumber? = nil,
    isSquashed: Bool = false, isMaintenance: Bool = false, byteCount: UInt64 = 0
  ) {
    self.number = number
    self.parents = parents
    self.date = date
    self.action = action
    self.program = program
    self.author = author
    self.changes = changes
    self.undoes = undoes
    self.restores = restores
    self.isSquashed = isSquashed
    self.isMaintenance = isMaintenance
    self.byteCount = byteCount
  }
}

/// Some commits of a history, newest first, and where it goes on.
package struct CommitPage: Hashable, Sendable {
  package var commits: [Commit] = []
  /// The newest of what is older, one for each way that leads back; none at the end.
  package var next: [CommitNumber] = []
  /// Commits that were left out because they changed no data, each with the one that it was made on (0: none).
  package var passed: [CommitNumber: CommitNumber] = [:]
}

/// How many records of a datastore a commit changed.
package struct ChangeCount: Hashable, Sendable {
  package var datastore: String
  package var inserted: Int
  package var updated: Int
  package var deleted: Int

  package init(datastore: String, inserted: Int = 0, updated: Int = 0, deleted: Int = 0) {
    self.datastore = datastore
    self.inserted = inserted
    self.updated = updated
    self.deleted = deleted
  }
}

extension ChangeCount {
  package var total: Int { inserted + updated + deleted }

  /// What a commit changes that takes these changes back.
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
package struct WriterHold: Hashable, Sendable {
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

/// What a writer is busy with.
package struct Activity: Hashable, Codable, Sendable {
  /// As `warm-up City: index population`.
  package var title: String
  package var done: Int
  package var total: Int
  /// Nanoseconds since 1970.
  package var startedAt: Int64
  /// What is done, is being done, and will be, as far as it is known.
  package var steps: [Step]
  /// How it ended; nil while it goes on.
  package var ending: Ending?

  package init(title: String, done: Int, total: Int, startedAt: Int64, steps: [Step] = []) {
    self.title = title
    self.done = done
    self.total = total
    self.startedAt = startedAt
    self.steps = steps
  }

  package struct Step: Hashable, Codable, Sendable {
    package var title: String
    package var done: Int
    package var total: Int
    package var isComplete: Bool
    /// What one of it costs beside one of the other steps, where all of them are known from the beginning; nil where they are not.
    package var cost: Int?

    package init(title: String, done: Int, total: Int, isComplete: Bool, cost: Int? = nil) {
      self.title = title
      self.done = done
      self.total = total
      self.isComplete = isComplete
      self.cost = cost
    }
  }

  /// What came of work.
  package struct Ending: Hashable, Codable, Sendable {
    /// The process that did it.
    package var processIdentifier: Int32
    /// Nanoseconds since 1970.
    package var at: Int64
    /// The commit that was made.
    package var commit: UInt64?
    /// Why none was; nil where one was, and where the work was cancelled.
    package var reason: String?
    /// By how many bytes the store grew.
    package var bytes: Int = 0
    /// The first of the records that could not be taken, and how many there are.
    package var failures: [Failure] = []
    package var failureCount = 0

    package struct Failure: Hashable, Codable, Sendable {
      package var datastore: String
      package var identifier: [UInt8]
      package var reason: String
    }
  }
}

extension ReadableStore {
  package var damage: String? { nil }
}
