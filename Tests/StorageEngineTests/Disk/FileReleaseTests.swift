import Glibc
import Testing

@testable import StorageEngine

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

  @Test("one without a name that nobody else has open is freed little by little")
  func shrinks() throws {
    let descriptor = try makeFile()
    // A second descriptor of the same open file, so not another open.
    let witness = dup(descriptor)
    defer { close(witness) }
    #expect(unlink(path) == 0)
    release(descriptor)
    for _ in 0..<20_000_000 where size(of: witness) > 1 << 20 { letOthersRun() }
    #expect(size(of: witness) == 1 << 20)
  }

  @Test("one that somebody has open keeps every byte")
  func isOpen() throws {
    let descriptor = try makeFile()
    let reader = open(path, O_RDONLY | O_CLOEXEC)
    try #require(reader >= 0)
    defer { close(reader) }
    #expect(unlink(path) == 0)
    #expect(!isOpenNowhereElse(descriptor))
    release(descriptor)
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
    let witness = dup(descriptor)
    defer { close(witness) }
    #expect(unlink(path) == 0)
    #expect(!isOpenNowhereElse(descriptor))
    release(descriptor)
    #expect(size(of: witness) == size)
  }

  @Test("one that has a name is closed and stays as it is")
  func hasName() throws {
    release(try makeFile())
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    defer { close(descriptor) }
    #expect(size(of: descriptor) == size)
  }
}
