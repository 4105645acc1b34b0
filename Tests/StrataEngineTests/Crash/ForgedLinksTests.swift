import DiskSimulation
import Testing

@testable import StrataEngine

/// Bytes whose own checks are all right, and that lead to something else than they should: only verification sees that.
@Suite("Links that only look right")
struct ForgedLinksTests {
  private static let path = DamagedStore.path

  // MARK: Frames and slots

  private func integer(_ bytes: [UInt8], at place: Int) -> UInt32 {
    bytes.withUnsafeBytes { loadInteger(UInt32.self, $0, at: place) }
  }

  private func put(_ value: UInt32, at place: Int, in bytes: inout [UInt8]) {
    withUnsafeBytes(of: value.littleEndian) { for index in 0..<4 { bytes[place + index] = $0[index] } }
  }

  private func check(_ range: Range<Int>, of bytes: [UInt8], from seed: UInt32) -> UInt32 {
    bytes.withUnsafeBytes { checksum(seed, UnsafeRawBufferPointer(rebasing: $0[range])) }
  }

  private func verify(_ bytes: [UInt8], like store: DamagedStore) throws -> VerifyReport {
    var image = store.image
    let number = try #require(image.number(at: DamagedStore.data))
    image.change(number) { contents in bytes.withUnsafeBytes { contents.write($0, at: 0) } }
    return try FileStore.verify(at: Self.path, disk: ImageDisk(image))
  }

  @Test("a frame that names another hash than the frame before it has")
  func previousHash() throws {
    let store = try DamagedStore.make()
    var bytes = store.bytes
    let seed = integer(bytes, at: 64)
    let frame = try #require(FrameMap(bytes).frames.last)
    let start = frame.header.lowerBound
    bytes[start + 32] ^= 1
    put(check(start..<(start + 60), of: bytes, from: seed), at: start + 60, in: &bytes)
    let body = check(frame.header.upperBound..<frame.trailer.lowerBound, of: bytes, from: seed)
    let hash = check(frame.header, of: bytes, from: body)
    put(hash, at: frame.trailer.lowerBound + 4, in: &bytes)
    // The slots know of the new hash: nothing but the chain is wrong.
    for slot in [4_096, 8_192] {
      put(hash, at: slot + 40, in: &bytes)
      put(check(slot..<(slot + 508), of: bytes, from: seed), at: slot + 508, in: &bytes)
    }
    let problems = try verify(bytes, like: store).findings.map(\.problem)
    #expect(problems == ["it does not follow the frame before it"])
  }

  @Test("slots that name another hash than their frame has")
  func slotHash() throws {
    let store = try DamagedStore.make()
    var bytes = store.bytes
    let seed = integer(bytes, at: 64)
    for slot in [4_096, 8_192] {
      bytes[slot + 40] ^= 1
      put(check(slot..<(slot + 508), of: bytes, from: seed), at: slot + 508, in: &bytes)
    }
    let problems = try verify(bytes, like: store).findings.map(\.problem)
    #expect(problems == ["it names another frame than the file has"])
  }

  @Test("a seed computed back from a damaged header is none: with it nothing could be read")
  func wrongSeed() throws {
    let store = try DamagedStore.make()
    var bytes = store.bytes
    for place in 0..<512 { bytes[place] = 0 }
    // The header's number: its lengths stay what they were.
    bytes[16_384 + 9] ^= 4
    #expect(throws: StorageError.self) { try verify(bytes, like: store) }
  }

  // MARK: Trees

  /// What verification finds of a store whose second commit `forge` has had its hands in.
  private func findings(_ forge: (FileTransaction) throws -> Void) throws -> [VerifyFinding] {
    let disk = ImageDisk()
    let store = try FileStore.create(at: "/forged.strata", options: StoreOptions(), disk: disk)
    try store.change { transaction in
      try transaction.createTree(people, kind: .records)
      for number in 1...4 { try transaction.put(key(number), bytes("value"), in: people) }
    }
    try store.change { transaction in
      _ = try transaction.tree(people)
      try forge(transaction)
      try transaction.put(key(9), bytes("value"), in: people)
    }
    try store.close()
    return try FileStore.verify(at: "/forged.strata", disk: disk).findings
  }

  private func reference(_ number: Int, _ transaction: FileTransaction) throws -> EntryReference {
    try #require(try transaction.currentReference(of: key(number), in: people)?.entry)
  }

  /// Lets the tree's entry of a key refer to something.
  private func set(_ number: Int, to reference: EntryReference, _ transaction: FileTransaction) throws {
    try key(number).withUnsafeBytes { key in
      _ = try transaction.state.pointee.trees[0].primary.set(key, at: .bytes(key), in: transaction.file) {
        _ throws(StorageError) in .entry(reference)
      }
    }
  }

  @Test("nothing is found where nothing is forged")
  func honest() throws {
    #expect(try findings { _ in }.isEmpty)
  }

  @Test("a change that says that it replaces a version of another key")
  func replacedOfAnotherKey() throws {
    let found = try findings { transaction in
      let other = try reference(2, transaction)
      let tree = transaction.state.pointee.trees[0].entry.identifier
      let change = try key(1).withUnsafeBytes { key in
        try transaction.draft.append(ChangeEntry.Head(kind: .put, tree: tree, key: key, replaced: other), key)
      }
      transaction.supersede(change)
    }
    #expect(found.count == 1)
    #expect(found.first?.problem.hasSuffix("which is none of its key") == true, "\(found)")
  }

  @Test("an entry that refers to a change of another key")
  func entryOfAnotherKey() throws {
    let found = try findings { try set(1, to: reference(2, $0), $0) }
    #expect(found.count == 1)
    #expect(found.first?.problem.hasPrefix("an entry refers to a change of another key") == true, "\(found)")
  }

  @Test("an entry whose check is not that of the change it refers to")
  func entryWithAnotherCheck() throws {
    let found = try findings { transaction in
      var reference = try reference(2, transaction)
      reference.check ^= 1
      try set(2, to: reference, transaction)
    }
    #expect(found.map(\.what) == ["record"])
    #expect(found.first?.problem == "it is not what was written")
  }

  @Test("two pointers to one node of which one has another check")
  func pointersThatDisagree() throws {
    let found = try findings { transaction in
      var pointer = transaction.state.pointee.trees[0].entry.root
      pointer.check ^= 1
      try transaction.createTree(byAge, kind: .records)
      transaction.state.pointee.trees[1].primary = TreeEditor(
        root: TreeRoot(pointer: pointer), order: .bytes, isReferences: true)
    }
    #expect(found.contains { $0.problem == "two pointers disagree about the node" }, "\(found)")
  }
}
