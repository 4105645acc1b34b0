import DiskSimulation
@testable import StrataEngine
import Testing

/// A small store that has every kind of frame, both slots and a tail of zeros, as bytes to be damaged.
struct DamagedStore: Sendable {
  static let path = RecordedWorkload.path
  static let data = path + "/data"

  var image: DiskImage
  var model: StoreModel
  /// Where the last frame ends and the zeros begin.
  var end: Int

  var bytes: [UInt8] { image.contents(at: Self.data)?.array ?? [] }

  private static let steps: [Step] = [
    .commit([.create(tree: 0), .create(tree: 1), .put(tree: 0, key: 1, size: 30), .put(tree: 1, key: 1, size: 5)]),
    .commit([.bulk(tree: 0, from: 0, count: 14, size: 20)], info: Step.Info(setsName: "pin0")),
    .commit([.delete(tree: 0, key: 1), .put(tree: 1, key: 2, size: 40)]),
    .reopen,
    .commit([.put(tree: 0, key: 1, size: 12), .attributes(tree: 0, 20)]),
    .commit([.put(tree: 0, key: 2, size: 300)], on: .older(500)),
    .commit([.restore(tree: 0, share: 400)], info: Step.Info(removesName: "pin0")),
    .commit([.put(tree: 0, key: 9, size: 10)], info: Step.Info(merges: true)),
    .reopen,
  ]

  /// A store that was compacted: one squashed commit, what came after it, and both slots.
  static let compacted: [Step] = [
    .commit([
      .create(tree: 0), .create(tree: 1), .bulk(tree: 0, from: 0, count: 14, size: 20), .put(tree: 1, key: 1, size: 5),
    ]),
    .commit([.delete(tree: 0, key: 1), .put(tree: 0, key: 2, size: 30)]), .commit([.put(tree: 0, key: 3, size: 9)]),
    .compact(.last(2)), .commit([.put(tree: 0, key: 1, size: 12)], info: Step.Info(setsName: "pin0")), .reopen,
  ]

  static func make(
    _ steps: [Step] = DamagedStore.steps, options: StoreOptions = StoreOptions()
  ) throws -> DamagedStore {
    let workload = try RecordedWorkload.run("damaged", steps, seed: 9, options: options)
    let bytes = workload.finish.contents(at: data)?.array ?? []
    return DamagedStore(
      image: workload.finish, model: workload.model, end: FrameMap(bytes).frames.last?.trailer.upperBound ?? 0)
  }

  /// What `problem` says of copies of the store that have one bit flipped each, at these places.
  func problems(
    flippingBitsAt offsets: [Int], _ problem: @escaping @Sendable (DiskImage, Int) -> String?
  ) async -> [String] {
    await withTaskGroup(of: [String].self) { group in
      for part in 0..<2 {
        group.addTask {
          stride(from: part, to: offsets.count, by: 2).compactMap { index in
            let offset = offsets[index]
            return problem(flipping(offset, UInt8(1) << UInt8(offset % 8)), offset)
          }
        }
      }
      return await group.reduce(into: []) { $0 += $1 }
    }
  }

  /// What `problem` says of copies of the store with random damage in the frames: sectors of zeros, bytes that are others, single bits.
  func problems(
    damagedAt count: Int, seed: UInt64, _ problem: @escaping @Sendable (DiskImage, String) -> String?
  ) async -> [String] {
    var random = RandomSource(seed: seed)
    let damages = (0..<count).map { _ -> (image: DiskImage, what: String) in
      let place = Int.random(in: 16_384..<end, using: &random)
      switch Int.random(in: 0..<3, using: &random) {
      case 0:
        let start = UInt64(place / 512 * 512)
        return (changing { $0.zero(start..<start + 512) }, "zeros at \(start)")
      case 1:
        let bytes = (0..<Int.random(in: 2..<64, using: &random)).map { _ in UInt8.random(in: 1...255, using: &random) }
        let flips = bytes.enumerated().map { (offset: min(place + $0, end - 1), bits: $1) }
        return (flipping(flips), "\(bytes.count) bytes at \(place)")
      default: return (flipping(place, 1 << UInt8(place % 8)), "a bit at \(place)")
      }
    }
    return await withTaskGroup(of: [String].self) { group in
      for part in 0..<2 {
        group.addTask {
          stride(from: part, to: damages.count, by: 2).compactMap { problem(damages[$0].image, damages[$0].what) }
        }
      }
      return await group.reduce(into: []) { $0 += $1 }
    }
  }

  /// Every byte of the pages and of all frames.
  var offsets: [Int] { Array(0..<end) }

  /// Whether a byte lies in the pages outside their blocks, where nothing means anything.
  static func isUnused(_ offset: Int) -> Bool {
    ![0..<512, 4_096..<4_608, 8_192..<8_704, 12_800..<13_312].contains { $0.contains(offset) } && offset < 16_384
  }

