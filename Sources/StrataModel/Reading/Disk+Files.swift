package import StrataEngine

// Small files that are read and written whole, beside a store's data.

extension Disk {
  /// Makes a folder and those that lead to it. Their names are durable when it returns.
  package func makeFolders(_ path: String) throws(DiskError) {
    var prefix = path.hasPrefix("/") ? "" : "."
    for part in path.split(separator: "/") {
      let parent = prefix
      prefix += "/" + part
      guard try status(prefix) == nil else { continue }
      try makeDirectory(prefix)
      try syncDirectory(parent.isEmpty ? "/" : parent)
    }
  }

  /// Makes durable what the folders that lead to a path contain. One that may not be opened was there before the program.
  package func syncFolders(leadingTo path: String) {
    var folder = path[...]
    while let slash = folder.lastIndex(of: "/") {
      folder = folder[..<slash]
      try? syncDirectory(folder.isEmpty ? "/" : String(folder))
    }
  }

  /// Writes a new file and makes its contents durable; its name is not. A file of that name goes before. After a failure there is none.
  package func writeDurably(_ bytes: [UInt8], to path: String) throws(DiskError) {
    if try status(path) != nil { try unlink(path) }
    let file = try open(path, .create)
    do throws(DiskError) {
      try bytes.withUnsafeBytes { bytes in
        Result { () throws(DiskError) in try file.write(bytes, at: 0) }
      }.get()
      try file.sync()
    } catch {
      try? unlink(path)
      throw error
    }
  }

  /// Reads a file whole.
  ///
  /// - Parameter most: the number of bytes after which the reading ends.
  package func contents(of path: String, most: Int = .max) throws(DiskError) -> [UInt8] {
    let file = try open(path, .read)
    var bytes = [UInt8](repeating: 0, count: min(Int(clamping: try file.status.size), most))
    let count = try bytes.withUnsafeMutableBytes { buffer in
      Result { () throws(DiskError) in try file.read(into: buffer, at: 0) }
    }.get()
    bytes.removeSubrange(count...)
    return bytes
  }
}
