import DiskSimulation
import Testing

@testable import StrataEngine

/// What the lock file tells of a writer that was killed: up to where its commits had been reported durable.
@Suite("Killed sessions")
struct KilledSessionTests {
  private static let path = DamagedStore.path
  private static let data = DamagedStore.data
  private static let salvaged = "/library/saved.strata"

  private var options: StoreOptions {
    var options = StoreOptions()
    // A slot that is written after idleness would tell how far the file goes.
    options.idleSeconds = 1e6
    return options
  }

  /// What a store of so many commits leaves when its writer is killed, and after some more that were written and not synced.
  private func killed(_ durable: Int = 10, unsynced: Int = 0) throws -> (image: DiskImage, frames: [FrameMap.Frame]) {
    let disk = SimulatedDisk(RecordedWorkload.emptyLibrary, seed: 51)
    let store = try FileStore.create(at: Self.path, options: options, disk: disk)
    try store.change(CommitInfo(action: "commit 1")) { try $0.createTree(people, kind: .records) }
    for number in 2...durable { try put(number, store) }
    for number in durable + 1..<durable + 1 + unsynced {
      let transaction = try store.beginBlocking()
      try transaction.put(key(number), bytes("\(number)"), in: people)
      _ = try transaction.commit(CommitInfo(action: "commit \(number)", durability: .collated))
    }
    let image = disk.image
    return (image, FrameMap(image.contents(at: Self.data)?.array ?? []).frames)
  }

  private func put(_ number: Int, _ store: FileStore) throws {
    try store.change(CommitInfo(action: "commit \(number)")) {
      try $0.put(key(number), bytes("\(number)"), in: people)
    }
  }

  private func changing(_ image: DiskImage, _ path: String = data, _ body: (inout PagedBytes) -> Void) -> DiskImage {
    var image = image
    if let number = image.number(at: path) { image.change(number, body) }
    return image
  }

  private func flipping(_ offset: Int, in image: DiskImage) -> DiskImage {
    changing(image) { contents in
      let byte = contents.array[offset] ^ 16
      withUnsafeBytes(of: byte) { contents.write($0, at: UInt64(offset)) }
    }
  }

  private func middle(_ frame: FrameMap.Frame) -> Int { (frame.changes.lowerBound + frame.trailer.lowerBound) / 2 }

  // MARK: Damage

  @Test(
    "a flipped bit in any commit that was reported durable is damage after a kill too: nothing is cut and nothing written over it"
  )
  func promised() throws {
    let (image, frames) = try killed()
    for frame in frames {
      for place in [frame.header.lowerBound + 9, middle(frame), frame.trailer.upperBound - 3] {
        let disk = SimulatedDisk(flipping(place, in: image))
        let store = try FileStore.open(at: Self.path, options: options, disk: disk)
        let damage = try #require(store.openingReport.damage, "commit \(frame.number)")
        #expect(store.head.commit.number == frame.number - 1)
        #expect(store.openingReport.notes.last?.contains("reported durable") == true)
        #expect(throws: StorageError.readOnly(reason: "\(damage)")) { try put(99, store) }
        let names = try disk.list(Self.path).sorted()
        #expect(names == ["data", "lock"])
        let report = try FileStore.verify(at: Self.path, disk: disk)
        #expect(!report.isClean, "commit \(frame.number), byte \(place)")
        #expect(disk.record.isEmpty)
      }
    }
  }

