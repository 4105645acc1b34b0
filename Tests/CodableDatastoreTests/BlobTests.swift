import Foundation
import StrataDocuments
import StrataEngine
import StrataLocks
import StrataModel
import Testing

@testable import CodableDatastore

@Suite("Blobs")
struct BlobTests {
  let persistence = MemoryPersistence()

  @Test("blobs of any size are kept by name, read in pieces, and part of transactions")
  func blobs() async throws {
    let place = TemporaryPlace()
    let disk = try DiskPersistence(readWriteURL: place.url)
    let blobs = BlobDatastore(persistence: disk)
    #expect(try await blobs.count == 0)
    #expect(try await blobs.load("x") == nil)
    let large = Data((0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })
    try await blobs.persist(large, to: "large")
    try await blobs.persist(Data(), to: "empty")
    #expect(try await blobs.load("large") == large)
    #expect(try await blobs.size(of: "large") == 3_000_000)
    #expect(try await blobs.load("empty") == Data())
    var joined = Data()
    var count = 0
    for try await piece in blobs.pieces(of: "large", size: 1_000_000) {
      joined += piece
      count += 1
    }
    #expect(joined == large && count == 3)
    #expect(try await blobs.pieces(of: "large", size: .max).collectInstances(upTo: .infinity) == [large])
    for size in [0, -1, .min] {
      await #expect(throws: StoreError.self) { try await blobs.pieces(of: "large", size: size).firstInstance }
    }
    let file = place.url.deletingLastPathComponent().appending(path: "file")
    try large.write(to: file)
    try await blobs.persist(contentsOf: file, to: "from file")
    #expect(try await blobs.load("from file") == large)
    #expect(try await blobs.names == ["empty", "from file", "large"])
    struct Refusal: Error {}
    try? await disk.perform {
      try await blobs.deleteIfPresent("large")
      throw Refusal()
    }
    #expect(try await blobs.count == 3)
    #expect(try await blobs.deleteIfPresent("large"))
    #expect(try await !blobs.deleteIfPresent("large"))
  }

  private actor ServedPersistence: Persistence {
    typealias AccessMode = ReadWrite
    nonisolated let _store: _StoreHandle

    init(_ location: String, opening: @escaping @Sendable () -> Void) {
      _store = _StoreHandle(served: location, isReadOnly: false) { _ in
        opening()
        return FileStore.memory()
      }
    }
  }

  @MainActor @Test("a store on a server is asked for blobs on another thread than the caller's")
  func served() async throws {
    let areMain = Mutex<[Bool]>([])
    let calls: [@MainActor (BlobDatastore<ReadWrite>) async throws -> Void] = [
      { _ = try await $0.count }, { _ = try await $0.names }, { _ = try await $0.load("a") },
      { _ = try await $0.size(of: "a") }, { _ = try await $0.deleteIfPresent("a") },
      { _ = try await $0.pieces(of: "a").firstInstance },
    ]
    for (number, call) in calls.enumerated() {
      let persistence = ServedPersistence("blobs \(number)") { areMain.withLock { $0.append(Thread.isMainThread) } }
      try await call(BlobDatastore(persistence: persistence))
    }
    #expect(areMain.withLock { $0 } == calls.map { _ in false })
  }

  @Test("a blob of the same bytes makes no commit, however it comes, and one that differs anywhere does")
  func sameBlobs() async throws {
    let place = TemporaryPlace()
    let disk = try DiskPersistence(readWriteURL: place.url)
    let blobs = BlobDatastore(persistence: disk)
    func persist(_ data: Data) async throws {
      try await blobs.persist(data, to: "blob")
      let file = place.url.deletingLastPathComponent().appending(path: "file")
      try data.write(to: file)
      try await blobs.persist(contentsOf: file, to: "blob")
      let pieces = AsyncStream { continuation in
        for start in stride(from: 0, to: data.count, by: 700_000) {
          continuation.yield(data[start..<min(start + 700_000, data.count)])
        }
        continuation.finish()
      }
      try await blobs.persist(pieces: pieces, to: "blob")
    }
    var data = Data((0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })
    var number: UInt64 = 0
    for change in [nil, 0, 1_500_000, 2_999_999] as [Int?] {
      if let change { data[change] ^= 1 }
      try await persist(data)
      number += 1
      #expect(try await disk.head?.id == Commit.Number(number))
      #expect(try await blobs.load("blob") == data)
    }
    for data in [data.dropLast(), data, Data([1]), Data(), data] {
      try await persist(Data(data))
      number += 1
      #expect(try await disk.head?.id == Commit.Number(number))
      #expect(try await blobs.load("blob") == data)
    }
    try await disk.perform {
      try await persist(Data([1]))
      try await persist(data)
      try await blobs.deleteIfPresent("blob")
      try await persist(data)
    }
    #expect(try await blobs.load("blob") == data)
  }

