/// What the newest catalog says about trees that were written to lately, so that whoever writes to them again need not look
/// there.
struct KnownTrees {
  typealias Known = (entry: CatalogEntry, attributes: Bytes)

  private var catalog = NodePointer.none
  private var trees: [TreeName: Known] = [:]

  /// More are forgotten all at once.
  private static let most = 64

  /// What a catalog says about a tree, where that is known here.
  func tree(_ name: TreeName, in catalog: NodePointer) -> Known? {
    catalog == self.catalog ? trees[name] : nil
  }

  /// Notes what became of trees between two catalogs.
  mutating func note(_ changed: [TreeState], from old: NodePointer, to new: NodePointer) {
    if old != catalog || trees.count > Self.most { trees.removeAll(keepingCapacity: true) }
    catalog = new
    // In their order: a tree that took a dropped one's name comes after it.
    for tree in changed { trees[tree.name] = tree.isDropped ? nil : (tree.entry, tree.attributes) }
  }
}
