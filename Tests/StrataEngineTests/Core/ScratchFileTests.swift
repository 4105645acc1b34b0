import Foundation
import StrataEngine
import Testing

@Suite("Scratch files")
struct ScratchFileTests {
  @Test(
    "one in a store's folder takes away what a kill has left, and no file of a person; one in a folder of others takes nothing away",
    arguments: [false, true])
  func leftovers(isShared: Bool) throws {
    let folder = TemporaryFolder()
    let left = folder.path + "/data.scratch-1f"
    for path in [left, folder.path + "/scratch-notes", folder.path + "/scratch-2024"] {
      #expect(FileManager.default.createFile(atPath: path, contents: Data("mine".utf8)))
    }
    let file = try ScratchFile(in: folder.path, SystemDisk(), isShared: isShared)
    #expect(FileManager.default.fileExists(atPath: left) == isShared)
    [UInt64](repeating: 7, count: 3).withUnsafeBytes { try? file.append($0) }
    #expect(file.count == 24)
    // It has no name itself.
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).count == (isShared ? 3 : 2))
  }
}
