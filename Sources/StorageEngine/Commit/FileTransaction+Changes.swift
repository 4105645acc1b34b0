/// The records and entries that a transaction sets and takes away.
extension FileTransaction {
  // MARK: Trees of records

  /// Sets the value of a record; answers what it replaced, nil where the key was not there.
  ///
  /// `place`: where the key belongs in a tree of the caller's order; nil in one of byte order.
  @discardableResult
  package func put(
    _ key: [UInt8], _ value: [UInt8], in name: TreeName, probe: KeyProbe?
  ) throws(StorageError) -> RecordReference? {
    try key.withBytes { key throws(StorageError) in
      try value.withBytes { value throws(StorageError) in try put(key, value, in: name, probe: probe) }
    }
  }

  /// As `put` of an array, from memory that is only read.
  @discardableResult
  package func put(
    _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, in name: TreeName, probe: KeyProbe?
  ) throws(StorageError) -> RecordReference? {
    try check(valueLength: UInt64(value.count))
    return try put(key, in: name, probe: probe) { tree, replaced, replacesDelete throws(StorageError) in
      try draft.append(.put, tree: tree, key: key, value: value, replaced: replaced, replacesDelete: replacesDelete)
    }
  }

  /// Sets a value of `count` bytes that comes in pieces, so that it is never in memory whole: `piece` is asked for the bytes from
  /// a position on, at most so many (a MiB), until all are there; it may give fewer only at the end. An error of `piece` is
  /// passed on, and the transaction can only be cancelled or rolled back then.
  @discardableResult
  package func put(
    _ key: [UInt8], count: UInt64, in name: TreeName, probe: KeyProbe?,
    piece: (_ position: UInt64, _ count: Int) throws(StorageError) -> [UInt8]
  ) throws(StorageError) -> RecordReference? {
    try check(valueLength: count)
    guard count > UInt64(ChangeEntry.largeValue) else {
      return try put(key, try piece(0, Int(count)), in: name, probe: probe)
    }
    return try key.withBytes { key throws(StorageError) in
      try put(key, in: name, probe: probe) { tree, replaced, replacesDelete throws(StorageError) in
        try draft.appendLarge(
          .put, tree: tree, key: key, count: count, replaced: replaced, replacesDelete: replacesDelete
        ) { position, count throws(StorageError) in
          let current = try piece(position, count)
          guard current.count == count else {
            throw .valueTooLong(count: UInt64(current.count), limit: UInt64(count))
          }
          return Bytes(current)
        }
      }
    }
  }

  /// Sets the value of a record that is not there yet; answers the one that is, which stays as it was. In a tree that
  /// changes anyway that costs one descent.
  package func putIfNew(
    _ key: [UInt8], _ value: [UInt8], in name: TreeName, probe: KeyProbe?
  ) throws(StorageError) -> RecordReference? {
    try check(valueLength: UInt64(value.count))
    return try change(key, in: name, .records, probe) { key, treeIndex, probe throws(StorageError) in
      // Looked for first in a tree that has not changed, so that a record that is there changes nothing.
      if state.pointee.trees[treeIndex].primary.root.fresh == nil,
        let found = try TreeSearch(file: file).find(probe, in: state.pointee.trees[treeIndex].primary.root)?.record
      {
        return found
      }
      return try set(key, treeIndex, probe) { old throws(StorageError) in
        if let old { return old }
        let new = try appendPut(treeIndex, probe, over: nil) { tree, replaced, replacesDelete throws(StorageError) in
          try value.withBytes { value throws(StorageError) in
            try draft.append(
              .put, tree: tree, key: key, value: value, replaced: replaced, replacesDelete: replacesDelete)
          }
        }
        return .entry(new)
      }
    }
  }

