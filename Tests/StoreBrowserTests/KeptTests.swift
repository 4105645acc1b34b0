import StrataModel
import StrataTerminal
import Testing

@testable import StoreBrowser

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

@Suite("Files that the browser keeps")
struct KeptTests {
  private func newFolder() -> String { "/tmp/strata-kept-\(UInt64.random(in: 0 ... .max))" }

  @Test("a file that could not be renamed at its end closes no file that was opened after it")
  func unfinished() throws {
    let path = newFolder()
    defer { TestFile.remove(path) }
    let output = try FileOutput(path: path)
    _ = try output.add([1])
    TestFile.makeFolder(path)
    #expect(throws: ModelError.self) { try output.finish() }
    let other = open("/dev/null", O_WRONLY | O_CLOEXEC)
    defer { _ = close(other) }
    output.discard()
    #expect(fcntl(other, F_GETFD) >= 0)
  }
}
