import DiskSimulation
import Glibc
import StrataEngine
import Testing

/// What the fuzzers have found worth keeping, and what they begin from. `STRATA_WRITE_CORPUS=1` writes the beginnings anew.
@Suite("Fuzzers' corpus")
struct CorpusTests {
  private static let folder = #filePath.split(separator: "/").dropLast(3).reduce("") { "\($0)/\($1)" } + "/Fuzz/Corpus"

  private func inputs(_ name: String) throws -> [(name: String, bytes: [UInt8])] {
    let disk = SystemDisk()
    let folder = "\(Self.folder)/\(name)"
    return try disk.list(folder).sorted().map { entry in
      let file = try disk.open("\(folder)/\(entry)", .read)
      var bytes = [UInt8](repeating: 0, count: Int(try file.status.size))
      _ = try bytes.withUnsafeMutableBytes { try file.read(into: $0, at: 0) }
      return (entry, bytes)
    }
  }

  @Test("files", .disabled(if: getenv("STRATA_WRITE_CORPUS") != nil))
  func files() throws {
    let inputs = try inputs("File")
    #expect(inputs.count >= 2)
    for input in inputs { FuzzTarget.file(input.bytes) }
  }

  @Test("nodes", .disabled(if: getenv("STRATA_WRITE_CORPUS") != nil))
  func nodes() throws {
    let inputs = try inputs("Node")
    #expect(inputs.count >= 2)
    for input in inputs { FuzzTarget.node(input.bytes) }
  }

  @Test("parts", .disabled(if: getenv("STRATA_WRITE_CORPUS") != nil))
  func parts() throws {
    let inputs = try inputs("Part")
    #expect(inputs.count >= 2)
    for input in inputs { FuzzTarget.parts(input.bytes) }
  }

  @Test("blocks", .disabled(if: getenv("STRATA_WRITE_CORPUS") != nil))
  func blocks() throws {
    let inputs = try inputs("Block")
    #expect(inputs.count >= 2)
    for input in inputs { FuzzTarget.block(input.bytes) }
  }

  @Test("mended checks let a changed file through to what lies behind them")
  func mending() throws {
    let store = try DamagedStore.make()
    var data = Array(store.bytes[..<store.end])
    let whole = data
    MendedChecks.mend(&data)
    let changed = data.indices.first { data[$0] != whole[$0] }
    #expect(changed == nil, "what is right stays as it is")
    let record = try #require(FrameMap(data).frames.last?.record)
    data[record.upperBound - 1] ^= 1
    let broken = data
    MendedChecks.mend(&data)
    let isMended = data != broken
    #expect(isMended)
  }

  @Test("the beginnings are written", .enabled(if: getenv("STRATA_WRITE_CORPUS") != nil))
  func write() throws {
    let store = try DamagedStore.make()
    let data = Array(store.bytes[..<store.end])
    for flags: UInt8 in [0, 1] { try save([flags] + data, "File/store-\(flags)") }
    try save([4, 2, 0x14, 7, 2, 0, 0x50, 1, 2, 3, 4, 5], "Block/match")
    try save([40, 20] + Array("{\"name\":\"a\"}{\"name\":\"b\"}{\"name\":\"c\"}".utf8), "Block/records")
    for frame in FrameMap(data).frames {
      try save(Array(data[frame.nodes].prefix(1_024)), "Node/frame-\(frame.number)")
      try save(Array(data[frame.record]), "Part/record-\(frame.number)")
      if !frame.changes.isEmpty { try save(Array(data[frame.changes].prefix(200)), "Part/change-\(frame.number)") }
    }
  }

  private func save(_ bytes: [UInt8], _ name: String) throws {
    let disk = SystemDisk()
    try disk.makeDirectory(Self.folder)
    try disk.makeDirectory("\(Self.folder)/\(name.prefix { $0 != "/" })")
    if try disk.status("\(Self.folder)/\(name)") != nil { try disk.unlink("\(Self.folder)/\(name)") }
    let file = try disk.open("\(Self.folder)/\(name)", .create)
    try bytes.withUnsafeBytes { try file.write($0, at: 0) }
  }
}