  private func put(
    _ key: UnsafeRawBufferPointer, in name: TreeName, probe: KeyProbe?,
    append: (_ tree: UInt32, _ replaced: EntryReference?, _ replacesDelete: Bool) throws(StorageError)
      -> EntryReference
  ) throws(StorageError) -> RecordReference? {
    try change(key, in: name, .records, probe) { treeIndex, probe throws(StorageError) in
      try set(key, treeIndex, probe) { old throws(StorageError) in
        .entry(try appendPut(treeIndex, probe, over: old?.entry, append))
      }
    }
  }

  /// Sets what a tree of records has for a key; the record that was there.
  private func set(
    _ key: UnsafeRawBufferPointer, _ treeIndex: Int, _ probe: Probe,
    to payload: (Payload?) throws(StorageError) -> Payload
  ) throws(StorageError) -> RecordReference? {
    var found: EntryReference?
    // Taken out while it changes, because `payload` changes the rest of the state.
    var primary = TreeEditor.none
    swap(&primary, &state.pointee.trees[treeIndex].primary)
    defer { swap(&primary, &state.pointee.trees[treeIndex].primary) }
    try wholly { () throws(StorageError) in
      _ = try primary.set(key, at: probe, in: file) { old throws(StorageError) in
        found = old?.entry
        return try payload(old)
      }
    }
    return RecordReference(found)
  }

  /// Appends the put and counts it; finds what it takes the place of.
  private func appendPut(
    _ treeIndex: Int, _ probe: Probe, over old: EntryReference?,
    _ append: (UInt32, EntryReference?, Bool) throws(StorageError) -> EntryReference
  ) throws(StorageError) -> EntryReference {
    let tree = state.pointee.trees[treeIndex].entry.identifier
    var tally = state.pointee.trees[treeIndex].tally
    var replaced = old
    var replacesDelete = false
    if let old {
      tally.entryBytes -= Int64(old.length)
      if draft.contains(old.offset) {
        // The second change of the record in this commit: it replaces what the first one replaced.
        let first = try source.entry(old).entry
        (replaced, replacesDelete) = (first.replaced, first.replacesDelete)
      } else {
        tally.updated += 1
      }
    } else if let deleted = try takeFromGone(treeIndex, probe) {
      tally.entryBytes -= Int64(deleted.length)
      if draft.contains(deleted.offset) {
        replaced = try source.entry(deleted).entry.replaced
        tally.deleted -= 1
        tally.updated += 1
        supersede(deleted)
      } else {
        replaced = deleted
        replacesDelete = true
        tally.inserted += 1
      }
    } else {
      tally.inserted += 1
    }
    let new = try append(tree, replaced, replacesDelete)
    if let old, draft.contains(old.offset) { supersede(old) }
    tally.entryBytes += Int64(new.length)
    state.pointee.trees[treeIndex].tally = tally
    return new
  }

  private func takeFromGone(_ treeIndex: Int, _ probe: Probe) throws(StorageError) -> EntryReference? {
    guard !state.pointee.trees[treeIndex].gone.root.isEmpty else { return nil }
    return try state.pointee.trees[treeIndex].gone.remove(at: probe, in: file)?.entry
  }

  /// Deletes a record; answers what was deleted, nil where the key was not there.
  @discardableResult
  package func delete(
    _ key: [UInt8], in name: TreeName, probe: KeyProbe?
  ) throws(StorageError) -> RecordReference? {
    try change(key, in: name, .records, probe) { key, treeIndex, probe throws(StorageError) in
      RecordReference(try wholly { () throws(StorageError) in try delete(key, treeIndex, probe) })
    }
  }

