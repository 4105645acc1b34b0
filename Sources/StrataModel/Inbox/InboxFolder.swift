package import StrataEngine

/// The folder in which other programs leave letters for the owner of a store.
///
///     NAME.strata/inbox/tmp/       letters that are being written
///                       new/       letters that wait for the owner
///                       refused/   letters that the owner could not apply, each with its reason beside it
///
/// A letter appears by a rename, so that it is there whole or not at all. The folder may be there before the store is.
package struct InboxFolder: Sendable {
  /// A letter that the owner could not apply.
  package struct Refused: Hashable, Sendable {
    package var name: LetterName
    package var reason: String
  }

  let disk: any Disk
  package let path: String

  /// The inbox of the store at a path. Touches no file.
  package init(ofStoreAt store: String, disk: any Disk = SystemDisk()) {
    self.disk = disk
    path = store + "/inbox"
  }

  var waitingPath: String { path + "/new" }
  private var refusedPath: String { path + "/refused" }
  var draftsPath: String { path + "/tmp" }

  /// The letters that wait, in the order in which they are applied. Empty if there is no inbox.
  package func waiting() throws(ModelError) -> [LetterName] {
    LetterName.ordered(try names(in: waitingPath).compactMap { LetterName($0) })
  }

  /// How many letters wait. Costs one reading of the folder.
  func waitingCount() throws(ModelError) -> Int { try names(in: waitingPath).count }

  /// The letters that were refused.
  package func refused() throws(ModelError) -> [Refused] {
    try refusedNames().map { Refused(name: $0, reason: reason(ofRefused: $0)) }
  }

  func refusedNames() throws(ModelError) -> [LetterName] {
    LetterName.ordered(try names(in: refusedPath).compactMap { LetterName($0) })
  }

  func reason(ofRefused name: LetterName) -> String {
    (try? read("\(refusedPath)/\(name).reason")).map { String(decoding: $0, as: UTF8.self) } ?? ""
  }

  /// Reads a letter that waits, or that was refused.
  ///
  /// - Throws: `ModelError.refused` if it is not as it was sent.
  package func letter(_ name: LetterName, isRefused: Bool = false) throws(ModelError) -> Letter {
    try Letter(bytes: read("\(isRefused ? refusedPath : waitingPath)/\(name)"))
  }

  /// How many letters of a sender between two numbers were refused.
  func refusedCount(of sender: UInt64, after first: UInt32, before last: UInt32) throws(ModelError) -> UInt32 {
    let numbers = try names(in: refusedPath).compactMap { LetterName($0) }.filter { $0.sender == sender }.map(\.number)
    return UInt32(clamping: Set(numbers).count { $0 > first && $0 < last })
  }

  /// Takes a letter out whose changes are in the store.
  func remove(_ name: LetterName) throws(ModelError) {
    try onDisk { () throws(DiskError) in try remove("\(waitingPath)/\(name)") }
  }

  private func remove(_ path: String) throws(DiskError) {
    do throws(DiskError) {
      try disk.unlink(path)
    } catch {
      // Another process may have been faster.
      guard error.isNotFound else { throw error }
    }
  }

  /// Puts a letter that waits aside. It lies there, with its reason, when this returns.
  func refuse(_ name: LetterName, _ reason: String) throws(ModelError) {
    try onDisk { () throws(DiskError) in
      guard try disk.status("\(waitingPath)/\(name)") != nil else { return }
      try disk.makeFolders(refusedPath)
      try disk.writeDurably(Array(reason.utf8), to: "\(refusedPath)/\(name).reason")
      try disk.rename("\(waitingPath)/\(name)", to: "\(refusedPath)/\(name)")
      try disk.syncDirectory(refusedPath)
      try disk.syncDirectory(waitingPath)
    }
  }

  /// Whether a letter lies among those that were refused.
  func hasRefused(_ name: LetterName) throws(ModelError) -> Bool {
    try onDisk { () throws(DiskError) in try disk.status("\(refusedPath)/\(name)") != nil }
  }

  /// Deletes a letter that was refused.
  func drop(_ name: LetterName) throws(ModelError) {
    try onDisk { () throws(DiskError) in
      for path in ["\(refusedPath)/\(name)", "\(refusedPath)/\(name).reason"] where try disk.status(path) != nil {
        try disk.unlink(path)
      }
      try disk.syncDirectory(refusedPath)
    }
  }

  /// Lets a letter that was refused wait again, under another name.
  func sendAgain(_ name: LetterName, as new: LetterName) throws(ModelError) {
    try onDisk { () throws(DiskError) in
      try disk.rename("\(refusedPath)/\(name)", to: "\(waitingPath)/\(new)")
      try disk.syncDirectory(waitingPath)
      if try disk.status("\(refusedPath)/\(name).reason") != nil { try disk.unlink("\(refusedPath)/\(name).reason") }
    }
  }

  /// Makes the folders that a sender needs, and those that lead to the store.
  ///
  /// The folder of drafts comes last: where it is, the names of all others are durable, whichever process made them and was killed.
  func makeFolders() throws(ModelError) {
    try onDisk { () throws(DiskError) in
      try disk.makeFolders(waitingPath)
      guard try disk.status(draftsPath) == nil else { return }
      try disk.syncDirectory(path)
      disk.syncFolders(leadingTo: path)
      try disk.makeDirectory(draftsPath)
    }
  }

  /// Calls `change` when a letter arrives, from another thread, until the answer is released. Makes the folders.
  package func watch(_ change: @escaping @Sendable () -> Void) throws(ModelError) -> any DiskWatch {
    try makeFolders()
    return try onDisk { () throws(DiskError) in try disk.watch(waitingPath, change: change) }
  }

  /// As `watch`. Returns nil if there are no folders, or if they cannot be watched.
  package func watchIfPresent(_ change: @escaping @Sendable () -> Void) -> (any DiskWatch)? {
    guard let status = try? disk.status(waitingPath), status.isDirectory else { return nil }
    return try? disk.watch(waitingPath, change: change)
  }

  /// Removes letters that senders have begun and not finished within an hour: they were killed.
  func removeOldDrafts(now: Int64) throws(ModelError) {
    for name in try names(in: draftsPath) {
      try onDisk { () throws(DiskError) in
        let path = "\(draftsPath)/\(name)"
        // A disk that does not tell the time has 0.
        guard let changed = try disk.status(path)?.changed, changed > 0, now - changed > Self.longestDraft else {
          return
        }
        try remove(path)
      }
    }
  }

  /// In nanoseconds.
  private static let longestDraft: Int64 = 3_600_000_000_000

  private func names(in folder: String) throws(ModelError) -> [String] {
    try onDisk { () throws(DiskError) in try disk.status(folder) == nil ? [] : disk.list(folder) }
  }

  /// A letter that is too long is refused for its length, without being read whole.
  private func read(_ path: String) throws(ModelError) -> [UInt8] {
    try onDisk { () throws(DiskError) in try disk.contents(of: path, most: Letter.mostBytes + 1) }
  }

  func onDisk<Value>(_ body: () throws(DiskError) -> Value) throws(ModelError) -> Value {
    do {
      return try body()
    } catch {
      throw .storage("the inbox \(path): \(error)", kind: .failed)
    }
  }
}
