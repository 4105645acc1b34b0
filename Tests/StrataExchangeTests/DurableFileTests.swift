import Foundation
import StrataEngine
import Testing

@testable import StrataExchange

@Suite("Files that are there whole or not at all")
struct DurableFileTests {
  @Test("what a killed maker has left goes when the next file is made; what somebody writes, or has just begun, stays")
  func leftovers() throws {
    let disk = SystemDisk()
    let folder = FileManager.default.temporaryDirectory.appending(path: "strata-durable-\(disk.randomNumber())").path
    try disk.makeDirectory(folder)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    func names() throws -> Set<String> { Set(try disk.list(folder)) }
    let later = disk.now() + 7_200_000_000_000

    let written = try DurableFile(in: folder)
    let live = try names()
    for name in [".strata-1f.new", ".strata-mine", "x.new"] { _ = try disk.open("\(folder)/\(name)", .create) }
    try DurableFile.replace(folder + "/first", with: [1])
    #expect(try names() == live.union([".strata-1f.new", ".strata-mine", "x.new", "first"]))

    let next = try DurableFile(in: folder, now: later)
    #expect(try !names().contains(".strata-1f.new"))
    #expect(try names().isSuperset(of: live.union([".strata-mine", "x.new", "first"])))
    try next.add([2, 3])
    try next.finish(as: "second")
    try written.add([4])
    try written.finish(as: "third")
    #expect(try names() == [".strata-mine", "x.new", "first", "second", "third"])
    #expect(FileManager.default.contents(atPath: folder + "/second") == Data([2, 3]))
  }
}
