import DiskSimulation
import Testing

@testable import StrataEngine

/// What tells damage from a torn tail where the slots are lost: a hold that was let go of, and the durable end that each commit notes.
@Suite("Lost hints")
struct LostHintsTests {
  private static let path = DamagedStore.path
  private static let data = DamagedStore.data

  private var options: StoreOptions {
    var options = StoreOptions()
    // A slot that is written after idleness would tell how far the file goes.
    options.idleSeconds = 1e6
    return options
  }

  /// A store of ten commits: closed in good order, or as a killed writer leaves it.
  private func store(isClosed: Bool = true) throws -> (image: DiskImage, frames: [FrameMap.Frame]) {
    let disk = SimulatedDisk(RecordedWorkload.emptyLibrary, seed: 71)
    let store = try FileStore.create(at: Self.path, options: options, disk: disk)
    try store.change { try $0.createTree(people, kind: .records) }
    for number in 2...10 {
      try store.change { try $0.put(key(number), [UInt8](repeating: UInt8(number), count: 700), in: people) }
    }
    if isClosed { try store.close() }
    let image = disk.image
    return (image, FrameMap(image.contents(at: Self.data)?.array ?? []).frames)
  }

  private func changing(_ image: DiskImage, _ body: (inout PagedBytes) -> Void) -> DiskImage {
    var image = image
    if let number = image.number(at: Self.data) { image.change(number, body) }
    return image
  }

  /// Without the slots, and with the middle byte of a frame changed.
  private func damaging(_ frame: FrameMap.Frame?, in image: DiskImage, losesSlots: Bool = true) -> DiskImage {
    changing(image) { contents in
      if losesSlots { contents.zero(4096..<12_288) }
      guard let frame else { return }
      let place = (frame.changes.lowerBound + frame.trailer.lowerBound) / 2
      let byte = contents.array[place] ^ 16
      withUnsafeBytes(of: byte) { contents.write($0, at: UInt64(place)) }
    }
  }

  /// Opening, verification and the next writer all tell of damage at a place, and nothing on the disk is changed.
  private func expectDamage(at offset: Int, after number: UInt64, _ disk: SimulatedDisk, _ what: String) throws {
    let store = try FileStore.open(at: Self.path, options: options, disk: disk)
    let damage = StorageError.damaged(what: "frame", offset: FileOffset(offset))
    #expect(store.openingReport.damage == damage, "\(what)")
    #expect(store.head.commit.number == number, "\(what)")
    #expect(throws: StorageError.readOnly(reason: "\(damage)")) { try store.beginBlocking() }
    #expect(try !FileStore.verify(at: Self.path, disk: disk).isClean, "\(what)")
    #expect(disk.record.isEmpty, "\(what)")
  }

  @Test(
    "without slots a hold that was let go of is a promise: any commit that is not whole is damage, the last one too")
  func holdLetGo() throws {
    let (image, frames) = try store()
    for frame in frames {
      let disk = SimulatedDisk(damaging(frame, in: image))
      try expectDamage(at: frame.header.lowerBound, after: frame.number - 1, disk, "commit \(frame.number)")
    }
  }

  @Test("without slots and without a lock file the commits behind one that is not whole prove that it was durable")
  func notedEnd() throws {
    let (image, frames) = try store()
    for frame in frames.dropLast() {
      let disk = SimulatedDisk(damaging(frame, in: image))
      try disk.unlink(Self.path + "/lock")
      let known = disk.record.count
      let store = try FileStore.open(at: Self.path, options: options, disk: disk)
      #expect(store.openingReport.damage != nil, "commit \(frame.number)")
      #expect(try !FileStore.verify(at: Self.path, disk: disk).isClean, "commit \(frame.number)")
      #expect(disk.record.count == known)
    }
    // Of the last one nobody knows any more.
    let disk = ImageDisk(damaging(frames.last, in: image))
    try disk.unlink(Self.path + "/lock")
    #expect(try FileStore.open(at: Self.path, options: options, disk: disk).openingReport.damage == nil)
  }

  @Test("a whole slot that is older than the damage does not hide what later commits note")
  func olderSlot() throws {
    let disk = SimulatedDisk(try store().image)
    let store = try FileStore.open(at: Self.path, options: options, disk: disk)
    for number in 11...14 { try store.change { try $0.put(key(number), bytes("\(number)"), in: people) } }
    let image = disk.image
    let frames = FrameMap(image.contents(at: Self.data)?.array ?? []).frames
    #expect(frames.count == 14)
    for frame in frames[10..<13] {
      let killed = SimulatedDisk(damaging(frame, in: image, losesSlots: false))
      try killed.unlink(Self.path + "/lock")
      let opened = try FileStore.open(at: Self.path, options: options, disk: killed)
      #expect(opened.openingReport.damage != nil, "commit \(frame.number)")
      #expect(opened.head.commit.number == frame.number - 1)
      #expect(try !FileStore.verify(at: Self.path, disk: killed).isClean)
    }
  }

