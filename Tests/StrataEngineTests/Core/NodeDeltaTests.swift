import DiskSimulation
import Testing

@testable import StrataEngine

/// A node that is stored as patches of the one that it replaced.
@Suite("Node deltas")
struct NodeDeltaTests {
  @Test("patches make the very bytes of the node, in every form", arguments: [1, 2, 3, 4] as [UInt8])
  func exact(form: UInt8) throws {
    let form = try #require(NodeForm(rawValue: form))
    var random = RandomSource(seed: UInt64(form.rawValue))
    var deltas = 0
    for _ in 0..<600 {
      let keys = Set((0..<Int(random.next() % 30) + 1).map { _ in Int(random.next() % 200) })
      let base = try DeltaSample.node(form, Array(keys), &random)
      let changed = FreshNode(copying: base)
      for _ in 0..<Int(random.next() % 6) {
        let view = try changed.view
        let index = Int(random.next() % UInt64(view.count))
        let operation = view.count > 1 ? random.next() % 3 : 2
        // An inner node's first cell has no key that could be set again.
        let isKept = operation == 1 && (form != .inner || index > 0)
        let known = try view.key(operation == 2 ? view.count - 1 : index)
        if operation != 2 { try changed.removeCell(at: index) }
        guard isKept || operation == 2 else { continue }
        let fixed = DeltaSample.fixed(form, &random)
        try fixed.withUnsafeBytes { fixed in
          try (isKept ? known : known + key(Int(random.next() % 1_000))).withUnsafeBytes { key in
            try changed.insertCell(at: isKept ? index : view.count, fixed: fixed, key: key)
          }
        }
      }
      let limit = [30, 128, 60_000][Int(random.next() % 3)]
      let buffer = ByteBuffer()
      let pointer = NodePointer(offset: 100, length: UInt16(base.length), check: 7, count: 0)
      guard try NodeDelta.write(changed.view, from: base.view, at: pointer, limit: limit, into: buffer) else {
        continue
      }
      deltas += 1
      #expect(buffer.count <= min(NodeDelta.headerSize + limit, changed.length * 2 / 5))
      let delta = try NodeDelta(buffer.bytes, offset: 1_048_576)
      #expect(delta.base == pointer)
      let whole = try delta.applied(to: base.view)
      #expect(compareBytes(whole.bytes, changed.bytes) == 0)
    }
    #expect(deltas > 100)
  }

  @Test("every commit reads as the model does, and verification finds nothing", arguments: [0, 64, 128, 60_000])
  func model(limit: Int) throws {
    let disk = MemoryDisk()
    let (store, states) = try DeltaSample.history(DeltaSample.options(limit), on: disk)
    try DeltaSample.expect(store, has: states)
    #expect(try DeltaSample.deltas(store).isEmpty == (limit == 0))
    for number in [1, 2, 60, states.count - 1] as [Int] {
      let view = try store.view(at: UInt64(number))
      #expect(view.commit.liveBytes == (try LiveBytes(view).count()), "commit \(number)")
    }
    try store.close()
    #expect(try FileStore.verify(at: "/store", disk: disk).findings.isEmpty)
    let again = try FileStore.open(at: "/store", options: DeltaSample.options(limit), disk: disk)
    try DeltaSample.expect(again, has: states)
  }

  @Test("a delta's base is a whole node of an earlier commit, and a small commit takes a fraction of the bytes")
  func small() throws {
    let disk = MemoryDisk()
    let (store, _) = try DeltaSample.history(DeltaSample.options(), on: disk)
    let found = try DeltaSample.deltas(store)
    #expect(found.count > 500)
    let file = store.publication.current.file
    for (delta, base) in found {
      #expect(base.offset < delta.offset)
      #expect(try file.base(of: base) == nil)
      #expect(Int(delta.length) <= NodeDelta.headerSize + NodeDelta.mostBytes)
    }
    let (whole, _) = try DeltaSample.history(DeltaSample.options(0), on: MemoryDisk())
    #expect(store.counts.nodesWritten == whole.counts.nodesWritten)
    #expect(store.counts.nodeBytesWritten * 2 < whole.counts.nodeBytesWritten)
  }

