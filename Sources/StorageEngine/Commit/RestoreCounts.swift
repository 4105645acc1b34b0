/// Counts what a restore by roots changed, by the difference to the state that it took the place of.
struct RestoreCounts {
  private let transaction: FileTransaction
  private let file: DataFile

  init(_ transaction: FileTransaction) {
    self.transaction = transaction
    file = transaction.file
  }

  /// Counts of all restored trees of records but those that have counts already.
  func counts(besides counted: Set<UInt32>) throws(StorageError) -> [ChangeCounts] {
    let before = try entries(transaction.base.links.catalog)
    var after = try entries(transaction.state.pointee.storedCatalog)
    for tree in transaction.state.pointee.trees {
      after[tree.name] = tree.isDropped ? nil : tree.entry
    }
    var counts: [ChangeCounts] = []
    for name in Set(before.keys).union(after.keys).sorted() {
      let (old, new) = (before[name], after[name])
      guard let entry = new ?? old, entry.kind == .records, !counted.contains(entry.identifier),
        old?.root != new?.root
      else { continue }
      var cursor = DifferenceCursor(
        old: (file, TreeRoot(pointer: old?.root ?? .none)), new: (file, TreeRoot(pointer: new?.root ?? .none)),
        order: entry.order, isSameFile: true)
      var count = ChangeCounts(tree: name, inserted: 0, updated: 0, deleted: 0, identifier: entry.identifier)
      while let difference = try cursor.next() { count.add(difference) }
      counts.append(count)
    }
    return counts
  }

  private func entries(_ catalog: NodePointer) throws(StorageError) -> [TreeName: CatalogEntry] {
    Dictionary(try CatalogScan(file: file).entries(in: catalog).map { ($0.name, $0.entry) }) { _, new in new }
  }
}
