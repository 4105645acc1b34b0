#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif
@testable import StrataEngine

/// A folder that goes with its last reference.
final class TemporaryFolder: Sendable {
  let path: String

  init() {
    let name = String(UInt64.random(in: 0 ... .max), radix: 36)
    path = "/tmp/strata-engine-\(name)"
    mkdir(path, 0o777)
  }

  func store(_ name: String = "A") -> String { "\(path)/\(name).strata" }

  deinit { remove(path) }

  private func remove(_ path: String) {
    let disk = SystemDisk()
    for name in (try? disk.list(path)) ?? [] {
      let child = path + "/" + name
      if let status = try? disk.status(child), status.isDirectory { remove(child) } else { unlink(child) }
    }
    rmdir(path)
  }
}
