import StrataEngine
public import StrataFoundation

extension DiskPersistence {
  /// Copies the store as it is at this moment, history included, while it is read and written. The copy is a store of its own: later
  /// commits to it are not mistaken for this store's.
  ///
  /// If the file system can share blocks between files, a copy takes neither time nor space (a reflink: Btrfs, XFS, APFS); otherwise the
  /// bytes are copied. It is never a hard link.
  ///
  /// - Parameter url: The location of the copy; nothing may lie there.
  /// - Throws: ``StoreError``, of kind `refused` if something lies at the URL, and `notFound` if there is no store yet; then there is no
  ///   copy.
  public nonisolated func backUp(to url: URL) async throws {
    guard url.isFileURL else { throw DiskPersistenceError.notFileURL }
    guard let source = _store.connection.path, let view = try _store.currentView() else {
      throw StoreError(StorageError.notFound(path: _store.connection.path ?? ""))
    }
    let copy = StoreCopy(source: source, target: StoreCopy.path(of: url), commit: view.number)
    try await onThread { try copy.run() }
  }
}

extension DiskPersistence where AccessMode == ReadWrite {
  /// Makes a store of a backup. The backup stays as it is.
  ///
  /// - Parameters:
  ///   - backup: The location of the backup.
  ///   - url: The location of the new store; nothing may lie there.
  /// - Returns: A persistence of the new store.
  /// - Throws: ``StoreError`` if the backup cannot be read, and of kind `refused` if something lies at the URL; then there is no store.
  public static func restore(
    backup: URL, to url: URL
  ) async throws -> DiskPersistence<ReadWrite> {
    try await DiskPersistence<ReadOnly>(readOnlyURL: backup).backUp(to: url)
    return try DiskPersistence<ReadWrite>(readWriteURL: url)
  }
}

/// A copy of a store up to its durable end.
///
/// Committed bytes never change, so copying the file from its beginning needs no lock: the copy has at least every commit that was durable
/// before, and bytes that were being appended meanwhile are cut off when the copy is opened.
struct StoreCopy {
  let source: String
  let target: String
  let commit: UInt64
  private let disk = SystemDisk()

  static func path(of url: URL) -> String {
    let path = url.standardizedFileURL.path(percentEncoded: false)
    return path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
  }

  func run() throws {
    try throwingStoreErrors {
      do {
        try copy()
      } catch StorageError.alreadyExists(let path) {
        throw StoreError(.refused, "Something lies at \(path) already: choose a location where nothing lies.")
      }
    }
  }

  private func copy() throws {
    let draft = try StoreDraft(at: target, on: disk)
    defer { draft.cancel() }
    try copyData(to: draft.workPath + "/data")
    try check(draft.workPath)
    try draft.finish()
  }

  private func copyData(to path: String) throws {
    if FileClone.make(of: source + "/data", at: path) { return }
    let from = try disk.open(source + "/data", .read)
    let to = try disk.open(path, .create)
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 4096)
    defer { buffer.deallocate() }
    let size = try from.status.size
    var offset: UInt64 = 0
    while offset < size {
      let count = try from.read(into: buffer, at: offset)
      guard count > 0 else { break }
      try to.write(UnsafeRawBufferPointer(rebasing: buffer[..<count]), at: offset)
      offset += UInt64(count)
    }
    try to.sync()
  }

  /// Checks that the copy opens at the commit that was the newest when copying began, or at a later one.
  private func check(_ path: String) throws {
    let copy = try FileStore.open(at: path, options: StoreOptions(isReadOnly: true), disk: disk)
    guard copy.head.number >= commit else {
      throw StoreError(.refused, "The store's history was shortened while it was copied; try again.")
    }
    try copy.close()
  }
}
