import CStrataHash
import DiskSimulation
import Testing

@Suite("CRC-32C")
struct HashTests {
  private func hash(_ bytes: [UInt8], seed: UInt32 = 0) -> UInt32 { strata_crc32c(seed, bytes, bytes.count) }

  @Test("the published vectors come out (RFC 3720, appendix B.4, and the catalogue's check value)")
  func publishedVectors() {
    #expect(hash(Array("123456789".utf8)) == 0xE306_9283)
    #expect(hash([]) == 0)
    #expect(hash([UInt8](repeating: 0, count: 32)) == 0x8A91_36AA)
    #expect(hash([UInt8](repeating: 0xFF, count: 32)) == 0x62A8_AB43)
    #expect(hash(Array(0..<32)) == 0x46DD_794E)
    #expect(hash((0..<32).reversed()) == 0x113F_DB5C)
  }

  @Test("the instruction and the table agree at every length, alignment and seed")
  func instructionAgreesWithTable() {
    var generator = RandomSource(seed: 1)
    let bytes = (0..<40_000).map { _ in UInt8.random(in: 0...255, using: &generator) }
    let lengths = Array(0..<1_600) + [3_071, 3_072, 12_287, 12_288, 12_289, 13_056, 24_576, 39_990]
    bytes.withUnsafeBytes { all in
      for length in lengths {
        let start = length % 9
        let part = UnsafeRawBufferPointer(rebasing: all[start..<(start + length)])
        let seed = UInt32(truncatingIfNeeded: length &* 2_654_435_761)
        #expect(
          strata_crc32c(seed, part.baseAddress, length) == strata_crc32c_portable(seed, part.baseAddress, length))
      }
    }
  }

  @Test("hashing in pieces gives what hashing at once gives")
  func pieces() {
    let bytes = (0..<9_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    for cut in [0, 1, 7, 8, 255, 768, 4_096, 8_999, 9_000] {
      #expect(hash(Array(bytes[cut...]), seed: hash(Array(bytes[..<cut]))) == hash(bytes))
    }
  }
}
