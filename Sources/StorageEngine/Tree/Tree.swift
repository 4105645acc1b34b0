/// A tree as it was at one moment: of a commit, or of a transaction's uncommitted state. Immutable and safe from any thread.
package struct Tree: Sendable {
  package let name: TreeName
  /// The lasting number by which change entries name the tree.
  package let identifier: UInt32
  package let kind: TreeKind
  package let order: TreeOrder
  /// What the module above keeps with the tree.
  package let attributes: Bytes
  let root: TreeRoot
  let goneRoot: TreeRoot
  let source: RecordSource

  /// The number of entries. O(1).
  package var count: UInt64 { root.count }

  /// The hidden tree beside a tree of records: what is deleted, each key with a reference to its delete. Nil in a tree of
  /// entries.
  package var gone: Tree? {
    guard kind == .records else { return nil }
    return Tree(
      name: name, identifier: identifier, kind: .entries, order: order, attributes: Bytes(), root: goneRoot,
      goneRoot: .empty, source: source)
  }

  /// The entry of a key, or nil. Reads one node a level.
  package func find(_ probe: KeyProbe) throws(StorageError) -> Entry? {
    try probe.withProbe { probe throws(StorageError) in try TreeSearch(file: source.file).entry(probe, in: root) }
  }

  /// The payload of a key, or nil: `find` without making a copy of the key.
  package func payload(_ probe: KeyProbe) throws(StorageError) -> Payload? {
    try probe.withProbe { probe throws(StorageError) in try TreeSearch(file: source.file).find(probe, in: root) }
  }

  /// How many entries lie before the probe. Reads one node a level.
  package func rank(of probe: KeyProbe) throws(StorageError) -> UInt64 {
    try probe.withProbe { probe throws(StorageError) in try TreeSearch(file: source.file).rank(of: probe, in: root) }
  }

  /// A cursor that stands nowhere yet.
  package func cursor() -> Cursor { Cursor(file: source.file, root: root) }

  /// The value of a record, with its check verified. Not copied where the store is mapped.
  package func value(of record: RecordReference) throws(StorageError) -> Bytes { try source.value(record) }

  /// The change that a reference names: by which commit, of which key, in place of what.
  package func change(of record: RecordReference) throws(StorageError) -> Change { try source.change(record) }
}

/// Where change entries are read: the file, and the frame that a transaction has not finished.
struct RecordSource: Sendable {
  let file: DataFile
  var draft: FrameDraft?
  /// The number that the draft's commit will have.
  var draftNumber: UInt64 = 0

  private func drafted(_ reference: RecordReference) throws(StorageError) -> (entry: ChangeEntry, bytes: Bytes)? {
    guard let draft, draft.contains(reference.offset),
      let bytes = try draft.bytes(at: reference.offset, count: Int(reference.length))
    else { return nil }
    return (try bytes.withUnsafeBytes { bytes throws(StorageError) in try file.checkedEntry(bytes, reference) }, bytes)
  }

  func entry(_ reference: RecordReference) throws(StorageError) -> (entry: ChangeEntry, bytes: Bytes) {
    if let drafted = try drafted(reference) { return drafted }
    return try file.entry(reference)
  }

  func value(_ reference: RecordReference) throws(StorageError) -> Bytes {
    if draft == nil { return try file.value(reference) }
    let (entry, bytes) = try entry(reference)
    guard entry.kind != .delete else { throw .damaged(what: "record", offset: reference.offset) }
    return bytes[entry.valueStart..<entry.valueStart + Int(entry.valueLength)]
  }

  func change(_ reference: RecordReference) throws(StorageError) -> Change {
    guard let draft, draft.contains(reference.offset) else { return try file.change(reference) }
    let (entry, bytes) = try entry(reference)
    return Change(
      commit: draftNumber, tree: entry.tree, key: bytes[entry.keyRange], kind: entry.kind == .put ? .put : .delete,
      replaced: entry.replaced, replacesDelete: entry.replacesDelete, reference: reference)
  }
}
