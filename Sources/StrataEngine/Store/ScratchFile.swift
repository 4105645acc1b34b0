import StrataLocks
import StrataSystem

/// A file on the store's own disk for what does not fit into memory. It has no name any more when it is handed out, so it is gone with
/// its last reference, however the process ends; one that a kill left with its name is taken away when the next is made.
package final class ScratchFile: Sendable {
  private let file: any DiskFile
  private let end = Mutex<UInt64>(0)

  private static let namePrefix = "data.scratch-"
  private static let total = Atomic<UInt64>(0)

  /// The number of bytes in all such files of this process.
  package static var bytesInUse: UInt64 { total.load(ordering: .relaxed) }

  /// - Parameters:
  ///   - folder: a folder of the disk that is there.
  ///   - isShared: whether others use the folder too; then nothing is taken away there.
  package init(in folder: String, _ disk: any Disk, isShared: Bool = false) throws(StorageError) {
    file = try engineCall { () throws(DiskError) in
      let left = isShared ? [] : try disk.list(folder).filter { $0.hasPrefix(Self.namePrefix) }
      for name in left { try disk.unlink("\(folder)/\(name)") }
      let path = "\(folder)/\(Self.namePrefix)\(String(disk.randomNumber(), radix: 16))"
      let file = try disk.open(path, .create)
      try disk.unlink(path)
      return file
    }
  }

  /// Makes one in the folder for temporary files.
  package static func temporary() throws(StorageError) -> ScratchFile {
    try ScratchFile(in: temporaryFolder, SystemDisk(), isShared: true)
  }

  /// The folder for temporary files: the one in the environment, otherwise the one that the system gives this process.
  package static var temporaryFolder: String {
    if let folder = getenv("TMPDIR").map({ String(cString: $0) }), !folder.isEmpty { return folder }
    #if canImport(Darwin)
      // A sandbox lets a process write into this folder, but not into the shared one.
      var path = [CChar](repeating: 0, count: Int(PATH_MAX))
      let count = confstr(_CS_DARWIN_USER_TEMP_DIR, &path, path.count)
      if count > 1, count <= path.count { return String(cString: path) }
    #endif
    return "/tmp"
  }

  deinit { Self.total.subtract(count, ordering: .relaxed) }

  /// How many bytes have been appended.
  package var count: UInt64 { end.withLock { $0 } }

  /// Writes bytes behind those that are there.
  package func append(_ bytes: UnsafeRawBufferPointer) throws(StorageError) {
    try end.withLock { end throws(StorageError) in
      let offset = end
      try engineCall { () throws(DiskError) in try file.write(bytes, at: offset) }
      end += UInt64(bytes.count)
      Self.total.add(UInt64(bytes.count), ordering: .relaxed)
    }
  }

  /// Reads as many bytes as there is room for, fewer at the end; how many.
  package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(StorageError) -> Int {
    try engineCall { () throws(DiskError) in try file.read(into: buffer, at: offset) }
  }
}

extension FileTransaction {
  package func scratchFile() throws(StorageError) -> ScratchFile { try ScratchFile(in: store.path, store.disk) }
}
