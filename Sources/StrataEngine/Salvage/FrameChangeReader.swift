/// The changes of a frame, read one after the other without the help of trees or record.
struct FrameChangeReader {
  struct Found {
    var tree: UInt32
    var kind: ChangeEntry.Kind
    var key: [UInt8]
    var value: Bytes
    /// Whether a reference to it, with the check that it must have, was found in the frame.
    var isProven: Bool
  }

  /// In the order of the frame; a later change of a key replaces an earlier one.
  private(set) var found: [Found] = []

  /// Reads the changes that begin behind the header of the frame at `frame`, before `limit`, and looks for their proofs up to `end`. Behind
  /// a change that makes no sense, it reads those that a proof leads to. `isWhole`: the frame's own hash proves them.
  init(
    in file: DataFile, frame: FileOffset, limit: FileOffset, end: FileOffset, isWhole: Bool
  ) throws(StorageError) {
    var reader = ChangeReader(file, frame: frame, limit: limit)
    let start = reader.position
    var read: [(entry: ChangeEntry, reference: EntryReference)] = []
    while let (entry, _, reference) = try? reader.next() { read.append((entry, reference)) }
    let position = reader.position
    var (proofs, rest) = (Set<EntryReference>(), Bytes())
    if !isWhole, position < end {
      rest = try file.bytes(at: position, count: Int(end - position), what: "frame")
      proofs = rest.references(into: start..<limit)
      for proof in proofs.sorted(by: { $0.offset < $1.offset }) where proof.offset > position {
        reader.position = proof.offset
        if let (entry, _, reference) = try? reader.next(), reference == proof { read.append((entry, reference)) }
      }
    }
    // A damaged reference costs a search each, so their number is limited.
    var searches = 64
    for (entry, reference) in read where !entry.isNodes {
      let bytes = try file.bytes(at: reference.offset, count: Int(reference.length), what: "change entry")
      var isProven = isWhole || proofs.contains(reference)
      if !isProven, searches > 0 {
        searches -= 1
        isProven = rest.holdDamaged(reference)
      }
      // The check of a large entry is that of its own checks.
      if isProven, !isWhole { isProven = (try? file.entry(reference)) != nil }
      let value = try? file.rawValue(of: entry, bytes, at: reference.offset)
      found.append(
        Found(
          tree: entry.tree, kind: entry.kind, key: bytes[entry.keyRange].array,
          value: value ?? Bytes(), isProven: isProven && value != nil))
    }
  }

  /// The proven ones, in the order of the frame.
  var proven: [Found] { found.filter(\.isProven) }

  /// The changes of records whose last change is not proven.
  var unproven: [Found] {
    let kept = Dictionary(grouping: proven, by: \.tree).mapValues { Set($0.map(\.key)) }
    return found.filter { !$0.isProven && kept[$0.tree]?.contains($0.key) != true }
  }
}

extension Bytes {
  /// Whether these bytes hold a reference of which at most three bytes differ, and at most one of its check: a damaged entry matches by
  /// chance once in four million times.
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

  /// All possible references into a range, at any place in these bytes.
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
