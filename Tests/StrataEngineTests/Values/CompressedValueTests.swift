import DiskSimulation
import Testing

@testable import StrataEngine

extension StoreOptions {
  /// Each compaction compresses all trees of records, however small.
  static var compressing: StoreOptions {
    var options = StoreOptions()
    options.compresses = { _, _ in true }
    options.leastCompressedBytes = 64
    return options
  }

  /// A compaction stores all values raw.
  static var plain: StoreOptions {
    var options = StoreOptions()
    options.compresses = { _, _ in false }
    return options
  }
}

@Suite("Compressed values")
struct CompressedValueTests {
  private static let path = RecordedWorkload.path
  private static let cities = TreeName(Array("cities".utf8))

  private static let steps: [Step] = [
    .commit([.create(tree: 0), .create(tree: 1), .bulk(tree: 0, from: 0, count: 30, size: 60)]),
    .commit([.put(tree: 0, key: 2, size: 300), .put(tree: 1, key: 1, size: 5)], info: Step.Info(setsName: "pin0")),
    .compact(.all), .commit([.put(tree: 0, key: 3, size: 90), .delete(tree: 0, key: 1)]),
    .commit([.put(tree: 0, key: 1, size: 200)]), .reopen,
  ]

  private func create(on disk: any Disk, _ options: StoreOptions = .compressing) throws -> FileStore {
    try FileStore.create(at: Self.path, options: options, disk: disk)
  }

  private func library() throws -> SimulatedDisk {
    SimulatedDisk(RecordedWorkload.emptyLibrary, seed: 51)
  }

  private static func key(_ number: Int) -> [UInt8] { [UInt8(number >> 8), UInt8(number & 255)] }

  /// A store with records that repeat each other's members.
  private func filled(_ disk: any Disk, count: Int = 400, _ options: StoreOptions = .compressing) throws -> FileStore {
    let store = try create(on: disk, options)
    try store.change { transaction in
      try transaction.createTree(Self.cities, kind: .records)
      for number in 0..<count { try transaction.put(Self.key(number), BlockTests.record(number), in: Self.cities) }
    }
    return store
  }

  private func expectCities(_ store: FileStore, count: Int = 400) throws {
    let tree = try #require(try store.head.tree(Self.cities))
    #expect(try tree.count == UInt64(count))
    for number in 0..<count {
      let record = try #require(try tree.find(.bytes(Self.key(number)))?.payload.record)
      #expect(try tree.value(of: record).array == BlockTests.record(number))
    }
  }

  private func header(_ disk: any Disk) throws -> FileHeader {
    try FileHeader(reading: try disk.open(Self.path + "/data", .read), path: Self.path)
  }

  // MARK: Switching

  @Test("a compaction compresses the values, later puts are compressed too, and another one without writes them raw")
  func onAndOff() throws {
    let disk = try library()
    let store = try filled(disk)
    #expect(try !header(disk).has(.compressedValues))
    let before = try store.compact(.last(1)).bytesAfter
    #expect(try header(disk).has(.compressedValues))
    let tree = try #require(try store.head.tree(Self.cities))
    #expect(try #require(try tree.compressedShare()) < 0.4)
    try expectCities(store)
    try store.change { try $0.put(Self.key(1), BlockTests.record(900), in: Self.cities) }
    let view = store.head
    let put = try #require(try view.tree(Self.cities)?.find(.bytes(Self.key(1)))?.payload.record)
    #expect(try view.value(of: put).array == BlockTests.record(900))
    #expect(put.length < 90)
    try store.change { try $0.put(Self.key(1), BlockTests.record(1), in: Self.cities) }
    try store.close()

    let plain = try FileStore.open(at: Self.path, options: .plain, disk: disk)
    let after = try plain.compact(.last(1)).bytesAfter
    #expect(after > before)
    #expect(try !header(disk).has(.compressedValues))
    #expect(try header(disk).firstFrame == FileLayout.firstFrame)
    #expect(try plain.head.tree(Self.cities)?.compressedShare() == nil)
    try expectCities(plain)
    try plain.close()
    #expect(try FileStore.verify(at: Self.path, disk: disk).findings.isEmpty)
  }

