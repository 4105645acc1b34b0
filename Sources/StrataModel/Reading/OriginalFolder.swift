import StrataDocuments
import StrataEngine

/// Folders that the original CodableDatastore library wrote, as far as this module must know them: which they are, and
/// what to tell a person who opens one as a store of ours. `FolderStore` reads them.
package enum OriginalFolder {
  /// Whether such a folder lies at a path: one with an `Info.json` of its format, or with dated snapshots. Reads one
  /// small file at most and changes nothing.
  package static func exists(at path: String) -> Bool {
    guard (try? SystemDisk().status(path))??.isDirectory == true else { return false }
    return hasInformation(path) || hasSnapshots(path)
  }

  /// One sentence: what it is, and how to make a store of it.
  package static func advice(for path: String) -> String {
    "\(path) is a folder of the original CodableDatastore library, not a store of this one; "
      + "“strata convert \(path.shellWord) NEW.strata” makes a store of it, with its history"
  }

  private static let sizeLimit = 1 << 20

  private static func hasInformation(_ path: String) -> Bool {
    guard let bytes = try? SystemDisk().contents(of: path + "/Info.json", most: sizeLimit),
      let document = try? JSONParser.parse(bytes)
    else { return false }
    return document[member: "version"] == "alpha" && document[member: "modificationDate"] != nil
  }

  private static func hasSnapshots(_ path: String) -> Bool {
    let years = (try? SystemDisk().list(path + "/Snapshots")) ?? []
    return years.contains { $0.utf8.count == 4 && $0.utf8.allSatisfy(\.isDigit) }
  }
}
