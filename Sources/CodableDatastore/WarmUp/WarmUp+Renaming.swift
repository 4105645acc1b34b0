import StrataModel
import StrataEngine

extension DatastoreCore {
  /// The name that a declared index had in the store before its property, or only its label, was renamed. Nil if there is no such
  /// index, or if more than the name has changed.
  func renamedIndex(_ index: IndexPlan<Instance>, in stored: DatastoreDescriptor) -> String? {
    guard stored.index(index.name) == nil, let path = index.descriptor.keyPathName else { return nil }
    let declared = Set(indexes.map(\.name))
    let candidates = stored.indexes.filter { candidate in
      guard !declared.contains(candidate.name), let before = candidate.keyPathName else { return false }
      return before == path || Self.renamed(before) == path
    }
    return candidates.first { candidate in
      candidate.isUnique == index.isUnique && Self.fits(candidate, index.descriptor)
        && !VersionTag<Format>.isOlder(candidate.version, than: coder.version)
    }?.name
  }

  /// Moves the entries of indexes that have another name now. No record is decoded.
  func moveRenamed(
    _ plan: WarmUpPlan, _ descriptor: inout DatastoreDescriptor, in transaction: any WriteTransaction
  ) throws {
    for (place, name) in plan.moved.sorted(by: { $0.key < $1.key }) {
      let (index, former) = (indexes[place], TreeName.index(name, of: key))
      try transaction.createTree(index.tree, kind: .entries, order: index.order.treeOrder, attributes: [])
      if let old = try transaction.tree(former) {
        var walk = TreeWalk(old)
        while let entry = try walk.nextEntry() {
          let key = entry.key.array
          _ = try index.order.place(of: key).withProbe { probe in
            try transaction.insert(key, entry.payload, in: index.tree, probe: index.order.isBytes ? nil : probe)
          }
        }
        try transaction.dropTree(former)
      }
      var moved = descriptor.index(name)
      moved?.name = index.name
      moved?.keyPathName = index.descriptor.keyPathName
      descriptor.setIndex(name, to: nil)
      descriptor.setIndex(index.name, to: moved)
    }
  }
}
