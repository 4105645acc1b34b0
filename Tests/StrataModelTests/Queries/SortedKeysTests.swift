import Testing

@testable import StrataModel

@Suite("Keys that are sorted")
struct SortedKeysTests {
  private static func items(_ count: Int, using random: inout SeededGenerator) -> [SortedKey] {
    (0..<count).map { number in
      let length = [0, 1, 7, 8, 9, 40, 70_000].randomElement(using: &random) ?? 1
      let bytes = (0..<min(length, number % 97 == 0 ? length : 40)).map { _ in UInt8.random(in: 0..<4, using: &random) }
      var key = KeyEncoder()
      key.append(data: bytes)
      return SortedKey(key: key.bytes, identifier: [UInt8(number >> 8), UInt8(truncatingIfNeeded: number)])
    }
  }

  private static func all(_ keys: SortedKeys) throws -> [[UInt8]] {
    var (keys, found) = (keys, [[UInt8]]())
    var walk = try keys.walk()
    while let next = try walk.next() { found.append(next) }
    return found
  }

  @Test(
    "what does not fit into memory goes through a file and comes in the same order",
    arguments: 1...4 as ClosedRange<UInt64>)
  func spilling(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let items = Self.items(3000, using: &random)
    let expected = items.sorted().map(\.identifier)
    var (small, large) = (SortedKeys(memory: 10_000), SortedKeys())
    for item in items {
      try small.add(item)
      try large.add(item)
    }
    #expect(small.runCount > 5)
    #expect(large.runCount == 0)
    #expect(try Self.all(small) == expected)
    #expect(try Self.all(large) == expected)
    let cut = items.sorted()[500]
    for (limit, offset) in [(1, 0), (20, 0), (100, 30), (2000, 0), (2500, 100), (.max, 5)] {
      for memory in [10_000, SortedKeys.memory] {
        var first = SortedKeys(limit: limit, offset: offset, memory: memory)
        var behind = SortedKeys(limit: limit, offset: offset, after: cut, memory: memory)
        for item in items {
          if first.accepts(item.key) { try first.add(item) }
          try behind.add(item)
        }
        let count = limit == .max ? items.count : limit + offset
        #expect(try Self.all(first) == Array(expected.prefix(count)))
        #expect(try Self.all(behind) == Array(expected.dropFirst(501).prefix(count)))
      }
    }
  }

  @Test("under a limit little is held, however many come")
  func bounded() throws {
    var keys = SortedKeys(limit: 20, memory: 1 << 14)
    for number in 0..<100_000 {
      let key = withUnsafeBytes(of: (UInt32(number) &* 2_654_435_761).bigEndian) { Array($0) }
      if keys.accepts(key) { try keys.add(SortedKey(key: key, identifier: [1])) }
    }
    #expect(keys.runCount == 0)
  }
}
