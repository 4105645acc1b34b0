/// The records and entries that a transaction sets and removes.
extension FileTransaction {
  // MARK: Trees of records

  @discardableResult
  package func put(
    _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, in name: TreeName, probe: KeyProbe?
  ) throws(StorageError) -> RecordReference? {
    try check(valueLength: UInt64(value.count))
    return try put(key, in: name, probe: probe) { head throws(StorageError) in
      try draft.append(head, value, by: file.dictionaries?[name])
    }
  }

  @discardableResult
  package func put(
    _ key: [UInt8], count: UInt64, in name: TreeName,
    piece: (_ position: UInt64, _ count: Int) throws(StorageError) -> [UInt8]
  ) throws(StorageError) -> RecordReference? {
    try check(valueLength: count)
    func whole(_ position: UInt64, _ count: Int) throws(StorageError) -> [UInt8] {
      let current = try piece(position, count)
      guard current.count == count else { throw .valueTooLong(count: UInt64(current.count), limit: UInt64(count)) }
      return current
    }
    guard count > UInt64(ChangeEntry.largeValue) else { return try put(key, whole(0, Int(count)), in: name) }
    return try key.withBytes { key throws(StorageError) in
      try put(key, in: name, probe: nil) { head throws(StorageError) in
        try draft.appendLarge(head, count: count) { position, count throws(StorageError) in
          Bytes(try whole(position, count))
        }
      }
    }
  }

  package func putIfNew(
    _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, in name: TreeName, probe: KeyProbe?
  ) throws(StorageError) -> RecordReference? {
    try check(valueLength: UInt64(value.count))
    return try change(key, in: name, .records, probe) { treeIndex, probe throws(StorageError) in
      // Looked up first in a tree that has not changed, so that an existing record changes nothing.
      if state.pointee.trees[treeIndex].primary.root.fresh == nil,
        let found = try TreeSearch(file: file).find(probe, in: state.pointee.trees[treeIndex].primary.root)?.record
      {
        return found
      }
      return try set(key, treeIndex, probe) { old throws(StorageError) in
        if let old { return old }
        let new = try appendPut(key, treeIndex, probe, over: nil) { head throws(StorageError) in
          try draft.append(head, value, by: file.dictionaries?[name])
        }
        return .entry(new)
      }
    }
  }

  private func put(
    _ key: UnsafeRawBufferPointer, in name: TreeName, probe: KeyProbe?,
    append: (ChangeEntry.Head) throws(StorageError) -> EntryReference
  ) throws(StorageError) -> RecordReference? {
    try change(key, in: name, .records, probe) { treeIndex, probe throws(StorageError) in
      try set(key, treeIndex, probe) { old throws(StorageError) in
        .entry(try appendPut(key, treeIndex, probe, over: old?.entry, append))
      }
    }
  }

  /// Sets the payload of a key in a tree of records. Returns the record that was there.
  private func set(
    _ key: UnsafeRawBufferPointer, _ treeIndex: Int, _ probe: Probe,
    to payload: (Payload?) throws(StorageError) -> Payload
  ) throws(StorageError) -> RecordReference? {
    var found: EntryReference?
    // Taken out while it changes, because `payload` changes the rest of the state.
    var primary = TreeEditor.none
    swap(&primary, &state.pointee.trees[treeIndex].primary)
    defer { swap(&primary, &state.pointee.trees[treeIndex].primary) }
    try atomically { () throws(StorageError) in
      _ = try primary.set(key, at: probe, in: file) { old throws(StorageError) in
        found = old?.entry
        return try payload(old)
      }
    }
    return RecordReference(found)
  }

