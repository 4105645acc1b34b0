import CStrataHash
import DiskSimulation

@testable import StrataEngine

/// What the fuzzers do with their bytes, and the tests with the corpus: look at everything, and never trap.
enum FuzzTarget {
  static let path = "/fuzzed.strata"

  /// Bytes of a data file behind one byte that says how they are meant: bit 0, that the checks of pages and frames are made
  /// right first, so that what lies behind them is reached.
  static func file(_ input: [UInt8]) {
    guard let flags = input.first else { return }
    var data = Array(input.dropFirst())
    if flags & 1 == 1 { MendedChecks.mend(&data) }
    useAll(image(of: data))
  }

  /// A disk with a store at `path` whose data file has these bytes, and nothing else.
  static func image(of data: [UInt8]) -> DiskImage {
    var image = DiskImage()
    let folder = image.make(directory: true)
    image.link(folder, as: "fuzzed.strata", in: DiskImage.root)
    return adding(data, as: "data", to: image)
  }

  /// The disk with a file more in the store's folder.
  static func adding(_ bytes: [UInt8], as name: String, to image: DiskImage) -> DiskImage {
    var image = image
    guard let folder = image.number(at: path) else { return image }
    let file = image.make(directory: false)
    image.link(file, as: name, in: folder)
    image.change(file) { contents in bytes.withUnsafeBytes { contents.write($0, at: 0) } }
    return image
  }

  /// What came of using a store in every way.
  struct Use {
    var commits = 0
    var compactions = 0
    /// What failed, beside what each of them would find of a damaged store.
    var failures: [String] = []

    /// Does something that may fail.
    mutating func attempt(_ what: String, _ body: (inout Use) throws -> Void) {
      do { try body(&self) } catch { failures.append("\(what): \(error)") }
    }
  }

  /// Reads, writes, compacts, copies, verifies and salvages the store at `path`, each on a disk of its own.
  @discardableResult
  static func useAll(_ image: DiskImage) -> Use {
    var use = Use()
    read(ImageDisk(image))
    write(ImageDisk(image), &use)
    rebuild(ImageDisk(image), &use)
    let disk = ImageDisk(image)
    use.attempt("verify") { _ in _ = try FileStore.verify(at: path, disk: disk) }
    use.attempt("salvage") { _ in
      _ = try FileStore.salvage(from: path, to: "/saved.strata", options: StoreOptions(), disk: disk)
    }
    return use
  }

  /// Everything that a reader can ask for.
  private static func read(_ disk: ImageDisk) {
    guard let store = try? FileStore.open(at: path, options: StoreOptions(isReadOnly: true), disk: disk) else { return }
    let newest = store.head.commit.number
    for number in (newest > 32 ? newest - 32 : 0)...newest {
      if let view = try? store.view(at: number), var changes = try? view.changes() {
        while let change = try? changes.next() { _ = change }
      }
      if let view = try? store.view(at: number) { look(view) }
      _ = try? store.ancestor(of: newest, number: number)
    }
    _ = try? store.names
    _ = try? store.refresh()
    if newest > 0, let old = try? store.view(at: newest - 1) {
      for name in (try? store.head.trees()) ?? [] {
        guard var cursor = try? difference(old, store.head, tree: name) else { continue }
        while let next = try? cursor.next() { _ = next }
      }
    }
  }

  private static func look(_ view: View) {
    for name in (try? view.trees()) ?? [] {
      guard let tree = try? view.tree(name) else { continue }
      var cursor = tree.cursor()
      var seen = 0
      try? cursor.seek(rank: 0)
      while let entry = cursor.current, seen < 2_000 {
        seen += 1
        if let record = entry.payload.record {
          _ = try? tree.value(of: record)
          _ = try? tree.change(of: record)
        }
        if (try? cursor.next()) == nil { break }
      }
      _ = try? tree.rank(of: .bytes([0x6B]))
      if var versions = try? view.versions(of: .bytes(Array("key 1 k".utf8)), in: name) {
        for _ in 0..<100 { if (try? versions.next()) ?? nil == nil { break } }
      }
    }
  }

