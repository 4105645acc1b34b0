import Testing

@testable import StrataEngine

/// The files of a store are the same on every processor: numbers are in little-endian order (keys' in big-endian order, so that bytes
/// compare as numbers do) and lie at any address. Here each way in and out is held against one that takes byte by byte, at each
/// alignment. What else is assumed: `LockMonitor` takes the words of its page as atomics, and pages are mapped at multiples of 4,096;
/// files that live no longer than their process (`StoredRun`) have the processor's order.
@Suite("The order of bytes, at any address")
struct ByteOrderTests {
  private static let pattern: [UInt8] = (0..<64).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ 129) }

  private func little(_ bytes: some Collection<UInt8>) -> UInt64 { bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) } }

  private func big(_ bytes: some Collection<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }

  @Test("a number is read as its bytes say", arguments: 0..<16)
  func reading(_ place: Int) {
    Self.pattern.withUnsafeBytes { bytes in
      #expect(UInt64(loadInteger(UInt16.self, bytes, at: place)) == little(Self.pattern[place..<place + 2]))
      #expect(UInt64(loadInteger(UInt32.self, bytes, at: place)) == little(Self.pattern[place..<place + 4]))
      #expect(loadInteger(UInt64.self, bytes, at: place) == little(Self.pattern[place..<place + 8]))
      #expect(FileOffset(take: bytes, at: place).bytes == little(Self.pattern[place..<place + 6]))
      let pointer = NodePointer(take: UnsafeRawBufferPointer(rebasing: bytes[place...]))
      #expect(pointer.offset.bytes == little(Self.pattern[place..<place + 6]))
      #expect(UInt64(pointer.length) == little(Self.pattern[place + 6..<place + 8]))
      #expect(UInt64(pointer.check) == little(Self.pattern[place + 8..<place + 12]))
      #expect(pointer.count == little(Self.pattern[place + 12..<place + 17]))
    }
  }

  @Test("a number is written as it is read", arguments: 0..<16)
  func writing(_ place: Int) {
    let buffer = ByteBuffer()
    for _ in 0..<place { buffer.append(byte: 0xEE) }
    buffer.append(UInt16(0x0102))
    buffer.append(UInt32(0x0304_0506))
    buffer.append(UInt64(0x0708_090A_0B0C_0D0E))
    buffer.append(EntryReference(offset: FileOffset(0x0F10_1112_1314), length: 0x1516_1718, check: 0x191A_1B1C))
    let written = Array(buffer.bytes)[place...]
    #expect(
      Array(written) == [
        2, 1, 6, 5, 4, 3, 0xE, 0xD, 0xC, 0xB, 0xA, 9, 8, 7, 0x14, 0x13, 0x12, 0x11, 0x10, 0xF,
        0x18, 0x17, 0x16, 0x15, 0x1C, 0x1B, 0x1A, 0x19,
      ])
  }

  @Test("keys are compared as their bytes are, at any two addresses")
  func comparing() {
    for left in 0..<9 {
      for right in 0..<9 {
        for count in [0, 1, 3, 4, 7, 8, 9, 17] {
          for changed in [nil] + (0..<count).map(Optional.some) {
            var other = Array(Self.pattern[left..<left + count])
            if let changed { other[changed] &+= 1 }
            let padded = [UInt8](repeating: 0, count: right) + other
            let expected = Array(Self.pattern[left..<left + count]).lexicographicallyPrecedes(other)
            let found = Self.pattern.withUnsafeBytes { one in
              padded.withUnsafeBytes { two in
                compareKeys(
                  UnsafeRawBufferPointer(rebasing: one[left..<left + count]),
                  UnsafeRawBufferPointer(rebasing: two[right...]))
              }
            }
            #expect((found < 0) == expected)
            #expect((found == 0) == (changed == nil))
          }
        }
      }
    }
  }

  @Test("a checksum is that of its bytes, at any address")
  func hashing() {
    let bytes = [UInt8]((0..<40_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
    for count in [0, 1, 7, 8, 200, 900, 13_000] {
      let sums = (0..<9).map { place in
        ([UInt8](repeating: 1, count: place) + bytes[..<count]).withUnsafeBytes {
          checksum(5, UnsafeRawBufferPointer(rebasing: $0[place...]))
        }
      }
      #expect(Set(sums) == [Self.checksumByBits(5, bytes[..<count])])
    }
  }

  /// CRC-32C as its definition has it, a bit at a time.
  private static func checksumByBits(_ seed: UInt32, _ bytes: ArraySlice<UInt8>) -> UInt32 {
    var sum = ~seed
    for byte in bytes {
      sum ^= UInt32(byte)
      for _ in 0..<8 { sum = sum >> 1 ^ (sum & 1 == 1 ? 0x82F6_3B78 : 0) }
    }
    return ~sum
  }
}
