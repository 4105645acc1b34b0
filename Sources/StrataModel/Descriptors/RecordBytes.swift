package import StrataEngine

/// A stored record: the app's version that wrote it, then the content as its coder produced it.
///
///     05 61 6c 70 68 61  7b 22 6e 22 3a 31 7d      version "alpha", content {"n":1}
///     └┬┘└─────┬──────┘ └──────────┬─────────┘
///   length   version             content
///
/// The length is a varint (7 bits a byte, least first, the high bit set on all but the last).
package enum RecordBytes {
  /// Returns the bytes before the content. They are the same for all records of a version, so a bulk writer makes them once.
  package static func head(version: String) -> [UInt8] {
    let tag = Array(version.utf8)
    var head: [UInt8] = []
    head.reserveCapacity(tag.count + 2)
    var rest = tag.count
    while rest >= 0x80 {
      head.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    head.append(UInt8(truncatingIfNeeded: rest))
    return head + tag
  }

  package static func make(version: String, content: [UInt8]) -> [UInt8] { head(version: version) + content }

  /// Returns the range of the version and the start of the content, or nil if the bytes are not a record.
  package static func layout(_ bytes: UnsafeRawBufferPointer) -> (version: Range<Int>, content: Int)? {
    var length = 0
    var shift = 0
    for (position, byte) in bytes.prefix(4).enumerated() {
      length |= Int(byte & 0x7F) << shift
      shift += 7
      guard byte < 0x80 else { continue }
      let start = position + 1
      guard length <= bytes.count - start else { return nil }
      return (start..<(start + length), start + length)
    }
    return nil
  }

  /// Returns the bytes after the head of a record; nil if the record begins otherwise.
  package static func content(of bytes: UnsafeRawBufferPointer, after head: [UInt8]) -> UnsafeRawBufferPointer? {
    guard bytes.count >= head.count else { return nil }
    let start = UnsafeRawBufferPointer(rebasing: bytes[..<head.count])
    guard head.withUnsafeBytes({ compareKeys(start, $0) == 0 }) else { return nil }
    return UnsafeRawBufferPointer(rebasing: bytes[head.count...])
  }

  /// Returns the version and the content, which shares the record's memory.
  package static func split(_ bytes: Bytes) throws(ModelError) -> (version: String, content: Bytes) {
    guard let (version, content) = bytes.withUnsafeBytes({ layout($0) }) else {
      throw .unreadable(what: "a record", where: "its version tag is longer than the record")
    }
    let tag = bytes.withUnsafeBytes { String(decoding: UnsafeRawBufferPointer(rebasing: $0[version]), as: UTF8.self) }
    return (tag, bytes[content..<bytes.count])
  }
}
