import StrataDocuments

/// A state of one datastore (`Root/ID.json`): the declarations of the app's code, and the manifests of its indexes.
package struct RootFile: ParsedFile, Hashable, Sendable {
  package var descriptor: Descriptor
  package var primaryManifest: FolderName
  package var directIndexes: [IndexReference]
  package var referenceIndexes: [IndexReference]
  package var absentMembers: [String]

  /// The place of a secondary index's entries.
  package struct IndexReference: Hashable, Sendable {
    package var name: String
    package var folder: FolderName
    package var manifest: FolderName
  }

  package struct Descriptor: Hashable, Sendable {
    /// The text of the JSON raw value without quotes.
    package var version: String
    package var versionIsString: Bool
    package var instanceType: String
    package var identifierType: String
    package var directIndexes: [Index]
    package var referenceIndexes: [Index]
    /// The number of records, as the original library counted them.
    package var size: Int
  }

  package struct Index: Hashable, Sendable {
    package var name: String
    package var type: String
    package var version: String
  }

  private static let required = [
    "id", "modificationDate", "addedIndexes", "removedIndexes", "addedIndexManifests", "removedIndexManifests",
    "directIndexManifests", "secondaryIndexManifests",
  ]

  package init(parsing bytes: [UInt8]) throws(FormatError) {
    let file = try JSONFile(parsing: bytes)
    primaryManifest = try file.name("primaryIndexManifest")
    directIndexes = try Self.references(file, "directIndexManifests")
    referenceIndexes = try Self.references(file, "secondaryIndexManifests")
    descriptor = try Descriptor(try file.object("descriptor"))
    absentMembers = file.absent(Self.required)
  }

  private static func references(_ file: JSONFile, _ member: String) throws(FormatError) -> [IndexReference] {
    try file.list(member).map { element throws(FormatError) in
      let reference = try JSONFile(element, named: file.path(member))
      return IndexReference(
        name: try reference.text("name"), folder: try reference.name("id"), manifest: try reference.name("root"))
    }
  }
}

extension RootFile.Descriptor {
  /// Accepts today's spelling of the members and that of the first releases.
  init(_ object: JSONFile) throws(FormatError) {
    let raw = try VersionTag(base64: try object.text("version"), named: object.path("version"))
    version = raw.text
    versionIsString = raw.isString
    instanceType = try object.text(object["instanceType"] == nil ? "codedType" : "instanceType")
    identifierType = try object.text("identifierType")
    directIndexes = try Self.indexes(object, "directIndexes")
    referenceIndexes = try Self.indexes(
      object, object["referenceIndexes"] == nil ? "secondaryIndexes" : "referenceIndexes")
    guard case .number(let number) = try object.required("size"), let size = number.integer, size >= 0,
      let size = Int(exactly: size)
    else { throw FormatError("\(object.path("size")) is not a count") }
    self.size = size
  }

  private static func indexes(_ object: JSONFile, _ member: String) throws(FormatError) -> [RootFile.Index] {
    var indexes: [RootFile.Index] = []
    guard object[member] != nil else { return [] }
    let named = try object.object(member)
    for element in named.members where !indexes.contains(where: { $0.name == element.name }) {
      let index = try JSONFile(element.value, named: named.path(element.name))
      let version = try VersionTag(base64: try index.text("version"), named: index.path("version"))
      indexes.append(RootFile.Index(name: element.name, type: try index.text("type"), version: version.text))
    }
    return indexes
  }
}
