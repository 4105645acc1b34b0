import StrataDocuments

/// One commit of the folder (`Iterations/…/ID.json`): all datastores with their roots, and the link to the commit before.
package struct IterationFile: ParsedFile, Hashable, Sendable {
  /// Nanoseconds since 1970.
  package var creationDate: Int64 = 0
  package var preceding: DatedIdentifier?
  /// The snapshot with the preceding iteration; stale in most files, so a reader tries it second.
  package var precedingSnapshot: DatedIdentifier?
  /// Nil if none was given. An iteration that only registers datastores repeats the name of the one before.
  package var actionName: String?
  /// By key.
  package var datastores: [String: Reference] = [:]
  package var absentMembers: [String] = []

  /// A datastore as an iteration names it.
  package struct Reference: Hashable, Sendable {
    package var folder: FolderName
    /// Nil if the datastore is registered and was never written.
    package var root: FolderName?
  }

  /// The state before any registration.
  package static let empty = IterationFile()

  private init() {}

  private static let required = [
    "id", "successiveIterations", "addedDatastores", "removedDatastores", "addedDatastoreRoots",
    "removedDatastoreRoots",
  ]

  package init(parsing bytes: [UInt8]) throws(FormatError) {
    let file = try JSONFile(parsing: bytes)
    creationDate = try file.date("creationDate")
    preceding = try file.optionalIdentifier("precedingIteration")
    precedingSnapshot = try file.optionalIdentifier("precedingSnapshot")
    actionName = try file.optionalText("actionName")
    absentMembers = file.absent(Self.required)
    let stores = try file.object("dataStores")
    for member in stores.members where datastores[member.name] == nil {
      let store = try JSONFile(member.value, named: stores.path(member.name))
      datastores[member.name] = Reference(folder: try store.name("id"), root: try store.optionalName("root"))
      absentMembers += store.absent(["key"])
    }
  }

  /// Whether an iteration only registers datastores: all earlier ones have the same root, and there are new ones, all without a root.
  package func isRegistration(after preceding: IterationFile?) -> Bool {
    let before = preceding?.datastores ?? [:]
    guard before.allSatisfy({ datastores[$0.key]?.root == $0.value.root && datastores[$0.key] != nil }) else {
      return false
    }
    let new = datastores.filter { before[$0.key] == nil }
    return !new.isEmpty && new.allSatisfy { $0.value.root == nil }
  }
}