  /// Taking the turn recovers, and commits build upon what is there: changes, a fork, a restore, and trees dropped.
  private static func write(_ disk: ImageDisk, _ use: inout Use) {
    guard let store = try? FileStore.open(at: path, options: StoreOptions(), disk: disk) else {
      return use.failures.append("open")
    }
    let newest = store.publication.current.newest.number
    commit("change", to: store, &use) { transaction in
      for name in try transaction.trees().prefix(8) {
        switch try transaction.tree(name)?.kind {
        case .records:
          try transaction.put(Array("key 5".utf8), [1, 2, 3], in: name)
          try transaction.delete(Array("key 1 k".utf8), in: name)
          try transaction.setAttributes([7], of: name)
        default: try transaction.insert(Array("key 5".utf8), .none, in: name)
        }
      }
      try transaction.createTree(TreeName([0]), kind: .records, attributes: [1])
      try transaction.put([1], [1], in: TreeName([0]))
    }
    commit("fork", to: store, on: newest, &use) { try $0.createTree(TreeName([1]), kind: .entries, attributes: [2]) }
    for number in [1, newest > 0 ? newest - 1 : 0] {
      commit("restore of a tree", to: store, &use) { transaction in
        let view = try store.view(at: number)
        for name in try view.trees().prefix(2) { try transaction.restore([name], from: view) }
      }
      commit("restore", to: store, &use) { try $0.restore(nil, from: try store.view(at: number)) }
    }
    commit("drop", to: store, &use) { transaction in
      for name in try transaction.trees() { try transaction.dropTree(name) }
    }
    use.attempt("close") { _ in try store.close() }
  }

  private static func commit(
    _ what: String, to store: FileStore, on base: UInt64? = nil, _ use: inout Use,
    _ body: (FileTransaction) throws -> Void
  ) {
    use.attempt(what) { use in
      let transaction = try store.beginBlocking(on: base)
      do {
        try body(transaction)
        if let pending = try transaction.commit(CommitInfo()) {
          use.commits += 1
          try pending.wait()
        }
      } catch {
        transaction.cancel()
        throw error
      }
    }
  }

  /// Everything that makes a new file of the old one.
  private static func rebuild(_ disk: ImageDisk, _ use: inout Use) {
    guard let store = try? FileStore.open(at: path, options: StoreOptions(), disk: disk) else { return }
    use.attempt("estimate") { _ in _ = try store.compactionEstimate(.last(1)) }
    use.attempt("copy") { _ in try store.copy(to: "/copied.strata") }
    for retention in [Retention.all, .younger(1 << 62), .last(1)] {
      use.attempt("compact") { use in
        _ = try store.compact(retention)
        use.compactions += 1
      }
    }
    use.attempt("close") { _ in try store.close() }
  }

  /// Bytes as a tree's only node, with the check that they must have, walked, searched and changed.
  static func node(_ input: [UInt8]) {
    guard input.count >= NodeView.headerSize, input.count < 1 << 16, let file = dataFile(with: input) else { return }
    let count = input.withUnsafeBytes { UInt64(loadInteger(UInt16.self, $0, at: 2)) }
    let check = input.withUnsafeBytes { file.header.nodeCheck($0, at: FileLayout.firstFrame) }
    let pointer = NodePointer(
      offset: FileLayout.firstFrame, length: UInt16(input.count), check: check, count: count)
    let root = TreeRoot(pointer: pointer)
    var cursor = Cursor(file: file, root: root)
    try? cursor.seek(rank: 0)
    for _ in 0..<300 { try? cursor.next() }
    try? cursor.seek(to: .bytes([0x6B, 0x65]))
    for _ in 0..<300 { try? cursor.previous() }
    for form in [true, false] {
      var editor = TreeEditor(root: root, order: .bytes, isReferences: form)
      let key: [UInt8] = [0x6B, 0x65, 0x79]
      key.withUnsafeBytes { key in
        let reference = Payload.record(RecordReference(place: 1, length: 1, check: 1))
        _ = try? editor.set(key, at: .bytes(key), in: file) { _ throws(StorageError) in form ? reference : .none }
        _ = try? editor.remove(at: .bytes(key), in: file)
      }
    }
  }