  /// The store with one byte changed.
  func flipping(_ offset: Int, _ bits: UInt8) -> DiskImage { changing { $0.flip(offset, bits) } }

  /// The store with several bytes changed.
  func flipping(_ flips: [(offset: Int, bits: UInt8)]) -> DiskImage {
    changing { contents in for flip in flips { contents.flip(flip.offset, flip.bits) } }
  }

  /// The store with its data cut to a length.
  func cutting(to length: Int) -> DiskImage { changing { $0.truncate(to: UInt64(length)) } }

  /// The store with one byte of its lock changed.
  func flippingLock(_ offset: Int, _ bits: UInt8) -> DiskImage {
    changing(Self.path + "/lock") { $0.flip(offset, bits) }
  }

  private func changing(_ path: String = Self.data, _ body: (inout PagedBytes) -> Void) -> DiskImage {
    var image = image
    if let number = image.number(at: path) { image.change(number, body) }
    return image
  }
}

extension PagedBytes {
  fileprivate mutating func flip(_ offset: Int, _ bits: UInt8) {
    var byte: [UInt8] = [0]
    _ = byte.withUnsafeMutableBytes { read(into: $0, at: UInt64(offset)) }
    byte[0] ^= bits
    byte.withUnsafeBytes { write($0, at: UInt64(offset)) }
  }
}

/// What came of a damaged store.
enum Outcome: String, Hashable, CaseIterable {
  /// Everything is as it was.
  case harmless
  /// Opening failed, with a reason.
  case refused
  /// It opened and said what is damaged, or the damage was met and told while reading; all else was right.
  case reported
}

/// Opens damaged bytes and reads all that can be read.
struct DamageProbe {
  let store: DamagedStore
  let image: DiskImage
  /// Whether every commit is read, not the newest only.
  var readsAll = true

  /// Throws where wrong data came back, or where something is missing and nothing was said.
  func outcome() throws -> Outcome {
    let disk = ImageDisk(image)
    let opened: FileStore
    do {
      opened = try FileStore.open(at: DamagedStore.path, options: StoreOptions(isReadOnly: true), disk: disk)
    } catch {
      return .refused
    }
    var isTold = opened.openingReport.damage != nil
    let first = readsAll ? 1 : store.model.newest
    for number in first...store.model.newest where !store.model.prunable.contains(number) {
      do {
        let comparison = StoreComparison(store: opened, model: store.model)
        try comparison.checkRecord(number)
        try comparison.checkState(number)
      } catch let error as StorageError {
        guard error.tellsOfDamage else { throw Disagreement(description: "commit \(number): \(error)") }
        isTold = true
      }
    }
    do {
      try StoreComparison(store: opened, model: store.model).checkNames(store.model.newest)
    } catch is StorageError {
      isTold = true
    } catch {
      // With the newest commits gone an older one is head; that must have been said.
      guard isTold else { throw error }
    }
    return isTold ? .reported : .harmless
  }
}

extension StorageError {
  fileprivate var tellsOfDamage: Bool {
    switch self {
    case .damaged, .noSuchCommit: true
    default: false
    }
  }
}

@Suite("Damage")
struct DamageTests {
  @Test(
    "each flipped bit of a store is harmless, or told; it never traps and never gives wrong data",
    arguments: [false, true])
  func flippedBits(isCompacted: Bool) async throws {
    let store = isCompacted ? try DamagedStore.make(DamagedStore.compacted) : try DamagedStore.make()
    // What nobody reads is the same in both.
    let tail = stride(from: store.end, to: store.end + 4_000, by: 97)
    let offsets = store.offsets.filter { !isCompacted || !DamagedStore.isUnused($0) } + tail
    let (outcomes, failures) = await probe(store, offsets.count) { index in
      let image = store.flipping(offsets[index], UInt8(1) << UInt8(offsets[index] % 8))
      return DamageProbe(store: store, image: image, readsAll: !DamagedStore.isUnused(offsets[index]))
    }
    print("flipped bits: \(outcomes)")
    #expect(failures.isEmpty, "\(failures.count) failures, the first: \(failures.prefix(5))")
    #expect(Outcome.allCases.allSatisfy { outcomes[$0, default: 0] > 0 })
  }

  @Test("each truncation of a store is told and gives no wrong data", arguments: [false, true])
  func truncations(isCompacted: Bool) async throws {
    let store = isCompacted ? try DamagedStore.make(DamagedStore.compacted) : try DamagedStore.make()
    let lengths = store.offsets
    let (outcomes, failures) = await probe(store, lengths.count) {
      DamageProbe(store: store, image: store.cutting(to: lengths[$0]), readsAll: $0 % 16 == 0)
    }
    print("truncations: \(outcomes)")
    #expect(failures.isEmpty, "\(failures.count) failures, the first: \(failures.prefix(5))")
    #expect(outcomes[.harmless] == nil, "a cut before the end of the last frame takes something away")
  }