  @Test("a writer that was open before the slots were lost cuts no commit either")
  func openWriter() throws {
    let (image, frames) = try store()
    let disk = SimulatedDisk(damaging(nil, in: image))
    try disk.unlink(Self.path + "/lock")
    try disk.open(Self.data, .readWrite).zero(
      UInt64(frames[2].header.lowerBound)..<UInt64(image.contents(at: Self.data)?.array.count ?? 0))
    let reader = try FileStore.open(at: Self.path, options: options, disk: disk)
    #expect(reader.head.commit.number == 2)
    let bytes = damaging(frames[5], in: image).contents(at: Self.data)?.array ?? []
    try disk.open(Self.data, .readWrite).write(bytes, at: 0)
    #expect(throws: StorageError.damaged(what: "frame", offset: FileOffset(frames[5].header.lowerBound))) {
      try reader.beginBlocking()
    }
    #expect(disk.image.contents(at: Self.data)?.array == bytes)
  }

  @Test(
    "a writer that was open before another cuts no damaged last commit that the other had promised, by its lock or by a slot",
    arguments: [(true, true), (false, true), (true, false)])
  func openWriterBehindPromise(isClosed: Bool, losesSlots: Bool) throws {
    let (image, frames) = try store(isClosed: isClosed)
    let last = try #require(frames.last)
    let disk = SimulatedDisk(damaging(nil, in: image))
    let lock = try #require(image.contents(at: Self.path + "/lock")).array
    try disk.unlink(Self.path + "/lock")
    try disk.open(Self.data, .readWrite).zero(
      UInt64(last.header.lowerBound)..<UInt64(image.contents(at: Self.data)?.array.count ?? 0))
    let reader = try FileStore.open(at: Self.path, options: options, disk: disk)
    #expect(reader.head.commit.number == 9)
    let bytes = damaging(last, in: image, losesSlots: losesSlots).contents(at: Self.data)?.array ?? []
    try disk.open(Self.data, .readWrite).write(bytes, at: 0)
    try disk.open(Self.path + "/lock", .create).write(lock, at: 0)
    #expect(throws: StorageError.damaged(what: "frame", offset: FileOffset(last.header.lowerBound))) {
      try reader.beginBlocking()
    }
    #expect(disk.image.contents(at: Self.data)?.array == bytes)
  }

  @Test("slots, session block and the first commits overwritten with zeros are damage", arguments: [true, false])
  func zeroedPages(hasLock: Bool) throws {
    let (image, frames) = try store()
    let disk = SimulatedDisk(changing(image) { $0.zero(4096..<4096 + 16_384) })
    #expect(frames.contains { $0.header.lowerBound > 20_480 })
    if hasLock {
      try expectDamage(at: Int(FileLayout.firstFrame.bytes), after: 0, disk, "zeros")
    } else {
      try disk.unlink(Self.path + "/lock")
      #expect(try FileStore.open(at: Self.path, options: options, disk: disk).openingReport.damage != nil)
      #expect(try !FileStore.verify(at: Self.path, disk: disk).isClean)
    }
    let report = try FileStore.salvage(from: Self.path, to: "/library/saved.strata", options: options, disk: disk)
    #expect(report.savedCommits > 0)
  }

  @Test(
    "data that was put back from a backup with its slot is not damage, though the hold that was let go of knows more")
  func slotDecides() throws {
    let disk = SimulatedDisk(try store().image)
    let backup = disk.image.contents(at: Self.data)?.array ?? []
    let store = try FileStore.open(at: Self.path, options: options, disk: disk)
    for number in 11...14 { try store.change { try $0.put(key(number), bytes("\(number)"), in: people) } }
    try store.close()
    let file = try disk.open(Self.data, .readWrite)
    try file.zero(0..<(try file.status.size))
    try file.write(backup, at: 0)
    let opened = try FileStore.open(at: Self.path, options: options, disk: disk)
    #expect(opened.openingReport.damage == nil)
    #expect(opened.head.commit.number == 10)
  }

  @Test(
    "data of which nothing is left beside a lock file that tells of it is damage, and without one no store",
    arguments: [0, 8])
  func emptyData(_ length: Int) throws {
    let disk = ImageDisk(
      changing(try store().image) { contents in
        contents.truncate(to: UInt64(length))
        contents.zero(0..<UInt64(length))
      })
    let damage = StorageError.damaged(what: "identity page", offset: 0)
    func expectAll(_ error: StorageError) {
      #expect(throws: error) { try FileStore.open(at: Self.path, options: options, disk: disk) }
      #expect(throws: error) { try FileStore.verify(at: Self.path, disk: disk) }
      #expect(throws: error) {
        try FileStore.salvage(from: Self.path, to: "/library/saved.strata", options: options, disk: disk)
      }
    }
    expectAll(damage)
    try disk.unlink(Self.path + "/lock")
    expectAll(.notAStore(path: Self.path))
  }

  @Test("a commit notes how far the file was durable when it was written")
  func notes() throws {
    let disk = SimulatedDisk(try store(isClosed: false).image)
    let store = try FileStore.open(at: Self.path, options: options, disk: disk)
    let durable = store.dataBytes
    for number in 0..<3 {
      let transaction = try store.beginBlocking()
      try transaction.put(key(number), [1], in: people)
      let pending = try transaction.commit(CommitInfo(durability: .collated))
      let commit = try store.commit(try #require(pending).number)
      let file = store.publication.current.file
      #expect(try file.tail(of: commit).undurable == commit.links.own.offset.bytes - durable)
    }
    try store.close()
  }
}
