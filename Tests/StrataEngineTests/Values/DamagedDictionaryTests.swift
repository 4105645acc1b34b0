import DiskSimulation
import Testing

@testable import StrataEngine

@Suite("Damage of compressed values and their dictionaries")
struct DamagedDictionaryTests {
  private static let path = DamagedStore.path

  private static let steps: [Step] = [
    .commit([.create(tree: 0), .create(tree: 1), .bulk(tree: 0, from: 0, count: 16, size: 40)]),
    .commit([.put(tree: 0, key: 2, size: 90), .put(tree: 1, key: 1, size: 5)]),
    .compact(.all), .commit([.put(tree: 0, key: 1, size: 80)]), .commit([.delete(tree: 0, key: 3)]), .reopen,
  ]

  private func make() throws -> (store: DamagedStore, area: DictionaryArea) {
    let store = try DamagedStore.make(Self.steps, options: .compressing)
    let header = try FileHeader(reading: try ImageDisk(store.image).open(DamagedStore.data, .read), path: Self.path)
    return (store, try #require(header.dictionaryArea))
  }

  private func newest(of disk: ImageDisk, _ path: String = path) throws -> View {
    try FileStore.open(at: path, options: StoreOptions(isReadOnly: true), disk: disk).head
  }

  @Test("each flipped bit of such a store is harmless, or told; each is noticed by verify, and none gives wrong data")
  func flippedBits() async throws {
    let (store, area) = try make()
    let offsets = store.offsets.filter { !DamagedStore.isUnused($0) }
    let failures = await store.problems(flippingBitsAt: offsets) { image, offset in
      do {
        let outcome = try DamageProbe(store: store, image: image).outcome()
        let isDictionary = area.copies.contains { ($0.bytes..<$0.bytes + area.length).contains(UInt64(offset)) }
        if isDictionary, outcome != .harmless { return "byte \(offset): \(outcome), and the other copy is whole" }
        guard offset >= 12 else { return nil }
        let report = try FileStore.verify(at: Self.path, disk: ImageDisk(image))
        return report.findings.isEmpty ? "byte \(offset) was not noticed" : nil
      } catch {
        return "byte \(offset): \(error)"
      }
    }
    #expect(failures.isEmpty, "\(failures.count) of \(offsets.count), the first: \(failures.prefix(5))")
  }

  @Test("300 random damages are harmless or told, and salvage saves what can be read", arguments: 1...3)
  func randomDamages(_ seed: Int) async throws {
    let (store, _) = try make()
    let failures = await store.problems(damagedAt: 100, seed: UInt64(seed)) { image, what in
      do {
        _ = try DamageProbe(store: store, image: image).outcome()
        let disk = ImageDisk(image)
        _ = try? FileStore.salvage(from: Self.path, to: "/library/saved.strata", options: StoreOptions(), disk: disk)
        return nil
      } catch {
        return "\(what): \(error)"
      }
    }
    #expect(failures.isEmpty, "\(failures.count), the first: \(failures.prefix(5))")
  }

  @Test("one damaged copy is reported, costs nothing, and a compaction writes both anew", arguments: [0, 1])
  func oneCopy(index: Int) throws {
    let (store, area) = try make()
    let disk = ImageDisk(store.flipping(Int(area.copies[index].bytes) + 9, 4))
    let report = try FileStore.verify(at: Self.path, disk: disk)
    #expect(
      report.findings.map(\.description) == [
        "dictionaries at byte \(area.copies[index]): they are not what was written; the other copy is whole, and a compaction writes both again"
      ])
    #expect(!report.isClean)
    let opened = try FileStore.open(at: Self.path, options: StoreOptions(), disk: disk)
    #expect(opened.openingReport.damage == nil)
    try StoreComparison.check(opened.head, store.model.state(at: store.model.newest), "newest")
    try opened.compact(.all)
    try opened.close()
    #expect(try FileStore.verify(at: Self.path, disk: disk).findings.isEmpty)
  }

