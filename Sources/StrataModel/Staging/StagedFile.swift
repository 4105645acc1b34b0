import StrataLocks
package import StrataEngine

/// Keeps staged changes on disk, so that they survive quitting, a crash and `kill -9`.
///
/// A folder (one per store, under `$XDG_STATE_HOME/strata`) holds `staged-1`, and `staged-2` and so on if several browsers have one store
/// open. Each holds the lock of its own file as long as it runs, so that none overwrites another's. A browser takes the first unlocked file
/// that has contents.
///
/// Saving writes a new file, makes it durable and renames it into place: after a power failure there is the old set or the new one. A file
/// that cannot be read is reported and kept aside, never deleted.
package final class StagedFile: Sendable {
  /// The path of the file, which exists while there are changes.
  package let path: String
  private let folder: String
  private let disk: any Disk
  private let lock: any DiskFile
  private let isSaving = Mutex(())

  /// Opens the file in a folder, and creates the folder if needed. Reads and writes nothing yet.
  package init(folder: String, disk: any Disk = SystemDisk()) throws(ModelError) {
    self.folder = folder
    self.disk = disk
    (path, lock) = try Self.onDisk { () throws(DiskError) in
      try disk.makeFolders(folder)
      return try Self.claim(in: folder, on: disk)
    }
  }

  /// Returns the changes that were saved last, or nil if there are none.
  ///
  /// - Parameters:
  ///   - descriptors: give the types of each datastore's identifiers.
  ///   - counted: receives the number of changes, before they are read.
  package func load(
    _ descriptors: [DatastoreDescriptor] = [], counted: (Int) -> Void = { _ in }
  ) throws(ModelError) -> StagedChanges? {
    let bytes = try Self.onDisk { () throws(DiskError) -> [UInt8]? in
      guard let status = try disk.status(path), status.size > 0 else { return nil }
      return try disk.contents(of: path)
    }
    guard let bytes else { return nil }
    return try StagedText(path: path).changes(of: bytes, descriptors, counted: counted)
  }

  /// Makes the changes durable; an empty set (with nothing to redo) removes the file.
  package func save(_ staged: StagedChanges) throws(ModelError) {
    let bytes = staged.steps.isEmpty ? [] : StagedText(path: path).bytes(of: staged)
    try Self.onDisk { () throws(DiskError) in
      try isSaving.withLock { _ throws(DiskError) in
        if !bytes.isEmpty {
          try disk.writeDurably(bytes, to: path + ".new")
          try disk.rename(path + ".new", to: path)
        } else if try disk.status(path) != nil {
          try disk.unlink(path)
        } else {
          return
        }
        try disk.syncDirectory(folder)
      }
    }
  }

  /// Moves an unreadable file aside. Returns its new path.
  package func setAside() throws(ModelError) -> String { try Self.setAside(path, in: folder, on: disk) }

  /// Moves any unreadable file of a folder aside, as `setAside` does.
  package static func setAside(
    _ path: String, in folder: String, on disk: any Disk = SystemDisk()
  ) throws(ModelError) -> String {
    try onDisk { () throws(DiskError) in
      var number = 1
      while try disk.status("\(path).unreadable-\(number)") != nil { number += 1 }
      let aside = "\(path).unreadable-\(number)"
      try disk.rename(path, to: aside)
      try disk.syncDirectory(folder)
      return aside
    }
  }

  /// Takes the first unlocked file, and prefers one with contents.
  private static func claim(in folder: String, on disk: any Disk) throws(DiskError) -> (String, any DiskFile) {
    // One listing, because a look at each name takes a request of its own on a network's disk.
    let names = Set(try disk.list(folder))
    let files = (1...64).map { "staged-\($0)" }
    for file in files.filter(names.contains) + files.filter({ !names.contains($0) }) {
      let path = "\(folder)/\(file)"
      let lock = try openLock(path + ".lock", on: disk)
      if try lock.tryLock() { return (path, lock) }
    }
    throw DiskError(operation: "lock", path: folder, code: 11)
  }

  private static func openLock(_ path: String, on disk: any Disk) throws(DiskError) -> any DiskFile {
    if try disk.status(path) == nil, let file = try? disk.open(path, .create) { return file }
    return try disk.open(path, .readWrite)
  }

  private static func onDisk<Value>(_ body: () throws(DiskError) -> Value) throws(ModelError) -> Value {
    do { return try body() } catch {
      // The cause comes first: a path may be longer than a terminal is wide.
      let place = "\(error.operation) of \(error.path)"
      throw .storage("the staged changes cannot be kept: \(error.cause) (\(place))", kind: .failed)
    }
  }
}