  @Test("what is left behind such damage is salvaged")
  func salvage() throws {
    let (image, frames) = try killed()
    let disk = ImageDisk(flipping(middle(frames[4]), in: image))
    let report = try FileStore.salvage(from: Self.path, to: Self.salvaged, options: options, disk: disk)
    #expect(report.savedCommits >= 9)
    let saved = try FileStore.open(at: Self.salvaged, options: options, disk: disk)
    for number in 2...10 where number != 5 { #expect(try saved.head.text(key(number)) == "\(number)") }
  }

  @Test("an open store that takes the lock after the writer was killed finds the damage as well")
  func foundByAnother() throws {
    let disk = SimulatedDisk(RecordedWorkload.emptyLibrary, seed: 52)
    let writer = try FileStore.create(at: Self.path, options: options, disk: disk)
    try writer.change { try $0.createTree(people, kind: .records) }
    let other = ImageDisk(disk.image)
    let reader = try FileStore.open(at: Self.path, options: options, disk: other)
    for number in 2...6 { try put(number, writer) }
    // The other one's file and lock become what the killed writer has left, in the same places.
    for name in ["/data", "/lock"] {
      let bytes = disk.image.contents(at: Self.path + name)?.array ?? []
      try other.open(Self.path + name, .readWrite).write(bytes, at: 0)
    }
    let frame = FrameMap(disk.image.contents(at: Self.data)?.array ?? []).frames[3]
    let place = middle(frame)
    let byte = disk.image.contents(at: Self.data)?.array[place] ?? 0
    try other.open(Self.data, .readWrite).write([~byte], at: UInt64(place))
    let before = other.image.contents(at: Self.data)?.array
    #expect(throws: StorageError.damaged(what: "frame", offset: FileOffset(frame.header.lowerBound))) {
      try reader.beginBlocking()
    }
    #expect(other.image.contents(at: Self.data)?.array == before)
  }

  // MARK: No damage

  @Test("a torn commit not reported as durable is no damage: verification says so, and the next writer goes on")
  func unpromised() throws {
    let (image, frames) = try killed(5, unsynced: 1)
    #expect(frames.count == 6)
    for place in [frames[5].header.lowerBound + 9, middle(frames[5]), frames[5].trailer.upperBound - 3] {
      let disk = ImageDisk(flipping(place, in: image))
      let report = try FileStore.verify(at: Self.path, disk: disk)
      #expect(report.isClean)
      #expect(report.findings.map(\.what) == ["tail"])
      #expect(report.findings[0].problem.contains("a commit that was not finished"))
      let store = try FileStore.open(at: Self.path, options: options, disk: disk)
      #expect(store.openingReport.damage == nil)
      try put(6, store)
      #expect(store.head.commit.number == 6)
      try store.close()
      #expect(try FileStore.verify(at: Self.path, disk: disk).findings.isEmpty)
      // What was cut off is of no use.
      let leftovers = try FileStore.leftovers(at: Self.path, disk: disk)
      #expect(leftovers.count == 1 && leftovers[0].purpose.hasSuffix("they may be deleted"), "\(leftovers)")
    }
  }

