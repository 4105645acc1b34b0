#if os(Linux)
  import Glibc
  import Testing

  @testable import StorageEngine

  /// Memory is that of a process of its own, without pages of mapped files. The soak run takes the sizes of the promise.
  @Suite("Memory for large things")
  struct MemoryTests {
    /// Bytes of memory that belong to no file, now.
    private static var anonymousBytes: Int {
      guard let stream = fopen("/proc/self/status", "r") else { return .max }
      defer { fclose(stream) }
      var line = [CChar](repeating: 0, count: 256)
      while fgets(&line, Int32(line.count), stream) != nil {
        let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        guard text.hasPrefix("RssAnon:") else { continue }
        return (text.split { $0 == " " || $0 == "\t" }.compactMap { Int($0) }.first ?? .max / 1024) * 1024
      }
      return .max
    }

    private static var isSoak: Bool { getenv("STRATA_SOAK") != nil }

    @Test("a large value (in the soak run of 1 GiB) is written in pieces and read mapped with at most 64 MB")
    func largeValue() async {
      await #expect(processExitsWith: .success) {
        let folder = TemporaryFolder()
        let store = try Store.create(at: folder.store(), options: StoreOptions())
        let size: UInt64 = MemoryTests.isSoak ? 1 << 30 : 96 << 20
        let block = [UInt8](repeating: 7, count: 1 << 20)
        let before = MemoryTests.anonymousBytes
        var most = before
        try store.change { transaction in
          try transaction.createTree(people, kind: .records)
          try transaction.put(key(1), count: size, in: people) { _, count in
            most = max(most, MemoryTests.anonymousBytes)
            return count == block.count ? block : Array(block.prefix(count))
          }
        }
        let tree = try #require(try store.head.tree(people))
        let record = try #require(try tree.find(.bytes(key(1)))?.payload.record)
        let value = try tree.value(of: record)
        most = max(most, MemoryTests.anonymousBytes)
        #expect(value.count == Int(size))
        #expect(value[value.count - 1] == 7)
        #expect(most - before <= 64 << 20, "\((most - before) >> 20) MiB")
        try store.close()
      }
    }

    @Test("a transaction of many changes (in the soak run of 1,000,000) takes at most twice their bytes and 64 MB")
    func manyChanges() async {
      await #expect(processExitsWith: .success) {
        let folder = TemporaryFolder()
        let store = try Store.create(at: folder.store(), options: StoreOptions())
        let count = MemoryTests.isSoak ? 1_000_000 : 40_000
        let value = [UInt8](repeating: 9, count: 100)
        let before = MemoryTests.anonymousBytes
        var most = before
        try store.change { transaction in
          try transaction.createTree(people, kind: .records)
          for number in 0..<count {
            // Anywhere in the tree, so that nodes are as full as in ordinary use.
            let place = UInt32(truncatingIfNeeded: number &* 0x9E37_79B1)
            try transaction.put(withUnsafeBytes(of: place.bigEndian) { Array($0) }, value, in: people)
            if number % 5_000 == 0 { most = max(most, MemoryTests.anonymousBytes) }
          }
          most = max(most, MemoryTests.anonymousBytes)
        }
        most = max(most, MemoryTests.anonymousBytes)
        #expect(try store.head.tree(people)?.count == UInt64(count))
        #expect(most - before <= 2 * count * 104 + (64 << 20), "\((most - before) >> 20) MiB")
        try store.close()
      }
    }
  }
#endif
