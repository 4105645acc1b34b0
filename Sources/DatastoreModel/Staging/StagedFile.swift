import Locks
package import StorageEngine

/// Keeps staged changes on disk, so that they survive quitting, a crash and `kill -9`.
///
/// A folder (one per store, under `$XDG_STATE_HOME/strata`) holds `staged-1`, and `staged-2` and so on where several
/// browsers look at one store: each holds the lock of its own file for as long as it runs, so none writes over
/// another's. A browser takes the first file that nobody holds and that has something in it.
///
/// Saving writes a new file, makes it durable and renames it into place: after a power cut there is the old set or the
/// new one. A file that cannot be read is reported and kept aside, never thrown away.
package final class StagedFile: Sendable {
  /// Where the changes lie while there are any.
  package let path: String
  private let folder: String
  private let disk: any Disk
  private let lock: any DiskFile
  private let isSaving = Mutex(())

  /// Opens the file in a folder, making the folder where need be. No reading, no writing yet.
  package init(folder: String, disk: any Disk = SystemDisk()) throws(ModelError) {
    self.folder = folder
    self.disk = disk
    do {
      try Self.makeFolders(folder, on: disk)
      (path, lock) = try Self.claim(in: folder, on: disk)
    } catch {
      throw Self.failure(error)
    }
  }

  /// The changes that were saved last; nil where there are none.
  ///
  /// - Parameters:
  ///   - descriptors: tell what the identifiers of each datastore mean.
  ///   - counted: hears how many changes there are, before they are read.
  package func load(
    _ descriptors: [DatastoreDescriptor] = [], counted: (Int) -> Void = { _ in }
  ) throws(ModelError) -> StagedChanges? {
    var bytes: [UInt8]
    do {
      guard let status = try disk.status(path), status.size > 0 else { return nil }
      bytes = [UInt8](repeating: 0, count: Int(clamping: status.size))
      let file = try disk.open(path, .read)
      let count = try bytes.withUnsafeMutableBytes { buffer in
        Result { () throws(DiskError) in try file.read(into: buffer, at: 0) }
      }.get()
      bytes.removeSubrange(count...)
    } catch {
      throw Self.failure(error)
    }
    let known = Dictionary(descriptors.map { ($0.key, $0) }, uniquingKeysWith: { first, _ in first })
    return try StagedText(path: path).changes(of: bytes, counted: counted) { datastore, identifier in
      known[datastore]?.storedKey(identifier) ?? StoredKey(bytes: identifier, value: .data(identifier))
    }
  }

  /// Makes the changes durable; an empty set (with nothing to redo) removes the file.
  package func save(_ staged: StagedChanges) throws(ModelError) {
    let bytes = staged.steps.isEmpty ? [] : StagedText(path: path).bytes(of: staged)
    do {
      try isSaving.withLock { _ throws(DiskError) in
        if bytes.isEmpty { try remove() } else { try replace(bytes) }
      }
    } catch {
      throw Self.failure(error)
    }
  }

  /// Moves a file that cannot be read out of the way; answers where it lies now.
  package func setAside() throws(ModelError) -> String {
    do {
      var number = 1
      while try disk.status("\(path).unreadable-\(number)") != nil { number += 1 }
      let aside = "\(path).unreadable-\(number)"
      try disk.rename(path, to: aside)
      try disk.syncDirectory(folder)
      return aside
    } catch {
      throw Self.failure(error)
    }
  }

  private func replace(_ bytes: [UInt8]) throws(DiskError) {
    let fresh = path + ".new"
    if try disk.status(fresh) != nil { try disk.unlink(fresh) }
    let file = try disk.open(fresh, .create)
    try bytes.withUnsafeBytes { bytes in
      Result { () throws(DiskError) in try file.write(bytes, at: 0) }
    }.get()
    try file.sync()
    try disk.rename(fresh, to: path)
    try disk.syncDirectory(folder)
  }

  private func remove() throws(DiskError) {
    guard try disk.status(path) != nil else { return }
    try disk.unlink(path)
    try disk.syncDirectory(folder)
  }

  private static func makeFolders(_ folder: String, on disk: any Disk) throws(DiskError) {
    var path = folder.hasPrefix("/") ? "" : "."
    for part in folder.split(separator: "/") {
      let parent = path
      path += "/" + part
      guard try disk.status(path) == nil else { continue }
      try disk.makeDirectory(path)
      try disk.syncDirectory(parent.isEmpty ? "/" : parent)
    }
  }

  /// Takes the first file that nobody holds, rather one with something in it.
  private static func claim(in folder: String, on disk: any Disk) throws(DiskError) -> (String, any DiskFile) {
    var free: (path: String, lock: any DiskFile)?
    for number in 1...64 {
      let path = "\(folder)/staged-\(number)"
      let hasContent = try disk.status(path) != nil
      if free != nil, !hasContent { continue }
      let lock = try openLock(path + ".lock", on: disk)
      guard try lock.tryLock() else { continue }
      if hasContent { return (path, lock) }
      free = (path, lock)
    }
    guard let free else { throw DiskError(operation: "lock", path: folder, code: 11) }
    return free
  }

  private static func openLock(_ path: String, on disk: any Disk) throws(DiskError) -> any DiskFile {
    if try disk.status(path) == nil, let file = try? disk.open(path, .create) { return file }
    return try disk.open(path, .readWrite)
  }

  private static func failure(_ error: DiskError) -> ModelError {
    .storage("the staged changes cannot be kept: \(error)", kind: .failed)
  }
}
