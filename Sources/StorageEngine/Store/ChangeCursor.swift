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
      let head = try file.bytes(
        at: offset, count: Int(min(rest, ChangeEntry.longestKeyed)), what: "change entry")
      let (entry, reference) = try file.changeEntry(head, at: offset, of: frame, limit: commit.links.changesEnd)
      position += entry.length
      if try superseded.contains(offset - frame) { continue }
      guard entry.kind != .attributes, trees.contains(entry.tree) else { continue }
      return Change(entry, head, reference, commit: commit.number)
    }
    return nil
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
