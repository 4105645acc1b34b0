/// Walks frames forward and finds out which of them are whole.
struct FrameScanner {
  let file: DataFile

  /// Adds all the whole frames that follow to a chain. Returns their count. `verifiesHash`: as for `next`.
  func advance(_ chain: inout ChainEnd, limit: FileOffset, verifiesHash: Bool) throws(StorageError) -> Int {
    var count = 0
    while let next = try next(after: chain, limit: limit, verifiesHash: verifiesHash) {
      chain = next
      count += 1
    }
    return count
  }

  /// The chain with the next frame added. Returns nil if there is no whole frame that fits.
  ///
  /// `verifiesHash`: whether to read all of the frame; not needed before a durable end.
  func next(after chain: ChainEnd, limit: FileOffset, verifiesHash: Bool) throws(StorageError) -> ChainEnd? {
    guard let (header, bytes) = try header(at: chain.end, limit: limit), header.number > chain.number,
      header.previousOffset == chain.offset, header.previousHash == chain.hash
    else { return nil }
    file.counters.frameReads.add(1)
    guard let hash = try trailerHash(of: header, at: chain.end) else { return nil }
    if verifiesHash, try self.hash(of: header, bytes, at: chain.end) != hash { return nil }
    return ChainEnd(offset: chain.end, number: header.number, hash: hash, end: chain.end + header.length)
  }

  /// The header of a frame that begins at an offset and ends before a limit, and the bytes of the header. Returns nil if there is none.
  func header(
    at offset: FileOffset, limit: FileOffset
  ) throws(StorageError) -> (header: FrameHeader, bytes: Bytes)? {
    let least = UInt64(FrameHeader.size + FrameHeader.trailerSize)
    guard offset <= limit, limit - offset >= least else { return nil }
    let bytes = try file.bytes(at: offset, count: FrameHeader.size, what: "frame header")
    guard let header = bytes.withUnsafeBytes({ FrameHeader($0, seed: file.header.seed) }), header.length >= least,
      header.length <= limit - offset
    else { return nil }
    return (header, bytes)
  }

  /// Whether the last frame of a chain is in the file, by its header and the hash that its trailer names.
  func holds(_ chain: ChainEnd) throws(StorageError) -> Bool {
    guard chain.offset > 0 else { return true }
    guard let (header, _) = try header(at: chain.offset, limit: chain.end), header.number == chain.number,
      header.length == chain.end - chain.offset
    else { return false }
    return try trailerHash(of: header, at: chain.offset) == chain.hash
  }

  /// Whether a frame that only later programs know begins at the end of a chain. Nothing must be cut off or written there.
  func hasUnknownFrame(behind chain: ChainEnd, limit: FileOffset) throws(StorageError) -> Bool {
    guard chain.end <= limit, limit - chain.end >= UInt64(FrameHeader.size) else { return false }
    let bytes = try file.bytes(at: chain.end, count: FrameHeader.size, what: "frame header")
    let kind = bytes.withUnsafeBytes { FrameHeader.kind($0, seed: file.header.seed) }
    return kind.map { $0 != FrameHeader.knownKind } ?? false
  }

  static let unknownFrames = "it has commits of a kind that this program does not know"

  /// The hash that the trailer names. Returns nil if there is no trailer that fits the header.
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
    try forEachPiece(of: range, what: "frame") { piece, _ in hash = piece.withUnsafeBytes { checksum(hash, $0) } }
    return hash
  }
}
