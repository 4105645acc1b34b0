import CStrataBlock
import DiskSimulation
import Testing

@testable import StrataEngine

/// Blocks with guarded memory around them: a byte outside that is written is seen.
struct Block {
  var bytes: [UInt8]
  var dictionary: [UInt8]
  var length: Int

  private static let guarded = 64

  init(_ source: [UInt8], dictionary: [UInt8] = [], effort: UInt32) {
    self.dictionary = dictionary
    length = source.count
    let index = MemoryBlock(count: strata_block_index_size())
    var target = [UInt8](repeating: 0, count: source.count + source.count / 255 + 32)
    let count = target.withUnsafeMutableBufferPointer { target in
      source.withUnsafeBufferPointer { source in
        dictionary.withUnsafeBufferPointer { dictionary in
          let pointer = OpaquePointer(index.bytes.baseAddress)
          strata_block_index_make(pointer, dictionary.baseAddress, dictionary.count)
          return strata_block_compress(
            dictionary.isEmpty ? nil : pointer, dictionary.baseAddress, dictionary.count, source.baseAddress,
            source.count, target.baseAddress, target.count, effort)
        }
      }
    }
    bytes = Array(target.prefix(count))
  }

  init(bytes: [UInt8], dictionary: [UInt8] = [], length: Int) {
    (self.bytes, self.dictionary, self.length) = (bytes, dictionary, length)
  }

  /// Nil if it is malformed. Stops the test if a byte outside of the target was written.
  func decompressed(as length: Int? = nil) -> [UInt8]? {
    let length = length ?? self.length
    let memory = MemoryBlock(count: length + 2 * Self.guarded)
    memory.bytes.initializeMemory(as: UInt8.self, repeating: 0xA5)
    let target = UnsafeMutableRawBufferPointer(rebasing: memory.bytes[Self.guarded..<Self.guarded + length])
    // A copy that ends where its memory does, so that the address sanitizer sees a byte too many.
    let isRight = Bytes(bytes).withUnsafeBytes { decompress($0, with: dictionary, into: target) }
    for outside in [memory.bytes[..<Self.guarded], memory.bytes[(Self.guarded + length)...]] {
      precondition(outside.allSatisfy { $0 == 0xA5 }, "written outside of the target")
    }
    return isRight ? [UInt8](target) : nil
  }
}

@Suite("Blocks of the LZ4 format")
struct BlockTests {
  private static let mebi = 1 << 20

  private static func sources() -> [[UInt8]] {
    var random = RandomSource(seed: 1)
    func noise(_ count: Int, _ symbols: UInt8 = 255) -> [UInt8] {
      (0..<count).map { _ in UInt8.random(in: 0...symbols, using: &random) }
    }
    var sources: [[UInt8]] = [[], [7], [1, 2, 3, 4], noise(12), noise(13), noise(300), noise(70_000)]
    sources += [20, 254, 255, 270, 526, 70_000].map { [UInt8](repeating: 9, count: $0) }
    sources += [100, 5_000, 200_000].map { noise($0, 2) }
    sources += (0..<40).map { record($0) }
    return sources
  }

  static func record(_ number: Int) -> [UInt8] {
    Array(
      "{\"name\":\"city \(number)\",\"country\":\"\(number % 7)\",\"population\":\(number * 7919),\"zone\":\"Europe\"}"
        .utf8)
  }

  private static let dictionaries: [[UInt8]] = [
    [], [1], [1, 2, 3, 4, 5], (100..<700).flatMap { record($0) }.suffix(65_535), [UInt8](repeating: 9, count: 65_535),
  ]

  @Test("what is compressed comes back, with each dictionary and effort, and bytes that nothing repeats grow little")
  func roundTrips() {
    for source in Self.sources() {
      for dictionary in Self.dictionaries {
        for effort: UInt32 in [1, 2, 16] {
          let block = Block(source, dictionary: dictionary, effort: effort)
          #expect(block.decompressed() == source)
          #expect(block.bytes.count <= source.count + source.count / 255 + 2)
        }
      }
    }
  }

  @Test("16 MiB come back", arguments: [0, 1, 2])
  func large(kind: Int) {
    var random = RandomSource(seed: 3)
    let noise = (0..<Self.mebi).map { _ in UInt8.random(in: 0...255, using: &random) }
    let source: [UInt8] =
      switch kind {
      case 0: [UInt8](repeating: 1, count: 16 * Self.mebi)
      case 1: (0..<16).flatMap { _ in noise }
      default: (0..<150_000).flatMap { Self.record($0) } + noise
      }
    for effort: UInt32 in [1, 8] {
      let block = Block(source, dictionary: Self.dictionaries[3], effort: effort)
      #expect(block.decompressed() == source)
    }
  }