  @Test("a lock that is damaged, cut off or gone takes nothing away, and the next writer goes on")
  func lock() async throws {
    let store = try DamagedStore.make()
    let size = store.image.contents(at: DamagedStore.path + "/lock")?.array.count ?? 0
    #expect(size == 512)
    let (outcomes, failures) = await probe(store, size * 8) {
      DamageProbe(store: store, image: store.flippingLock($0 / 8, UInt8(1) << UInt8($0 % 8)), readsAll: $0 % 64 == 0)
    }
    #expect(failures.isEmpty, "\(failures.count) failures, the first: \(failures.prefix(5))")
    #expect(outcomes == [.harmless: size * 8])
    for offset in stride(from: 0, to: size, by: 16) {
      let disk = ImageDisk(store.flippingLock(offset, 1))
      let writer = try FileStore.open(at: DamagedStore.path, options: StoreOptions(), disk: disk)
      let transaction = try writer.beginBlocking()
      #expect(transaction.base.number == store.model.head)
      transaction.cancel()
      try writer.close()
    }
  }

  @Test(
    "where the newest commit's record, or that of its head, is damaged, the store opens read-only at the commit before")
  func newestRecord() throws {
    let store = try DamagedStore.make([
      .commit([.create(tree: 0), .put(tree: 0, key: 1, size: 30)]), .commit([.put(tree: 0, key: 2, size: 30)]),
      .commit([.put(tree: 0, key: 3, size: 30)]), .commit([.put(tree: 0, key: 4, size: 30)], on: .older(500)),
    ])
    // The head is #3; #4 lies beside it.
    for (number, seen) in [(4, 3), (3, 2)] as [(Int, UInt64)] {
      let record = FrameMap(store.bytes).frames[number - 1].record
      let disk = ImageDisk(store.flipping(record.lowerBound + record.count / 2, 255))
      let opened = try FileStore.open(at: DamagedStore.path, options: StoreOptions(), disk: disk)
      #expect(opened.head.commit.number == seen)
      let damage = StorageError.damaged(what: "commit record", offset: FileOffset(record.lowerBound))
      #expect(opened.openingReport.damage == damage)
      #expect(opened.openingReport.notes == ["\(damage); the store can be read up to commit #\(seen)"])
      #expect(throws: StorageError.readOnly(reason: "\(damage)")) { try opened.beginBlocking() }
      try StoreComparison.check(opened.head, store.model.state(at: seen), "commit \(seen)")
    }
  }

  @Test(
    "a writer that finds damage in what another one made durable says so, and cuts nothing, also if both slots are lost",
    arguments: [false, true])
  func durableFrame(losesSlots: Bool) throws {
    let disk = SimulatedDisk(RecordedWorkload.emptyLibrary, seed: 26)
    let other = try FileStore.create(at: DamagedStore.path, options: StoreOptions(), disk: disk)
    try other.change { try $0.createTree(people, kind: .records) }
    // Knows of the first commit only.
    let store = try FileStore.open(at: DamagedStore.path, options: StoreOptions(), disk: disk)
    for number in 0..<3 { try other.change { try $0.put(key(number), bytes("x"), in: people) } }
    try other.close()
    let whole = try #require(disk.image.contents(at: DamagedStore.data)?.array)
    let frame = FrameMap(whole).frames[2]
    let place = frame.record.lowerBound
    try write([~whole[place]], at: UInt64(place), to: try disk.open(DamagedStore.data, .readWrite))
    for slot in FileLayout.slotOffsets where losesSlots {
      let zeros = [UInt8](repeating: 0, count: StoredBlock.size)
      try write(zeros, at: slot.bytes, to: try disk.open(DamagedStore.data, .readWrite))
    }
    let damaged = disk.image.contents(at: DamagedStore.data)?.array

    let damage = StorageError.damaged(what: "frame", offset: FileOffset(frame.header.lowerBound))
    #expect(throws: damage) { try store.beginBlocking() }
    #expect(disk.image.contents(at: DamagedStore.data)?.array == damaged)
  }

  private func probe(
    _ store: DamagedStore, _ count: Int, _ probe: @escaping @Sendable (Int) -> DamageProbe
  ) async -> ([Outcome: Int], [String]) {
    await withTaskGroup(of: ([Outcome: Int], [String]).self) { group in
      for part in 0..<4 {
        group.addTask {
          var outcomes: [Outcome: Int] = [:]
          var failures: [String] = []
          for index in stride(from: part, to: count, by: 4) {
            do {
              outcomes[try probe(index).outcome(), default: 0] += 1
            } catch {
              failures.append("\(index): \(error)")
            }
          }
          return (outcomes, failures)
        }
      }
      return await group.reduce(into: ([:], [])) { all, part in
        all.0.merge(part.0, uniquingKeysWith: +)
        all.1 += part.1
      }
    }
  }
}
