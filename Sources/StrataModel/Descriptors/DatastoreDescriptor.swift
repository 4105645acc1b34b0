package import StrataDocuments

/// The description of a datastore without the app's types: its key, version, type names, coding and indexes.
///
/// It is kept as JSON with sorted keys in the attributes of the datastore's tree, so equal descriptors have equal
/// bytes. Members that this version does not know are kept and written back.
package struct DatastoreDescriptor: Hashable, Sendable {
  /// The datastore's key, unique in the store.
  package var key: String
  /// The app's version at the last write or warm-up: the text of its JSON raw value without quotes.
  package var version: String
  /// Whether the version's raw value is a string; otherwise it is a number.
  package var versionIsString: Bool
  /// The name of the app's type; empty if an import made the datastore.
  package var instanceType: String
  /// The Swift name of the identifier's type.
  package var identifierType: String
  /// How identifiers are encoded as keys.
  package var identifierEncoding: KeyEncoding
  /// How records are written.
  package var coding: RecordCoding
  /// The document path of the identifier, as `.geonameid`; declared at import, or by the typed layer if it knows it.
  package var identifierPath: String?
  /// The secondary indexes, in the order of their names.
  package var indexes: [IndexDescriptor]
  /// The kinds of indexes that only later programs know, by their names. This program does not keep them, so it writes no record.
  package var unknownIndexes: [String: String] = [:]
  /// Members of a later version's descriptor, kept unchanged.
  package var unknown: [String: Document]

  package init(
    key: String, version: String = "1", versionIsString: Bool = false, instanceType: String = "",
    identifierType: String, identifierEncoding: KeyEncoding, coding: RecordCoding = .json,
    identifierPath: String? = nil, indexes: [IndexDescriptor] = [], unknown: [String: Document] = [:]
  ) {
    self.key = key
    self.version = version
    self.versionIsString = versionIsString
    self.instanceType = instanceType
    self.identifierType = identifierType
    self.identifierEncoding = identifierEncoding
    self.coding = coding
    self.identifierPath = identifierPath
    self.indexes = indexes.sorted { $0.name < $1.name }
    self.unknown = unknown
  }

  /// Throws `readOnly` if an index is of a kind that only later programs know.
  package func requireKnownIndexes() throws(ModelError) {
    guard let (name, kind) = unknownIndexes.min(by: { $0.key < $1.key }) else { return }
    throw .readOnly(
      reason:
        "index \(name) of \(key) is of a kind that this program does not know (\(kind)), so \(key) can only be read")
  }

  /// Returns the descriptor of an index, or nil if there is none of that name.
  package func index(_ name: String) -> IndexDescriptor? { indexes.first { $0.name == name } }

  /// Replaces, adds (in the order of names), or (with nil) removes the descriptor of an index.
  package mutating func setIndex(_ name: String, to index: IndexDescriptor?) {
    indexes.removeAll { $0.name == name }
    guard let index else { return }
    indexes.insert(index, at: indexes.firstIndex { $0.name > index.name } ?? indexes.endIndex)
  }

  /// Marks the named indexes stale, so that no read uses them until they are rebuilt.
  package mutating func markStale(_ names: some Collection<String>) {
    for place in indexes.indices where names.contains(indexes[place].name) { indexes[place].isStale = true }
  }
}

extension [String] {
  /// The first name that occurs for the second time.
  var firstRepeated: String? {
    var seen: Set<String> = []
    return first { !seen.insert($0).inserted }
  }
}
