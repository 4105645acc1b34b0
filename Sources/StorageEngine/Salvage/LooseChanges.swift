/// The changes of a frame, read one after the other without help of trees or record.
struct LooseChanges {
  struct Found {
    var tree: UInt32
    var kind: ChangeEntry.Kind
    var key: [UInt8]
    var value: Bytes
    /// Whether a reference to it, with the check that it must have, was found in the frame.
    var isProven: Bool
  }

  /// In the order of the frame; a later change of a key takes the place of an earlier one.
  private(set) var found: [Found] = []

  /// Reads the changes that begin behind the header of the frame at `frame`, before `limit`, and looks for their proofs
  /// up to `end`. Behind a change that makes no sense those are read that a proof leads to. `isWhole`: the frame's own hash
  /// proves them.
  init(
    in file: DataFile, frame: FileOffset, limit: FileOffset, end: FileOffset, isWhole: Bool
  ) throws(StorageError) {
    let start = frame + UInt64(FrameHeader.size)
    var position = start
    var read: [(entry: ChangeEntry, bytes: Bytes, reference: EntryReference)] = []
    while position < limit, let next = LooseChanges.read(at: position, of: frame, limit: limit, file) {
      read.append(next)
      position += next.entry.length
    }
    var (proofs, rest) = (Set<EntryReference>(), Bytes())
    if !isWhole, position < end {
      rest = try file.bytes(at: position, count: Int(end - position), what: "frame")
      proofs = rest.references(into: start..<limit)
      for proof in proofs.sorted(by: { $0.offset < $1.offset }) where proof.offset > position {
        guard let next = LooseChanges.read(at: proof.offset, of: frame, limit: limit, file), next.reference == proof
        else { continue }
        read.append(next)
      }
    }
    // A damaged reference costs a search each, so not too many are looked for.
    var searches = 64
    for (entry, bytes, reference) in read where !entry.isNodes {
      var isProven = isWhole || proofs.contains(reference)
      if !isProven, searches > 0 {
        searches -= 1
        isProven = rest.holdDamaged(reference)
      }
      // The check of a large entry is that of its own checks.
      if isProven, !isWhole { isProven = (try? file.entry(reference)) != nil }
      found.append(
        Found(
          tree: entry.tree, kind: entry.kind, key: bytes[entry.keyRange].array,
          value: bytes[entry.valueStart..<(entry.valueStart + Int(entry.valueLength))], isProven: isProven))
    }
  }

  /// Those that are proven, in the order of the frame.
  var proven: [Found] { found.filter(\.isProven) }

  /// Those of records whose last change is not proven.
  var unproven: [Found] {
    struct Place: Hashable {
      var tree: UInt32
      var key: [UInt8]
    }
    let kept = Set(proven.map { Place(tree: $0.tree, key: $0.key) })
    return found.filter { !$0.isProven && !kept.contains(Place(tree: $0.tree, key: $0.key)) }
  }

  /// The change of a frame that begins at a place; nil if what lies there makes no sense as one.
  private static func read(
    at offset: FileOffset, of frame: FileOffset, limit: FileOffset, _ file: DataFile
  ) -> (entry: ChangeEntry, bytes: Bytes, reference: EntryReference)? {
    guard
      let head = try? file.bytes(
        at: offset, count: Int(min(ChangeEntry.longestKeyed, limit - offset)), what: "change entry"),
      let (entry, reference) = try? file.changeEntry(head, at: offset, of: frame, limit: limit),
      let bytes = try? file.bytes(at: offset, count: Int(reference.length), what: "change entry")
    else { return nil }
    return (entry, bytes, reference)
  }
}

extension Bytes {
  /// Whether a reference lies in these bytes of which at most three bytes are others, and at most one of its check: an entry that is not
  /// what was written meets that once in four million times.
  fileprivate func holdDamaged(_ reference: EntryReference) -> Bool {
    let buffer = ByteBuffer(capacity: EntryReference.size)
    buffer.append(reference)
    let wanted = buffer.bytes
    let check = wanted.count - 4
    return withUnsafeBytes { bytes in
      (0..<Swift.max(0, bytes.count - wanted.count + 1)).contains { start in
        var (wrong, wrongInCheck) = (0, 0)
        for place in wanted.indices where bytes[start + place] != wanted[place] {
          wrong += 1
          if place >= check { wrongInCheck += 1 }
          if wrong > 3 || wrongInCheck > 1 { return false }
        }
        return true
      }
    }
  }

  /// What may be references into a range, wherever they lie in these bytes.
  fileprivate func references(into range: Range<FileOffset>) -> Set<EntryReference> {
    var found: Set<EntryReference> = []
    withUnsafeBytes { bytes in
      for start in 0..<Swift.max(0, bytes.count - EntryReference.size + 1)
      where range.contains(FileOffset(take: bytes, at: start)) {
        found.insert(EntryReference(take: UnsafeRawBufferPointer(rebasing: bytes[start...])))
      }
    }
    return found
  }
}