  @Test(
    "without a wish, a compaction, a copy and a store that takes commits of others keep what they find",
    arguments: [true, false])
  func kept(isCompressed: Bool) throws {
    let disk = try library()
    var store = try filled(disk, isCompressed ? .compressing : .plain)
    try store.compact(.all)
    try store.close()
    var options = StoreOptions()
    options.leastCompressedBytes = 64
    store = try FileStore.open(at: Self.path, options: options, disk: disk)
    try store.compact(.last(1))
    #expect(try header(disk).has(.compressedValues) == isCompressed)
    try store.admitCommitsOfOthers()
    let both = StoreFeature.commitsOfOthers.rawValue | StoreFeature.nodeDeltas.rawValue
    #expect(try header(disk).requiredFeatures == both | (isCompressed ? StoreFeature.compressedValues.rawValue : 0))
    try expectCities(store)
    try store.copy(to: "/library/copy.strata")
    let copy = try FileStore.open(at: "/library/copy.strata", options: StoreOptions(), disk: disk)
    #expect((copy.publication.current.file.dictionaries != nil) == isCompressed)
    try expectCities(copy)
  }

  @Test(
    "a file without compressed values has no byte of them, and a tree that is too small or not wanted has no dictionary"
  )
  func unwanted() throws {
    let disk = try library()
    var options = StoreOptions.compressing
    options.leastCompressedBytes = 1 << 20
    let store = try filled(disk, options)
    try store.compact(.all)
    let bytes = try #require(disk.image.contents(at: Self.path + "/data")?.array)
    #expect(bytes[16] & 1 == 0 && bytes[80..<508].allSatisfy { $0 == 0 })
    #expect(bytes[16_384..<16_388].elementsEqual("Fram".utf8))
    #expect(FrameMap(bytes).frames.count == 1)
  }

  @Test("a program that does not know a feature refuses the store and names it")
  func oldProgram() {
    let error = StorageError.newerFormat(version: 1, requiredFeatures: StoreFeature.compressedValues.rawValue)
    #expect("\(error)" == "the store needs features (compressed values) that this program does not know")
    #expect(FileHeader.knownFeatures & 0b11 == 1)
  }

