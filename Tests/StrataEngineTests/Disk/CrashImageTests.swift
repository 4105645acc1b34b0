import DiskSimulation
import Glibc
import StrataEngine
import Testing

/// The crash tests are only worth what their images are: here the images themselves are tested.
@Suite("The simulated disk and its crash images")
struct CrashImageTests {
  private func write(_ bytes: [UInt8], at offset: UInt64, to file: any DiskFile) throws {
    try bytes.withUnsafeBytes { try file.write($0, at: offset) }
  }

  private func images(of disk: SimulatedDisk) -> [CrashImage] {
    var images: [CrashImage] = []
    CrashImages.forEach(of: disk.record, on: disk.start, seed: 1) { images.append($0) }
    return images
  }

  @Test("what was synced is in every later image, what was not in some and not in others")
  func promises() throws {
    let disk = SimulatedDisk()
    let file = try disk.open("/data", .create)
    try disk.syncDirectory("/")
    try write([1], at: 0, to: file)
    try file.sync()
    disk.note(1)
    try write([2], at: 1, to: file)
    let contents = images(of: disk).filter { $0.notes == [1] }.map { $0.image.contents(at: "/data")?.array }
    #expect(!contents.isEmpty)
    #expect(contents.allSatisfy { $0?.first == 1 })
    #expect(contents.contains([1]))
    #expect(contents.contains([1, 2]))
    #expect(contents.contains([1, 0]), "the size without the data")
  }

  @Test("every combination of two unsynced writes arises")
  func combinations() throws {
    let disk = SimulatedDisk()
    let file = try disk.open("/data", .create)
    try disk.syncDirectory("/")
    try file.zero(0..<2)
    try file.sync()
    disk.note(1)
    try write([1], at: 0, to: file)
    try write([2], at: 1, to: file)
    let contents = images(of: disk).filter { $0.notes == [1] }.compactMap { $0.image.contents(at: "/data")?.array }
    #expect(Set(contents) == [[0, 0], [1, 0], [0, 2], [1, 2]])
  }

  @Test("a rename may arrive before the contents that it names, and is never half done")
  func renames() throws {
    let disk = SimulatedDisk()
    let old = try disk.open("/data", .create)
    try write([1], at: 0, to: old)
    try old.sync()
    try disk.syncDirectory("/")
    disk.note(1)
    let new = try disk.open("/new", .create)
    try write([2], at: 0, to: new)
    try disk.rename("/new", to: "/data")
    let later = images(of: disk).filter { $0.notes == [1] }
    let contents = Set(later.map { $0.image.contents(at: "/data")?.array })
    #expect(contents == [[1], [2], [], [0]], "old, new, and new without its bytes; never none at all")
    #expect(later.contains { $0.kind == .nameAlone })
  }

  @Test("the last write is torn at sectors from both ends, at bytes, and with garbage")
  func tears() throws {
    let disk = SimulatedDisk()
    let file = try disk.open("/data", .create)
    try disk.syncDirectory("/")
    try file.zero(0..<2_048)
    try file.sync()
    disk.note(1)
    try write([UInt8](repeating: 7, count: 1_000), at: 100, to: file)
    let later = images(of: disk).filter { $0.notes == [1] }
    func fill(_ kind: CrashImage.Kind) -> [[UInt8]] {
      later.filter { $0.kind == kind }.compactMap { $0.image.contents(at: "/data")?.array }
    }
    #expect(fill(.tornAtSector).map { $0.lastIndex(of: 7) } == [511, 1_023])
    #expect(fill(.tornBackwards).map { $0.firstIndex(of: 7) } == [512, 1_024])
    #expect(fill(.tornAtByte).count == 2)
    #expect(
      fill(.tornWithGarbage).allSatisfy { $0[100...511].allSatisfy { $0 == 7 } && $0[1_024] != 0 || $0[1_023] == 7 })
  }

  @Test("after a failed sync the bytes are seen and never promised, whatever is synced later")
  func failedSync() throws {
    let disk = SimulatedDisk()
    let file = try disk.open("/data", .create)
    try disk.syncDirectory("/")
    try write([1, 1], at: 0, to: file)
    disk.plant(DiskFault(call: .sync, number: 1, code: EIO))
    #expect(throws: DiskError(operation: "sync", path: "/data", code: EIO)) { try file.sync() }
    try write([2], at: 1, to: file)
    try file.sync()
    disk.note(1)
    // Where a page is spoiled as a whole, what lies beside the lost bytes goes with them.
    let contents = images(of: disk).filter { $0.notes == [1] && $0.kind != .tornPage }.compactMap {
      $0.image.contents(at: "/data")?.array
    }
    #expect(Set(contents) == [[0, 2], [1, 2]])
    #expect(disk.image.contents(at: "/data")?.array == [1, 2])
  }

  @Test("a disk that lies about syncs promises nothing")
  func lies() throws {
    let disk = SimulatedDisk()
    disk.setLiesAboutSync(true)
    let file = try disk.open("/data", .create)
    try disk.syncDirectory("/")
    try write([1], at: 0, to: file)
    try file.sync()
    disk.note(1)
    #expect(images(of: disk).contains { $0.notes == [1] && $0.image.contents(at: "/data") == nil })
  }

  @Test("the planted call fails, once or from then on, whole or half")
  func faults() throws {
    let disk = SimulatedDisk()
    let file = try disk.open("/data", .create)
    disk.plant(DiskFault(call: .write, number: 2, code: ENOSPC, isPartial: true))
    try write([1, 1], at: 0, to: file)
    #expect(throws: DiskError.self) { try write([2, 2], at: 0, to: file) }
    try write([3], at: 2, to: file)
    #expect(disk.image.contents(at: "/data")?.array == [2, 1, 3])
    disk.plant(DiskFault(number: 1, code: EIO, isLasting: true))
    #expect(throws: DiskError.self) { try write([4], at: 0, to: file) }
    #expect(throws: DiskError.self) { try file.sync() }
    #expect(throws: DiskError.self) { try disk.list("/") }
    #expect(disk.counts[.write] == 4)
  }

  @Test("the same seed gives the same identities and times")
  func determinism() {
    let first = SimulatedDisk(seed: 5)
    let second = SimulatedDisk(seed: 5)
    #expect(first.randomNumber() == second.randomNumber())
    #expect(first.now() == second.now())
    #expect(SimulatedDisk(seed: 6).randomNumber() != SimulatedDisk(seed: 5).randomNumber())
  }
}
