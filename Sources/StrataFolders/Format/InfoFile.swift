/// `Info.json`: names the current snapshot of the folder.
package struct InfoFile: ParsedFile, Hashable, Sendable {
  /// Nil until an app uses a datastore.
  package var currentSnapshot: DatedIdentifier?
  /// Members that the original library needs and that are absent.
  package var absentMembers: [String]

  package static let name = "Info.json"

  package init(parsing bytes: [UInt8]) throws(FormatError) {
    let file = try JSONFile(parsing: bytes)
    currentSnapshot = try file.optionalIdentifier("currentSnapshot")
    absentMembers = file.absent(["modificationDate"])
  }
}

/// A snapshot's `Manifest.json`: the pointer whose replacement is a commit.
package struct SnapshotManifest: ParsedFile, Hashable, Sendable {
  /// Nil in a snapshot that was never written to.
  package var currentIteration: DatedIdentifier?
  package var absentMembers: [String]

  package static let name = "Manifest.json"

  package init(parsing bytes: [UInt8]) throws(FormatError) {
    let file = try JSONFile(parsing: bytes)
    currentIteration = try file.optionalIdentifier("currentIteration")
    absentMembers = file.absent(["id", "modificationDate"])
  }
}
