/// A tree as a transaction has it: what it began with, and what became of it.
struct TreeState: Sendable {
  let name: TreeName
  var entry: CatalogEntry
  var attributes: Bytes
  var primary: TreeEditor
  var gone: TreeEditor
  var tally = Tally()
  /// Bytes of nodes that are in the frame already.
  var settledBytes: UInt64 = 0
  /// Not in the catalog yet.
  var isNew = false
  var isDropped = false
  var hasNewAttributes = false
  /// The roots came from an older commit.
  var isRestored = false

  /// What the changes add up to.
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
    gone = TreeEditor(root: TreeRoot(pointer: entry.gone), order: entry.order, isReferences: true)
  }

  var isChanged: Bool {
    isNew || isDropped || isRestored || hasNewAttributes || settledBytes > 0 || primary.isChanged || gone.isChanged
  }

  func counts() -> ChangeCounts? {
    guard tally.inserted != 0 || tally.updated != 0 || tally.deleted != 0 else { return nil }
    return ChangeCounts(
      tree: name, inserted: UInt64(max(0, tally.inserted)), updated: UInt64(max(0, tally.updated)),
      deleted: UInt64(max(0, tally.deleted)), identifier: entry.identifier)
  }
}

extension TreeEditor {
  /// Stands where a tree was taken out to be changed.
  static let none = TreeEditor(root: .empty, order: .bytes, isReferences: false)
}

/// Everything in a transaction that a rollback brings back.
struct TransactionState: Sendable {
  /// The stored catalog that the state began with.
  let storedCatalog: NodePointer
  var catalog: TreeEditor
  var trees: [TreeState] = []
  var nextTree: UInt32
  /// Entries of this frame that a later change took the place of: distances from the frame's first byte.
  var superseded: [UInt64] = []
  /// The commit whose roots were brought back.
  var restores: UInt64?
  /// Whether entries of another branch were taken by reference.
  var adopts = false
  /// Bytes of nodes and entries that the state began with.
  var liveBytes: UInt64
  /// A change that failed halfway: what it left must not be committed.
  var failure: StorageError?

  init(catalog stored: NodePointer, nextTree: UInt32, liveBytes: UInt64) {
    storedCatalog = stored
    catalog = TreeEditor(root: TreeRoot(pointer: stored), order: .bytes, isReferences: false)
    self.nextTree = nextTree
    self.liveBytes = liveBytes
  }

  /// Where the tree of a name is: the last one, because one that took a dropped one's name comes after it. Every change looks a name up,
  /// among the few that a transaction touches.
  func treeIndex(of name: TreeName) -> Int? {
    var treeIndex = trees.count - 1
    while treeIndex >= 0, trees[treeIndex].name != name { treeIndex -= 1 }
    return treeIndex < 0 ? nil : treeIndex
  }

  /// What the changes so far add up to, per tree of records.
  var changeCounts: [ChangeCounts] {
    // By their places: a copy of a tree's state is a dozen references more to count.
    trees.indices.compactMap { trees[$0].isDropped ? nil : trees[$0].counts() }
  }

  var isChanged: Bool { catalog.isChanged || restores != nil || trees.contains { $0.isChanged } }

  /// Lets go of the new nodes, when the transaction has ended. What the changes add up to stays.
  mutating func releaseNodes() {
    catalog = .none
    for treeIndex in trees.indices {
      trees[treeIndex].primary = .none
      trees[treeIndex].gone = .none
    }
  }
}

/// A moment of a transaction that it can go back to.
package struct Savepoint: Sendable {
  enum Moment: Sendable {
    case file(state: TransactionState, position: FileOffset)
    /// What a server's transaction keeps of it.
    case served(any Sendable)
  }

  let moment: Moment
  let transaction: ObjectIdentifier

  /// A moment of a transaction on a server.
  package init(of transaction: some WriteTransaction, served moment: any Sendable) {
    self.moment = .served(moment)
    self.transaction = ObjectIdentifier(transaction)
  }

  init(of transaction: FileTransaction, state: TransactionState, position: FileOffset) {
    moment = .file(state: state, position: position)
    self.transaction = ObjectIdentifier(transaction)
  }

  /// What a server's transaction kept; nil where the savepoint is another transaction's.
  package func served(of transaction: some WriteTransaction) -> (any Sendable)? {
    guard self.transaction == ObjectIdentifier(transaction), case .served(let moment) = moment else { return nil }
    return moment
  }
}
