import DiskSimulation
import Testing

@testable import StrataEngine

@Suite("Damaged and forged node deltas")
struct DamagedDeltaTests {
  @Test("a damaged base is told with every node that depends on it, and salvage goes on past them")
  func damagedBase() throws {
    let disk = MemoryDisk()
    let (store, states) = try DeltaSample.history(DeltaSample.options(), on: disk, commits: 60)
    let all = try DeltaSample.deltas(store)
    let byBase = Dictionary(grouping: all, by: \.base.offset)
    let (place, dependents) = try #require(byBase.max { $0.value.count < $1.value.count })
    #expect(dependents.count > 5)
    try store.close()
    let file = try disk.open("/store/data", .readWrite)
    var byte: [UInt8] = [0]
    _ = try byte.withUnsafeMutableBytes { try file.read(into: $0, at: place.bytes + 9) }
    try file.write([byte[0] ^ 4], at: place.bytes + 9)
    let report = try FileStore.verify(at: "/store", disk: disk)
    for dependent in dependents {
      let finding = report.findings.first { $0.what == "tree node" && $0.offset == dependent.delta.offset }
      #expect(finding?.problem == "it has patches of the tree node at byte \(place), which is not what was written")
    }
    #expect(report.findings.contains { $0.what == "tree node" && $0.offset == place })
    _ = try FileStore.salvage(from: "/store", to: "/saved", options: StoreOptions(), disk: disk)
    let saved = try FileStore.open(at: "/saved", options: StoreOptions(), disk: disk)
    #expect(try saved.head.tree(people)?.entryCount == UInt64(states.last?.count ?? 0))
  }

