import StrataLocks
import Testing

@testable import StrataEngine

@Suite("Mappings of a file that grows")
struct MappingTests {
  /// A file that counts its mappings and its reads by call, and has no addresses beyond a limit.
  private final class CountedFile: ForwardingFile {
    let base: any DiskFile
    private let limit: Int
    let capacities = Mutex<[Int]>([])
    let reads = Mutex(0)

    init(_ base: any DiskFile, limit: Int = .max) {
      self.base = base
      self.limit = limit
    }

    func map(capacity: Int) throws(DiskError) -> (any DiskMapping)? {
      capacities.withLock { $0.append(capacity) }
      return capacity > limit ? nil : try base.map(capacity: capacity)
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(DiskError) -> Int {
      reads.withLock { $0 += 1 }
      return try base.read(into: buffer, at: offset)
    }

    func writtenParts(of range: Range<UInt64>) throws(DiskError) -> [Range<UInt64>] { try base.writtenParts(of: range) }
  }

  private static let page = 1 << 16

  private func data(_ file: CountedFile, _ sizes: MappingSizes) throws -> DataFile {
    let identity = StoreIdentity(high: 1, low: 2, generation: 1, created: 0)
    return try DataFile(
      file: file, header: FileHeader(identity: identity, seed: 7), readsMapped: true, counters: Counters(), sizes: sizes
    )
  }

  /// Writes pages that hold their number, up to one, and lets them be read.
  private func grow(_ data: DataFile, to count: Int) throws {
    for number in Int(data.end.bytes) / Self.page..<count {
      try write([UInt8](repeating: UInt8(number), count: Self.page), at: UInt64(number * Self.page), to: data.file)
    }
    data.extend(to: FileOffset(UInt64(count * Self.page)))
  }

  private func bytes(_ data: DataFile, _ number: Int) throws -> Bytes {
    try data.bytes(at: FileOffset(UInt64(number * Self.page)), count: Self.page, what: "page")
  }

  @Test("it is mapped anew to twice its size, and what was read before stays where it is")
  func growing() throws {
    let folder = TemporaryFolder()
    let file = CountedFile(try SystemDisk().open(folder.path + "/data", .create))
    let data = try data(file, MappingSizes(first: [4 * Self.page], most: 20 * Self.page))
    try grow(data, to: 4)
    let first = try bytes(data, 3)
    try grow(data, to: 5)
    try grow(data, to: 10)
    #expect(file.capacities.withLock { $0 } == [4, 10].map { $0 * Self.page })
    // The limit is not passed, and is asked for once.
    try grow(data, to: 11)
    try grow(data, to: 21)
    try grow(data, to: 22)
    #expect(file.capacities.withLock { $0 } == [4, 10, 20].map { $0 * Self.page })
    for number in 0..<20 { #expect(try bytes(data, number).withUnsafeBytes { $0.allSatisfy { $0 == UInt8(number) } }) }
    #expect(file.reads.withLock { $0 } == 0)
    #expect(try bytes(data, 21).withUnsafeBytes { $0.allSatisfy { $0 == 21 } })
    #expect(file.reads.withLock { $0 } == 1)
    #expect(first.withUnsafeBytes { $0.allSatisfy { $0 == 3 } })
  }

  @Test("bytes that were read stay readable when nothing refers to the file any more")
  func outliving() throws {
    let folder = TemporaryFolder()
    var kept: [Bytes] = []
    do {
      let file = CountedFile(try SystemDisk().open(folder.path + "/data", .create))
      let data = try data(file, MappingSizes(first: [2 * Self.page], most: .max))
      for count in [2, 5] {
        try grow(data, to: count)
        kept.append(try bytes(data, count - 1))
      }
    }
    #expect(kept[0].withUnsafeBytes { $0.allSatisfy { $0 == 1 } })
    #expect(kept[1].withUnsafeBytes { $0.allSatisfy { $0 == 4 } })
  }

  @Test("threads that exist at the same time use several lanes, and the reads that they count add up")
  func lanes() throws {
    let counters = Counters()
    let threads = 16
    let lanes = Mutex<[Int]>([])
    for _ in 0..<threads {
      try startThread {
        lanes.withLock {
          counters.nodeReads.add(3)
          $0.append(ThreadLane.current)
        }
        while lanes.withLock({ $0.count }) < threads { yieldThread() }
      }
    }
    while lanes.withLock({ $0.count }) < threads { yieldThread() }
    #expect(lanes.withLock { Set($0).count } >= threads / 4)
    #expect(counters.nodeReads.value == UInt64(3 * threads))
  }

  @Test("if the system has no addresses for more, the rest is read by calls, and it is not asked again")
  func refused() throws {
    let folder = TemporaryFolder()
    let file = CountedFile(try SystemDisk().open(folder.path + "/data", .create), limit: 4 * Self.page)
    let data = try data(file, MappingSizes(first: [8 * Self.page, 4 * Self.page], most: .max))
    for count in [4, 6, 8] { try grow(data, to: count) }
    #expect(file.capacities.withLock { $0 } == [8, 4, 12].map { $0 * Self.page })
    for number in 0..<8 { #expect(try bytes(data, number).withUnsafeBytes { $0.allSatisfy { $0 == UInt8(number) } }) }
    #expect(file.reads.withLock { $0 } == 4)
  }

  @Test("a file that is large when it is opened is mapped up to the limit")
  func large() {
    let sizes = MappingSizes(first: [1 << 27], most: 1 << 29)
    #expect(sizes.capacities(for: 0) == [1 << 27])
    #expect(sizes.capacities(for: 1 << 28) == [1 << 29])
    #expect(sizes.capacities(for: .max) == [1 << 29])
    #expect(sizes.larger(than: 1 << 29, for: .max) == nil)
    // What is asked for on Linux and macOS, as before.
    #expect(MappingSizes.platform.capacities(for: 1 << 40) == [1 << 41, 1 << 41])
    #expect(MappingSizes.platform.capacities(for: 1) == [1 << 36, 1 << 28])
  }
}
