/// A file in a store's folder that does not belong to the store.
package struct ForeignFile: Sendable, Hashable, CustomStringConvertible {
  package var name: String
  /// Its length in bytes.
  package var bytes: UInt64
  /// Its origin, and what may be done with it, as the end of a sentence.
  package var purpose: String

  package var description: String { "\(name), \(bytes) bytes: \(purpose)" }
}

extension FileStore {
  /// The files that interrupted work and recovery have left beside the data of the store at a path, in the order of the names.
  package static func leftovers(at path: String, disk: any Disk = SystemDisk()) throws(StorageError) -> [ForeignFile] {
    try engineCall { () throws(DiskError) in
      var found: [ForeignFile] = []
      for name in try disk.list(path).sorted() {
        guard let purpose = purpose(of: name, at: path, disk), let status = try disk.status(path + "/" + name) else {
          continue
        }
        found.append(ForeignFile(name: name, bytes: status.size, purpose: purpose))
      }
      return found
    }
  }

  /// The name of a file that only a store leaves beside its data. Returns nil if there is no trace of a store at the path.
  static func trace(at path: String, disk: any Disk) -> String? {
    guard let names = try? disk.list(path) else { return nil }
    return names.sorted().first { name in
      switch name {
      case "lock": ((try? LockFile(disk: disk, folder: path).look().hold) ?? nil) != nil
      case "data.compact":
        ((try? disk.open(path + "/" + name, .read)).flatMap { try? FileHeader(reading: $0, path: path) }) != nil
      default: name.hasPrefix(CutBytes.prefix)
      }
    }
  }

  private static func purpose(of name: String, at path: String, _ disk: any Disk) -> String? {
    switch name {
    case "data.compact": "a compaction that is not finished; the next one with the same --keep goes on from there"
    case "data.new": "the beginning of a store or a copy that was not finished; it may be deleted"
    case "data.making", "data.salvage": "what a maker that did not come to its end has left; it may be deleted"
    default:
      name.hasPrefix(CutBytes.prefix) ? purpose(ofKeptAside: name, at: path, disk) : nil
    }
  }

  private static func purpose(ofKeptAside name: String, at path: String, _ disk: any Disk) -> String {
    let origin = "bytes after the last whole commit, kept aside when the store was opened"
    guard let aside = CutBytes(name, at: path, on: disk), let found = try? aside.wholeFrames() else {
      return "\(origin); they cannot be read"
    }
    return found.frames.isEmpty
      ? "\(origin); they may be deleted"
      : "\(origin), with \(FrameSurvey.describe(found.frames)) among them, which salvage saves"
  }
}
