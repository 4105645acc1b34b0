import DiskSimulation
import Glibc
@testable import StrataEngine
import Testing

/// Work that makes a new store and does not come to its end.
@Suite("New stores that are cut off or fail")
struct SalvageDraftTests {
  private static let newPath = "/library/saved.strata"

  private static func source() throws -> (image: DiskImage, model: StoreModel) {
    let workload = try RecordedWorkload.run("source", .random(seed: 3, count: 12), seed: 3)
    return (workload.finish, workload.model)
  }

  private static func salvage(on disk: SimulatedDisk) throws {
    _ = try FileStore.salvage(
      from: RecordedWorkload.path, to: newPath, options: StoreOptions(readsMapped: false), disk: disk)
  }

  private static func copy(on disk: SimulatedDisk) throws {
    let store = try FileStore.open(
      at: RecordedWorkload.path, options: StoreOptions(isReadOnly: true, readsMapped: false), disk: disk)
    _ = try store.copy(to: newPath)
  }

  @Test(
    "a salvage that is cut off by a power cut leaves all that could be saved, or no store that could be taken for it")
  func powerCuts() throws {
    let (start, model) = try Self.source()
    let disk = SimulatedDisk(start, seed: 7)
    try Self.salvage(on: disk)
    let end = disk.record.count
    var (images, whole, index) = (0, 0, 0)
    var failures: [String] = []
    CrashImages.forEach(of: disk.record, on: disk.start, seed: 1) { image in
      index += 1
      guard index % 3 == 0 || image.position == end else { return }
      images += 1
      do {
        let cut = SimulatedDisk(image.image, seed: 9)
        if !FileStore.exists(at: Self.newPath, disk: cut) {
          if image.position == end { throw Disagreement(description: "it was reported and is gone") }
          // What was left is in nobody's way.
          try Self.salvage(on: cut)
        } else {
          whole += 1
        }
        let saved = try FileStore.open(at: Self.newPath, options: StoreOptions(isReadOnly: true), disk: cut)
        let newest = try StoreComparison(store: saved, model: model).checkAll(promised: model.newest)
        if newest != model.newest { throw Disagreement(description: "\(newest) of \(model.newest) commits") }
      } catch {
        failures.append("\(image.kind) at \(image.position): \(error)")
      }
    }
    #expect(failures.isEmpty, "\(failures.count) of \(images), the first: \(failures.prefix(3))")
    #expect(images > 100 && whole > 0)
  }

  @Test(
    "whichever call of a salvage or a copy finds no room or fails: nothing is left where the new store would be",
    arguments: [ENOSPC, EIO], ["salvage", "copy"])
  func everyCall(_ code: Int32, _ work: String) throws {
    let (start, _) = try Self.source()
    func run(_ disk: SimulatedDisk) throws {
      if work == "copy" { try Self.copy(on: disk) } else { try Self.salvage(on: disk) }
    }
    let whole = SimulatedDisk(start, seed: 7)
    try run(whole)
    let calls = whole.callCount
    var (failed, leftovers) = (0, [String]())
    for number in stride(from: 1, through: calls, by: 2) {
      let disk = SimulatedDisk(start, seed: 7)
      disk.plant(DiskFault(number: number, code: code))
      do {
        try run(disk)
      } catch is StorageError {
        failed += 1
        disk.plant(nil)
        if try disk.status(Self.newPath) != nil { leftovers.append("call \(number): \(try disk.list(Self.newPath))") }
      }
    }
    // Half of the calls were tried, and a salvage goes on where a read of its source fails.
    #expect(failed > calls / 6)
    // Where the call that takes something away is the one that fails, it stays.
    #expect(leftovers.isEmpty, "\(leftovers.count) of \(failed), the first: \(leftovers.prefix(3))")
  }

  /// A store that is made by one that writes transactions, and ends in the middle or at the end.
  private static func make(on disk: SimulatedDisk, finishes: Bool = true) throws {
    let draft = try StoreDraft(at: newPath, on: disk)
    let store = try FileStore.create(
      at: draft.workPath, options: StoreOptions(readsMapped: false), disk: disk)
    let name = TreeName([UInt8]("books".utf8))
    for number in 0..<3 {
      _ = try store.write { transaction throws(StorageError) in
        if number == 0 { try transaction.createTree(name, kind: .records) }
        try transaction.put([UInt8(number)], [UInt8](repeating: UInt8(number), count: 900), in: name)
      }.get()
    }
    try store.close()
    if finishes { try draft.finish() }
  }