  @Test("values that do not become shorter, and those of more than 1 MiB, are stored as they are")
  func rawValues() throws {
    let disk = try library()
    let store = try filled(disk)
    try store.compact(.all)
    var random = RandomSource(seed: 2)
    let noise = (0..<500).map { _ in UInt8.random(in: 0...255, using: &random) }
    let values: [[UInt8]] = [
      [], [1], noise, [UInt8](repeating: 3, count: 1 << 20), [UInt8](repeating: 3, count: 1 << 20 | 1),
    ]
    try store.change { transaction in
      for (number, value) in values.enumerated() { try transaction.put([9, UInt8(number)], value, in: Self.cities) }
    }
    let tree = try #require(try store.head.tree(Self.cities))
    let records = try values.indices.map { try #require(try tree.find(.bytes([9, UInt8($0)]))?.payload.record) }
    for (record, value) in zip(records, values) { #expect(try tree.value(of: record).array == value) }
    #expect(records[2].length > 500 && records[3].length < 6_000 && records[4].length > 1 << 20)
    try store.compact(.all)
    let again = try #require(try store.head.tree(Self.cities))
    for (number, value) in values.enumerated() {
      let record = try #require(try again.find(.bytes([9, UInt8(number)]))?.payload.record)
      #expect(try again.value(of: record).array == value)
    }
  }

  @Test(
    "a transaction reads its own compressed values, and equal values are equal before and after they are compressed")
  func sameness() throws {
    let disk = try library()
    let store = try filled(disk)
    let raw = store.head
    try store.compact(.all)
    var cursor = try difference(raw, store.head, tree: Self.cities)
    #expect(try cursor.next() == nil)
    let transaction = try store.beginBlocking()
    try transaction.put(Self.key(7), BlockTests.record(77), in: Self.cities)
    let tree = try #require(try transaction.tree(Self.cities))
    let record = try #require(try tree.find(.bytes(Self.key(7)))?.payload.record)
    #expect(try tree.value(of: record).array == BlockTests.record(77))
    transaction.cancel()
  }

  @Test("a compaction keeps the dictionaries, compresses again what was put since, and copies the rest as it is")
  func again() throws {
    let disk = try library()
    let store = try filled(disk)
    func lengths() throws -> [UInt32] {
      let tree = try #require(try store.head.tree(Self.cities))
      return try [7, 8].map { try #require(try tree.find(.bytes(Self.key($0)))?.payload.record).length }
    }
    try store.compact(.last(1))
    let dictionaries = store.publication.current.file.dictionaries
    let strong = try lengths()
    try store.change { try $0.put(Self.key(7), BlockTests.record(7) + [32], in: Self.cities) }
    let quick = try lengths()
    #expect(quick[0] > strong[0] && quick[1] == strong[1])
    for _ in 0..<2 {
      try store.compact(.last(1))
      let new = try lengths()
      #expect(new[0] < quick[0] && new[1] == strong[1])
      #expect(store.publication.current.file.dictionaries == dictionaries)
    }
    try store.change { try $0.put(Self.key(7), BlockTests.record(7), in: Self.cities) }
    try expectCities(store)
    // A tree that has grown much gets a longer one.
    try store.change { transaction in
      for number in 400..<4_000 { try transaction.put(Self.key(number), BlockTests.record(number), in: Self.cities) }
    }
    try store.compact(.last(1))
    #expect(store.publication.current.file.dictionaries != dictionaries)
    try expectCities(store, count: 4_000)
    try store.close()
    #expect(try FileStore.verify(at: Self.path, disk: disk).findings.isEmpty)
  }

  // MARK: Histories

  @Test(
    "every commit of a random history with compactions between holds what the model holds",
    arguments: [11, 12, 13, 62, 63, 64])
  func everyCommit(_ seed: Int) throws {
    let disk = ImageDisk()
    var runner = try ScriptRunner(creating: "/model.strata", on: disk, options: .compressing)
    try runner.run(.random(seed: UInt64(seed), count: 80, compacts: true, mixes: seed % 2 == 0))
    let newest = runner.model.newest
    let open = StoreComparison(store: runner.store, model: runner.model)
    #expect(try open.checkAll(promised: newest) == newest)
    try open.checkBytes()
    // The model takes a tree that was made anew for the one before, whose records have another past.
    if seed % 2 == 1 {
      for number in Set([runner.model.head, newest]) { try open.checkVersions(from: number) }
    }
    try runner.store.close()
    let again = try FileStore.open(at: "/model.strata", options: StoreOptions(readsMapped: false), disk: disk)
    #expect(again.publication.current.file.dictionaries != nil)
    #expect(try StoreComparison(store: again, model: runner.model).checkAll(promised: newest) == newest)
    let report = try FileStore.verify(at: "/model.strata", disk: disk)
    #expect(report.findings.isEmpty, "\(report.findings.prefix(3))")
  }

  @Test("every promised commit survives every power cut, also while values are being compressed")
  func powerCuts() async throws {
    var run = PowerCutRun()
    let random: [Step] = .random(seed: 70, count: 24, compacts: true)
    for (index, steps) in [Self.steps, random].enumerated() {
      let workload = try RecordedWorkload.run("compressed \(index)", steps, seed: UInt64(index), options: .compressing)
      await run.add(workload, seed: UInt64(index), recoveryStride: 120)
    }
    print(run.table)
    #expect(run.failures.isEmpty, "\(run.failures.count) failures, the first: \(run.failures.prefix(5))")
    #expect(run.total >= 300)
  }

  @Test("a compaction goes on only if it would write the same dictionaries")
  func resumed() throws {
    for isSame in [true, false] {
      let disk = try library()
      var options = StoreOptions.compressing
      options.compactionSyncDistance = 512
      var store = try filled(disk, options)
      for number in 0..<8 {
        try store.change { try $0.put(Self.key(number), BlockTests.record(number + 500), in: Self.cities) }
      }
      #expect(throws: StorageError.cancelled) { try store.compact(.all) { $0.commitsDone < 4 } }
      try store.close()
      if !isSame { options.compresses = { _, _ in false } }
      store = try FileStore.open(at: Self.path, options: options, disk: disk)
      var first: Int?
      try store.compact(.all) { progress in
        first = first ?? progress.commitsDone
        return true
      }
      let taken = try #require(first)
      #expect((taken >= 4) == isSame)
      #expect(try header(disk).has(.compressedValues) == isSame)
      for number in 0..<8 {
        try store.change { try $0.put(Self.key(number), BlockTests.record(number), in: Self.cities) }
      }
      try expectCities(store)
      try store.close()
      #expect(try FileStore.verify(at: Self.path, disk: disk).findings.isEmpty)
    }
  }
}