  /// Appends the put and counts it; finds the version that it replaces.
  private func appendPut(
    _ key: UnsafeRawBufferPointer, _ treeIndex: Int, _ probe: Probe, over old: EntryReference?,
    _ append: (ChangeEntry.Head) throws(StorageError) -> EntryReference
  ) throws(StorageError) -> EntryReference {
    var tally = state.pointee.trees[treeIndex].tally
    var head = ChangeEntry.Head(
      kind: .put, tree: state.pointee.trees[treeIndex].entry.identifier, key: key, replaced: old)
    if let old {
      tally.entryBytes -= Int64(old.length)
      if draft.contains(old.offset) {
        // The second change of the record in this commit: it replaces what the first one replaced.
        let first = try source.entry(old).entry
        (head.replaced, head.replacesDelete) = (first.replaced, first.replacesDelete)
      } else {
        tally.updated += 1
      }
    } else if let deleted = try removeTombstone(treeIndex, probe) {
      tally.entryBytes -= Int64(deleted.length)
      if draft.contains(deleted.offset) {
        head.replaced = try source.entry(deleted).entry.replaced
        tally.deleted -= 1
        tally.updated += 1
        supersede(deleted)
      } else {
        head.replaced = deleted
        head.replacesDelete = true
        tally.inserted += 1
      }
    } else {
      tally.inserted += 1
    }
    let new = try append(head)
    if let old, draft.contains(old.offset) { supersede(old) }
    tally.entryBytes += Int64(new.length)
    state.pointee.trees[treeIndex].tally = tally
    return new
  }

  private func removeTombstone(_ treeIndex: Int, _ probe: Probe) throws(StorageError) -> EntryReference? {
    guard !state.pointee.trees[treeIndex].tombstones.root.isEmpty else { return nil }
    return try state.pointee.trees[treeIndex].tombstones.remove(at: probe, in: file)?.entry
  }

