import StrataEngine

/// Reports changes of a file, for stores that are not the engine's.
package enum FileWatch {
  /// Calls `change` on its own thread after each change of a file's contents, and after another file has taken its name, until the token is
  /// released. Never polls. The file need not exist yet, but its directory must.
  package static func begin(
    _ path: String, change: @escaping @Sendable () -> Void
  ) throws(ModelError) -> any Sendable & AnyObject {
    do throws(DiskError) {
      return try SystemDisk().watch(path, change: change)
    } catch {
      throw .storage("\(path) cannot be watched: \(error.operation) failed with error \(error.code)", kind: .failed)
    }
  }
}
