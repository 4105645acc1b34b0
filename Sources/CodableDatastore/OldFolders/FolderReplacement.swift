import StrataEngine
import StrataFoundation
import StrataModel

/// Replaces a folder that the original library wrote with a store.
///
///     1  NAME                                    the folder
///     2  NAME             NAME.converting        the store beside it, whole and durable
///     3  NAME.original    NAME.converting        the folder is moved aside
///     4  NAME.original    NAME                   the store takes its place
///
/// A crash leaves one of these states, and each determines the next step. Before 3 the folder holds the data: a store beside it is removed
/// and made again, because an older version of the app may have written to the folder meanwhile. From 3 on the store holds the data: it
/// only has to be renamed. Nothing of the folder is ever changed but its name.
struct FolderReplacement {
  enum State {
    /// No folder of the original library.
    case none
    /// 1 or 2.
    case folder
    /// 3.
    case movedAside
  }

  /// A moment before something changes on the disk, at which tests simulate a crash.
  enum Step: CaseIterable {
    case converting, movingAside, takingPlace, finishing
  }

  let path: String
  private let disk = SystemDisk()

  init(at path: String) { self.path = path }

  var workPath: String { path + ".converting" }

  var state: State {
    if OriginalFolder.exists(at: path) { return .folder }
    guard isFree(path), FileStore.exists(at: workPath, disk: disk),
      names(beginningWith: ".original").contains(where: { OriginalFolder.exists(at: $0) })
    else { return .none }
    return .movedAside
  }

  /// Converts the folder, if there is one, and puts the store at its path. Blocks the thread.
  ///
  /// - Parameters:
  ///   - willDo: Called before each step.
  /// - Returns: The report on the conversion; nil if there was nothing to convert, as when another process came first.
  /// - Throws: ``StoreError``, of kind `locked` while another process converts the folder.
  func run(
    _ policy: OldFolderPolicy, willDo: (Step) throws -> Void = { _ in }
  ) throws -> FolderConversion? {
    try locked {
      var conversion: FolderConversion?
      if state == .folder {
        try willDo(.converting)
        for name in names(beginningWith: ".converting") where name != lockPath {
          try FileManager.default.removeItem(atPath: name)
        }
        conversion = try FolderConversion.make(from: path, to: workPath, keepsHistory: policy.keepsHistory) { news in
          policy.progress?(news)
          return true
        }
        try disk.syncDirectory(parent)
        try willDo(.movingAside)
        try disk.rename(path, to: freeOriginalPath())
        try disk.syncDirectory(parent)
      }
      if state == .movedAside {
        try willDo(.takingPlace)
        try disk.rename(workPath, to: path)
        try disk.syncDirectory(parent)
        try willDo(.finishing)
      }
      return conversion
    }
  }

  // MARK: Names

  private var lockPath: String { path + ".converting.lock" }
  private var parent: String { URL(filePath: path).deletingLastPathComponent().path(percentEncoded: false) }

  private func isFree(_ path: String) -> Bool { ((try? disk.status(path)) ?? nil) == nil }

  /// The paths beside the folder that begin with its path and an ending.
  private func names(beginningWith ending: String) -> [String] {
    let start = URL(filePath: path).lastPathComponent + ending
    let folder = parent.hasSuffix("/") ? parent : parent + "/"
    return ((try? disk.list(parent)) ?? []).filter { $0.hasPrefix(start) }.map { folder + $0 }
  }

  /// `NAME.original`, or with a number if the folder of an earlier conversion has that name.
  private func freeOriginalPath() -> String {
    let first = path + ".original"
    if isFree(first) { return first }
    return (2...).lazy.map { "\(first)-\($0)" }.first(where: isFree) ?? first
  }

  /// Runs a closure while no other process converts. A process that comes when it is done finds nothing left to do.
  private func locked<R>(_ body: () throws -> R) throws -> R {
    try throwingStoreErrors {
      let lock = try takeLock()
      defer {
        try? disk.unlink(lockPath)
        withExtendedLifetime(lock) {}
      }
      return try body()
    }
  }

  /// The lock's file has its name while it is locked: a process that is done removes it, and others may have it open still.
  private func takeLock() throws -> any DiskFile {
    do {
      return try disk.createLocked(lockPath, patience: 0) { _ in .busy(what: path) }
    } catch StorageError.busy {
      throw StoreError(
        .locked(processIdentifier: 0, program: ""),
        "Another process is making a store of the folder \(path) at this moment; try again.")
    }
  }
}