  private func delete(_ key: UnsafeRawBufferPointer, _ treeIndex: Int, _ probe: Probe) throws(StorageError)
    -> EntryReference?
  {
    guard let old = try state.pointee.trees[treeIndex].primary.remove(at: probe, in: file)?.entry else { return nil }
    var tally = state.pointee.trees[treeIndex].tally
    defer { state.pointee.trees[treeIndex].tally = tally }
    tally.entryBytes -= Int64(old.length)
    var replaced = old
    if draft.contains(old.offset) {
      supersede(old)
      let first = try source.entry(old).entry
      guard let before = first.replaced else {
        // Inserted by this very commit: it never was.
        tally.inserted -= 1
        return old
      }
      if first.replacesDelete {
        tally.inserted -= 1
        tally.entryBytes += Int64(before.length)
        try setGone(key, treeIndex, probe, before)
        return old
      }
      replaced = before
      tally.updated -= 1
    }
    let new = try draft.append(
      .delete, tree: state.pointee.trees[treeIndex].entry.identifier, key: key,
      value: UnsafeRawBufferPointer(start: nil, count: 0), replaced: replaced, replacesDelete: false)
    tally.deleted += 1
    tally.entryBytes += Int64(new.length)
    try setGone(key, treeIndex, probe, new)
    return old
  }

  private func setGone(
    _ key: UnsafeRawBufferPointer, _ treeIndex: Int, _ probe: Probe, _ delete: EntryReference
  ) throws(StorageError) {
    _ = try state.pointee.trees[treeIndex].gone.set(key, at: probe, in: file) { _ throws(StorageError) in .entry(delete)
    }
  }

