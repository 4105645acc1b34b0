import DiskSimulation
import Testing

@testable import StrataEngine

/// Frames whose checks are all right, and whose parts are others than they were.
enum ForgedFrame {
  /// A store's bytes with another number, more nodes, another frame before and another record in the last frame. Slots are lost,
  /// being hints.
  static func last(
    of bytes: [UInt8], number: UInt64? = nil, previousOffset: FileOffset? = nil, addingNodes nodes: [UInt8] = [],
    _ change: ([UInt8]) throws -> [UInt8]
  ) throws -> [UInt8] {
    let frame = try #require(FrameMap(bytes).frames.last)
    let seed = bytes.withUnsafeBytes { loadInteger(UInt32.self, $0, at: 64) }
    let old = try #require(bytes[frame.header].withUnsafeBytes { FrameHeader($0, seed: seed) })
    let record = try change(Array(bytes[frame.record]))
    let parts = Array(bytes[frame.changes]) + bytes[frame.nodes] + nodes + record
    let body = parts + [UInt8](repeating: 0, count: (8 - parts.count % 8) % 8)
    let header = FrameHeader(
      number: number ?? old.number, length: UInt64(FrameHeader.size + body.count + FrameHeader.trailerSize),
      previousOffset: previousOffset ?? old.previousOffset, previousHash: old.previousHash,
      recordLength: UInt32(record.count),
      changesLength: old.changesLength, nodesLength: old.nodesLength + UInt64(nodes.count),
      recordCheck: record.withUnsafeBytes { checksum(seed, $0) }
    ).encoded(seed: seed)
    let hash = header.withUnsafeBytes { header in checksum(body.withUnsafeBytes { checksum(seed, $0) }, header) }
    let trailer = ByteBuffer()
    trailer.append(FrameHeader.trailerMagic)
    trailer.append(hash)
    trailer.append(number ?? old.number)
    var forged = Array(bytes[..<frame.header.lowerBound]) + header + body + [UInt8](trailer.bytes)
    for place in 4_096..<12_288 { forged[place] = 0 }
    return forged
  }

  /// Bytes in which a pointer to a node is another.
  static func replacing(_ old: NodePointer, by new: NodePointer, in bytes: [UInt8]) throws -> [UInt8] {
    let (old, new) = (encoded(old), encoded(new))
    let place = try #require((0...(bytes.count - old.count)).first { bytes[$0..<($0 + old.count)].elementsEqual(old) })
    return Array(bytes[..<place]) + new + bytes[(place + new.count)...]
  }

  static func encoded(_ pointer: NodePointer) -> [UInt8] {
    let buffer = ByteBuffer()
    buffer.append(pointer)
    return [UInt8](buffer.bytes)
  }
}