  @Test(
    "whole commits behind a torn one are kept aside, never called deletable, and saved beside the head",
    arguments: [false, true])
  func wholeBehindTorn(isCompacted: Bool) throws {
    let (image, frames) = try killed(5, unsynced: 4)
    let disk = ImageDisk(flipping(middle(frames[5]), in: image))
    let verified = try FileStore.verify(at: Self.path, disk: disk)
    #expect(verified.isClean)
    #expect(verified.findings.count == 1)
    #expect(verified.findings[0].problem.contains("3 whole commits from #7 to #9"), "\(verified.findings)")
    let store = try FileStore.open(at: Self.path, options: options, disk: disk)
    try store.change(CommitInfo(action: "went on")) { try $0.put(key(6), bytes("anew"), in: people) }
    #expect(store.openingReport.notes.contains { $0.contains("3 whole commits from #7 to #9") })
    let aside = try #require(store.openingReport.keptAside)
    let name = String(aside.dropFirst(Self.path.count + 1))
    if isCompacted { _ = try store.compact(.all) }
    try store.close()
    let leftovers = try FileStore.leftovers(at: Self.path, disk: disk)
    #expect(leftovers.map(\.name) == [name])
    #expect(leftovers[0].purpose.contains("3 whole commits from #7 to #9"), "\(leftovers)")
    #expect(!leftovers[0].purpose.contains("delete"))

    let report = try FileStore.salvage(from: Self.path, to: Self.salvaged, options: options, disk: disk)
    let saved = try FileStore.open(at: Self.salvaged, options: options, disk: disk)
    #expect(try saved.head.text(key(6)) == "anew")
    #expect(try saved.head.text(key(9)) == nil)
    guard !isCompacted else {
      #expect(report.losses == [SalvageLoss(kind: .keptAside(name, count: 3), commit: 6)])
      return
    }
    #expect(report.notes.count == 1)
    let number = try #require(try saved.names[name])
    let branch = try saved.view(at: number)
    for kept in 2...9 where kept != 6 { #expect(try branch.text(key(kept)) == "\(kept)", "\(kept)") }
    #expect(branch.commit.action == "commit 9")
    #expect(try FileStore.verify(at: Self.salvaged, disk: disk).isClean)
  }

  @Test("the bytes of a long commit that was not finished are cut and not kept: they may be as many as an import has")
  func unfinishedImport() throws {
    let disk = SimulatedDisk(RecordedWorkload.emptyLibrary, seed: 57)
    let store = try FileStore.create(at: Self.path, options: options, disk: disk)
    try store.change(CommitInfo(action: "commit 1")) { try $0.createTree(people, kind: .records) }
    let transaction = try store.beginBlocking()
    for number in 0..<40 { try transaction.put(key(number), [UInt8](repeating: 7, count: 100_000), in: people) }
    let killed = ImageDisk(disk.image)
    transaction.cancel()
    let next = try FileStore.open(at: Self.path, options: options, disk: killed)
    try put(2, next)
    #expect(next.openingReport.cutBytes > 1_000_000)
    #expect(next.openingReport.keptAside == nil)
    #expect(try FileStore.leftovers(at: Self.path, disk: killed).isEmpty)
    try next.close()
    #expect(try FileStore.verify(at: Self.path, disk: killed).findings.isEmpty)
  }

  @Test("a power cut while whole commits are kept aside, or at any moment afterwards, loses none of them")
  func powerCutWhileKeptAside() throws {
    let (image, frames) = try killed(5, unsynced: 4)
    let disk = SimulatedDisk(flipping(middle(frames[5]), in: image), seed: 56)
    let store = try FileStore.open(at: Self.path, options: options, disk: disk)
    try put(6, store)
    try store.close()
    var images = 0
    var lost: [String] = []
    try CrashImages.forEach(of: disk.record, on: disk.start, seed: 1) { cut in
      images += 1
      let disk = ImageDisk(cut.image)
      let raw = try RawStore(at: Self.path, disk: disk)
      var whole = Set(
        try FrameSurvey.wholeFrames(of: raw.file, in: FileLayout.firstFrame..<raw.end).map(\.header.number))
      for aside in try CutBytes.all(at: Self.path, on: disk) {
        whole.formUnion(try aside.wholeFrames().frames.map(\.header.number))
      }
      if !whole.isSuperset(of: [7, 8, 9]) { lost.append("\(cut.kind) at \(cut.position): \(whole.sorted())") }
    }
    #expect(lost.isEmpty, "\(lost.count) of \(images), the first: \(lost.prefix(3))")
    #expect(images > 20)
  }

  @Test("where whole commits cannot be kept aside, they are not cut off either")
  func noRoomAside() throws {
    let (image, frames) = try killed(5, unsynced: 4)
    let disk = SimulatedDisk(flipping(middle(frames[5]), in: image), capacity: 1 << 20)
    let store = try FileStore.open(at: Self.path, options: options, disk: disk)
    let before = disk.image.contents(at: Self.data)?.array
    disk.setCapacity(0)
    #expect(throws: StorageError.self) { try put(6, store) }
    #expect(disk.image.contents(at: Self.data)?.array == before)
    disk.setCapacity(nil)
    try put(6, store)
    #expect(store.openingReport.keptAside != nil)
  }

  // MARK: Copies and backups

  @Test("a copy of the files of a running store opens, though its lock file may be newer than its data")
  func hotCopy() throws {
    let (older, _) = try killed(5)
    let (newer, frames) = try killed(9)
    let disk = ImageDisk(newer)
    try disk.rename(Self.data, to: Self.path + "/before")
    let bytes = older.contents(at: Self.data)?.array ?? []
    try disk.open(Self.data, .create).write(bytes, at: 0)
    let store = try FileStore.open(at: Self.path, options: StoreOptions(isReadOnly: true), disk: disk)
    #expect(store.openingReport.damage == nil)
    #expect(store.head.commit.number == 5)
    #expect(try FileStore.verify(at: Self.path, disk: disk).findings.isEmpty)
    // But not one in which there is more behind what is missing.
    let damaged = flipping(middle(frames[4]), in: newer).contents(at: Self.data)?.array ?? []
    try disk.open(Self.data, .readWrite).write(damaged, at: 0)
    let again = try FileStore.open(at: Self.path, options: options, disk: disk)
    #expect(again.openingReport.damage != nil)
    #expect(try !FileStore.verify(at: Self.path, disk: disk).isClean)
  }

  @Test(
    "a backup that is written over the data of a killed session is told of, and a copy of the store can be written")
  func backupInPlace() throws {
    let (older, _) = try killed(5)
    let (newer, _) = try killed(9)
    let disk = ImageDisk(newer)
    let size = newer.contents(at: Self.data)?.array.count ?? 0
    var bytes = older.contents(at: Self.data)?.array ?? []
    bytes += [UInt8](repeating: 0, count: max(0, size - bytes.count))
    try disk.open(Self.data, .readWrite).write(bytes, at: 0)
    let store = try FileStore.open(at: Self.path, options: options, disk: disk)
    #expect(store.openingReport.damage != nil)
    #expect(store.openingReport.notes.last?.contains("strata copy PATH NEW") == true)
    #expect(try !FileStore.verify(at: Self.path, disk: disk).isClean)
    try store.copy(to: Self.path + " copied")
    let again = try FileStore.open(at: Self.path + " copied", options: options, disk: disk)
    #expect(again.openingReport.damage == nil)
    try put(6, again)
    #expect(again.head.commit.number == 6)
  }

  // MARK: Where the session block lies

  @Test(
    "a store whose session block lies beside the identity, as programs of before wrote it, keeps its origin; page 0 is not written"
  )
  func oldSessionBlock() throws {
    let disk = SimulatedDisk(RecordedWorkload.emptyLibrary, seed: 53)
    let store = try FileStore.create(at: Self.path, options: options, disk: disk)
    try store.change { try $0.createTree(people, kind: .records) }
    try store.close()
    let origin = store.head.commit.origin
    let block = Array(disk.image.contents(at: Self.data)?.array[12_800..<13_312] ?? [])
    let data = try disk.open(Self.data, .readWrite)
    try data.write(block, at: 512)
    try data.zero(12_800..<13_312)
    #expect(try FileStore.verify(at: Self.path, disk: disk).findings.isEmpty)
    let page = disk.image.contents(at: Self.data)?.array[..<4096]
    let next = try FileStore.open(at: Self.path, options: options, disk: disk)
    try put(2, next)
    #expect(next.head.commit.origin == origin)
    try put(3, next)
    try next.close()
    #expect(disk.image.contents(at: Self.data)?.array[..<4096] == page)
    let third = try FileStore.open(at: Self.path, options: options, disk: disk)
    try put(4, third)
    #expect(third.head.commit.origin == origin)
    try third.close()
    #expect(try FileStore.verify(at: Self.path, disk: disk).findings.isEmpty)
  }

  @Test("nothing but the making of a store writes to the page of its identity")
  func identityPage() throws {
    let workload = try RecordedWorkload.run("identity", .random(seed: 55, count: 40), seed: 55)
    let writes = workload.record.filter { operation in
      switch operation {
      case .write(_, let offset, let bytes): offset < 4_096 && bytes.count == 512
      default: false
      }
    }
    let names = workload.finish.entries(of: workload.finish.number(at: Self.path) ?? 0) ?? [:]
    let data = names["data"]
    let ofData = writes.filter { if case .write(let file, _, _) = $0 { file == data } else { false } }
    #expect(ofData.count <= 1, "\(ofData.count)")
  }
}
