/// Makes the data of a new store under another name and renames it into place.
struct Creation {
  let disk: any Disk
  let folder: String

  private static let firstZeros: UInt64 = 48 << 10

  func run() throws(StorageError) {
    guard !Store.exists(at: folder, disk: disk) else { throw .alreadyExists(path: folder) }
    try makeFolders(folder)
    try engineCall { () throws(DiskError) in
      let temporary = folder + "/data.new"
      if try disk.status(temporary) != nil { try disk.unlink(temporary) }
      let file = try disk.open(temporary, .create)
      let page = firstPage()
      let written = page.withUnsafeBytes { bytes in
        Result { () throws(DiskError) in try file.write(bytes, at: 0) }
      }
      try written.get()
      try file.zero(UInt64(page.count)..<FileLayout.firstFrame + Creation.firstZeros)
      try file.sync()
      try disk.rename(temporary, to: Reading.dataPath(folder))
      try disk.syncDirectory(folder)
      try disk.syncDirectory(Creation.parent(of: folder))
    }
  }

  /// Makes the store's folder and those that lead to it.
  func makeFolder() throws(StorageError) { try makeFolders(folder) }

  private func firstPage() -> [UInt8] {
    let identity = StoreIdentity(
      high: disk.randomNumber(), low: disk.randomNumber(), generation: 1, created: disk.now())
    return FileHeader(identity: identity, seed: disk.randomNumber()).encoded()
  }

  private func makeFolders(_ path: String) throws(StorageError) {
    if let status = try engineCall({ () throws(DiskError) in try disk.status(path) }) {
      guard status.isDirectory else { throw .alreadyExists(path: path) }
      return
    }
    let above = Creation.parent(of: path)
    if above != path { try makeFolders(above) }
    try engineCall { () throws(DiskError) in
      try disk.makeDirectory(path)
      try disk.syncDirectory(above)
    }
  }

  static func parent(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }
}
