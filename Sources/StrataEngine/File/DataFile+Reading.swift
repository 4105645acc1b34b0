extension Change {
  /// `bytes`: of the entry, its key among them.
  init(_ entry: ChangeEntry, _ bytes: Bytes, _ reference: EntryReference, commit: UInt64) {
    self.init(
      commit: commit, tree: entry.tree, key: bytes[entry.keyRange], kind: entry.kind == .put ? .put : .delete,
      replaced: RecordReference(entry.replaced), replacesDelete: entry.replacesDelete, reference: .entry(reference))
  }
}

extension DataFile {
  /// The header of the frame at an offset. Checks the header only.
  func frameHeader(at offset: FileOffset) throws(StorageError) -> FrameHeader {
    let bytes = try bytes(at: offset, count: FrameHeader.size, what: "frame header")
    counters.frameReads.add(1)
    guard let header = bytes.withUnsafeBytes({ FrameHeader($0, seed: self.header.seed) }) else {
      throw .damaged(what: "frame header", offset: offset)
    }
    return header
  }

  /// The record of the commit at an offset, with its check verified; one read of a frame.
  func record(at offset: FileOffset, isBare: Bool = false) throws(StorageError) -> CommitRecord {
    let header = try frameHeader(at: offset)
    guard let length = Int(exactly: header.recordLength), offset.bytes < 1 << 62 else {
      throw .damaged(what: "frame header", offset: offset)
    }
    let position = offset &+ header.recordOffset
    let bytes = try bytes(at: position, count: length, what: "commit record")
    return try bytes.withUnsafeBytes { bytes throws(StorageError) in
      guard self.header.check(bytes) == header.recordCheck else {
        throw .damaged(what: "commit record", offset: position)
      }
      return try CommitRecord(bytes, frameOffset: offset, header: header, isBare: isBare)
    }
  }

  func record(_ link: CommitLink, isBare: Bool = false) throws(StorageError) -> CommitRecord {
    let record = try record(at: link.offset, isBare: isBare)
    guard record.number == link.number else { throw .damaged(what: "link to a commit", offset: link.offset) }
    return record
  }

  /// The record that a link of a commit names, which is an earlier one: numbers fall with each step, so that no damage makes a walk
  /// endless.
  func record(
    _ link: CommitLink, before commit: CommitRecord, isBare: Bool = false
  ) throws(StorageError) -> CommitRecord {
    let record = try record(link, isBare: isBare)
    guard record.number < commit.number else {
      throw .damaged(what: "link to a commit", offset: commit.links.own.offset)
    }
    return record
  }

  /// The bytes of a change entry, with its check verified; a large value's bytes are verified too.
  func entry(_ reference: EntryReference) throws(StorageError) -> (entry: ChangeEntry, bytes: Bytes) {
    try entry(reference, in: bytes(at: reference.offset, count: Int(reference.length), what: "change entry"))
  }

  /// As `entry`, with the entry's bytes, which may be those of a frame that is not written yet.
  func entry(
    _ reference: EntryReference, in bytes: Bytes
  ) throws(StorageError) -> (entry: ChangeEntry, bytes: Bytes) {
    counters.valueReads.add(1)
    return (try bytes.withUnsafeBytes { bytes throws(StorageError) in try checkedEntry(bytes, reference) }, bytes)
  }

  func checkedEntry(_ bytes: UnsafeRawBufferPointer, _ reference: EntryReference) throws(StorageError) -> ChangeEntry {
    var damage: StorageError { .damaged(what: "record", offset: reference.offset) }
    if bytes.count <= ChangeEntry.largeValue { return try checkedSmallEntry(bytes, reference) }
    let entry = try ChangeEntry(bytes, offset: reference.offset)
    guard entry.length == UInt64(bytes.count) else { throw damage }
    guard entry.check(bytes, header) == reference.check else { throw damage }
    let valueEnd = entry.valueStart + Int(entry.valueLength)
    let checks = UnsafeRawBufferPointer(rebasing: bytes[valueEnd...])
    for piece in 0..<entry.checksLength / 4 {
      let start = entry.valueStart + piece * ChangeEntry.largeValue
      let end = min(start + ChangeEntry.largeValue, valueEnd)
      let check = loadInteger(UInt32.self, checks, at: 4 * piece)
      guard header.check(UnsafeRawBufferPointer(rebasing: bytes[start..<end])) == check else {
        throw .damaged(what: "record", offset: reference.offset &+ UInt64(start))
      }
    }
    return entry
  }

  /// The check of a small entry covers all of it, so it comes before any look inside.
  @inline(__always)
  private func checkedSmallEntry(_ bytes: UnsafeRawBufferPointer, _ reference: EntryReference) throws(StorageError)
    -> ChangeEntry
  {
    guard header.check(bytes) == reference.check else { throw .damaged(what: "record", offset: reference.offset) }
    let entry = try ChangeEntry(bytes, offset: reference.offset)
    guard entry.length == UInt64(bytes.count) else { throw .damaged(what: "record", offset: reference.offset) }
    return entry
  }

  func change(_ reference: EntryReference) throws(StorageError) -> Change {
    let (entry, bytes) = try entry(reference)
    guard entry.kind != .attributes else { throw .damaged(what: "record", offset: reference.offset) }
    let header = try frameHeader(at: reference.offset - entry.distance)
    return Change(entry, bytes, reference, commit: header.number)
  }

  /// The value of a put.
  ///
  /// - Parameter isCopied: as in `part`.
  func value(_ reference: EntryReference, isCopied: Bool = false) throws(StorageError) -> Bytes {
    counters.valueReads.add(1)
    if header.has(.compressedValues) { return try unpackedValue(reference, isCopied: isCopied) }
    return try part(
      at: reference.offset, count: Int(reference.length), what: "change entry", isCopied: isCopied
    ) { bytes throws(StorageError) in
      // Two ways, so that of a small entry, read in place, only the range is ever stored.
      bytes.count <= ChangeEntry.largeValue
        ? try valueRange(try checkedSmallEntry(bytes, reference), reference)
        : try valueRange(try checkedEntry(bytes, reference), reference)
    }
  }

  @inline(__always)
  private func valueRange(_ entry: ChangeEntry, _ reference: EntryReference) throws(StorageError) -> Range<Int> {
    guard entry.kind != .delete, !entry.isCompressed else { throw .damaged(what: "record", offset: reference.offset) }
    return entry.valueRange
  }
}
