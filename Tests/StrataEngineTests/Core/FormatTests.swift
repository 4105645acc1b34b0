import DiskSimulation
import Testing

@testable import StrataEngine

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

@Suite("FORMAT.md")
struct FormatTests {
  private static let path = "/sample.strata"

  /// The store that the document shows: a tree of records, an update, a delete, a name.
  private func sample() throws -> [UInt8] {
    let disk = SimulatedDisk(seed: 42)
    var options = StoreOptions(program: "sample", author: "Ann")
    // A slot that is written after idleness would come at no certain moment.
    options.idleSeconds = 1e6
    let store = try FileStore.create(at: FormatTests.path, options: options, disk: disk)
    try store.change(CommitInfo(date: 1_800_000_000_000_000_000, action: "create")) { transaction in
      try transaction.createTree(TreeName(bytes("Dbooks")), kind: .records, attributes: bytes("{}"))
      try transaction.put(bytes("b1"), bytes("Momo"), in: TreeName(bytes("Dbooks")))
      try transaction.put(bytes("b2"), bytes("Emil"), in: TreeName(bytes("Dbooks")))
    }
    try store.change(CommitInfo(date: 1_800_000_060_000_000_000, action: "edit", names: ["good": 0])) { transaction in
      try transaction.put(bytes("b1"), bytes("MOMO"), in: TreeName(bytes("Dbooks")))
      try transaction.delete(bytes("b2"), in: TreeName(bytes("Dbooks")))
    }
    try store.close()
    return try #require(disk.image.contents(at: FormatTests.path + "/data")).array
  }

  private static let documentPath =
    String(#filePath).split(separator: "/", omittingEmptySubsequences: false).dropLast(4).joined(separator: "/")
    + "/Sources/StrataEngine/FORMAT.md"

  /// The lines between the fences under the heading of the worked dump.
  private func documented() throws -> [String] {
    let file = try SystemDisk().open(FormatTests.documentPath, .read)
    let block = MemoryBlock(count: Int(try file.status.size))
    _ = try file.read(into: block.bytes, at: 0)
    let text = String(decoding: block.bytes, as: UTF8.self)
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    let heading = try #require(lines.firstIndex(of: "## A store, byte by byte"))
    let start = try #require(lines[heading...].firstIndex(of: "```"))
    let end = try #require(lines[(start + 1)...].firstIndex(of: "```"))
    return Array(lines[(start + 1)..<end])
  }

  @Test("the worked dump is that of the store that its commits make today")
  func dump() throws {
    let lines = FormatDump.lines(of: try sample()).joined(separator: "\n").split(
      separator: "\n", omittingEmptySubsequences: false
    ).map(String.init)
    if getenv("STRATA_PRINT_DUMP") != nil { print(lines.joined(separator: "\n")) }
    let documented = try documented()
    #expect(documented.count == lines.count)
    // Each simulated disk is another device, which the session block names: it and its check differ.
    for (found, expected) in zip(lines, documented) where !found.hasPrefix(" 12816") && !found.hasPrefix(" 13308") {
      #expect(found == expected)
    }
  }

  @Test("the documented store, a file of version 1, is read")
  func golden() throws {
    let bytes = FormatDump.bytes(of: try documented())
    let disk = SimulatedDisk()
    try disk.makeDirectory(FormatTests.path)
    try disk.open(FormatTests.path + "/data", .create).write(bytes, at: 0)
    let store = try FileStore.open(at: FormatTests.path, options: StoreOptions(isReadOnly: true), disk: disk)
    var report = store.openingReport
    // The dates of the documented store are later than the simulated disk's clock.
    report.notes.removeAll()
    #expect(report == OpeningReport())
    let books = TreeName(Array("Dbooks".utf8))
    #expect(store.head.commit.number == 2)
    #expect(store.head.commit.action == "edit")
    #expect(try store.names == ["good": 2])
    #expect(try store.head.text(Array("b1".utf8), in: books) == "MOMO")
    #expect(try store.head.text(Array("b2".utf8), in: books) == nil)
    #expect(try store.view(at: 1).text(Array("b2".utf8), in: books) == "Emil")
    var versions = try store.head.versions(of: .bytes(Array("b2".utf8)), in: books)
    var commits: [UInt64] = []
    while let version = try versions.next() { commits.append(version.commit) }
    #expect(commits == [2, 1])
    #expect(try FileStore.verify(at: FormatTests.path, disk: disk).findings.isEmpty)
  }
}
