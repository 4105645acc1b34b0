/// The trees that go and those that are there, from one state to another.
package struct TreeSteps {
  package let dropped: [TreeName]
  /// The trees of the other state; `before` is nil if one is new.
  package let trees: [(before: Tree?, after: Tree)]

  /// - Parameters:
  ///   - old: Nil if it is the empty store.
  ///   - isSame: Whether two trees of one name and kind are one tree. Otherwise the one is dropped, and the other is new.
  package init(from old: View?, to new: View, isSame: (Tree, Tree) -> Bool) throws(StorageError) {
    let names = (old: try old?.trees() ?? [], new: try new.trees())
    var dropped = Set(names.old).subtracting(names.new)
    var trees: [(before: Tree?, after: Tree)] = []
    for name in names.new {
      guard let after = try new.tree(name) else { continue }
      let before = try old?.tree(name)
      let isKept = before.map { $0.kind == after.kind && isSame($0, after) } ?? false
      if before != nil, !isKept { dropped.insert(name) }
      trees.append((isKept ? before : nil, after))
    }
    (self.dropped, self.trees) = (dropped.sorted(), trees)
  }
}