  @Test(
    "a store that a draft reported finished is there after a power cut, and what a cut leaves before is in nobody's way"
  )
  func draftPowerCuts() throws {
    let disk = SimulatedDisk(seed: 7)
    try disk.makeDirectory("/library")
    try disk.syncDirectory("/")
    try Self.make(on: disk)
    let end = disk.record.count
    var (whole, atEnd, index) = (0, 0, 0)
    var failures: [String] = []
    CrashImages.forEach(of: disk.record, on: disk.start, seed: 1) { image in
      index += 1
      do {
        let cut = SimulatedDisk(image.image, seed: 9)
        if image.position == end { atEnd += 1 }
        if FileStore.exists(at: Self.newPath, disk: cut) {
          whole += 1
        } else {
          if image.position == end { throw Disagreement(description: "it was reported and is gone") }
          try Self.make(on: cut)
        }
        let made = try FileStore.open(at: Self.newPath, options: StoreOptions(isReadOnly: true), disk: cut)
        if made.head.commit.number != 3 { throw Disagreement(description: "\(made.head.commit.number) commits") }
      } catch {
        failures.append("\(image.kind) at \(image.position): \(error)")
      }
    }
    #expect(failures.isEmpty, "\(failures.count) of \(index), the first: \(failures.prefix(3))")
    #expect(whole > atEnd && atEnd > 0)
  }

  @Test("what a killed maker left is taken away by the next one, whichever it is; a living one is left alone")
  func killedMaker() throws {
    let (start, model) = try Self.source()
    for next in ["draft", "salvage", "copy", "create"] {
      let disk = SimulatedDisk(start, seed: 7)
      try Self.make(on: disk, finishes: false)
      #expect(!FileStore.exists(at: Self.newPath, disk: disk))
      switch next {
      case "draft": try Self.make(on: disk)
      case "salvage": try Self.salvage(on: disk)
      case "copy": try Self.copy(on: disk)
      default: _ = try FileStore.create(at: Self.newPath, options: StoreOptions(readsMapped: false), disk: disk)
      }
      #expect(try FileStore.leftovers(at: Self.newPath, disk: disk) == [])
      let names = try Set(disk.list(Self.newPath))
      #expect(names.isSubset(of: ["data", "lock", "activity"]), "\(next): \(names)")
      let made = try FileStore.open(at: Self.newPath, options: StoreOptions(isReadOnly: true), disk: disk)
      #expect(made.head.commit.number == (next == "draft" ? 3 : next == "create" ? 0 : model.newest))
    }
    let disk = SimulatedDisk(start, seed: 7)
    let living = try StoreDraft(at: Self.newPath, on: disk)
    let names = try disk.list(Self.newPath).sorted()
    #expect(throws: StorageError.self) { try StoreDraft(at: Self.newPath, on: disk) }
    #expect(try disk.list(Self.newPath).sorted() == names)
    living.cancel()
    #expect(try disk.status(Self.newPath) == nil)
  }

  @Test("the remotes of a store that is being made come along with its data")
  func remotes() throws {
    let disk = SimulatedDisk(seed: 7)
    try disk.makeDirectory("/library")
    let draft = try StoreDraft(at: Self.newPath, on: disk)
    try FileStore.create(at: draft.workPath, options: StoreOptions(readsMapped: false), disk: disk).close()
    _ = try disk.open(draft.workPath + "/remotes", .create)
    try draft.finish()
    #expect(try Set(disk.list(Self.newPath)).isSuperset(of: ["data", "remotes"]))
    #expect(try FileStore.leftovers(at: Self.newPath, disk: disk) == [])
  }

  @Test("a draft takes no folder that holds anything else")
  func otherFolder() throws {
    let disk = SimulatedDisk(seed: 7)
    try disk.makeDirectory("/library")
    try disk.makeDirectory(Self.newPath)
    _ = try disk.open(Self.newPath + "/letter.txt", .create)
    #expect(throws: StorageError.otherFiles(path: Self.newPath, name: "letter.txt")) {
      try StoreDraft(at: Self.newPath, on: disk)
    }
    #expect(try disk.list(Self.newPath) == ["letter.txt"])
  }

  @Test("a salvage tells which commits lie beyond the end of a file that was cut short")
  func cutShort() throws {
    let store = try DamagedStore.make()
    let frames = FrameMap(store.bytes).frames
    var image = store.image
    let number = try #require(image.number(at: DamagedStore.data))
    image.change(number) { $0.truncate(to: UInt64(frames[2].trailer.upperBound)) }
    let report = try FileStore.salvage(
      from: DamagedStore.path, to: Self.newPath, options: StoreOptions(), disk: ImageDisk(image))
    #expect(report.savedCommits == 3)
    #expect(report.losses == [SalvageLoss(kind: .commits(to: store.model.newest), commit: 4)])
    #expect(report.losses.first?.description == "commits #4 to #\(store.model.newest) are not in the file any more")
  }
}
