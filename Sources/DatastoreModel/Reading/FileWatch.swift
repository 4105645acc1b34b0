import StorageEngine

/// Tells of changes of a file, for stores that are not the engine's.
package enum FileWatch {
  /// Calls `change` after each change of a file's contents or of which file has its name, from a thread of its own,
  /// until the token is let go. Never polls; the file need not be there yet, its directory must.
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
