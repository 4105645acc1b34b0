/// A tree as a transaction has it: its state at the beginning, and the changes since.
struct TreeState: Sendable {
  let name: TreeName
  var entry: CatalogEntry
  var attributes: Bytes
  var primary: TreeEditor
  var tombstones: TreeEditor
  var tally = Tally()
  /// Bytes of nodes that are in the frame already.
  var settledBytes: UInt64 = 0
  /// Not in the catalog yet.
  var isNew = false
  var isDropped = false
  var hasNewAttributes = false
  /// The roots came from an older commit.
  var isRestored = false

  /// The sums of the changes.
  struct Tally: Sendable {
    var inserted: Int64 = 0
    var updated: Int64 = 0
    var deleted: Int64 = 0
    /// Change of the bytes of entries that the tree refers to.
    var entryBytes: Int64 = 0
  }

  init(name: TreeName, entry: CatalogEntry, attributes: Bytes) {
    self.name = name
    self.entry = entry
    self.attributes = attributes
    primary = TreeEditor(
      root: TreeRoot(pointer: entry.root), order: entry.order, isReferences: entry.kind == .records)
    tombstones = TreeEditor(root: TreeRoot(pointer: entry.tombstones), order: entry.order, isReferences: true)
  }

  var isChanged: Bool {
    isNew || isDropped || isRestored || hasNewAttributes || settledBytes > 0 || primary.isChanged
      || tombstones.isChanged
  }

  func counts() -> ChangeCounts? {
    guard tally.inserted != 0 || tally.updated != 0 || tally.deleted != 0 else { return nil }
    return ChangeCounts(
      tree: name, inserted: UInt64(max(0, tally.inserted)), updated: UInt64(max(0, tally.updated)),
      deleted: UInt64(max(0, tally.deleted)), identifier: entry.identifier)
  }
}

extension TreeEditor {
  /// Replaces a tree that is taken out to be changed.
  static let none = TreeEditor(root: .empty, order: .bytes, isReferences: false)
}

/// The whole state of a transaction that a rollback restores.
struct TransactionState: Sendable {
  let storedCatalog: NodePointer
  var catalog: TreeEditor
  var trees: [TreeState] = []
  var nextTree: UInt32
  /// Entries of this frame that a later change replaced: distances from the frame's first byte.
  var superseded: [UInt64] = []
  /// The commit whose roots were restored.
  var restores: UInt64?
  /// Whether entries of another branch were taken by reference.
  var adopts = false
  /// Bytes of nodes and entries in the state at the beginning.
  var liveBytes: UInt64
  /// The error of a change that failed halfway: its partial result must not be committed.
  var failure: StorageError?

  init(catalog stored: NodePointer, nextTree: UInt32, liveBytes: UInt64) {
    storedCatalog = stored
    catalog = TreeEditor(root: TreeRoot(pointer: stored), order: .bytes, isReferences: false)
    self.nextTree = nextTree
    self.liveBytes = liveBytes
  }

  /// The index of the tree with a name: the last one, because a tree that took a dropped one's name comes after it. Every change looks a
  /// name up, among the few that a transaction touches.
  func treeIndex(of name: TreeName) -> Int? {
    var treeIndex = trees.count - 1
    while treeIndex >= 0, trees[treeIndex].name != name { treeIndex -= 1 }
    return treeIndex < 0 ? nil : treeIndex
  }

  /// The sums of the changes so far, per tree of records.
  var changeCounts: [ChangeCounts] {
    // By index, because a copy of a tree's state would retain a dozen references more.
    trees.indices.compactMap { trees[$0].isDropped ? nil : trees[$0].counts() }
  }

  /// Whether a tree of records is gone that was there at the beginning.
  var dropsRecords: Bool { trees.contains { $0.isDropped && !$0.isNew && $0.entry.kind == .records } }

  var isChanged: Bool { catalog.isChanged || restores != nil || trees.contains { $0.isChanged } }

  /// Releases the new nodes after the end of the transaction. The sums of the changes stay.
  mutating func releaseNodes() {
    catalog = .none
    for treeIndex in trees.indices {
      trees[treeIndex].primary = .none
      trees[treeIndex].tombstones = .none
    }
  }
}

/// A state of a transaction that it can return to.
package struct Savepoint: Sendable {
  private let moment: any Sendable
  private let transaction: ObjectIdentifier

  package init(of transaction: some WriteTransaction, _ moment: any Sendable) {
    self.moment = moment
    self.transaction = ObjectIdentifier(transaction)
  }

  /// The state that the transaction kept for it; nil if the savepoint belongs to another transaction.
  package func moment(of transaction: some WriteTransaction) -> (any Sendable)? {
    self.transaction == ObjectIdentifier(transaction) ? moment : nil
  }
}
