import StrataFolders
public import StrataFoundation
import StrataLocks
import StrataModel

extension DiskPersistence where AccessMode == ReadWrite {
  /// Makes a store of a folder that the original library wrote. The folder stays as it is, and may be in use.
  ///
  /// If the store is to replace the folder without any work of the app, use ``StoreConfiguration/oldFolders``, which does all of this. The
  /// cost is that of reading each page of the folder once, and of writing the changes of every commit. It runs on a thread of no actor; a
  /// cancelled task leaves nothing behind.
  ///
  /// - Parameters:
  ///   - folder: The location of the folder.
  ///   - url: The location of the new store; nothing may lie there.
  ///   - keepsHistory: Whether older states become commits; otherwise the newest one is the first commit.
  ///   - progress: Receives the progress.
  /// - Returns: A report on the data that was carried over, and on the data that could not be.
  /// - Throws: ``DiskPersistenceError/notFileURL``; ``StoreError`` if the folder cannot be read or the store cannot be written;
  ///   `CancellationError`. Then there is no store.
  @discardableResult
  public static func convertFolder(
    at folder: URL, to url: URL, keepsHistory: Bool = true, progress: FolderConversionHandler? = nil
  ) async throws -> FolderConversion {
    guard folder.isFileURL, url.isFileURL else { throw DiskPersistenceError.notFileURL }
    let (source, target) = (StoreCopy.path(of: folder), StoreCopy.path(of: url))
    let isCancelled = Mutex(Task.isCancelled)
    return try await withTaskCancellationHandler {
      try await onThread {
        try FolderConversion.make(from: source, to: target, keepsHistory: keepsHistory) { news in
          progress?(news)
          return !isCancelled.withLock { $0 }
        }
      }
    } onCancel: {
      isCancelled.withLock { $0 = true }
    }
  }
}

extension DiskPersistence {
  /// The report on the conversion of an old folder, if opening this store converted one in this process; see
  /// ``StoreConfiguration/oldFolders``.
  public nonisolated var folderConversion: FolderConversion? { _store.connection.folderConversion }
}

extension FolderConversion {
  /// Converts a folder. Blocks the thread.
  ///
  /// - Parameter goesOn: Receives the progress, and returns whether to continue.
  static func make(
    from folder: String, to path: String, keepsHistory: Bool, goesOn: (FolderConversionProgress) -> Bool
  ) throws -> FolderConversion {
    try throwingStoreErrors {
      try withoutActuallyEscaping(goesOn) { goesOn in
        let converter = try FolderConverter(
          from: folder, to: path, keepsHistory: keepsHistory, program: StoreConnection.programName,
          author: StoreConnection.userName
        ) { goesOn(FolderConversionProgress($0)) }
        return FolderConversion(try converter.run())
      }
    }
  }
}
