import DatastoreModel
#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import StorageEngine
import StoreBrowser

extension Program {
  /// What `strata` alone prints: the stores and folders of this directory, those opened lately elsewhere, and the sample.
  static func listStores() throws -> Int32 {
    let names = try FileManager.default.contentsOfDirectory(atPath: ".").sorted().filter(isStore)
    let output = Output()
    if names.isEmpty { try output.line("There is no store in this directory.") }
    for name in names { try output.line("strata \(shellWord(name))") }
    let here = FileManager.default.currentDirectoryPath
    let recent = (recentStores?.paths ?? []).filter { path in
      isStore(path) && !names.contains { "\(here)/\($0)" == path }
    }
    if !recent.isEmpty { try output.line("Opened lately:") }
    for path in recent { try output.line("strata \(shellWord(path))") }
    try output.line("strata demo")
    try output.flush()
    return 0
  }

  /// The stores that were opened in the browser lately; nil where there is no home to keep them in.
  static var recentStores: RecentStores? {
    RecentStores(environment: ["HOME", "XDG_STATE_HOME"].environment)
  }

  /// Whether a store or a folder of the original library seems to lie there.
  static func isStore(_ path: String) -> Bool {
    FileStore.exists(at: path, disk: SystemDisk()) || OriginalFolder.exists(at: path)
  }

  /// A path as a shell takes it for one word.
  private static func shellWord(_ path: String) -> String {
    let plain = path.utf8.allSatisfy { byte in
      byte >= 0x80 || Set("%+,-./:=@_".utf8).contains(byte) || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte
        || UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte & 0xDF
    }
    return plain ? path : "'\(path.replacing("'", with: "'\\''"))'"
  }
}
