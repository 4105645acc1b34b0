extension FileTransaction {
  /// Counts what a restore by roots changed, by the difference to the state that it took the place of: in all restored trees of records
  /// but those that have counts already.
  func restoreCounts(besides counted: Set<UInt32>) throws(StorageError) -> [ChangeCounts] {
    func entries(_ catalog: NodePointer) throws(StorageError) -> [TreeName: CatalogEntry] {
      Dictionary(try CatalogScan(file: file).entries(in: catalog).map { ($0.name, $0.entry) }) { _, new in new }
    }
    let before = try entries(base.links.catalog)
    var after = try entries(state.pointee.storedCatalog)
    for tree in state.pointee.trees { after[tree.name] = tree.isDropped ? nil : tree.entry }
    var counts: [ChangeCounts] = []
    for name in Set(before.keys).union(after.keys).sorted() {
      let (old, new) = (before[name], after[name])
      guard let entry = new ?? old, entry.kind == .records, !counted.contains(entry.identifier),
        old?.root != new?.root
      else { continue }
      var cursor = DifferenceCursor((file, old?.root), (file, new?.root), order: TreeOrder(of: old, and: new))
      var count = ChangeCounts(tree: name, inserted: 0, updated: 0, deleted: 0, identifier: entry.identifier)
      while let difference = try cursor.next() { count.add(difference) }
      counts.append(count)
    }
    return counts
  }
}
