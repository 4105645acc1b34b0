import Foundation
import StrataLocks
import Testing

@testable import CodableDatastore
@testable import StrataEngine

@Suite("Blobs of a store that is not mapped")
struct UnmappedBlobTests {
  private let disk = MeasuredDisk()
  private let persistence: MeasuredPersistence
  private let blobs: BlobDatastore<ReadWrite>
  private let place = TemporaryPlace()
  private let contents = Data((0..<5_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 8) })

  init() throws {
    let store = try FileStore.create(at: "/store", options: StoreOptions(readsMapped: false), disk: disk)
    persistence = MeasuredPersistence(store)
    blobs = BlobDatastore(persistence: persistence)
  }

  @Test("pieces, the size and a deletion of a blob read no more than a MiB of it at once, and no byte twice")
  func pieces() async throws {
    try await blobs.persist(contents, to: "film")
    _ = disk.reads()
    for size in [1_000, 64 * 1024, 1_500_000] {
      var whole = Data()
      for try await piece in blobs.pieces(of: "film", size: size) {
        #expect(piece.count == min(size, contents.count - whole.count))
        whole += piece
      }
      #expect(whole == contents)
      let reads = disk.reads()
      #expect(reads.max() ?? 0 <= 1 << 20)
      #expect(reads.reduce(0, +) < contents.count + 150_000)
    }
    #expect(try await blobs.load("film") == contents)
    #expect(disk.reads().max() ?? 0 <= 1 << 20)
    #expect(try await blobs.size(of: "film") == contents.count)
    #expect(disk.reads().reduce(0, +) < 1_250_000)
    #expect(try await blobs.deleteIfPresent("film"))
    #expect(disk.reads().reduce(0, +) < 1_250_000)
  }

  @Test("damage behind the first MiB is the store's error, of a load and of the pieces behind it")
  func damage() async throws {
    try await blobs.persist(contents, to: "film")
    _ = try damage(at: 3_000_000)
    await #expect(throws: StoreError.self) { try await blobs.load("film") }
    var count = 0
    await #expect(throws: StoreError.self) { for try await piece in blobs.pieces(of: "film") { count += piece.count } }
    #expect(count > 1 << 20 && count < 3_000_000)
  }

  @Test("a damaged blob is replaced by the same data, and is deleted", arguments: [3_000, 3_000_000])
  func mending(place: Int) async throws {
    try await blobs.persist(contents, to: "film")
    let start = try damage(at: place)
    try await blobs.persist(contents, to: "film")
    #expect(try await blobs.load("film") == contents)
    _ = try damage(at: place, behind: start + contents.count)
    await #expect(throws: StoreError.self) { try await blobs.load("film") }
    #expect(try await blobs.deleteIfPresent("film"))
    #expect(try await blobs.names == [])
  }

  /// Changes a bit of the stored contents, and returns their place in the file.
  private func damage(at place: Int, behind begin: Int = 0) throws -> Int {
    let file = try disk.base.open("/store/data", .readWrite)
    var stored = [UInt8](repeating: 0, count: Int(try file.status.size))
    _ = try stored.withUnsafeMutableBytes { try file.read(into: $0, at: 0) }
    let start = try #require(Data(stored)[begin...].firstRange(of: contents.prefix(3_000))?.lowerBound)
    try [stored[start + place] ^ 1].withUnsafeBytes { try file.write($0, at: UInt64(start + place)) }
    return start
  }

  @Test("a file is compared with the stored blob a MiB at a time")
  func comparison() async throws {
    let folder = place.url.deletingLastPathComponent()
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let file = folder.appending(path: "film")
    try contents.write(to: file)
    try await blobs.persist(contentsOf: file, to: "film")
    let head = try await persistence.head?.id
    _ = disk.reads()
    try await blobs.persist(contentsOf: file, to: "film")
    #expect(try await persistence.head?.id == head)
    #expect(disk.reads().max() ?? 0 <= 1 << 20)
    var other = contents
    other[4_999_999] ^= 1
    try await blobs.persist(other, to: "film")
    #expect(try await persistence.head?.id != head)
    #expect(try await blobs.load("film") == other)
  }
}

private actor MeasuredPersistence: Persistence {
  typealias AccessMode = ReadWrite
  nonisolated let _store: _StoreHandle

  init(_ store: FileStore) {
    let connection = StoreConnection(path: nil, writer: store, slices: .shared, clock: ContinuousClock())
    _store = _StoreHandle(connection: connection, isReadOnly: false)
  }
}

/// A disk that notes how many bytes of the data each call reads.
private final class MeasuredDisk: ForwardingDisk {
  let base: any Disk = MemoryDisk()
  private let noted = Mutex<[Int]>([])

  /// The reads since the last time.
  func reads() -> [Int] {
    noted.withLock { noted in
      defer { noted = [] }
      return noted
    }
  }

  fileprivate func note(_ count: Int) { noted.withLock { $0.append(count) } }

  func open(_ path: String, _ mode: OpenMode) throws(DiskError) -> any DiskFile {
    let file = try base.open(path, mode)
    return path.hasSuffix("/data") ? MeasuredFile(file, self) : file
  }
}

private final class MeasuredFile: ForwardingFile {
  let base: any DiskFile
  private let disk: MeasuredDisk

  init(_ base: any DiskFile, _ disk: MeasuredDisk) { (self.base, self.disk) = (base, disk) }

  func reopened() throws(DiskError) -> (any DiskFile)? { try base.reopened().map { MeasuredFile($0, disk) } }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(DiskError) -> Int {
    disk.note(buffer.count)
    return try base.read(into: buffer, at: offset)
  }
}