  /// Bytes as a block, with a dictionary and a length that its first two bytes give, and as the bytes that a block is made of.
  static func block(_ input: [UInt8]) {
    guard input.count >= 2 else { return }
    let block = Array(input.dropFirst(2))
    let dictionary = [UInt8](block.prefix(Int(input[0])))
    let target = MemoryBlock(count: Int(input[1]) * 16)
    block.withUnsafeBytes { _ = decompress($0, with: dictionary, into: target.bytes) }
    let made = ValueDictionary(1, of: TreeName([1]), dictionary)
    for effort in [ValueDictionary.Effort.fast, .strong] {
      let isSame = try? block.withBytes { value throws(StorageError) in
        made.withCompressed(value, effort) { stored in
          guard let stored else { return true }
          // Behind the dictionary's number and the length.
          let start = value.count < 128 ? 2 : value.count < 16_384 ? 3 : 4
          let back = MemoryBlock(count: value.count)
          return decompress(UnsafeRawBufferPointer(rebasing: stored[start...]), with: dictionary, into: back.bytes)
            && compareBytes(UnsafeRawBufferPointer(back.bytes), value) == 0
        }
      }
      precondition(isSame == true, "what was compressed does not come back")
    }
  }

  /// Bytes as a commit's record, a change entry, a catalog entry and a lock.
  static func parts(_ input: [UInt8]) {
    input.withUnsafeBytes { bytes in
      let header = FrameHeader(
        number: input.first.map { UInt64($0 & 0x7F) } ?? 0, length: 1 << 20, previousOffset: 0, previousHash: 0,
        recordLength: UInt32(input.count), changesLength: 0, nodesLength: 0, recordCheck: 0)
      _ = try? CommitRecord(bytes, frameOffset: FileLayout.firstFrame, header: header)
      _ = try? ChangeEntry(bytes, offset: 0x4000_0000)
      _ = LockHold(bytes)
      _ = SessionBlock(bytes)
      _ = Slot(bytes, seed: 0)
    }
    _ = try? CatalogEntry(.bytes(Bytes(input)), catalogAt: 0)
  }

  private static func dataFile(with node: [UInt8]) -> DataFile? {
    let disk = ImageDisk()
    let identity = StoreIdentity(high: 1, low: 2, generation: 1, created: 0)
    guard let file = try? disk.open("/node", .create) else { return nil }
    node.withUnsafeBytes { try? file.write($0, at: FileLayout.firstFrame) }
    let header = FileHeader(identity: identity, seed: 7)
    guard let data = try? DataFile(file: file, header: header, readsMapped: false, counters: Counters())
    else { return nil }
    data.extend(to: FileLayout.firstFrame + UInt64(node.count))
    return data
  }
}

/// Makes the checks of pages and frames right, as far as the frames' lengths lead.
enum MendedChecks {
  static func mend(_ data: inout [UInt8]) {
    guard data.count >= 16_384 else { return }
    let seed = number(data, 64, 4)
    put(check(data, 0..<508, 0), at: 508, in: &data)
    for slot in [4_096, 8_192] where number(data, slot, 4) != 0 {
      put(check(data, slot..<(slot + 508), UInt32(truncatingIfNeeded: seed)), at: slot + 508, in: &data)
    }
    var place = 16_384
    var previousHash: UInt32 = 0
    while place + 80 <= data.count, data[place..<(place + 4)].elementsEqual("Fram".utf8) {
      let length = number(data, place + 16, 8)
      let record = number(data, place + 40, 8) &+ number(data, place + 48, 8) &+ 64
      let recordLength = number(data, place + 36, 4)
      guard length >= 80, length <= data.count - place, record >= 64, record <= length,
        recordLength <= length - record
      else { return }
      let recordStart = place + record
      let start = UInt32(truncatingIfNeeded: seed)
      put(previousHash, at: place + 32, in: &data)
      put(check(data, recordStart..<(recordStart + recordLength), start), at: place + 56, in: &data)
      put(check(data, place..<(place + 60), start), at: place + 60, in: &data)
      let body = check(data, (place + 64)..<(place + length - 16), start)
      previousHash = check(data, place..<(place + 64), body)
      put(previousHash, at: place + length - 12, in: &data)
      place += length
    }
  }

  private static func number(_ data: [UInt8], _ place: Int, _ count: Int) -> Int {
    Int(truncatingIfNeeded: data[place..<(place + count)].reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
  }

  private static func check(_ data: [UInt8], _ range: Range<Int>, _ seed: UInt32) -> UInt32 {
    data.withUnsafeBytes { bytes in
      let part = UnsafeRawBufferPointer(rebasing: bytes[range])
      return strata_crc32c(seed, part.baseAddress, part.count)
    }
  }

  private static func put(_ check: UInt32, at place: Int, in data: inout [UInt8]) {
    withUnsafeBytes(of: check.littleEndian) { bytes in for index in 0..<4 { data[place + index] = bytes[index] } }
  }
}
