extension TreeEditor {
  /// Sets an entry, and those that `next` returns after it, as far as they belong to the same leaf: entries in the order of their keys that
  /// lie behind all others of the tree go to its last leaf with one descent.
  ///
  /// - Parameter entry: The first entry. Afterwards the first one that is not set, or nil at the end.
  mutating func setFirst(
    of entry: inout NewEntry?, and next: () -> NewEntry?, in file: DataFile
  ) throws(StorageError) {
    if root.count > 0, try append(&entry, next, in: file) > 0 { return }
    guard let first = entry else { return }
    _ = try set(first.key, at: .bytes(first.key), in: file) { _ throws(StorageError) in first.payload }
    entry = next()
  }

  /// Appends entries to the last leaf until it is full, and returns how many. Returns 0 if the first one does not lie behind all others.
  private mutating func append(
    _ entry: inout NewEntry?, _ next: () -> NewEntry?, in file: DataFile
  ) throws(StorageError) -> UInt64 {
    var appended: UInt64 = 0
    try changeLeaf(in: file) { view in
      view.count - 1
    } change: { editor, leaf, view throws(StorageError) in
      var last = view.count - 1
      while let new = entry, leaf.length <= NodeView.targetSize {
        let view = try leaf.view
        let place = try view.lowerBound(.bytes(new.key), from: last)
        guard place.index > last else { break }
        try editor.prepare(leaf, view.form, for: new.payload)
        last += 1
        try editor.insert(new.payload, new.key, into: leaf, at: last)
        editor.freshBytes += new.key.count + FreshNode.bytesBesideKey
        appended += 1
        entry = next()
      }
      return (appended > 0 ? try editor.split(leaf, insertedAt: last) : nil, appended)
    }
    return appended
  }
}
