/// A tree as it was at one moment: of a commit, or of a transaction's uncommitted state. Immutable and safe from any thread.
package struct Tree: Sendable {
  /// One reference to all of it, because a tree is copied with each step to a record.
  private let state: Shared<State>

  private struct State: Sendable {
    let name: TreeName
    let identifier: UInt32
    let kind: TreeKind
    var order = TreeOrder.bytes
    let attributes: Bytes
    var root = TreeRoot.empty
    var goneRoot = TreeRoot.empty
    var source = RecordSource(file: .none)
    var served: (any ServedTree)?
  }

  init(
    name: TreeName, identifier: UInt32, kind: TreeKind, order: TreeOrder, attributes: Bytes, root: TreeRoot,
    goneRoot: TreeRoot, source: RecordSource
  ) {
    state = Shared(
      State(
        name: name, identifier: identifier, kind: kind, order: order, attributes: attributes, root: root,
        goneRoot: goneRoot, source: source))
  }

  /// A tree on a server.
  package init(
    name: TreeName, identifier: UInt32, kind: TreeKind, attributes: Bytes, served: any ServedTree
  ) {
    state = Shared(
      State(name: name, identifier: identifier, kind: kind, attributes: attributes, served: served))
  }

  package var name: TreeName { state.value.name }
  /// The lasting number by which change entries name the tree.
  package var identifier: UInt32 { state.value.identifier }
  package var kind: TreeKind { state.value.kind }
  package var order: TreeOrder { state.value.order }
  /// The data that the module above keeps with the tree.
  package var attributes: Bytes { state.value.attributes }
  var root: TreeRoot { state.value.root }
  var goneRoot: TreeRoot { state.value.goneRoot }
  var source: RecordSource { _read { yield state.value.source } }
  /// The tree on a server; nil for a tree of a file.
  private var served: (any ServedTree)? { state.value.served }

  /// Whether it is read over a network: then keys should be asked for together.
  package var isServed: Bool { served != nil }

  /// Whether a small change of a node is stored instead of the node.
  package var writesDeltas: Bool { source.file.header.has(.nodeDeltas) }

  /// The number of entries. O(1) in a file; counted by a server.
  package var count: UInt64 {
    get throws(StorageError) {
      if let served { return try served.count }
      return root.count
    }
  }

  /// Whether there is no entry.
  package var isEmpty: Bool {
    get throws(StorageError) {
      if let served { return try served.page(from: [], to: nil, limit: 1, isReversed: false).isEmpty }
      return root.count == 0
    }
  }

  /// The hidden tree beside a tree of records: the deleted keys, each with a reference to its delete. Nil in a tree of entries.
  package var tombstones: Tree? {
    guard kind == .records, served == nil else { return nil }
    return Tree(
      name: name, identifier: identifier, kind: .entries, order: order, attributes: Bytes(), root: goneRoot,
      goneRoot: .empty, source: source)
  }

  /// The entry of a key, or nil. Reads one node a level.
  package func find(_ probe: KeyProbe) throws(StorageError) -> Entry? {
    if served != nil { return try find([probe.served()])[0] }
    return try probe.withProbe { probe throws(StorageError) in try TreeSearch(file: source.file).entry(probe, in: root)
    }
  }

  /// The entries of keys in a tree of byte order, each at the position of its key. Costs one round trip if a server is asked.
  package func find(_ keys: [[UInt8]]) throws(StorageError) -> [Entry?] {
    if let served { return keys.isEmpty ? [] : try served.find(keys) }
    return try keys.map { key throws(StorageError) in try find(.bytes(key)) }
  }

  /// A page of a range. Only for a tree on a server.
  package func page(_ request: PageRequest) throws(StorageError) -> [PageRow] {
    guard let served else { preconditionFailure("a tree of a file has no pages") }
    return try served.page(request)
  }

  /// The payload of a key, or nil, as `find` returns it, without a copy of the key.
  package func payload(_ probe: KeyProbe) throws(StorageError) -> Payload? {
    if served != nil { return try find([probe.served()])[0]?.payload }
    return try probe.withProbe { probe throws(StorageError) in try TreeSearch(file: source.file).find(probe, in: root) }
  }

  /// How many entries lie before the probe. Reads one node a level; counted by a server.
  package func rank(of probe: KeyProbe) throws(StorageError) -> UInt64 {
    if let served { return try served.rank(of: probe.served()) }
    return try probe.withProbe { probe throws(StorageError) in
      try TreeSearch(file: source.file).rank(of: probe, in: root)
    }
  }

  /// A cursor without a position yet.
  package func cursor() -> Cursor {
    if let served { return Cursor(ServedCursor(served)) }
    return Cursor(file: source.file, root: root)
  }

  /// The value of a record, with its check verified. Not copied if the store is mapped.
  ///
  /// - Parameter isCopied: Reads it into memory of its own even if the store is mapped, for callers that read a few records far apart. To
  ///   map a page for each takes several times as long as to read it.
  package func value(of record: RecordReference, isCopied: Bool = false) throws(StorageError) -> Bytes {
    try source.value(of: record, isCopied: isCopied)
  }

  /// A reader of the value of a record, which has read the first piece.
  package func reader(of record: RecordReference) throws(StorageError) -> ValueReader {
    try ValueReader(record, in: source)
  }

  /// The change that a reference names: its commit, its key, and the version that it replaced.
  package func change(of record: RecordReference) throws(StorageError) -> Change {
    switch record {
    case .entry(let reference): try source.change(reference)
    case .served(let record): record.change
    }
  }
}

/// The source of change entries: the file, and the frame that a transaction has not finished.
struct RecordSource: Sendable {
  let file: DataFile
  var draft: FrameDraft?
  var draftNumber: UInt64 = 0

  /// Bytes of an entry.
  func bytes(at offset: FileOffset, count: Int) throws(StorageError) -> Bytes {
    if let draft, draft.contains(offset), let bytes = try draft.bytes(at: offset, count: count) { return bytes }
    return try file.bytes(at: offset, count: count, what: "change entry")
  }

  func entry(_ reference: EntryReference) throws(StorageError) -> (entry: ChangeEntry, bytes: Bytes) {
    try file.entry(reference, in: bytes(at: reference.offset, count: Int(reference.length)))
  }

  func value(of record: RecordReference, isCopied: Bool = false) throws(StorageError) -> Bytes {
    switch record {
    case .entry(let reference): try value(reference, isCopied: isCopied)
    case .served(let record): try record.value
    }
  }

  func value(_ reference: EntryReference, isCopied: Bool = false) throws(StorageError) -> Bytes {
    if draft == nil { return try file.value(reference, isCopied: isCopied) }
    let (entry, bytes) = try entry(reference)
    guard entry.kind != .delete else { throw .damaged(what: "record", offset: reference.offset) }
    return try file.rawValue(of: entry, bytes, at: reference.offset)
  }

  func change(_ reference: EntryReference) throws(StorageError) -> Change {
    guard let draft, draft.contains(reference.offset) else { return try file.change(reference) }
    let (entry, bytes) = try entry(reference)
    return Change(entry, bytes, reference, commit: draftNumber)
  }
}
