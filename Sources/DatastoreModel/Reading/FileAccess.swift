#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// What this process may do with a store's files.
enum FileAccess {
  /// Whether the directory of a store, and the data in it, may be written; also true where nothing lies there yet.
  static func isWritable(_ path: String) -> Bool {
    for file in [path, path + "/data"] where access(file, F_OK) == 0 && access(file, W_OK) != 0 { return false }
    return true
  }
}