  @discardableResult
  package func delete(
    _ key: UnsafeRawBufferPointer, in name: TreeName, probe: KeyProbe?
  ) throws(StorageError) -> RecordReference? {
    try change(key, in: name, .records, probe) { treeIndex, probe throws(StorageError) in
      RecordReference(try atomically { () throws(StorageError) in try delete(key, treeIndex, probe) })
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
        // Inserted by this very commit: it never existed.
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
    let head = ChangeEntry.Head(
      kind: .delete, tree: state.pointee.trees[treeIndex].entry.identifier, key: key, replaced: replaced)
    let new = try draft.append(head, .none)
    tally.deleted += 1
    tally.entryBytes += Int64(new.length)
    try setGone(key, treeIndex, probe, new)
    return old
  }

  private func setGone(
    _ key: UnsafeRawBufferPointer, _ treeIndex: Int, _ probe: Probe, _ delete: EntryReference
  ) throws(StorageError) {
    _ = try state.pointee.trees[treeIndex].tombstones.set(key, at: probe, in: file) { _ throws(StorageError) in
      .entry(delete)
    }
  }

  package func currentReference(
    of key: UnsafeRawBufferPointer, in name: TreeName, probe: KeyProbe?
  ) throws(StorageError) -> RecordReference? {
    try locked { () throws(StorageError) in
      let treeIndex = try existing(name, kind: .records, probe)
      return try withPlace(of: key, probe) { probe throws(StorageError) in
        try TreeSearch(file: file).find(probe, in: state.pointee.trees[treeIndex].primary.root)?.record
      }
    }
  }

  @discardableResult
  package func copyRecord(
    _ key: [UInt8], in name: TreeName, from view: View, probe: KeyProbe?
  ) throws(StorageError) -> Bool {
    guard view.file === file else {
      throw .busy(what: "the store was compacted while a merge was being made")
    }
    guard let there = try view.catalogEntry(name), there.kind == .records else { throw .noSuchTree(name) }
    return try key.withBytes { key throws(StorageError) in
      try change(key, in: name, .records, probe) { treeIndex, probe throws(StorageError) in
        let search = TreeSearch(file: file)
        let live = try search.find(probe, in: TreeRoot(pointer: there.root))?.entry
        let deleted = try live == nil ? search.find(probe, in: TreeRoot(pointer: there.tombstones))?.entry : nil
        guard let new = live ?? deleted else { return false }
        try atomically { () throws(StorageError) in try setEntry(new, isDelete: live == nil, key, treeIndex, probe) }
        state.pointee.adopts = true
        return true
      }
    }
  }

  private func setEntry(
    _ new: EntryReference, isDelete: Bool, _ key: UnsafeRawBufferPointer, _ treeIndex: Int, _ probe: Probe
  ) throws(StorageError) {
    let live = try state.pointee.trees[treeIndex].primary.remove(at: probe, in: file)?.entry
    let deleted = try removeTombstone(treeIndex, probe)
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

  @discardableResult
  package func insert(
    _ key: UnsafeRawBufferPointer, _ payload: Payload, in name: TreeName, probe: KeyProbe?
  ) throws(StorageError) -> Bool {
    if let refusal = refusal(of: payload, at: key, in: name) { throw refusal }
    return try change(key, in: name, .entries, probe) { treeIndex, probe throws(StorageError) in
      // The path is copied at once: looking first would cost every new payload a second descent. If the transaction had not changed the
      // tree before and the payload is equal, the needless copy is given up again.
      let isChanged = state.pointee.trees[treeIndex].primary.root.fresh != nil
      let before = isChanged ? nil : state.pointee.trees[treeIndex].primary
      var isSame = false
      let isNew = try atomically { () throws(StorageError) in
        try state.pointee.trees[treeIndex].primary.set(key, at: probe, in: file) { old throws(StorageError) in
          isSame = old == payload
          return payload
        }
      }
      if isSame, let before { state.pointee.trees[treeIndex].primary = before }
      return isNew
    }
  }

  package func insert(ascending next: () -> NewEntry?, in name: TreeName) throws(StorageError) {
    try locked { () throws(StorageError) in
      let treeIndex = try existing(name, kind: .entries, nil)
      var refusal: StorageError?
      // The first entry that cannot be set ends the run.
      func nextAllowed() -> NewEntry? {
        guard let entry = next() else { return nil }
        refusal = self.refusal(of: entry.payload, at: entry.key, in: name)
        return refusal == nil ? entry : nil
      }
      var entry = nextAllowed()
      while entry != nil {
        try atomically { () throws(StorageError) in
          try state.pointee.trees[treeIndex].primary.setFirst(of: &entry, and: nextAllowed, in: file)
        }
        if state.pointee.trees[treeIndex].primary.freshBytes > Self.mostAscendingBytes { try flushNodes(treeIndex) }
      }
      if let refusal { throw refusal }
    }
  }

  @discardableResult
  package func remove(
    _ key: UnsafeRawBufferPointer, in name: TreeName, probe: KeyProbe?
  ) throws(StorageError) -> Bool {
    try change(key, in: name, .entries, probe) { treeIndex, probe throws(StorageError) in
      try atomically { () throws(StorageError) in
        try state.pointee.trees[treeIndex].primary.remove(at: probe, in: file) != nil
      }
    }
  }

  // MARK: Steps of all changes

  /// Makes a change at a key of a tree: checks both, and limits the memory that changes take.
  @inline(__always)
  private func change<R>(
    _ key: UnsafeRawBufferPointer, in name: TreeName, _ kind: TreeKind, _ probe: KeyProbe?,
    _ body: (_ treeIndex: Int, Probe) throws(StorageError) -> R
  ) throws(StorageError) -> R {
    if key.count > Limits.key { throw .keyTooLong(count: key.count, limit: Limits.key) }
    return try locked { () throws(StorageError) in
      let treeIndex = try existing(name, kind: kind, probe)
      try boundMemory(of: treeIndex)
      return try withPlace(of: key, probe) { probe throws(StorageError) in try body(treeIndex, probe) }
    }
  }

  @inline(__always)
  private func withPlace<R>(
    of key: UnsafeRawBufferPointer, _ probe: KeyProbe?, _ body: (Probe) throws(StorageError) -> R
  ) throws(StorageError) -> R {
    guard let probe else { return try body(.bytes(key)) }
    return try probe.withProbe(body)
  }

  /// Why an entry cannot be set; nil if it can.
  private func refusal(of payload: Payload, at key: UnsafeRawBufferPointer, in name: TreeName) -> StorageError? {
    if key.count > Limits.key { return .keyTooLong(count: key.count, limit: Limits.key) }
    return switch payload {
    case .bytes(let bytes) where bytes.count > Limits.payload:
      .payloadTooLong(count: bytes.count, limit: Limits.payload)
    case .record(.served): .wrongTree(name, reason: "a file cannot refer to a record of a server")
    default: nil
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