  /// The reference of a record as the transaction has it now, for payloads of other trees; nil where there is no such
  /// record.
  package func currentReference(
    of key: [UInt8], in name: TreeName, probe: KeyProbe?
  ) throws(StorageError) -> RecordReference? {
    try locked { () throws(StorageError) in
      let treeIndex = try existing(name, kind: .records, probe)
      return try (probe ?? .bytes(key)).withProbe { probe throws(StorageError) in
        try TreeSearch(file: file).find(probe, in: state.pointee.trees[treeIndex].primary.root)?.record
      }
    }
  }

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
    return try change(key, in: name, .records, probe) { key, treeIndex, probe throws(StorageError) in
      let search = TreeSearch(file: file)
      let live = try search.find(probe, in: TreeRoot(pointer: there.root))?.entry
      let deleted = try live == nil ? search.find(probe, in: TreeRoot(pointer: there.gone))?.entry : nil
      guard let new = live ?? deleted else { return false }
      try wholly { () throws(StorageError) in try take(new, isDelete: live == nil, key, treeIndex, probe) }
      state.pointee.adopts = true
      return true
    }
  }

  private func take(
    _ new: EntryReference, isDelete: Bool, _ key: UnsafeRawBufferPointer, _ treeIndex: Int, _ probe: Probe
  ) throws(StorageError) {
    let live = try state.pointee.trees[treeIndex].primary.remove(at: probe, in: file)?.entry
    let deleted = try takeFromGone(treeIndex, probe)
    if let old = live ?? deleted, draft.contains(old.offset) {
      throw .wrongTree(state.pointee.trees[treeIndex].name, reason: "the record was changed before being taken over")
    }
    var tally = state.pointee.trees[treeIndex].tally
    tally.entryBytes += Int64(new.length) - Int64(live?.length ?? 0) - Int64(deleted?.length ?? 0)
    if isDelete {
      try setGone(key, treeIndex, probe, new)
      if live != nil { tally.deleted += 1 }
    } else {
      _ = try state.pointee.trees[treeIndex].primary.set(key, at: probe, in: file) { _ throws(StorageError) in
        .entry(new)
      }
      if live != nil { tally.updated += 1 } else { tally.inserted += 1 }
    }
    state.pointee.trees[treeIndex].tally = tally
  }

  // MARK: Trees of entries

  /// Sets the payload of a key; whether the key was not there before. The same payload again writes nothing.
  @discardableResult
  package func insert(
    _ key: [UInt8], _ payload: Payload, in name: TreeName, probe: KeyProbe?
  ) throws(StorageError) -> Bool {
    try key.withBytes { key throws(StorageError) in try insert(key, payload, in: name, probe: probe) }
  }

  /// As `insert` of an array, from memory that is only read.
  @discardableResult
  package func insert(
    _ key: UnsafeRawBufferPointer, _ payload: Payload, in name: TreeName, probe: KeyProbe?
  ) throws(StorageError) -> Bool {
    if case .bytes(let bytes) = payload, bytes.count > Limits.payload {
      throw .payloadTooLong(count: bytes.count, limit: Limits.payload)
    }
    if case .served = payload { throw .wrongTree(name, reason: "a file cannot refer to a record of a server") }
    return try change(key, in: name, .entries, probe) { treeIndex, probe throws(StorageError) in
      // The path is copied at once: to look first would cost every new payload a second descent. Of a tree that the
      // transaction has not changed yet a copy that nobody needs is given up again.
      let isChanged = state.pointee.trees[treeIndex].primary.root.fresh != nil
      let before = isChanged ? nil : state.pointee.trees[treeIndex].primary
      var isSame = false
      let isNew = try wholly { () throws(StorageError) in
        try state.pointee.trees[treeIndex].primary.set(key, at: probe, in: file) { old throws(StorageError) in
          isSame = old == payload
          return payload
        }
      }
      if isSame, let before { state.pointee.trees[treeIndex].primary = before }
      return isNew
    }
  }

  /// Takes an entry out; whether it was there.
  @discardableResult
  package func remove(
    _ key: [UInt8], in name: TreeName, probe: KeyProbe?
  ) throws(StorageError) -> Bool {
    try change(key, in: name, .entries, probe) { _, treeIndex, probe throws(StorageError) in
      try wholly { () throws(StorageError) in
        try state.pointee.trees[treeIndex].primary.remove(at: probe, in: file) != nil
      }
    }
  }

  // MARK: Steps of all changes

  /// Makes a change at a key of a tree: checks both, and sees to the memory that changes take.
  @inline(__always)
  private func change<R>(
    _ key: UnsafeRawBufferPointer, in name: TreeName, _ kind: TreeKind, _ probe: KeyProbe?,
    _ body: (_ treeIndex: Int, Probe) throws(StorageError) -> R
  ) throws(StorageError) -> R {
    if key.count > Limits.key { throw .keyTooLong(count: key.count, limit: Limits.key) }
    return try locked { () throws(StorageError) in
      let treeIndex = try existing(name, kind: kind, probe)
      try boundMemory(of: treeIndex)
      guard let probe else { return try body(treeIndex, .bytes(key)) }
      return try probe.withProbe { probe throws(StorageError) in try body(treeIndex, probe) }
    }
  }

  private func change<R>(
    _ key: [UInt8], in name: TreeName, _ kind: TreeKind, _ probe: KeyProbe?,
    _ body: (UnsafeRawBufferPointer, _ treeIndex: Int, Probe) throws(StorageError) -> R
  ) throws(StorageError) -> R {
    try key.withBytes { key throws(StorageError) in
      try change(key, in: name, kind, probe) { treeIndex, probe throws(StorageError) in
        try body(key, treeIndex, probe)
      }
    }
  }

  private func check(valueLength: UInt64) throws(StorageError) {
    if valueLength > Limits.value { throw .valueTooLong(count: valueLength, limit: Limits.value) }
  }

  private func existing(_ name: TreeName, kind: TreeKind, _ probe: KeyProbe?) throws(StorageError) -> Int {
    let treeIndex = try existing(name)
    let entry = state.pointee.trees[treeIndex].entry
    guard entry.kind == kind else {
      throw .wrongTree(
        name, reason: kind == .records ? "it holds entries, not records" : "it holds records, not entries")
    }
    switch (entry.order, probe) {
    case (.caller, .compare), (.bytes, nil), (.bytes, .bytes): return treeIndex
    case (.caller, _): throw .wrongTree(name, reason: "its order is the caller's, who must say where the key belongs")
    case (.bytes, .compare): throw .wrongTree(name, reason: "its order is that of bytes")
    }
  }
}