  @Test("every flipped bit of a delta, and of its base, is damage or harmless")
  func flippedBits() throws {
    let disk = MemoryDisk()
    let (store, _) = try DeltaSample.history(DeltaSample.options(), on: disk, commits: 30)
    let (delta, base) = try #require(try DeltaSample.deltas(store).last)
    let file = store.publication.current.file
    let right = try #require(wholeBytes(file, delta))
    try store.close()
    let data = try disk.open("/store/data", .readWrite)
    let header = try FileHeader(reading: data, path: "")
    for pointer in [delta, base] {
      for bit in 0..<Int(pointer.length) * 8 {
        let place = pointer.offset.bytes + UInt64(bit / 8)
        var byte: [UInt8] = [0]
        _ = try byte.withUnsafeMutableBytes { try data.read(into: $0, at: place) }
        try data.write([byte[0] ^ 1 << UInt8(bit % 8)], at: place)
        let damaged = try DataFile(reading: data, header, to: file.end)
        #expect(throws: StorageError.damaged(what: "tree node", offset: pointer.offset)) {
          try damaged.node(at: delta)
        }
        try data.write(byte, at: place)
      }
    }
    let mended = try DataFile(reading: data, header, to: file.end)
    #expect(wholeBytes(mended, delta) == right)
  }

  private func wholeBytes(_ file: DataFile, _ pointer: NodePointer) -> [UInt8]? {
    guard let node = try? file.node(at: pointer) else { return nil }
    return Array(UnsafeRawBufferPointer(start: node.view.base, count: node.view.length))
  }

  /// A file with a base and a delta of it, both with right checks.
  private struct Forgery {
    var base: [UInt8]
    /// What the delta has behind its pointer to the base.
    var patches: [UInt8]
    var count: UInt16
    var level: UInt8 = 0
    /// Changes the place of the base that the delta names.
    var move: (inout NodePointer) -> Void = { _ in }

    func read() throws -> Node {
      let disk = MemoryDisk()
      let file = try disk.open("/node", .create)
      let header = FileHeader(identity: StoreIdentity(high: 1, low: 2, generation: 1, created: 0), seed: 7)
      let start = FileLayout.firstFrame
      try base.withUnsafeBytes { try file.write($0, at: start) }
      var pointer = NodePointer(
        offset: start, length: UInt16(base.count), check: base.withUnsafeBytes { header.nodeCheck($0, at: start) },
        count: 0)
      move(&pointer)
      let buffer = ByteBuffer()
      buffer.append(byte: NodeDelta.form)
      buffer.append(byte: level)
      buffer.append(count)
      buffer.append(pointer)
      buffer.removeLast(to: NodeDelta.headerSize)
      buffer.append(patches)
      let place = start + UInt64(base.count)
      try file.write(buffer.bytes, at: place)
      let data = try DataFile(reading: file, header, to: place + UInt64(buffer.count))
      return try data.node(
        at: NodePointer(
          offset: place, length: UInt16(buffer.count), check: header.nodeCheck(buffer.bytes, at: place), count: 0))
    }
  }

  @Test("a malformed delta is a damaged tree node, and never a trap")
  func forged() throws {
    var random = RandomSource(seed: 1)
    let base = try DeltaSample.node(.references, [1, 2, 3], &random)
    let honest = Forgery(base: Array(base.bytes), patches: [2 << 2 | 2], count: 1)
    #expect(try honest.read().view.count == 2)
    let reference = [UInt8](repeating: 9, count: EntryReference.size)
    var forgeries: [(String, Forgery)] = []
    func add(_ what: String, _ patches: [UInt8], _ count: UInt16, _ change: (inout Forgery) -> Void = { _ in }) {
      var forgery = Forgery(base: honest.base, patches: patches, count: count)
      change(&forgery)
      forgeries.append((what, forgery))
    }
    add("too few patches", [2 << 2 | 2], 2)
    add("too many patches", [1 << 2 | 2, 2 << 2 | 2], 1)
    add("an unknown operation", [1 << 2 | 3], 1)
    add("an index behind the last cell", [3 << 2 | 2], 1)
    add("an insertion behind the end", [4 << 2 | 1, 15] + reference + [1], 1)
    add("an index without end", [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01], 1)
    add("descending indexes", [2 << 2 | 2, 1 << 2 | 2], 2)
    add("the same cell twice", [1 << 2 | 2, 1 << 2 | 2], 2)
    add("an insertion behind the removal of its cell", [1 << 2 | 2, 1 << 2 | 1, 15] + reference + [1], 2)
    add("a replacement that is too short", [1 << 2 | 0] + reference.dropLast(), 1)
    add("an insertion without a fixed part", [1 << 2 | 1, 13] + reference.dropLast(), 1)
    add(
      "an insertion of a length without end", [1 << 2 | 1, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1], 1)
    add("no cell left", [0 << 2 | 2, 1 << 2 | 2, 2 << 2 | 2], 3)
    add("another level", [2 << 2 | 2], 1) { $0.level = 1 }
    add("a base behind it", [2 << 2 | 2], 1) { $0.move = { $0.offset = $0.offset + 4_096 } }
    add("a base that overlaps it", [2 << 2 | 2], 1) { $0.move = { $0.length += 1 } }
    add("a base that it is itself", [2 << 2 | 2], 1) { $0.move = { $0.offset = $0.offset + UInt64($0.length) } }
    add("no base", [2 << 2 | 2], 1) { $0.move = { $0 = .none } }
    add("a base with another check", [2 << 2 | 2], 1) { $0.move = { $0.check ^= 1 } }
    add("a base that is shorter", [2 << 2 | 2], 1) { $0.move = { $0.length -= 1 } }
    // A delta with a right check as the base of another one.
    let delta = [NodeDelta.form, 0, 0, 0] + [UInt8](repeating: 0, count: 12)
    add("a delta of a delta", [2 << 2 | 2], 1) { $0.base = delta }
    var loose = honest.base
    loose[6] = 0xFF
    loose[7] = 0xFF
    add("a base whose cells lie outside of it", [2 << 2 | 2], 1) { $0.base = loose }
    for (what, forgery) in forgeries {
      do {
        _ = try forgery.read()
        Issue.record("\(what) is read")
      } catch StorageError.damaged(let part, _) {
        #expect(part == "tree node", "\(what)")
      }
    }
    // Any bytes at all.
    for _ in 0..<20_000 {
      let patches = (0..<Int(random.next() % 40)).map { _ in UInt8(truncatingIfNeeded: random.next() % 64) }
      let node = try? Forgery(base: honest.base, patches: patches, count: UInt16(random.next() % 4)).read()
      for index in 0..<(node?.view.count ?? 0) { _ = try node?.view.key(index) }
    }
  }
}
