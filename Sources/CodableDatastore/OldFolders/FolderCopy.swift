import StrataModel
import StrataFolders
import StrataEngine

/// The newest state of a folder of the original library, as a store in memory, for persistences that only read: they change
/// nothing on the disk, and their datastores read trees.
enum FolderCopy {
  /// Reads the folder; needs memory for all of its contents. Blocks the thread.
  static func make(of path: String) throws -> any Engine {
    try throwingStoreErrors {
      let builder = StoreBuilder(inMemoryFor: StoreConnection.programName)
      let converter = try FolderConverter(from: path, into: builder)
      _ = try converter.run()
      return builder.store
    }
  }
}
