package import StrataDocuments

/// The description of one index in a store.
package struct IndexDescriptor: Hashable, Sendable {
  package var name: String
  package var kind: IndexKind
  /// Kind and value type as the typed layer names them, `OneToManyIndex(Int)`. If code and store differ in it, the index is rebuilt.
  package var type: String
  package var storage: IndexStorageKind
  /// How values are encoded as keys.
  package var encoding: KeyEncoding
  /// The Swift name of the value's type: `Int`, `Optional<String>`.
  package var valueType: String
  /// The name of the key path as the app's code spells it, `.population`; nil if it is computed or unknown.
  package var keyPathName: String?
  /// The document path of the values, if it was declared (by an import) and needs no proof.
  package var rule: String?
  /// Whether only one record may have a value; checked when a transaction commits.
  package var isUnique: Bool
  /// The app's version when the index was built.
  package var version: String
  /// Whether an edit did not update the index. The app's next warm-up rebuilds it; until then no read uses it.
  package var isStale: Bool
  /// The parts of a compound index, first to last; empty for others.
  package var tiers: [IndexTier]
  /// The key of the datastore whose identifiers the values are; nil if they are not references.
  package var target: String?
  /// Members of a later version's descriptor, kept unchanged.
  package var unknown: [String: Document]

  package init(
    name: String, kind: IndexKind, type: String? = nil, storage: IndexStorageKind = .reference, encoding: KeyEncoding,
    valueType: String, keyPathName: String? = nil, rule: String? = nil, isUnique: Bool = false, version: String = "1",
    isStale: Bool = false, tiers: [IndexTier] = [], target: String? = nil, unknown: [String: Document] = [:]
  ) {
    self.name = name
    self.kind = kind
    self.type = type ?? "\(kind.typeName)(\(valueType))"
    self.storage = storage
    self.encoding = encoding
    self.valueType = valueType
    self.keyPathName = keyPathName
    self.rule = rule
    self.isUnique = isUnique
    self.version = version
    self.isStale = isStale
    self.tiers = tiers
    self.target = target
    self.unknown = unknown
  }
}

/// One part of a compound index.
package struct IndexTier: Hashable, Sendable {
  package var valueType: String
  package var keyPathName: String?
  /// The document path, if it was declared.
  package var rule: String?
  package var isDescending: Bool

  package init(valueType: String, keyPathName: String? = nil, rule: String? = nil, isDescending: Bool = false) {
    self.valueType = valueType
    self.keyPathName = keyPathName
    self.rule = rule
    self.isDescending = isDescending
  }
}

/// How many values a record has in an index, and how many records a value is meant to have.
package enum IndexKind: String, Hashable, Sendable, CaseIterable {
  /// The records themselves, by identifier.
  case primary
  case oneToOne = "one-to-one"
  case oneToMany = "one-to-many"
  case manyToOne = "many-to-one"
  case manyToMany = "many-to-many"

  /// Whether a record may have several values.
  package var hasManyValues: Bool { self == .manyToOne || self == .manyToMany }
  /// Whether only one record should have a value (enforced only if the descriptor says `isUnique`).
  package var meansOneRecord: Bool { self == .primary || self == .oneToOne || self == .manyToOne }
  /// The name in an index type: `OneToManyIndex`.
  package var typeName: String {
    switch self {
    case .primary: "Primary"
    case .oneToOne: "OneToOneIndex"
    case .oneToMany: "OneToManyIndex"
    case .manyToOne: "ManyToOneIndex"
    case .manyToMany: "ManyToManyIndex"
    }
  }
}

/// The contents of an index entry beside value and identifier.
package enum IndexStorageKind: String, Hashable, Sendable {
  /// Nothing: a read looks the record up by its identifier.
  case reference
  /// The place of the record too: a read skips the primary tree, and every update of the record rewrites the entry.
  case direct
}
