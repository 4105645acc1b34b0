/// Walks frames forward and tells which of them are whole.
struct FrameScanner {
  let file: DataFile

  /// Adds all the whole frames that follow to a chain; how many there were. `verifiesHash`: as for `next`.
  func advance(_ chain: inout ChainEnd, limit: FileOffset, verifiesHash: Bool) throws(StorageError) -> Int {
    var count = 0
    while let next = try next(after: chain, limit: limit, verifiesHash: verifiesHash) {
      chain = next
      count += 1
    }
    return count
  }

  /// The chain with the next frame added, or nil where no whole frame that fits lies there.
  ///
  /// `verifiesHash`: whether to read all of the frame; not needed before a durable end.
  func next(after chain: ChainEnd, limit: FileOffset, verifiesHash: Bool) throws(StorageError) -> ChainEnd? {
    let offset = chain.end
    let least = UInt64(FrameHeader.size + FrameHeader.trailerSize)
    guard offset <= limit, limit - offset >= least else { return nil }
    let seed = file.header.seed
    let bytes = try file.bytes(at: offset, count: FrameHeader.size, what: "frame header")
    guard let header = bytes.withUnsafeBytes({ FrameHeader($0, seed: seed) }), header.number > chain.number,
      header.previousOffset == chain.offset, header.length <= limit - offset,
      header.previousHash == chain.hash,
      header.length >= least
    else { return nil }
    file.counters.frameReads.addLoosely(1)
    guard let hash = try trailerHash(of: header, at: offset) else { return nil }
    if verifiesHash, try self.hash(of: header, bytes, at: offset) != hash { return nil }
    return ChainEnd(offset: offset, number: header.number, hash: hash, end: offset + header.length)
  }

  /// Whether a frame that only later programs know begins where a chain ends. Nothing must be cut off or written there.
  func hasUnknownFrame(behind chain: ChainEnd, limit: FileOffset) throws(StorageError) -> Bool {
    guard chain.end <= limit, limit - chain.end >= UInt64(FrameHeader.size) else { return false }
    let seed = file.header.seed
    return try file.bytes(at: chain.end, count: FrameHeader.size, what: "frame header").withUnsafeBytes {
      FrameHeader.isOfUnknownKind($0, seed: seed)
    }
  }

  static let unknownFrames = "it has commits of a kind that this program does not know"

  /// The hash that the trailer names, or nil where no trailer that fits the header lies there.
  func trailerHash(of header: FrameHeader, at offset: FileOffset) throws(StorageError) -> UInt32? {
    let position = offset + header.length - UInt64(FrameHeader.trailerSize)
    let bytes = try file.bytes(at: position, count: FrameHeader.trailerSize, what: "frame trailer")
    return bytes.withUnsafeBytes { bytes in
      guard bytes.prefix(4).elementsEqual(FrameHeader.trailerMagic),
        loadInteger(UInt64.self, bytes, at: 8) == header.number
      else { return nil }
      return loadInteger(UInt32.self, bytes, at: 4)
    }
  }

  /// The hash of a frame's bytes.
  func hash(of header: FrameHeader, _ headerBytes: Bytes, at offset: FileOffset) throws(StorageError) -> UInt32 {
    let end = offset + header.length - UInt64(FrameHeader.trailerSize)
    let hash = try file.hash(offset + UInt64(FrameHeader.size)..<end, from: file.header.seed)
    return headerBytes.withUnsafeBytes { checksum(hash, $0) }
  }
}

extension DataFile {
  /// The check of a run of bytes of any length.
  func hash(_ range: Range<FileOffset>, from seed: UInt32) throws(StorageError) -> UInt32 {
    var hash = seed
    var position = range.lowerBound
    while position < range.upperBound {
      let count = Int(min(1 << 20, range.upperBound - position))
      let piece = try bytes(at: position, count: count, what: "frame")
      hash = piece.withUnsafeBytes { checksum(hash, $0) }
      position += UInt64(count)
    }
    return hash
  }
}
