/// Makes the data of a new store under another name and renames it into place.
struct Creation {
  let disk: any Disk
  let folder: String
  /// How many seconds to wait for another process that makes a store in the same place.
  var patience: Double = 2
  /// Whether the folder may hold files of others.
  var allowsOtherFiles = false

  private static let firstZeros: UInt64 = 48 << 10

  func run(writesDeltas: Bool) throws(StorageError) {
    let identity = StoreIdentity(
      high: disk.randomNumber(), low: disk.randomNumber(), generation: 1, created: disk.now())
    var header = FileHeader(identity: identity, seed: disk.randomNumber())
    if writesDeltas { header.requiredFeatures = StoreFeature.nodeDeltas.rawValue }
    let page = header.encoded()
    try inDraft { draft throws(StorageError) in
      try engineCall { () throws(DiskError) in
        try draft.file.write(page, at: 0)
        try draft.file.zero(FileOffset(page.count)..<FileLayout.firstFrame + Creation.firstZeros)
        try draft.file.sync()
      }
    }
  }

  /// Makes the store from a draft that `body` fills and makes durable. A process that makes one in the same place at the same time waits
  /// for this one, and then finds its store.
  func inDraft<R>(_ body: (DraftFile) throws(StorageError) -> R) throws(StorageError) -> R {
    let (draft, made) = try begin()
    do throws(StorageError) {
      let result = try body(draft)
      try putInPlace(draft.path)
      // A writer to the store locks its data, which the draft is now.
      try? draft.file.unlock()
      return result
    } catch {
      draft.discard()
      removeDirectories(made)
      throw error
    }
  }

  /// Makes the draft that keeps others from making a store here, and the folders that lead to it. Returns the folders that are new, the
  /// innermost first. Removes the files that a killed maker has left.
  func begin() throws(StorageError) -> (draft: DraftFile, made: [String]) {
    try requireNothing()
    try requireNoStoreAbove()
    if !allowsOtherFiles { try requireNoOtherFiles() }
    var made: [String] = []
    do throws(StorageError) {
      try makeFolders(folder, &made)
      let draft = try DraftFile.make(folder + "/data.new", on: disk, patience: patience)
      StoreDraft.clear(folder, on: disk)
      return (draft, made)
    } catch {
      removeDirectories(made)
      throw error
    }
  }

  /// Throws if the folder contains a store, or remains of one.
  func requireNothing() throws(StorageError) {
    let trace = FileStore.trace(at: folder, disk: disk)
    // Checked afterwards: a process that makes the store meanwhile makes its other files after the data.
    if try engineCall({ () throws(DiskError) in try disk.status(StoreReader.dataPath(folder)) }) != nil {
      throw .alreadyExists(path: folder)
    }
    if let trace { throw .dataMissing(path: folder, trace: trace) }
    // The writer would overwrite a person's own file. One of a store is empty or has one block, which a power cut can leave unreadable.
    let lock = folder + "/lock"
    let status = try engineCall { () throws(DiskError) in try disk.status(lock) }
    if let status, status.isDirectory || (status.size != 0 && status.size != StoredBlock.size) {
      throw .alreadyExists(path: lock)
    }
  }

  /// Throws if the folder lies in that of a store: whoever moves or removes that one would take this one along.
  private func requireNoStoreAbove() throws(StorageError) {
    var (path, above) = (folder, parent(of: folder))
    while above != path {
      let data = try? disk.open(StoreReader.dataPath(above), .read)
      if let data, (try? FileHeader(reading: data, path: above)) != nil { throw .inStore(path: folder, store: above) }
      (path, above) = (above, parent(of: above))
    }
  }

  /// Throws if the folder holds files of others: a user who copies, moves or removes the store would take them along. Hidden files may be
  /// there, and so may files that other programs leave for the store before it is made.
  private func requireNoOtherFiles() throws(StorageError) {
    let own: Set = ["activity", "ancestry", "data", "inbox", "lock", "pruning", "remotes"]
    let names = ((try? disk.list(folder)) ?? []).filter { name in
      !name.hasPrefix(".") && !name.hasPrefix("data.") && !own.contains(name)
    }
    if let name = names.min() { throw .otherFiles(path: folder, name: name) }
  }

  /// Renames a durable file to the store's data, and makes the name durable. After a failure there is no data.
  func putInPlace(_ temporary: String) throws(StorageError) {
    try requireNothing()
    let data = StoreReader.dataPath(folder)
    try engineCall { () throws(DiskError) in try disk.rename(temporary, to: data) }
    do {
      try disk.syncDirectory(folder)
      // The folder may exist because of an earlier attempt that did not get this far.
      try syncAbove(parent(of: folder))
    } catch {
      try? disk.unlink(data)
      throw StorageError(error)
    }
  }

  /// Removes folders that were made for nothing, unless something was put into them.
  func removeDirectories(_ made: [String]) {
    for path in made { try? disk.removeDirectory(path) }
  }

  /// Makes the names in a folder durable that may belong to others: a sandbox, or the mode of a folder, may let a program make something
  /// in it, or search it, and not open it.
  private func syncAbove(_ above: String) throws(DiskError) {
    do { try disk.syncDirectory(above) } catch { guard error.isForbidden else { throw error } }
  }

  private func makeFolders(_ path: String, _ made: inout [String]) throws(StorageError) {
    if let status = try engineCall({ () throws(DiskError) in try disk.status(path) }) {
      guard status.isDirectory else { throw .alreadyExists(path: path) }
      return
    }
    let above = parent(of: path)
    if above != path { try makeFolders(above, &made) }
    do {
      try disk.makeDirectory(path)
      made.insert(path, at: 0)
      try syncAbove(above)
    } catch {
      throw error.isExisting ? .danglingLink(path: path) : StorageError(error)
    }
  }
}