  @Test("records are a third as long with a dictionary of others, and not shorter without")
  func dictionary() {
    let records = (0..<100).map { Self.record($0) }
    let raw = records.reduce(0) { $0 + $1.count }
    let strong = records.reduce(0) { $0 + Block($1, dictionary: Self.dictionaries[3], effort: 16).bytes.count }
    let fast = records.reduce(0) { $0 + Block($1, dictionary: Self.dictionaries[3], effort: 1).bytes.count }
    let alone = records.reduce(0) { $0 + Block($1, effort: 16).bytes.count }
    #expect(strong * 3 < raw)
    #expect(strong <= fast && fast * 2 < raw)
    #expect(alone * 10 > raw * 9)
  }

  @Test("the same bytes give the same block, which is this one")
  func determinism() {
    let block = Block(Array("to be, or not to be, that is the question".utf8), effort: 16)
    #expect(block.bytes == Self.expected)
  }

  /// 14 literals, a match of 7 bytes 14 back, 20 literals.
  private static let expected: [UInt8] =
    [0xE3] + Array("to be, or not ".utf8) + [14, 0] + [0xF0, 5] + Array("that is the question".utf8)

  @Test("a block that another program made of the format is read")
  func foreignBlocks() {
    // Overlapping match: one literal, nineteen times again, then five literals.
    #expect(
      Block(bytes: [0x1F, 0x61, 1, 0, 0, 0x50, 1, 2, 3, 4, 5], length: 25).decompressed()
        == [UInt8](repeating: 0x61, count: 20) + [1, 2, 3, 4, 5])
    // A match that begins in the dictionary and runs on into what it makes.
    #expect(
      Block(bytes: [0x04, 2, 0, 0x00], dictionary: [1, 2, 3], length: 8).decompressed() == [2, 3, 2, 3, 2, 3, 2, 3])
    #expect(Block(bytes: [0], length: 0).decompressed() == [])
  }

  @Test(
    "malformed blocks are refused: no offset, one before the dictionary, lengths that lie, an early or a late end")
  func malformed() {
    let blocks: [[UInt8]] = [
      [], [0x10], [0x10, 1, 1], [0x10, 1, 0, 0], [0x10, 1, 5, 0, 0], [0x10, 1, 1], [0xF0], [0xF0, 255],
      [0x1F, 1, 1, 0],
      [0xF0] + [UInt8](repeating: 255, count: 5_000), [0x1F, 1, 1, 0] + [UInt8](repeating: 255, count: 5_000) + [0],
      [0x10, 1, 1, 0], [0x11, 1, 1, 0, 0, 0],
    ]
    for block in blocks { #expect(Block(bytes: block, dictionary: [1, 2, 3], length: 5).decompressed() == nil) }
  }

  @Test("every truncation, every flipped bit and every wrong length of a block reads and writes nothing outside")
  func damaged() {
    for dictionary in [Self.dictionaries[0], Self.dictionaries[3]] {
      for source in [Self.record(1), [UInt8](repeating: 9, count: 300), Self.record(5) + Self.record(6)] {
        let block = Block(source, dictionary: dictionary, effort: 16)
        for count in 0..<block.bytes.count {
          #expect(
            Block(bytes: Array(block.bytes.prefix(count)), dictionary: dictionary, length: source.count).decompressed()
              == nil)
        }
        for bit in 0..<block.bytes.count * 8 {
          var bytes = block.bytes
          bytes[bit / 8] ^= 1 << UInt8(bit % 8)
          _ = Block(bytes: bytes, dictionary: dictionary, length: source.count).decompressed()
        }
        for length in 0..<source.count { #expect(block.decompressed(as: length) == nil) }
        #expect(block.decompressed(as: source.count + 1) == nil)
      }
    }
  }

  @Test("random bytes as a block read and write nothing outside")
  func random() {
    var random = RandomSource(seed: 8)
    for _ in 0..<20_000 {
      let bytes = (0..<Int.random(in: 0...60, using: &random)).map { _ in
        [0, 1, 15, 16, 240, 255, UInt8.random(in: 0...255, using: &random)].randomElement(using: &random) ?? 0
      }
      let length = Int.random(in: 0...200, using: &random)
      _ = Block(bytes: bytes, dictionary: Self.dictionaries[2], length: length).decompressed()
    }
  }
}
