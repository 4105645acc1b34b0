import Glibc
import StrataLocks
import Testing

@testable import StrataEngine

/// The room on the disk that a large transaction took which did not end.
@Suite("Room that is given up")
struct GivenUpRoomTests {
  private let folder = TemporaryFolder()

  private func room(of path: String) -> Int {
    var found = stat()
    return stat(path + "/data", &found) == 0 ? Int(found.st_blocks) * 512 : -1
  }

  /// The number of zeros that are written behind the last frame, so that the next commits allocate nothing.
  private func zeros(behind store: FileStore, at path: String) throws -> UInt64 {
    let (file, end) = (try SystemDisk().open(path + "/data", .read), store.dataBytes)
    let first = try file.writtenParts(of: end..<end + 1 << 20).first
    return first.map { $0.lowerBound == end ? $0.upperBound - end : 0 } ?? 0
  }

  @Test(
    "it is the disk's again after a cancelled transaction, and after the next opening if the process was killed",
    arguments: [false, true])
  func givenUp(isKilled: Bool) throws {
    let path = folder.store()
    let store = try FileStore.create(at: path, options: StoreOptions(), disk: SystemDisk())
    try store.change { try $0.createTree(people, kind: .records) }
    try store.change { try $0.put(key(0), bytes("0"), in: people) }
    let before = room(of: path)
    let transaction = try store.beginBlocking()
    for number in 0..<80 {
      try transaction.put(key(number), [UInt8](repeating: UInt8(number), count: 100_000), in: people)
    }
    #expect(room(of: path) > before + 4 << 20)
    let left = folder.store("Left")
    mkdir(left, 0o777)
    try #require(system("cp '\(path)/data' '\(left)/data'") == 0)
    transaction.cancel()
    let (next, place) = isKilled ? (try FileStore.open(at: left, options: StoreOptions()), left) : (store, path)
    var most: UInt64 = 0
    for number in 1...40 {
      try next.change { try $0.put(key(number), bytes("\(number)"), in: people) }
      most = max(most, try zeros(behind: next, at: place))
    }
    #expect(most > 64 << 10)
    // A file system without holes keeps the zeros.
    let parts = try SystemDisk().open(place + "/data", .read).writtenParts(of: 0..<next.fileBytes)
    if parts.last?.upperBound != next.fileBytes { #expect(room(of: place) < before + 1 << 20) }
    try next.close()
    #expect(try FileStore.verify(at: place, disk: SystemDisk()).findings.isEmpty)
  }

  @Test("if the disk has no room for zeros there when the lock is released, later commits do not go with it")
  func withoutRoom() throws {
    let (disk, path) = (FullDisk(), folder.store())
    let store = try FileStore.create(at: path, options: StoreOptions(idleSeconds: 1e6), disk: disk)
    try store.change { try $0.createTree(people, kind: .records) }
    let transaction = try store.beginBlocking()
    for number in 0..<3 { try transaction.put(key(number), [UInt8](repeating: 7, count: 300_000), in: people) }
    disk.isFull.store(true, ordering: .relaxed)
    transaction.cancel()
    store.releaseLock()
    disk.isFull.store(false, ordering: .relaxed)
    for number in 1...3 { try store.change { try $0.put(key(number), bytes("\(number)"), in: people) } }
    try store.close()
    #expect(try FileStore.verify(at: path, disk: SystemDisk()).findings.isEmpty)
    let again = try FileStore.open(at: path, options: StoreOptions(), disk: SystemDisk())
    #expect(try again.head.tree(people)?.entryCount == 3)
  }
}

/// A disk that takes no bytes of a store's data while it is full.
private final class FullDisk: ForwardingDisk {
  let base: any Disk = SystemDisk()
  let isFull = Atomic(false)

  func open(_ path: String, _ mode: OpenMode) throws(DiskError) -> any DiskFile {
    let file = try base.open(path, mode)
    return path.hasSuffix("/data") ? FullFile(file, self) : file
  }
}

private final class FullFile: ForwardingFile {
  let base: any DiskFile
  private let disk: FullDisk

  init(_ base: any DiskFile, _ disk: FullDisk) {
    self.base = base
    self.disk = disk
  }

  private func requireRoom() throws(DiskError) {
    if disk.isFull.load(ordering: .relaxed) { throw DiskError(operation: "pwrite", path: "data", code: ENOSPC) }
  }

  func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(DiskError) {
    try requireRoom()
    try base.write(bytes, at: offset)
  }
  func zero(_ range: Range<UInt64>) throws(DiskError) {
    try requireRoom()
    try base.zero(range)
  }
}
