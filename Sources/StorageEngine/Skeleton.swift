// Declarations that other modules compile against while the engine is being written.
package struct CommitLinks: Sendable, Hashable {}

package struct View: Sendable {
  package let commit: CommitRecord
  package func tree(_ name: TreeName) throws(StorageError) -> Tree? { fatalError() }
  /// The trees whose names begin with `prefix`, in their order.
  package func trees(prefix: [UInt8] = []) throws(StorageError) -> [TreeName] { fatalError() }
  /// Every state that a key of a records tree has had, newest first.
  package func versions(of key: KeyProbe, in tree: TreeName) throws(StorageError) -> VersionCursor { fatalError() }
}

/// A state that a record has had.
package struct Version: Sendable {
  /// The commit that brought it about: the one that wrote it, or one that restored it.
  package var commit: UInt64
  package var isRestored: Bool
  /// Nil where a restore made the record be not there, as it was before its first insertion.
  package var change: Change?
}

package struct VersionCursor: Sendable {
  package mutating func next() throws(StorageError) -> Version? { fatalError() }
}

package struct Tree: Sendable {
  package var name: TreeName { fatalError() }
  package var identifier: UInt32 { fatalError() }
  package var kind: TreeKind { fatalError() }
  package var order: TreeOrder { fatalError() }
  package var count: UInt64 { fatalError() }
  package var attributes: Bytes { fatalError() }
  package func find(_ probe: KeyProbe) throws(StorageError) -> Entry? { fatalError() }
  package func rank(of probe: KeyProbe) throws(StorageError) -> UInt64 { fatalError() }
  package func cursor() -> Cursor { fatalError() }
  package func value(of record: RecordReference) throws(StorageError) -> Bytes { fatalError() }
  package func change(of record: RecordReference) throws(StorageError) -> Change { fatalError() }
  /// The hidden tree of deleted keys of a records tree.
  package var gone: Tree? { fatalError() }
}

package struct Cursor: Sendable {
  package mutating func seek(to probe: KeyProbe) throws(StorageError) { fatalError() }
  package mutating func seek(rank: UInt64) throws(StorageError) { fatalError() }
  package var current: Entry? { fatalError() }
  package mutating func next() throws(StorageError) { fatalError() }
  package mutating func previous() throws(StorageError) { fatalError() }
}

package struct ChangeCursor: Sendable {
  package mutating func next() throws(StorageError) -> Change? { fatalError() }
}

package struct Difference: Sendable {
  package var key: Bytes
  package var old: Entry?
  package var new: Entry?
}

package struct DifferenceCursor: Sendable {
  package mutating func next() throws(StorageError) -> Difference? { fatalError() }
}

package func difference(_ old: View, _ new: View, tree: TreeName) throws(StorageError) -> DifferenceCursor { fatalError() }

package struct Savepoint: Sendable {}

package struct PendingCommit: Sendable {
  package let number: UInt64
  package func durable() async throws(StorageError) { fatalError() }
  package func wait() throws(StorageError) { fatalError() }
}

package final class Store: Sendable {
  package static func exists(at path: String, disk: any Disk) -> Bool { fatalError() }
  package static func create(at path: String, options: StoreOptions, disk: any Disk) throws(StorageError) -> Store { fatalError() }
  package static func open(at path: String, options: StoreOptions, disk: any Disk) throws(StorageError) -> Store { fatalError() }
  package static func memory(options: StoreOptions) -> Store { fatalError() }
  package var path: String { fatalError() }
  package var identity: StoreIdentity { fatalError() }
  package var openingReport: OpeningReport { fatalError() }
  package var counts: WorkCounts { fatalError() }
  package var head: View { fatalError() }
  package var fileBytes: UInt64 { fatalError() }
  package func refresh() throws(StorageError) -> View { fatalError() }
  package func view(at number: UInt64) throws(StorageError) -> View { fatalError() }
  package func commit(_ number: UInt64) throws(StorageError) -> CommitRecord { fatalError() }
  package func changes(of commit: CommitRecord) throws(StorageError) -> ChangeCursor { fatalError() }
  package func ancestor(of number: UInt64, number ancestor: UInt64) throws(StorageError) -> CommitRecord { fatalError() }
  package func ancestor(of number: UInt64, notLaterThan date: Int64) throws(StorageError) -> CommitRecord { fatalError() }
  package func follow(_ change: @escaping @Sendable () -> Void) throws(StorageError) -> any DiskWatch { fatalError() }
  package var names: [String: UInt64] { get throws(StorageError) { fatalError() } }
  package var writer: LockHold? { fatalError() }
  package var activity: [UInt8]? { fatalError() }
  package func begin(on base: UInt64? = nil) async throws(StorageError) -> WriteTransaction { fatalError() }
  package func beginBlocking(on base: UInt64? = nil) throws(StorageError) -> WriteTransaction { fatalError() }
  package func releaseLock() { fatalError() }
  package func setActivity(_ bytes: [UInt8]?) { fatalError() }
  package func close() throws(StorageError) { fatalError() }
}

package final class WriteTransaction: Sendable {
  package var base: CommitRecord { fatalError() }
  package func tree(_ name: TreeName) throws(StorageError) -> Tree? { fatalError() }
  package func trees(prefix: [UInt8] = []) throws(StorageError) -> [TreeName] { fatalError() }
  package func createTree(_ name: TreeName, kind: TreeKind, order: TreeOrder = .bytes, attributes: [UInt8]) throws(StorageError) { fatalError() }
  package func dropTree(_ name: TreeName) throws(StorageError) { fatalError() }
  package func setAttributes(_ attributes: [UInt8], of name: TreeName) throws(StorageError) { fatalError() }
  /// Nil: the key was not there.
  @discardableResult
  package func put(_ key: [UInt8], _ value: [UInt8], in tree: TreeName, place: KeyProbe? = nil) throws(StorageError) -> RecordReference? { fatalError() }
  @discardableResult
  package func put(_ key: [UInt8], in tree: TreeName, place: KeyProbe? = nil, count: UInt64, pieces: (inout [UInt8]) throws -> Bool) throws -> RecordReference? { fatalError() }
  @discardableResult
  package func delete(_ key: [UInt8], in tree: TreeName, place: KeyProbe? = nil) throws(StorageError) -> RecordReference? { fatalError() }
  /// Whether the entry was not there before; an entry with the key gets the new payload.
  @discardableResult
  package func insert(_ key: [UInt8], _ payload: Payload, in tree: TreeName, place: KeyProbe? = nil) throws(StorageError) -> Bool { fatalError() }
  @discardableResult
  package func remove(_ key: [UInt8], in tree: TreeName, place: KeyProbe? = nil) throws(StorageError) -> Bool { fatalError() }
  package func currentReference(of key: [UInt8], in tree: TreeName, place: KeyProbe? = nil) throws(StorageError) -> RecordReference? { fatalError() }
  package func savepoint() throws(StorageError) -> Savepoint { fatalError() }
  package func rollback(to savepoint: Savepoint) throws(StorageError) { fatalError() }
  /// Nil: all trees.
  package func restore(_ trees: [TreeName]?, from view: View) throws(StorageError) { fatalError() }
  package var changeCounts: [ChangeCounts] { fatalError() }
  package func commit(_ info: CommitInfo) throws(StorageError) -> PendingCommit? { fatalError() }
  package func cancel() { fatalError() }
}
