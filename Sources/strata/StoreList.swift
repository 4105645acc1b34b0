import DatastoreModel
import FoundationEssentials
import StorageEngine
import StoreBrowser

extension Program {
  /// What `strata` alone prints: the stores and folders of this directory, and the sample.
  static func listStores() throws -> Int32 {
    let names = try FileManager.default.contentsOfDirectory(atPath: ".").sorted()
    let stores = names.filter { Store.exists(at: $0, disk: SystemDisk()) || OriginalFolder.exists(at: $0) }
    let output = Output()
    if stores.isEmpty { try output.line("There is no store in this directory.") }
    for name in stores { try output.line("strata \(name)") }
    try output.line("strata demo")
    try output.flush()
    return 0
  }
}
