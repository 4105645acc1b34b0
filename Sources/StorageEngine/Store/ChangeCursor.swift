/// Goes through the changes of one commit's frame, in the order in which they were made.
package struct ChangeCursor: Sendable {
  private let file: DataFile
  private let commit: CommitRecord
  private let trees: Set<UInt32>
  private var superseded: SupersededCursor
  private var position: FileOffset

  init(commit: CommitRecord, file: DataFile) throws(StorageError) {
    self.file = file
    self.commit = commit
    trees = Set(commit.counts.map(\.identifier))
    superseded = try SupersededCursor(commit, file)
    position = commit.links.own.offset &+ UInt64(FrameHeader.size)
  }

  /// The next change, or nil at the end. Memory stays bounded whatever the size of the commit.
  package mutating func next() throws(StorageError) -> Change? {
    let frame = commit.links.own.offset
    while position < commit.links.changesEnd {
      let offset = position
      let rest = commit.links.changesEnd - offset
      let headCount = Int(min(rest, UInt64(ChangeEntry.longestHead + Limits.key)))
      let head = try file.bytes(at: offset, count: headCount, what: "change entry")
      let entry = try head.withUnsafeBytes { bytes throws(StorageError) in try ChangeEntry(bytes, offset: offset) }
      guard entry.length <= rest, entry.distance == offset - frame else {
        throw .damaged(what: "change entry", offset: offset)
      }
      position += entry.length
      if try superseded.contains(offset - frame) { continue }
      guard entry.kind != .attributes, trees.contains(entry.tree) else { continue }
      let reference = try reference(entry, at: offset)
      return Change(
        commit: commit.number, tree: entry.tree, key: head[entry.keyRange], kind: entry.kind == .put ? .put : .delete,
        replaced: RecordReference(entry.replaced), replacesDelete: entry.replacesDelete, reference: .entry(reference))
    }
    return nil
  }

  /// The check of an entry is not stored in the frame, so the reference is made by computing it.
  private func reference(_ entry: ChangeEntry, at offset: FileOffset) throws(StorageError) -> EntryReference {
    guard let length = UInt32(exactly: entry.length) else { throw .damaged(what: "change entry", offset: offset) }
    var check = file.header.seed
    if entry.isLarge {
      check = try file.hash(offset..<offset + UInt64(entry.valueStart), from: check)
      let checks = offset + UInt64(entry.valueStart) + entry.valueLength
      check = try file.hash(checks..<offset + entry.length, from: check)
    } else {
      check = try file.hash(offset..<offset + entry.length, from: check)
    }
    return EntryReference(offset: offset, length: length, check: check)
  }
}

/// Walks the list of superseded entries beside the changes.
struct SupersededCursor: Sendable {
  private let bytes: Bytes
  private let offset: FileOffset
  private var position = 0
  private var remaining: UInt64
  private var current: UInt64 = 0

  init(_ commit: CommitRecord, _ file: DataFile) throws(StorageError) {
    let list = commit.links.superseded
    remaining = list.count
    offset = list.offset
    bytes = list.count == 0 ? Bytes() : try file.bytes(at: list.offset, count: list.length, what: "commit record")
    if remaining > 0 { try advance() }
  }

  /// Whether the entry at a distance from the frame is listed; asked in ascending order.
  mutating func contains(_ distance: UInt64) throws(StorageError) -> Bool {
    while remaining > 0, current < distance { try advance(leaving: true) }
    return remaining > 0 && current == distance
  }

  private mutating func advance(leaving: Bool = false) throws(StorageError) {
    if leaving {
      remaining -= 1
      if remaining == 0 { return }
    }
    let rest = bytes[position..<bytes.count]
    let place = offset &+ UInt64(position)
    let (step, count) = try rest.withUnsafeBytes { bytes throws(StorageError) in
      var reader = ByteReader(bytes, what: "commit record", offset: place)
      return (try reader.varint(), reader.position)
    }
    current &+= step
    position += count
  }
}