  @Test("if both copies are damaged, the store opens read-only and says so, and no value is made up")
  func bothCopies() throws {
    let (store, area) = try make()
    let disk = ImageDisk(store.flipping(area.copies.map { (offset: Int($0.bytes) + 9, bits: 4) }))
    let damage = StorageError.damaged(what: "dictionaries", offset: area.offset)
    let opened = try FileStore.open(at: Self.path, options: StoreOptions(), disk: disk)
    #expect(opened.openingReport.damage == damage)
    #expect(throws: StorageError.readOnly(reason: "\(damage)")) { try opened.beginBlocking() }
    let tree = try #require(try opened.head.tree(ScriptRunner.name(0)))
    let record = try #require(try tree.find(.bytes(ScriptRunner.key(1)))?.payload.record)
    #expect(throws: damage) { try tree.value(of: record) }
    #expect(try FileStore.verify(at: Self.path, disk: disk).findings.map(\.what) == ["dictionaries", "dictionaries"])
    let saved = try FileStore.salvage(from: Self.path, to: "/library/saved.strata", options: StoreOptions(), disk: disk)
    #expect(!saved.losses.isEmpty)
  }

  @Test(
    "salvage saves all of a store whose identity page is lost, from both equal copies, or from the one that the page checks"
  )
  func lostIdentity() throws {
    let (store, area) = try make()
    let expected = store.model.state(at: store.model.newest)
    let lost = (0..<512).map { (offset: $0, bits: store.bytes[$0]) }
    // The magic stays, or it would be no store; of the rest one byte beyond the area's place is damaged.
    for image in [store.flipping(lost), store.flipping([(200, 1), (Int(area.offset.bytes) + 9, 4)])] {
      let disk = ImageDisk(image)
      let report = try FileStore.salvage(
        from: Self.path, to: "/library/saved.strata", options: StoreOptions(), disk: disk)
      #expect(report.losses.isEmpty)
      try StoreComparison.check(try newest(of: disk, "/library/saved.strata"), expected, "saved")
    }
  }

  @Test(
    "forged values are damage with a place: a wrong dictionary, length or block, more than the limit, and a tag without the feature"
  )
  func forged() throws {
    let (store, _) = try make()
    let file = try DataFile(
      reading: try ImageDisk(store.image).open(DamagedStore.data, .read),
      FileHeader(reading: try ImageDisk(store.image).open(DamagedStore.data, .read), path: Self.path),
      to: FileOffset(UInt64(store.end)))
    let block = Block(Array("abcabcabcabcabcabcabc".utf8), effort: 1).bytes
    #expect(try raw(of: [0, 21] + block, in: file)?.array == Array("abcabcabcabcabcabcabc".utf8))
    let forged: [[UInt8]] = [
      [], [0], [0, 22] + block, [0, 20] + block, [9, 21] + block, [0, 21], [0, 21, 0xF0, 255, 255],
      // 2³⁰ and 2⁶³ bytes, which nothing allocates.
      [0, 0x80, 0x80, 0x80, 0x80, 4] + block, [0] + [UInt8](repeating: 255, count: 8) + [0x7F] + block,
    ]
    for value in forged {
      #expect(throws: StorageError.self) { try raw(of: value, in: file) }
    }
    // Bit 5 of the tag, on a delete and on a large value.
    for tag: UInt8 in [0x22, 0x31, 0x41, 0x81] {
      #expect(throws: StorageError.self) {
        try [tag, 64, 1, 1, 1, 7, 7].withBytes { bytes throws(StorageError) in
          _ = try ChangeEntry(bytes, offset: 20_000)
        }
      }
    }
  }

  private func raw(of value: [UInt8], in file: DataFile) throws -> Bytes? {
    let bytes = [0x21, 64, 1, 1, UInt8(value.count), 7] + value
    let entry = try bytes.withBytes { bytes throws(StorageError) in try ChangeEntry(bytes, offset: 20_000) }
    return try file.rawValue(of: entry, Bytes(bytes), at: 20_000)
  }
}
