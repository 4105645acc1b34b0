import Foundation
import Testing

/// Servers and their tools live longer than the test that starts them: what they inherit stays open.
@Suite("Programs that tests of servers start")
struct ChildProgramTests {
  @Test("a program has nothing open but its streams, however much its starter has open")
  func descriptors() throws {
    let many = (0..<700).map { _ in dup(0) }
    defer { for descriptor in many { close(descriptor) } }
    try #require(many.allSatisfy { $0 >= 0 })
    let output = NSTemporaryDirectory() + "strata-child-\(UInt64.random(in: 0 ... .max))"
    defer { try? FileManager.default.removeItem(atPath: output) }
    #expect(ChildProgram.run("/bin/ls", ["/dev/fd/"], output: output) == 0)
    let open = try String(contentsOfFile: output, encoding: .utf8).split(separator: "\n").compactMap { Int($0) }
      .sorted()
    // The list is read through a descriptor of its own.
    #expect(open.filter { $0 > 3 } == [], "inherited")
    #expect(open.starts(with: [0, 1, 2]))
  }
}
