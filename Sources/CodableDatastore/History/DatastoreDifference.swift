import StrataModel
import StrataEngine

struct DatastoreDifference<Format: DatastoreFormat>: AsyncInstances, AsyncIteratorProtocol {
  typealias Element = ObservedEvent<Format.Identifier, Format.Instance>

  let core: DatastoreCore<Format>
  let old: Commit.Number
  let new: Commit.Number?
  private(set) var walk: ChangeWalk?
  private(set) var isOpened = false

  mutating func next(isolation actor: isolated (any Actor)?) async throws(any Error) -> Element? {
    try Task.checkCancellation()
    await core.store.yieldTask()
    if !isOpened {
      isOpened = true
      walk = try ChangeWalk(
        from: core.view(at: old), to: core.view(at: new), datastore: core.key, order: core.identifiers.order)
    }
    while let change = try walk?.next() {
      if let event = try await core.observed(change) { return event }
    }
    return nil
  }
}

/// A walk over the records that differ between two states of a datastore.
struct ChangeWalk: Sendable {
  private let datastore: String
  private let newest: UInt64
  private let old: Tree?
  private let new: Tree?
  private var cursor: DifferenceCursor
  /// The differences that were put in order, for an order that the engine does not know: all of them, as keys and references.
  private var sorted: ArraySlice<Difference> = []

  /// - Parameter order: The order of the changes. With `.bytes`, changes of a datastore whose order only the caller knows come in no order.
  init(from old: View, to new: View, datastore: String, order: KeyOrder = .bytes) throws {
    let name = TreeName.records(of: datastore)
    self.datastore = datastore
    newest = new.commit.number
    (self.old, self.new, cursor) = try throwingStoreErrors {
      (try old.tree(name), try new.tree(name), try difference(old, new, tree: name))
    }
    guard !order.isBytes else { return }
    while let difference = try throwingStoreErrors({ try cursor.next() }) {
      sorted.append(difference)
    }
    sorted.sort { order.isBefore($0.key.array, $1.key.array) }
  }

  consuming func all() throws -> [StoredChange] {
    var changes: [StoredChange] = []
    while let change = try next() { changes.append(change) }
    return changes
  }

  mutating func next() throws -> StoredChange? {
    try throwingStoreErrors {
      while let difference = try sorted.popFirst() ?? cursor.next() {
        let (before, after) = (try record(difference.old, in: old), try record(difference.new, in: new))
        // Changed and changed back: two versions, but no difference.
        if before == after, before?.isEmpty != true { continue }
        return StoredChange(
          datastore: datastore, key: difference.key.array, commit: newest, old: before, new: after)
      }
      return nil
    }
  }

  private func record(_ entry: Entry?, in tree: Tree?) throws(StorageError) -> Bytes? {
    guard let reference = entry?.payload.record else { return nil }
    return try evenDamaged { () throws(StorageError) in try tree?.value(of: reference) }
  }
}

/// Returns the bytes of a record; none of one that is damaged.
func evenDamaged(_ read: () throws(StorageError) -> Bytes?) throws(StorageError) -> Bytes? {
  do { return try read() } catch {
    guard case .damaged = error else { throw error }
    return Bytes()
  }
}
