import DiskSimulation
import Testing

@testable import StrataEngine

/// Stores whose checks are all right, and in which each inner node of a tree has the node below it for a child twice: there are two
/// ways to that one, four to the one below, and more ways to the leaf than could ever be walked.
@Suite("Nodes that share their children")
struct SharedNodesTests {
  /// The records of the tree before its second commit gave it another root.
  private static let honest = 5

  /// A store of two commits: `people`, and `people` below as many nodes as `depth` says.
  private func store(depth: UInt8, order: TreeOrder = .bytes) throws -> DiskImage {
    let disk = ImageDisk()
    let store = try FileStore.create(at: FuzzTarget.path, options: StoreOptions(), disk: disk)
    // Behind all keys, where the order is the caller's.
    let last: KeyProbe? = order == .caller ? .compare { _ in -1 } : nil
    try store.change { transaction in
      try transaction.createTree(people, kind: .records, order: order)
      for number in 0..<Self.honest {
        try transaction.put(key(number), bytes("value \(number)"), in: people, probe: last)
      }
    }
    try store.change { try $0.put(key(Self.honest), bytes("one more"), in: people, probe: last) }
    let state = store.publication.current
    try store.close()
    let data = try #require(disk.image.contents(at: FuzzTarget.path + "/data")?.array)
    let start = try #require(FrameMap(data).frames.last).nodes.upperBound

    var nodes: [UInt8] = []
    func add(_ node: [UInt8], count: UInt64) -> NodePointer {
      let offset = FileOffset(start + nodes.count)
      nodes += node
      let check = node.withUnsafeBytes { state.file.header.nodeCheck($0, at: offset) }
      return NodePointer(offset: offset, length: UInt16(node.count), check: check, count: min(count, 1 << 40 - 1))
    }
    let root = try #require(try View(commit: state.newest, file: state.file).catalogEntry(people)).root
    let forged = (1...depth).reduce(root) { child, level in
      add(Self.inner(level: level, child, key(3), child), count: 2 * child.count)
    }
    let catalog = state.newest.links.catalog
    let listing = Array(data[Int(catalog.offset)..<(Int(catalog.offset) + Int(catalog.length))])
    let newCatalog = add(try ForgedFrame.replacing(root, by: forged, in: listing), count: catalog.count)
    return FuzzTarget.image(
      of: try ForgedFrame.last(of: data, addingNodes: nodes) {
        try ForgedFrame.replacing(catalog, by: newCatalog, in: $0)
      })
  }

  /// An inner node of two children, by the letter of FORMAT.md.
  private static func inner(level: UInt8, _ left: NodePointer, _ key: [UInt8], _ right: NodePointer) -> [UInt8] {
    let ends = [17, 17 + 17 + UInt8(key.count)]
    return [1, level, 2, 0, 0, 0] + ends.flatMap { [$0, 0] } + ForgedFrame.encoded(left) + ForgedFrame.encoded(right)
      + key
  }

  private func open(_ image: DiskImage) throws -> FileStore {
    try FileStore.open(at: FuzzTarget.path, options: StoreOptions(isReadOnly: true), disk: ImageDisk(image))
  }

  @Test(
    "a difference of two states ends as damage when a tree turns out larger than its file",
    arguments: [TreeOrder.bytes, .caller])
  func differences(order: TreeOrder) throws {
    let store = try open(try store(depth: 18, order: order))
    let before = store.counts.nodeReads
    #expect {
      var cursor = try difference(store.view(at: 1), store.view(at: 2), tree: people)
      while try cursor.next() != nil {}
    } throws: { error in
      if case .damaged? = error as? StorageError { true } else { false }
    }
    #expect(store.counts.nodeReads - before < 2_000)
  }

  @Test("salvage reads each node about once, keeps what it can tell, and says that the rest cannot be reached")
  func salvage() throws {
    let disk = ImageDisk(try store(depth: 18))
    let raw = try RawStore(at: FuzzTarget.path, disk: disk)
    let survey = try FrameSurvey(of: raw.file, limit: raw.end) { _ in true }
    let target = FileStore.memory(options: StoreOptions())
    let salvage = Salvage(source: raw.file, survey: survey, target: target)
    try salvage.run { _ in true }
    #expect(raw.file.counters.nodeReads.value < 2_000)
    #expect(salvage.report.savedCommits == 2)
    #expect(salvage.report.losses.contains { if case .entries = $0.kind { $0.tree == people } else { false } })
    let tree = try #require(try target.head.tree(people))
    for number in 0...Self.honest { #expect(try tree.find(.bytes(key(number))) != nil, "\(number)") }
  }

  @Test("verification walks each node once and tells of those that are in the wrong place")
  func verification() throws {
    let report = try FileStore.verify(at: FuzzTarget.path, disk: ImageDisk(try store(depth: 250)))
    #expect(report.findings.contains { $0.problem == "its keys belong elsewhere in the tree" })
    #expect(report.nodes < 300)
  }

  @Test("whatever is done with such a store comes to an end", arguments: [TreeOrder.bytes, .caller])
  func uses(order: TreeOrder) throws { FuzzTarget.useAll(try store(depth: 250, order: order)) }
}
