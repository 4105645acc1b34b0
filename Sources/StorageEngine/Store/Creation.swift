/// Makes the data of a new store under another name and renames it into place.
struct Creation {
  let disk: any Disk
  let folder: String

  private static let firstZeros: UInt64 = 48 << 10

  func run() throws(StorageError) {
    guard !Store.exists(at: folder, disk: disk) else { throw .alreadyExists(path: folder) }
    let made = try makeFolder()
    let temporary = folder + "/data.new"
    do {
      try makeData(temporary)
    } catch {
      try? disk.unlink(temporary)
      takeAway(made)
      throw error
    }
  }

  private func makeData(_ temporary: String) throws(StorageError) {
    try engineCall { () throws(DiskError) in
      if try disk.status(temporary) != nil { try disk.unlink(temporary) }
      let file = try disk.open(temporary, .create)
      let page = firstPage()
      let written = page.withUnsafeBytes { bytes in
        Result { () throws(DiskError) in try file.write(bytes, at: 0) }
      }
      try written.get()
      try file.zero(UInt64(page.count)..<FileLayout.firstFrame + Creation.firstZeros)
      try file.sync()
    }
    try putInPlace(temporary)
  }

  /// Gives a file that is durable the name of the store's data, and makes the name durable. After a failure there is no data.
  func putInPlace(_ temporary: String) throws(StorageError) {
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
    try engineCall { () throws(DiskError) in
      try disk.makeDirectory(path)
      made.insert(path, at: 0)
      try disk.syncDirectory(above)
    }
  }

  static func parent(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }
}
