/// Goes through the changes of one commit's frame, in the order in which they were made.
package struct ChangeCursor: Sendable {
  private let commit: CommitRecord
  private let trees: Set<UInt32>
  private var superseded: SupersededCursor
  private var reader: ChangeReader

  init(commit: CommitRecord, file: DataFile) throws(StorageError) {
    self.commit = commit
    trees = Set(commit.counts.map(\.identifier))
    superseded = try SupersededCursor(commit, file)
    reader = ChangeReader(file, frame: commit.links.own.offset, limit: commit.links.changesEnd)
  }

  /// The next change, or nil at the end. Memory stays bounded whatever the size of the commit.
  package mutating func next() throws(StorageError) -> Change? {
    while let (entry, bytes, reference) = try reader.next() {
      if try superseded.contains(reference.offset - commit.links.own.offset) { continue }
      guard entry.kind != .attributes, trees.contains(entry.tree) else { continue }
      return Change(entry, bytes, reference, commit: commit.number)
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
  /// The first distance that was not passed; nil if there is none.
  private var current: UInt64? = 0

  init(_ commit: CommitRecord, _ file: DataFile) throws(StorageError) {
    let list = commit.links.superseded
    remaining = list.count
    offset = list.offset
    bytes = list.count == 0 ? Bytes() : try file.bytes(at: list.offset, count: list.length, what: "commit record")
    try advance()
  }

  /// Whether the entry at a distance from the frame is listed; asked in ascending order.
  mutating func contains(_ distance: UInt64) throws(StorageError) -> Bool {
    while let listed = current, listed < distance { try advance() }
    return current == distance
  }

  private mutating func advance() throws(StorageError) {
    guard let last = current, remaining > 0 else {
      current = nil
      return
    }
    remaining -= 1
    let rest = bytes[position..<bytes.count]
    let place = offset &+ UInt64(position)
    let (step, count) = try rest.withUnsafeBytes { bytes throws(StorageError) in
      var reader = ByteReader(bytes, what: "commit record", offset: place)
      return (try reader.varint(), reader.position)
    }
    current = last &+ step
    position += count
  }
}
