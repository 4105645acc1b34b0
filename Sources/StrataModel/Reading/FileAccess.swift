import StrataSystem

enum FileAccess {
  /// Whether this process may write the directory of a store, and the data in it; also true if nothing exists there yet.
  static func isWritable(_ path: String) -> Bool {
    for file in [path, path + "/data"] where access(file, F_OK) == 0 && access(file, W_OK) != 0 { return false }
    return true
  }
}
