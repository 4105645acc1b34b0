import Glibc
import Testing

@testable import StrataEngine

@Suite("Letting go of large files")
struct FileReleaseTests {
  private let folder = TemporaryFolder()
  private var path: String { folder.store("large") }
  private let size: off_t = 4 << 20

  /// A file of 4 MiB, open for writing.
  private func makeFile() throws -> Int32 {
    let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
    try #require(descriptor >= 0)
    try #require(ftruncate(descriptor, size) == 0)
    return descriptor
  }

  private func size(of descriptor: Int32) -> off_t {
    var found = stat()
    return fstat(descriptor, &found) == 0 ? found.st_size : -1
  }

  private func isSameFile(_ one: Int32, _ other: Int32) -> Bool {
    var (found, others) = (stat(), stat())
    return fstat(one, &found) == 0 && fstat(other, &others) == 0 && found.st_ino == others.st_ino
      && found.st_dev == others.st_dev
  }

  /// A descriptor that tells the size of what lies at the path and is no open of it.
  private func makeWitness() throws -> Int32 {
    let pathOnly: Int32 = 0o10_000_000
    let witness = open(path, pathOnly | O_CLOEXEC)
    try #require(witness >= 0)
    return witness
  }

  private func expectShrunk(_ witness: Int32) {
    var looks = 0
    while size(of: witness) > 1 << 20, looks < 20_000_000 {
      yieldThread()
      looks += 1
    }
    #expect(size(of: witness) == 1 << 20)
  }

  /// Whether the system tells here who else has a file open.
  static let isKnown: Bool = {
    guard let descriptor = try? FileReleaseTests().makeFile() else { return false }
    defer { close(descriptor) }
    return isOpenNowhereElse(descriptor)
  }()

  @Test("one without a name that nobody else has open is freed little by little", .enabled(if: isKnown))
  func shrinks() throws {
    let descriptor = try makeFile()
    let witness = try makeWitness()
    defer { close(witness) }
    #expect(unlink(path) == 0)
    release(descriptor)
    expectShrunk(witness)
  }

  @Test("one of the store's is not let go of while it is mapped: values are read there", .enabled(if: isKnown))
  func isMappedHere() throws {
    let system = SystemDisk()
    var file: (any DiskFile)? = try system.open(path, .create)
    try file?.zero(0..<UInt64(size))
    var mapping = try file?.map(capacity: Int(size))
    let witness = try makeWitness()
    defer { close(witness) }
    try system.unlink(path)
    weak let kept = file
    file = nil
    #expect(kept != nil)
    #expect(size(of: witness) == size)
    #expect(mapping?.bytes.last == 0)
    mapping = nil
    expectShrunk(witness)
  }

  @Test("one that a forked process has keeps every byte: a second descriptor of the same open")
  func isInherited() throws {
    let descriptor = try makeFile()
    let other = dup(descriptor)
    defer { close(other) }
    #expect(unlink(path) == 0)
    #expect(closeLeavingAlone(descriptor) == nil)
    // Closed; its number may be another test's by now.
    #expect(!isSameFile(descriptor, other))
    #expect(size(of: other) == size)
  }

  @Test("one that is still mapped by a descriptor that is closed keeps every byte")
  func isStillMapped() throws {
    let descriptor = try makeFile()
    let start = try #require(mmap(nil, Int(size), PROT_READ, MAP_SHARED, descriptor, 0))
    defer { munmap(start, Int(size)) }
    #expect(unlink(path) == 0)
    #expect(closeLeavingAlone(descriptor) == nil)
  }

  @Test("a file system whose files other machines may have open, or that does not count mappings, is not believed")
  func fileSystems() throws {
    // That of the processes is neither a disk nor memory.
    let descriptor = open("/proc/self/comm", O_RDWR | O_CLOEXEC)
    try #require(descriptor >= 0)
    defer { close(descriptor) }
    #expect(!countsOpens(descriptor))
  }

  @Test("one that somebody has open keeps every byte")
  func isOpen() throws {
    let descriptor = try makeFile()
    let reader = open(path, O_RDONLY | O_CLOEXEC)
    try #require(reader >= 0)
    defer { close(reader) }
    #expect(unlink(path) == 0)
    #expect(closeLeavingAlone(descriptor) == nil)
    #expect(size(of: reader) == size)
  }

  @Test("one that somebody has mapped keeps every byte, also when it is no longer open there")
  func isMapped() throws {
    let descriptor = try makeFile()
    let reader = open(path, O_RDONLY | O_CLOEXEC)
    try #require(reader >= 0)
    let start = try #require(mmap(nil, Int(size), PROT_READ, MAP_SHARED, reader, 0))
    defer { munmap(start, Int(size)) }
    close(reader)
    #expect(unlink(path) == 0)
    #expect(closeLeavingAlone(descriptor) == nil)
  }

  @Test("one that has a name is closed and stays as it is")
  func hasName() throws {
    #expect(closeLeavingAlone(try makeFile()) == nil)
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    defer { close(descriptor) }
    #expect(size(of: descriptor) == size)
  }
}
