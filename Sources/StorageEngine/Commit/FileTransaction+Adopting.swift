/// Taking what another branch has as it lies in the file: a merge writes nothing anew that it only takes over.
extension FileTransaction {
  /// Gives a record the state that it has in another commit of this store: its value there, or its delete. Nothing is written but
  /// nodes, and the record's versions go on where that commit has them. The transaction must not have changed the record before.
  ///
  /// - Parameter probe: as for `put`.
  /// - Returns: Whether there was anything to take: a key that never was there stays as it is.
  @discardableResult
  package func adopt(
    _ key: [UInt8], in name: TreeName, from view: View, probe: KeyProbe?
  ) throws(StorageError) -> Bool {
    guard view.file === file else {
      throw .busy(what: "the store was compacted while a merge was being made")
    }
    guard let there = try view.catalogEntry(name), there.kind == .records else { throw .noSuchTree(name) }
    return try locked { () throws(StorageError) in
      let treeIndex = try existing(name)
      let search = TreeSearch(file: file)
      let adopted = try (probe ?? .bytes(key)).withProbe { probe throws(StorageError) in
        (
          live: try search.find(probe, in: TreeRoot(pointer: there.root))?.entry,
          deleted: try search.find(probe, in: TreeRoot(pointer: there.gone))?.entry
        )
      }
      guard let new = adopted.live ?? adopted.deleted else { return false }
      let isDelete = adopted.live == nil
      let target = probe ?? .bytes(key)
      let result = key.withUnsafeBytes { bytes in
        Result { () throws(StorageError) in
          try wholly { () throws(StorageError) in
            try target.withProbe { probe throws(StorageError) in
              try take(new, isDelete: isDelete, bytes, treeIndex, probe)
            }
          }
        }
      }
      try result.get()
      state.pointee.adopts = true
      return true
    }
  }

  private func take(
    _ new: EntryReference, isDelete: Bool, _ key: UnsafeRawBufferPointer, _ treeIndex: Int, _ probe: Probe
  ) throws(StorageError) {
    let live = try state.pointee.trees[treeIndex].primary.remove(at: probe, in: file)?.entry
    let deleted =
      state.pointee.trees[treeIndex].gone.root.isEmpty
      ? nil : try state.pointee.trees[treeIndex].gone.remove(at: probe, in: file)?.entry
    if let old = live ?? deleted, draft.contains(old.offset) {
      throw .wrongTree(state.pointee.trees[treeIndex].name, reason: "the record was changed before being taken over")
    }
    if isDelete {
      _ = try state.pointee.trees[treeIndex].gone.set(key, at: probe, in: file) { _ throws(StorageError) in .entry(new)
      }
    } else {
      _ = try state.pointee.trees[treeIndex].primary.set(key, at: probe, in: file) { _ throws(StorageError) in
        .entry(new)
      }
    }
    var tally = state.pointee.trees[treeIndex].tally
    tally.entryBytes += Int64(new.length) - Int64(live?.length ?? 0) - Int64(deleted?.length ?? 0)
    if isDelete {
      if live != nil { tally.deleted += 1 }
    } else if live != nil {
      tally.updated += 1
    } else {
      tally.inserted += 1
    }
    state.pointee.trees[treeIndex].tally = tally
  }
}
