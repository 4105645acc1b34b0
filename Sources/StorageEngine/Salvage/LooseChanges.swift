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
  /// Whether the end of the changes was reached.
  private(set) var isComplete = false

  /// Reads the changes that begin behind the header of the frame at `frame`, before `limit`, and looks for their proofs
  /// up to `end`. `isWhole`: the frame's own hash proves them.
  init(
    in file: DataFile, frame: FileOffset, limit: FileOffset, end: FileOffset, isWhole: Bool
  ) throws(StorageError) {
    var position = frame + UInt64(FrameHeader.size)
    var references: [EntryReference] = []
    while position < limit {
      guard let reading = try? LooseChanges.read(at: position, limit: limit, file),
        position - reading.entry.distance == frame
      else { break }
      let entry = reading.entry
      if entry.isNodes {
        position += entry.length
        continue
      }
      references.append(EntryReference(offset: position, length: UInt32(reading.bytes.count), check: reading.check))
      found.append(
        Found(
          tree: entry.tree, kind: entry.kind, key: reading.bytes[entry.keyRange].array,
          value: reading.bytes[entry.valueStart..<(entry.valueStart + Int(entry.valueLength))], isProven: isWhole))
      position += entry.length
    }
    isComplete = position >= limit
    guard !isWhole, position < end else { return }
    let proven = try file.bytes(at: position, count: Int(end - position), what: "frame").occurring(
      references, in: frame..<position)
    for index in found.indices where proven.contains(references[index].offset) { found[index].isProven = true }
  }

  /// Only those that are proven.
  var proven: LooseChanges {
    var proven = self
    proven.found = found.filter(\.isProven)
    return proven
  }

  private static func read(
    at offset: FileOffset, limit: FileOffset, _ file: DataFile
  ) throws(StorageError) -> (entry: ChangeEntry, bytes: Bytes, check: UInt32) {
    let longestHead = UInt64(ChangeEntry.longestHead + Limits.key)
    let head = try file.bytes(at: offset, count: Int(min(longestHead, limit - offset)), what: "change entry")
    let entry = try head.withUnsafeBytes { bytes throws(StorageError) in try ChangeEntry(bytes, offset: offset) }
    guard entry.length <= limit - offset, entry.length <= UInt64(UInt32.max) else {
      throw .damaged(what: "change entry", offset: offset)
    }
    let bytes = try file.bytes(at: offset, count: Int(entry.length), what: "change entry")
    let check = bytes.withUnsafeBytes { bytes -> UInt32 in
      guard entry.isLarge else { return file.header.check(bytes) }
      let head = file.header.check(UnsafeRawBufferPointer(rebasing: bytes[..<entry.valueStart]))
      let checks = UnsafeRawBufferPointer(rebasing: bytes[(entry.valueStart + Int(entry.valueLength))...])
      return checksum(head, checks)
    }
    return (entry, bytes, check)
  }
}

extension Bytes {
  /// The offsets of those references whose bytes lie anywhere in these.
  fileprivate func occurring(_ references: [EntryReference], in range: Range<FileOffset>) -> Set<FileOffset> {
    let wanted = Dictionary(references.map { ($0.offset, $0) }) { first, _ in first }
    var found: Set<FileOffset> = []
    withUnsafeBytes { bytes in
      for start in 0..<Swift.max(0, bytes.count - EntryReference.size + 1) {
        let offset = FileOffset(take: bytes, at: start)
        guard range.contains(offset), let reference = wanted[offset] else { continue }
        if EntryReference(take: UnsafeRawBufferPointer(rebasing: bytes[start...])) == reference {
          found.insert(offset)
        }
      }
    }
    return found
  }
}
