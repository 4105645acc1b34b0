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
  /// Who answers in place of the file.
  private let served: (any ServedTree)?

  init(
    name: TreeName, identifier: UInt32, kind: TreeKind, order: TreeOrder, attributes: Bytes, root: TreeRoot,
    goneRoot: TreeRoot, source: RecordSource
  ) {
    self.name = name
    self.identifier = identifier
    self.kind = kind
    self.order = order
    self.attributes = attributes
    self.root = root
    self.goneRoot = goneRoot
    self.source = source
    served = nil
  }

  /// A tree on a server.
  package init(
    name: TreeName, identifier: UInt32, kind: TreeKind, attributes: Bytes, served: any ServedTree
  ) {
    self.name = name
    self.identifier = identifier
    self.kind = kind
    order = .bytes
    self.attributes = attributes
    root = .empty
    goneRoot = .empty
    source = RecordSource(file: .none)
    self.served = served
  }

  /// Whether it is asked over a network: keys should be asked for together then.
  package var isServed: Bool { served != nil }

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

  /// The hidden tree beside a tree of records: what is deleted, each key with a reference to its delete. Nil in a tree of
  /// entries.
  package var gone: Tree? {
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

  /// The entries of keys in a tree of byte order, each in the place of its key. One round trip, where a server is asked.
  package func find(_ keys: [[UInt8]]) throws(StorageError) -> [Entry?] {
    if let served { return keys.isEmpty ? [] : try served.find(keys) }
    var found: [Entry?] = []
    for key in keys { found.append(try find(.bytes(key))) }
    return found
  }

  /// A page of a range, of a tree on a server alone.
  package func page(_ request: PageRequest) throws(StorageError) -> [PageRow] {
    guard let served else { preconditionFailure("a tree of a file has no pages") }
    return try served.page(request)
  }

  /// The payload of a key, or nil: `find` without making a copy of the key.
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

  /// A cursor that stands nowhere yet.
  package func cursor() -> Cursor {
    if let served { return Cursor(ServedCursor(served)) }
    return Cursor(file: source.file, root: root)
  }

  /// The value of a record, with its check verified. Not copied where the store is mapped.
  package func value(of record: RecordReference) throws(StorageError) -> Bytes {
    switch record {
    case .entry(let reference): try source.value(reference)
    case .served(let record): try record.value
    }
  }

  /// The same in memory of its own, also where the store is mapped: for who reads a few records that lie far apart. To map a page for
  /// each takes several times as long as to read it.
  package func copiedValue(of record: RecordReference) throws(StorageError) -> Bytes {
    switch record {
    case .entry(let reference): try source.copiedValue(reference)
    case .served(let record): try record.value
    }
  }

  /// The change that a reference names: by which commit, of which key, in place of what.
  package func change(of record: RecordReference) throws(StorageError) -> Change {
    switch record {
    case .entry(let reference): try source.change(reference)
    case .served(let record): record.change
    }
  }
}

/// Where change entries are read: the file, and the frame that a transaction has not finished.
struct RecordSource: Sendable {
  let file: DataFile
  var draft: FrameDraft?
  /// The number that the draft's commit will have.
  var draftNumber: UInt64 = 0

  private func drafted(_ reference: EntryReference) throws(StorageError) -> (entry: ChangeEntry, bytes: Bytes)? {
    guard let draft, draft.contains(reference.offset),
      let bytes = try draft.bytes(at: reference.offset, count: Int(reference.length))
    else { return nil }
    return (try bytes.withUnsafeBytes { bytes throws(StorageError) in try file.checkedEntry(bytes, reference) }, bytes)
  }

  func entry(_ reference: EntryReference) throws(StorageError) -> (entry: ChangeEntry, bytes: Bytes) {
    if let drafted = try drafted(reference) { return drafted }
    return try file.entry(reference)
  }

  func value(_ reference: EntryReference) throws(StorageError) -> Bytes {
    if draft == nil { return try file.value(reference) }
    let (entry, bytes) = try entry(reference)
    guard entry.kind != .delete else { throw .damaged(what: "record", offset: reference.offset) }
    return bytes[entry.valueStart..<entry.valueStart + Int(entry.valueLength)]
  }

  func copiedValue(_ reference: EntryReference) throws(StorageError) -> Bytes {
    draft == nil ? try file.value(reference, isCopied: true) : try value(reference)
  }

  func change(_ reference: EntryReference) throws(StorageError) -> Change {
    guard let draft, draft.contains(reference.offset) else { return try file.change(reference) }
    let (entry, bytes) = try entry(reference)
    return Change(entry, bytes, reference, commit: draftNumber)
  }
}