  @Test("the same work makes the same bytes")
  func deterministic() throws {
    func data() throws -> [UInt8]? {
      let disk = SimulatedDisk(seed: 3)
      let (store, _) = try DeltaSample.history(DeltaSample.options(), on: disk, commits: 40)
      try store.close()
      return disk.image.contents(at: "/store/data")?.array
    }
    let (first, second) = (try data(), try data())
    // Each simulated disk is another device, which the session block names.
    #expect(first?.dropFirst(16_384) == second?.dropFirst(16_384))
  }

  // MARK: The cache

  @Test("a node is patched once, and again after it had to make room")
  func cached() throws {
    let disk = MemoryDisk()
    let (store, states) = try DeltaSample.history(DeltaSample.options(), on: disk)
    let head = try #require(states.last)
    func patched(_ store: FileStore) throws -> UInt64 {
      let before = store.counts.nodesPatched
      for number in head.keys { #expect(try store.head.text(number) == head[number]) }
      return store.counts.nodesPatched - before
    }
    _ = try patched(store)
    #expect(try patched(store) == 0)
    try store.close()
    for size in [0, 16 * 1_000] {
      var options = DeltaSample.options()
      options.nodeCacheSize = size
      let small = try FileStore.open(at: "/store", options: options, disk: disk)
      #expect(try patched(small) > 100)
      #expect(try patched(small) > 100)
      try small.close()
    }
  }

  private func found(_ pointer: NodePointer, in cache: borrowing NodeCache) -> MemoryBlock? {
    var node: MemoryBlock?
    let bytes = cache.find(pointer, keeping: &node)
    #expect(bytes?.baseAddress == node?.bytes.baseAddress.map { UnsafeRawPointer($0) })
    return node
  }

  @Test("the cache holds no more bytes than it may, and those that are read stay longest")
  func bounded() {
    let cache = NodeCache(size: 1 << 20)
    func pointer(_ number: Int) -> NodePointer {
      NodePointer(offset: FileOffset(number * 600 + 64), length: 100, check: 1, count: 0)
    }
    var often = 0
    for number in 0..<20_000 {
      cache.insert(MemoryBlock(count: 700), at: pointer(number))
      if found(pointer(7), in: cache) != nil { often = number }
    }
    let kept = (0..<20_000).count { found(pointer($0), in: cache) != nil }
    #expect(kept * 700 <= 1 << 20 && kept * 700 > 1 << 19, "\(kept)")
    #expect(often == 19_999)
  }

  @Test("in one place, nodes of another check or length are others")
  func keyed() {
    let cache = NodeCache(size: 1 << 20)
    let (first, second) = (MemoryBlock(count: 10), MemoryBlock(count: 20))
    let pointer = NodePointer(offset: 4_096, length: 30, check: 1, count: 5)
    cache.insert(first, at: pointer)
    var other = pointer
    other.count = 6
    #expect(found(other, in: cache)?.owner === first.owner)
    other.check = 2
    #expect(found(other, in: cache) == nil)
    cache.insert(second, at: other)
    #expect(found(other, in: cache)?.owner === second.owner && found(pointer, in: cache)?.owner === first.owner)
    other.length = 31
    #expect(found(other, in: cache) == nil)
  }

  @Test("after a transaction that settled nodes and was cancelled, other nodes in the same place are read as they are")
  func cancelled() throws {
    let disk = MemoryDisk()
    let (store, states) = try DeltaSample.history(DeltaSample.options(), on: disk, commits: 20)
    func settled(_ text: String) throws -> FileTransaction {
      let transaction = try store.beginBlocking()
      for number in 0..<1_500 { try transaction.put(key(number), bytes(text), in: people) }
      try transaction.flushNodes(people)
      let tree = try #require(try transaction.tree(people))
      for number in 0..<1_500 {
        let record = try #require(try tree.find(.bytes(key(number)))?.payload.record)
        #expect(try tree.value(of: record).text == text)
      }
      return transaction
    }
    try settled("first").cancel()
    try DeltaSample.expect(store, has: states)
    let transaction = try settled("other")
    // So that the settled nodes are replaced in the frame that they lie in.
    for number in 0..<1_500 where number % 300 == 0 { try transaction.put(key(number), bytes("again"), in: people) }
    try transaction.commit()?.wait()
    for number in 0..<1_500 { #expect(try store.head.text(key(number)) == (number % 300 == 0 ? "again" : "other")) }
    for (delta, base) in try DeltaSample.deltas(store) { #expect(base.offset < delta.offset) }
    try store.close()
    #expect(try FileStore.verify(at: "/store", disk: disk).findings.isEmpty)
  }

  // MARK: Compaction

  @Test("a compaction that keeps all history never makes the file larger, and another one changes nothing")
  func keepsAll() throws {
    let disk = MemoryDisk()
    let (store, states) = try DeltaSample.history(DeltaSample.options(), on: disk)
    let before = store.dataBytes
    let report = try store.compact(.all)
    #expect(report.bytesAfter <= report.bytesBefore)
    #expect(store.dataBytes <= before)
    try DeltaSample.expect(store, has: states)
    let again = try store.compact(.all)
    #expect(again.bytesAfter == report.bytesAfter)
    try store.change { try $0.put(key(3), bytes("after"), in: people) }
    for number in [1, 2, 60, states.count - 1, states.count] {
      let view = try store.view(at: UInt64(number))
      #expect(view.commit.liveBytes == (try LiveBytes(view).count()), "commit \(number)")
    }
    try store.close()
    #expect(try FileStore.verify(at: "/store", disk: disk).findings.isEmpty)
  }

  @Test("an old store has whole nodes until a compaction switches deltas on, and again after one switches them off")
  func switched() throws {
    let disk = MemoryDisk()
    var options = DeltaSample.options()
    options.writesDeltas = false
    let (store, states) = try DeltaSample.history(options, on: disk)
    #expect(!store.has(.nodeDeltas))
    // Retention and plain compactions keep the bits that they find.
    let plain = try store.compact(.all)
    #expect(!store.has(.nodeDeltas))
    #expect(try DeltaSample.deltas(store).isEmpty)
    let switched = try store.compact(.all, switching: (.nodeDeltas, isOn: true))
    #expect(store.has(.nodeDeltas))
    #expect(switched.bytesAfter * 2 < plain.bytesAfter)
    try DeltaSample.expect(store, has: states)
    try store.change { try $0.put(key(3), bytes("after"), in: people) }
    #expect(try DeltaSample.deltas(store).contains { $0.delta.offset > store.head.commit.links.own.offset })
    #expect(try store.compact(.all, switching: (.nodeDeltas, isOn: false)).bytesAfter > switched.bytesAfter)
    #expect(!store.has(.nodeDeltas))
    #expect(try DeltaSample.deltas(store).isEmpty)
    try DeltaSample.expect(store, has: states)
    try store.close()
    #expect(try FileStore.verify(at: "/store", disk: disk).findings.isEmpty)
  }

  @Test("the oldest kept state is whole; with one kept commit, and in a copy up to a commit, all nodes are")
  func whole() throws {
    let disk = MemoryDisk()
    let (store, states) = try DeltaSample.history(DeltaSample.options(), on: disk)
    try store.copy(to: "/copy", at: 60)
    let copy = try FileStore.open(at: "/copy", options: DeltaSample.options(), disk: disk)
    #expect(try DeltaSample.deltas(copy).isEmpty)
    #expect(copy.has(.nodeDeltas))
    try DeltaSample.expect(copy, has: Array(states[...60]))
    _ = try store.compact(.last(30))
    let oldest = states.count - 30
    #expect(try DeltaSample.deltas(store).count > 50)
    let view = try store.view(at: UInt64(oldest))
    for pointer in try DeltaSample.pointers(view) { #expect(try view.file.base(of: pointer) == nil) }
    try DeltaSample.expect(store, has: states, from: oldest)
    for number in oldest..<states.count {
      let view = try store.view(at: UInt64(number))
      #expect(view.commit.liveBytes == (try LiveBytes(view).count()), "commit \(number)")
    }
    _ = try store.compact(.last(1))
    #expect(try DeltaSample.deltas(store).isEmpty)
    try DeltaSample.expect(store, has: states, from: states.count - 1)
    try store.close()
    #expect(try FileStore.verify(at: "/store", disk: disk).findings.isEmpty)
    #expect(try FileStore.verify(at: "/copy", disk: disk).findings.isEmpty)
  }
}
