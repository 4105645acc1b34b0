#if os(Linux)
  import Glibc
  import StrataLocks
  import Testing

  @testable import StrataEngine

  /// Memory is that of a process of its own, without pages of mapped files. The soak run takes the sizes of the promise.
  @Suite("Memory for large things")
  struct MemoryTests {
    /// Prints what the other process has measured.
    private static func tell(_ ended: ExitTest.Result?) {
      for line in String(decoding: ended?.standardOutputContent ?? [], as: UTF8.self).split(separator: "\n")
      where line.contains(" of memory") {
        print(line)
      }
    }

    private static var isSoak: Bool { getenv("STRATA_SOAK") != nil }

    @Test("a large value (in the soak run of 1 GiB) is written in pieces and read mapped with at most 64 MB")
    func largeValue() async {
      let ended = await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
        let folder = TemporaryFolder()
        let store = try FileStore.create(at: folder.store(), options: StoreOptions())
        let size: UInt64 = MemoryTests.isSoak ? 1 << 30 : 96 << 20
        let block = [UInt8](repeating: 7, count: 1 << 20)
        let peak = MemoryPeak()
        try store.change { transaction in
          try transaction.createTree(people, kind: .records)
          try transaction.put(key(1), count: size, in: people) { _, count in
            count == block.count ? block : Array(block.prefix(count))
          }
        }
        let tree = try #require(try store.head.tree(people))
        let record = try #require(try tree.find(.bytes(key(1)))?.payload.record)
        let value = try tree.value(of: record)
        #expect(value.count == Int(size))
        let written = Bytes(block)
        let isWhole = stride(from: 0, to: value.count, by: written.count).allSatisfy { start in
          let end = min(start + written.count, value.count)
          return value[start..<end] == written[0..<(end - start)]
        }
        #expect(isWhole)
        let added = peak.end()
        #expect(added <= 64 << 20, "\(added >> 20) MiB")
        print("a value of \(size >> 20) MiB: \(added >> 20) MiB of memory")
        try store.close()
      }
      Self.tell(ended)
    }

    @Test("a transaction of many changes (in the soak run of 1,000,000) takes at most twice their bytes and 64 MB")
    func manyChanges() async {
      let ended = await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
        let folder = TemporaryFolder()
        let store = try FileStore.create(at: folder.store(), options: StoreOptions())
        let count = MemoryTests.isSoak ? 1_000_000 : 40_000
        let value = [UInt8](repeating: 9, count: 100)
        let peak = MemoryPeak()
        try store.change { transaction in
          try transaction.createTree(people, kind: .records)
          for number in 0..<count {
            // Anywhere in the tree, so that nodes are as full as in ordinary use.
            let place = UInt32(truncatingIfNeeded: number &* 0x9E37_79B1)
            try transaction.put(withUnsafeBytes(of: place.bigEndian) { Array($0) }, value, in: people)
          }
        }
        let added = peak.end()
        #expect(try store.head.tree(people)?.entryCount == UInt64(count))
        #expect(added <= 2 * count * 104 + (64 << 20), "\(added >> 20) MiB")
        print("\(count) changes of 104 bytes: \(added >> 20) MiB of memory")
        try store.close()
      }
      Self.tell(ended)
    }
  }

  /// The most memory of this process that belongs to no file, beyond what it had when this was made; a thread looks all the
  /// while.
  private final class MemoryPeak: Sendable {
    private let before: Int
    private let most: Atomic<Int>
    private let hasEnded = Atomic(false)

    init() {
      before = Self.anonymousBytes
      most = Atomic(before)
      var thread = pthread_t()
      pthread_create(
        &thread, nil,
        { context in
          if let context { Unmanaged<MemoryPeak>.fromOpaque(context).takeRetainedValue().look() }
          return nil
        }, Unmanaged.passRetained(self).toOpaque())
    }

    private func look() {
      while !hasEnded.load(ordering: .relaxed) {
        most.max(Self.anonymousBytes, ordering: .relaxed)
        usleep(500)
      }
    }

    /// The bytes added.
    func end() -> Int {
      hasEnded.store(true, ordering: .relaxed)
      return most.max(Self.anonymousBytes, ordering: .relaxed).newValue - before
    }

    private static var anonymousBytes: Int {
      guard let stream = fopen("/proc/self/status", "r") else { return .max / 2 }
      defer { fclose(stream) }
      var line = [CChar](repeating: 0, count: 256)
      while fgets(&line, Int32(line.count), stream) != nil {
        let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        guard text.hasPrefix("RssAnon:") else { continue }
        return (text.split { $0 == " " || $0 == "\t" }.compactMap { Int($0) }.first ?? .max / 2048) * 1024
      }
      return .max / 2
    }
  }
#endif
