import DiskSimulation
import Glibc
import StrataEngine
import Testing

@Suite("The disk that is a value")
struct ImageDiskTests {
  @Test("bytes written are read back across pages; what was never written reads as zeros")
  func readsBack() throws {
    let file = try ImageDisk().open("/data", .create)
    let bytes = (0..<9_000).map { UInt8(truncatingIfNeeded: $0) }
    try write(bytes, at: 4_000, to: file)
    #expect(try read(9_000, at: 4_000, from: file) == bytes)
    #expect(try read(20_000, at: 0, from: file) == [UInt8](repeating: 0, count: 4_000) + bytes)
    try file.zero(5_000..<13_500)
    #expect(try read(2, at: 4_999, from: file) == [bytes[999], 0])
    #expect(try file.status.size == 13_500)
    #expect(throws: DiskError(operation: "pwrite", path: "/data", code: EFBIG)) {
      try write([1], at: PagedBytes.sizeLimit, to: file)
    }
  }

  @Test("a copy of a disk keeps its bytes while the original goes on")
  func copies() throws {
    let disk = ImageDisk()
    let file = try disk.open("/data", .create)
    try write([1, 2, 3], at: 0, to: file)
    let image = disk.image
    try write([9], at: 1, to: file)
    #expect(image.contents(at: "/data")?.array == [1, 2, 3])
    #expect(try read(3, at: 0, from: ImageDisk(image).open("/data", .read)) == [1, 2, 3])
  }

  @Test("names behave as on a real disk: rename replaces, directories move whole, open files live on")
  func names() throws {
    let disk = ImageDisk()
    try disk.makeDirectory("/a")
    let file = try disk.open("/a/data", .create)
    try write([1], at: 0, to: file)
    try disk.rename("/a", to: "/b")
    #expect(try disk.status("/a") == nil)
    #expect(try disk.list("/b") == ["data"])
    let other = try disk.open("/b/new", .create)
    try write([2], at: 0, to: other)
    try disk.rename("/b/new", to: "/b/data")
    #expect(try disk.status("/b/data")?.identity == other.status.identity)
    #expect(try read(1, at: 0, from: file) == [1])
    try disk.unlink("/b/data")
    #expect(try disk.list("/b") == [])
    #expect(try read(1, at: 0, from: other) == [2])
    #expect(throws: DiskError(operation: "open", path: "/b/data", code: ENOENT)) { try disk.open("/b/data", .read) }
    #expect(throws: DiskError(operation: "open", path: "/c/data", code: ENOENT)) { try disk.open("/c/data", .create) }
    #expect(throws: DiskError(operation: "unlink", path: "/b", code: EISDIR)) { try disk.unlink("/b") }
  }

  @Test("one open excludes another, and letting it go frees the lock")
  func locks() throws {
    let disk = ImageDisk()
    var first: (any DiskFile)? = try disk.open("/lock", .create)
    let second = try disk.open("/lock", .readWrite)
    #expect(try first?.tryLock() == true)
    #expect(try second.tryLock() == false)
    #expect(try second.isLockedElsewhere())
    first = nil
    #expect(try second.isLockedElsewhere() == false)
    #expect(try second.tryLock())
  }

  @Test("a full disk takes what fits, says so, and takes more when there is room")
  func fullDisk() throws {
    let disk = ImageDisk(capacity: 3 * 4_096)
    let file = try disk.open("/data", .create)
    #expect(throws: DiskError(operation: "pwrite", path: "/data", code: ENOSPC)) { try file.zero(0..<20_000) }
    #expect(try file.status.size == 3 * 4_096)
    try write([7], at: 12_287, to: file)
    #expect(throws: DiskError(operation: "pwrite", path: "/data", code: ENOSPC)) {
      try write([7], at: 12_288, to: file)
    }
    disk.setCapacity(nil)
    try write([7], at: 12_288, to: file)
  }

  @Test("read-only media refuse writing and naming")
  func readOnly() throws {
    let disk = ImageDisk()
    _ = try disk.open("/data", .create)
    disk.setReadOnly(true)
    #expect(throws: DiskError(operation: "open", path: "/data", code: EROFS)) { try disk.open("/data", .readWrite) }
    #expect(throws: DiskError(operation: "unlink", path: "/data", code: EROFS)) { try disk.unlink("/data") }
    _ = try disk.open("/data", .read)
  }

  @Test("a watch tells of contents and of another file taking the name")
  func watches() async throws {
    let disk = ImageDisk()
    let file = try disk.open("/data", .create)
    let other = try disk.open("/other", .create)
    let (changes, told) = AsyncStream.makeStream(of: Void.self)
    let watch = try disk.watch("/data") { told.yield() }
    var next = changes.makeAsyncIterator()
    try write([1], at: 0, to: other)
    try write([1], at: 0, to: file)
    await next.next()
    try disk.rename("/other", to: "/data")
    await next.next()
    try write([2], at: 0, to: other)
    await next.next()
    withExtendedLifetime(watch) {}
  }
}
