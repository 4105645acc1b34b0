/// Copying entries and nodes: what an earlier commit brought is found, not copied again.
extension GenerationCopy {
  /// Copies an entry into the frame that is being written, as one that replaces what is given.
  ///
  /// - Parameters:
  ///   - tree: the number of its tree in this commit, or nil if that is as it was. A merge may have taken the entry over from a branch in
  ///     which the number is another one.
  ///   - dictionary: compresses its value.
  ///   - ahead: the values that were compressed already.
  func copyEntry(
    _ reference: EntryReference, tree: UInt32?, replaced: EntryReference?, replacesDelete: Bool, into draft: FrameDraft,
    by dictionary: ValueDictionary? = nil, ahead: ValuesAhead? = nil
  ) throws(StorageError) -> EntryReference {
    let (entry, bytes) = try source.entry(reference)
    let new = try bytes[entry.keyRange].withUnsafeBytes { key throws(StorageError) in
      let head = ChangeEntry.Head(
        kind: entry.kind, tree: tree ?? entry.tree, key: key, replaced: replaced, replacesDelete: replacesDelete)
      return try append(head, entry, bytes, at: reference.offset, by: dictionary, ahead: ahead, to: draft)
    }
    try remember(reference, as: new)
    try step(draft)
    return new
  }

  /// The references to records in a tree's nodes that were not copied yet, as far as those records were not either, in the
  /// order of their keys. `seen`: where the nodes lie that were looked at; `level`: that of the node above, if any.
  func newReferences(
    in pointer: NodePointer, below level: UInt8? = nil, seen: inout Set<FileOffset>,
    _ body: (EntryReference) throws(StorageError) -> Void
  ) throws(StorageError) {
    guard !pointer.isNone, copiedNode(pointer) == nil, seen.insert(pointer.offset).inserted else { return }
    let node = try source.node(at: pointer, below: level)
    guard node.view.form != .bare else { return }
    for index in 0..<node.view.count {
      if node.view.form == .inner {
        try newReferences(in: try node.view.pointer(index), below: node.view.level, seen: &seen, body)
      } else if let reference = try node.view.payload(index).entry, copiedEntry(reference) == nil {
        try body(reference)
      }
    }
  }

  /// Copies a tree's nodes that were not copied before.
  ///
  /// - Parameters:
  ///   - level: as above.
  ///   - previous: the node at this position in the kept commit before.
  ///   - bytes: the written bytes are added to it.
  func copyNode(
    _ pointer: NodePointer, below level: UInt8? = nil, insteadOf previous: NodePointer, into draft: FrameDraft,
    bytes: inout UInt64
  ) throws(StorageError) -> CopiedNode {
    if pointer.isNone { return .none }
    if let known = copiedNode(pointer) { return known }
    let node = try source.node(at: pointer, below: level)
    let view = node.view
    let copy = MemoryBlock(count: view.length)
    copy.bytes.copyMemory(from: UnsafeRawBufferPointer(start: view.base, count: view.length))
    let before = try view.form == .inner && !previous.isNone ? source.node(at: previous) : nil
    var liveBytes: UInt64 = 0
    for index in 0..<view.count {
      let position = view.heap + (index == 0 ? 0 : view.end(index - 1))
      let fixed = try view.fixed(index)
      switch view.form {
      case .bare: break
      case .inner:
        let child = try copyNode(
          try view.pointer(index), below: view.level, insteadOf: try before?.pointer(index, of: view) ?? .none,
          into: draft, bytes: &bytes)
        if let base = copy.bytes.baseAddress { child.pointer.store(into: base + position) }
        liveBytes &+= child.liveBytes
      case .references, .mixed:
        let skipped = view.form == .mixed ? 1 : 0
        guard let old = try view.payload(index).entry else { continue }
        guard fixed.count >= skipped + EntryReference.size, let new = copiedEntry(old) else {
          throw .damaged(what: "reference to a record", offset: pointer.offset)
        }
        if let base = copy.bytes.baseAddress { new.store(into: base + position + skipped) }
      }
    }
    let (new, live) = try draft.append(
      try NodeView(UnsafeRawBufferPointer(copy.bytes), offset: pointer.offset), count: pointer.count,
      insteadOf: try copiedBase(of: pointer, insteadOf: previous, before: draft.start))
    bytes += UInt64(new.length)
    let copied = CopiedNode(pointer: new, liveBytes: liveBytes &+ live)
    remember(pointer, as: copied)
    try step(draft)
    return copied
  }

  /// The whole node in the copy of which a node's copy may be patches: the copy of its base. If that was not copied, or if the source has
  /// whole nodes only, the node that it replaces. A node that the source's writer wrote whole stays whole, so that later patches are as
  /// short as there.
  private func copiedBase(
    of pointer: NodePointer, insteadOf previous: NodePointer, before start: FileOffset
  ) throws(StorageError) -> NodePointer {
    let base = try source.base(of: pointer)
    guard base != nil || !source.header.has(.nodeDeltas),
      let known = base.flatMap({ copiedNode($0) }) ?? copiedNode(previous), known.pointer.offset < start
    else { return .none }
    return try target.base(of: known.pointer) ?? known.pointer
  }
}

/// A node in the copy.
struct CopiedNode: Hashable, Sendable {
  var pointer: NodePointer
  /// Bytes that are live in the copy because of it and the nodes below it.
  var liveBytes: UInt64

  static let none = CopiedNode(pointer: .none, liveBytes: 0)
}

extension Node {
  /// The child at the index of another inner node's child; nil if the two nodes have not as many children.
  fileprivate func pointer(_ index: Int, of other: NodeView) throws(StorageError) -> NodePointer? {
    view.form == .inner && view.count == other.count ? try view.pointer(index) : nil
  }
}