  @Test("a file is stored to its end, whatever size it is said to have, and a pipe is refused")
  func filesWithoutSize() async throws {
    let blobs = BlobDatastore(persistence: persistence)
    let pipe = Pipe()
    try pipe.fileHandleForWriting.write(contentsOf: Data([1]))
    let reading = URL(filePath: "/dev/fd/\(pipe.fileHandleForReading.fileDescriptor)")
    let error = await #expect(throws: StoreError.self) { try await blobs.persist(contentsOf: reading, to: "pipe") }
    #expect(error?.kind == .inputOutput && error?.message.contains(reading.path) == true)
    #expect(try await blobs.names.isEmpty)
    #if os(Linux)
      // The first is said to have no byte, the second a page.
      for path in ["/proc/version", "/sys/kernel/mm/transparent_hugepage/enabled"] {
        guard let contents = FileManager.default.contents(atPath: path) else { continue }
        try await blobs.persist(contentsOf: URL(filePath: path), to: path)
        #expect(try await blobs.load(path) == contents && !contents.isEmpty)
      }
    #endif
  }

  @Test("a file that becomes shorter while it is stored is an input or output error that names the file")
  func shrunkFile() throws {
    let place = TemporaryPlace()
    let file = place.url.deletingLastPathComponent().appending(path: "file")
    try FileManager.default.createDirectory(at: place.url, withIntermediateDirectories: true)
    try Data(count: 3_000_000).write(to: file)
    let spool = try BlobSpool(file: SystemDisk().open(file.path, .read), path: file.path, count: 3_000_000)
    #expect(try spool.bytes(at: 2_000_000, count: 1_000_000).count == 1_000_000)
    try FileHandle(forWritingTo: file).truncate(atOffset: 2_500_000)
    let error = #expect(throws: StoreError.self) {
      try throwingStoreErrors { try spool.bytes(at: 2_000_000, count: 1_000_000) }
    }
    #expect(error?.kind == .inputOutput && error?.message.contains(file.path) == true)
  }

  @Test("blobs are refused under the key of instances, in reading and in writing")
  func blobsAmongInstances() async throws {
    let books = PlainBookFormat.datastore(persistence)
    try await books.persist(Book(id: 1, title: "A"))
    let blobs = BlobDatastore(persistence: persistence, key: PlainBookFormat.defaultKey)
    let calls: [() async throws -> Any?] = [
      { try await blobs.persist(Data([1]), to: "q") }, { try await blobs.load("q") }, { try await blobs.count },
      { try await blobs.names }, { try await blobs.size(of: "q") }, { try await blobs.deleteIfPresent("q") },
      { try await blobs.pieces(of: "q").firstInstance },
    ]
    for call in calls {
      let error = await #expect(throws: StoreError.self) { _ = try await call() }
      #expect(error?.kind == .refused)
    }
    #expect(try await books.load(...).all().map(\.id) == [1])
  }

  @Test("a transaction that catches the refusal of a blob goes on, and commits the rest")
  func refusedBlobs() async throws {
    let books = PlainBookFormat.datastore(persistence)
    try await books.persist(Book(id: 1, title: "A"))
    let blobs = BlobDatastore(persistence: persistence)
    let wrong = BlobDatastore(persistence: persistence, key: "Books")
    let place = TemporaryPlace()
    let (folder, large) = (place.url.deletingLastPathComponent(), place.url.appending(path: "large"))
    try FileManager.default.createDirectory(at: place.url, withIntermediateDirectories: true)
    try Data().write(to: large)
    // It has no bytes on the disk.
    try FileHandle(forWritingTo: large).truncate(atOffset: 1 << 30)
    try await persistence.perform {
      await #expect(throws: StoreError.self) { try await wrong.persist(Data([1]), to: "q") }
      await #expect(throws: StoreError.self) { try await blobs.persist(contentsOf: folder, to: "folder") }
      await #expect(throws: StoreError.self) { try await blobs.persist(contentsOf: large, to: "large") }
      try await blobs.persist(Data([2]), to: "small")
      try await books.persist(Book(id: 2, title: "B"))
    }
    #expect(try await blobs.names == ["small"])
    #expect(try await books.load(...).all().map(\.id) == [1, 2])
  }

  @Test("instances are refused under the key of blobs, whatever their identifiers are, and the blobs stay")
  func instancesAmongBlobs() async throws {
    struct Note: Codable, Identifiable { var id: String }
    struct NoteFormat: DatastoreFormat {
      enum Version: Int, CaseIterable { case first = 1 }
      typealias Instance = Note
      static let defaultKey = PlainBookFormat.defaultKey
      static let currentVersion = Version.first
    }
    let blobs = BlobDatastore(persistence: persistence, key: NoteFormat.defaultKey)
    try await blobs.persist(Data([1]), to: "q")
    func expectRefusal(_ body: () async throws -> Void, sourceLocation: SourceLocation = #_sourceLocation) async {
      let error = await #expect(throws: StoreError.self, sourceLocation: sourceLocation) { try await body() }
      #expect(error?.kind == .refused, sourceLocation: sourceLocation)
    }
    await expectRefusal { try await persistence.datastore(NoteFormat.self).persist(Note(id: "q")) }
    await expectRefusal { try await persistence.datastore(NoteFormat.self).delete("q") }
    await expectRefusal { _ = try await persistence.datastore(NoteFormat.self).load("q") }
    await expectRefusal { _ = try await persistence.datastore(NoteFormat.self).count }
    await expectRefusal { try await PlainBookFormat.datastore(persistence).persist(Book(id: 1, title: "A")) }
    await expectRefusal { try await persistence.perform { try await BookFormat.datastore(persistence).warm() } }
    let reader = Datastore<NoteFormat, ReadOnly>.readOnlyJSONStore(persistence: persistence)
    await expectRefusal { _ = try await reader.load(...).all() }
    await expectRefusal { _ = try await reader.load("q") }
    await expectRefusal { _ = try await reader.count }
    try await blobs.persist(Data([2]), to: "r")
    #expect(try await blobs.names == ["q", "r"])
  }

  @Test("blobs that come piece by piece, few and many, are kept once the last piece is there")
  func streamedBlobs() async throws {
    let blobs = BlobDatastore(persistence: persistence)
    let piece = Data((0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })
    for count in [0, 1, 45] {
      let pieces = AsyncStream { continuation in
        for _ in 0..<count { continuation.yield(piece) }
        continuation.finish()
      }
      try await blobs.persist(pieces: pieces, to: "streamed")
      #expect(try await blobs.size(of: "streamed") == count * piece.count)
      var whole = Data()
      for try await part in blobs.pieces(of: "streamed", size: 77_777) { whole += part }
      #expect(whole == Data(repeatElement(piece, count: count).joined()))
    }
    try await blobs.persist(pieces: blobs.pieces(of: "streamed"), to: "copy")
    #expect(try await blobs.load("copy") == blobs.load("streamed"))
    struct Refusal: Error {}
    let broken = AsyncThrowingStream<Data, any Error> { continuation in
      continuation.yield(piece)
      continuation.finish(throwing: Refusal())
    }
    await #expect(throws: Refusal.self) { try await blobs.persist(pieces: broken, to: "streamed") }
    #expect(try await blobs.size(of: "streamed") == 45 * piece.count)
  }

  @Test("a blob whose task is cancelled before the last piece came is not stored")
  func cancelledBlob() async throws {
    let blobs = BlobDatastore(persistence: persistence)
    let (pieces, continuation) = AsyncStream<Data>.makeStream()
    let task = Task {
      // The stream ends without an error.
      withUnsafeCurrentTask { $0?.cancel() }
      try await blobs.persist(pieces: pieces, to: "streamed")
    }
    continuation.yield(Data([1]))
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(try await blobs.names.isEmpty)
  }
}
