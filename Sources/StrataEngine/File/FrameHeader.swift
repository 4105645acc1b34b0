/// The first 64 bytes of a frame.
struct FrameHeader: Hashable, Sendable {
  static let size = 64
  static let trailerSize = 16
  static let magic: [UInt8] = [0x46, 0x72, 0x61, 0x6D]
  /// The same as a number: each frame that is read is checked for it.
  static let magicNumber: UInt32 = 0x6D61_7246
  static let knownKind: UInt32 = 1
  static let trailerMagic: [UInt8] = [0x45, 0x6E, 0x64, 0x2E]

  var number: UInt64
  var length: UInt64
  var previousOffset: FileOffset
  var previousHash: UInt32
  var recordLength: UInt32
  var changesLength: UInt64
  var nodesLength: UInt64
  var recordCheck: UInt32

  func encoded(seed: UInt32) -> [UInt8] {
    let buffer = ByteBuffer(capacity: FrameHeader.size)
    buffer.append(FrameHeader.magic)
    buffer.append(FrameHeader.knownKind)
    buffer.append(number)
    buffer.append(length)
    buffer.append(previousOffset)
    buffer.append(previousHash)
    buffer.append(recordLength)
    buffer.append(changesLength)
    buffer.append(nodesLength)
    buffer.append(recordCheck)
    buffer.append(checksum(seed, buffer.bytes))
    return [UInt8](buffer.bytes)
  }
}

extension FrameHeader {
  /// Returns nil if the bytes are not a header of a frame of this file.
  init?(_ bytes: UnsafeRawBufferPointer, seed: UInt32) {
    guard FrameHeader.kind(bytes, seed: seed) == FrameHeader.knownKind else { return nil }
    self.init(
      number: loadInteger(UInt64.self, bytes, at: 8), length: loadInteger(UInt64.self, bytes, at: 16),
      previousOffset: FileOffset(loadInteger(UInt64.self, bytes, at: 24)),
      previousHash: loadInteger(UInt32.self, bytes, at: 32), recordLength: loadInteger(UInt32.self, bytes, at: 36),
      changesLength: loadInteger(UInt64.self, bytes, at: 40), nodesLength: loadInteger(UInt64.self, bytes, at: 48),
      recordCheck: loadInteger(UInt32.self, bytes, at: 56))
    guard let sum = FrameHeader.length(changes: changesLength, nodes: nodesLength, record: recordLength), sum == length
    else { return nil }
  }

  /// The kind of the frame that begins with a header. Returns nil if the bytes are not a header of this file.
  static func kind(_ bytes: UnsafeRawBufferPointer, seed: UInt32) -> UInt32? {
    guard bytes.count >= size, loadInteger(UInt32.self, bytes, at: 0) == magicNumber,
      loadInteger(UInt32.self, bytes, at: 60) == checksum(seed, UnsafeRawBufferPointer(rebasing: bytes[..<60]))
    else { return nil }
    return loadInteger(UInt32.self, bytes, at: 4)
  }

  /// The length of a frame with parts of these lengths. Returns nil if they make no valid length.
  static func length(changes: UInt64, nodes: UInt64, record: UInt32) -> UInt64? {
    let (first, overflow) = changes.addingReportingOverflow(nodes)
    guard !overflow, first < 1 << 60 else { return nil }
    let body = first + UInt64(record)
    return UInt64(size + trailerSize) + (body + 7) / 8 * 8
  }

  /// The end of a frame whose last nonzero byte lies at an offset: a trailer may end with zeros.
  static func end(behind last: FileOffset) -> FileOffset { (last + 1).aligned(to: 8) }

  var recordOffset: UInt64 { UInt64(FrameHeader.size) &+ changesLength &+ nodesLength }
}

/// A place in the chain of frames: the last frame's offset, number and hash, and the offset of the next one.
struct ChainEnd: Hashable, Sendable {
  var offset: FileOffset
  var number: UInt64
  var hash: UInt32
  var end: FileOffset

  /// Before the first frame of a file.
  static func start(of header: FileHeader) -> ChainEnd {
    ChainEnd(offset: 0, number: header.firstNumber &- 1, hash: 0, end: header.firstFrame)
  }
}
