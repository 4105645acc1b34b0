/// Makes the data of a new store under another name and renames it into place.
struct Creation {
  let disk: any Disk
  let folder: String
  /// For how many seconds one is waited for who makes a store in the same place.
  var patience: Double = 2

  private static let firstZeros: UInt64 = 48 << 10

  func run() throws(StorageError) {
    try inDraft { draft throws(StorageError) in
      let page = firstPage()
      try engineCall { () throws(DiskError) in
        try draft.file.write(page, at: 0)
        try draft.file.zero(FileOffset(page.count)..<FileLayout.firstFrame + Creation.firstZeros)
        try draft.file.sync()
      }
    }
  }

  /// Makes the store of a draft that `body` fills and makes durable. Who makes one in the same place at the same time waits for
  /// this one, and finds it then.
  func inDraft<R>(_ body: (DraftFile) throws(StorageError) -> R) throws(StorageError) -> R {
    try requireNothing()
    let made = try makeFolder()
    do throws(StorageError) {
      let draft = try DraftFile.make(folder + "/data.new", on: disk, patience: patience)
      do throws(StorageError) {
        StoreDraft.clear(folder, on: disk)
        let result = try body(draft)
        try putInPlace(draft.path)
        // Who writes to the store locks its data, which the draft is now.
        try? draft.file.unlock()
        return result
      } catch {
        draft.discard()
        throw error
      }
    } catch {
      takeAway(made)
      throw error
    }
  }

  /// Throws where a store lies in the folder, or what is left of one.
  func requireNothing() throws(StorageError) {
    let trace = FileStore.trace(at: folder, disk: disk)
    // Afterwards: whoever makes the store meanwhile makes its other files after the data.
    if try engineCall({ () throws(DiskError) in try disk.status(Reading.dataPath(folder)) }) != nil {
      throw .alreadyExists(path: folder)
    }
    if let trace { throw .dataMissing(path: folder, trace: trace) }
  }

  /// Gives a file that is durable the name of the store's data, and makes the name durable. After a failure there is no data.
  func putInPlace(_ temporary: String) throws(StorageError) {
    try requireNothing()
    let data = Reading.dataPath(folder)
    try engineCall { () throws(DiskError) in try disk.rename(temporary, to: data) }
    do {
      try disk.syncDirectory(folder)
      // The folder may be there by an earlier attempt that did not come to this.
      try disk.syncDirectory(Creation.parent(of: folder))
    } catch {
      try? disk.unlink(data)
      throw StorageError(error)
    }
  }

  /// Makes the store's folder and those that lead to it; those that were not there before, the innermost first.
  func makeFolder() throws(StorageError) -> [String] {
    var made: [String] = []
    do {
      try makeFolders(folder, &made)
    } catch {
      takeAway(made)
      throw error
    }
    return made
  }

  /// Takes away folders that were made for nothing, as far as nobody has put anything into them.
  func takeAway(_ made: [String]) {
    for path in made { try? disk.removeDirectory(path) }
  }

  private func firstPage() -> [UInt8] {
    let identity = StoreIdentity(
      high: disk.randomNumber(), low: disk.randomNumber(), generation: 1, created: disk.now())
    return FileHeader(identity: identity, seed: disk.randomNumber()).encoded()
  }

  private func makeFolders(_ path: String, _ made: inout [String]) throws(StorageError) {
    if let status = try engineCall({ () throws(DiskError) in try disk.status(path) }) {
      guard status.isDirectory else { throw .alreadyExists(path: path) }
      return
    }
    let above = Creation.parent(of: path)
    if above != path { try makeFolders(above, &made) }
    do {
      try disk.makeDirectory(path)
      made.insert(path, at: 0)
      try disk.syncDirectory(above)
    } catch {
      throw error.isExisting ? .danglingLink(path: path) : StorageError(error)
    }
  }

  static func parent(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }
}
