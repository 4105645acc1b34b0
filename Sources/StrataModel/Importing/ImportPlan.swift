package import StrataDocuments

/// The options of an import.
package struct ImportPlan: Sendable, Hashable {
  package struct Index: Sendable, Hashable {
    package var name: String
    /// The path of its values in a document.
    package var path: DocumentPath
    package var kind: IndexKind
    package var storage: IndexStorageKind
    package var isUnique: Bool

    package init(
      name: String, path: DocumentPath, kind: IndexKind = .oneToMany, storage: IndexStorageKind = .reference,
      isUnique: Bool = false
    ) {
      self.name = name
      self.path = path
      self.kind = kind
      self.storage = storage
      self.isUnique = isUnique
    }
  }

  package var datastore: String
  /// The path of the identifier in a document.
  package var identifier: DocumentPath
  /// Indexes that must exist afterwards; existing ones of these names must have the same rule.
  package var indexes: [Index]
  /// How an existing record is treated if a document has its identifier.
  package var existing: Existing
  /// Types of columns that the user chose, whatever the types of the datastore or of the cells.
  package var types: [DocumentPath: CellType]
  /// The version of new records; nil stands for the newest, which they must fit.
  package var version: String?
  /// Whether everything is read and counted, and nothing is written.
  package var isDryRun: Bool
  /// Identifiers of records that come later, which decide its type, too. A source without documents creates a datastore for them; if
  /// this is nil, it creates none.
  package var later: [Document]?

  package enum Existing: Sendable, Hashable, CaseIterable {
    /// It is replaced, if the source has every field that the records have.
    case replaced
    /// It is replaced, whatever the source lacks.
    case replacedWhole
    /// Only the fields that the document has change.
    case merged
    /// It stays, and the document is rejected.
    case kept
  }

  package init(
    datastore: String, identifier: DocumentPath, indexes: [Index] = [], existing: Existing = .replaced,
    types: [DocumentPath: CellType] = [:], version: String? = nil, isDryRun: Bool = false, later: [Document]? = nil
  ) {
    self.datastore = datastore
    self.identifier = identifier
    self.indexes = indexes
    self.existing = existing
    self.types = types
    self.version = version
    self.isDryRun = isDryRun
    self.later = later
  }
}

/// The result of an import, or of a dry run. If several rows have one identifier, they count as one record.
package struct ImportReport: Sendable {
  /// Nil if nothing was written: after a dry run, if every document was rejected, or if fields would be lost.
  package var commit: CommitNumber?
  package var new = 0
  package var changed = 0
  package var unchanged = 0
  package var rejected = 0
  /// The first rejected documents, at most `ImportReport.rejectionLimit`.
  package var rejections: [Rejection] = []
  /// The first identifiers that several rows have, at most `ImportReport.rejectionLimit`.
  package var repeats: [Repeat] = []
  /// Rows whose record a later row of the same identifier replaced.
  package var repeated = 0
  /// Fields of records that the source nowhere has, by path, with the number of records that lose them. Nothing is written because of them,
  /// unless the plan says that records are replaced whole.
  package var losses: [Loss] = []
  /// The indexes of the plan for which no document of the source has a value.
  package var indexesWithoutValues: [ImportPlan.Index] = []
  /// The descriptor of the datastore afterwards, with the guessed types.
  package var descriptor: DatastoreDescriptor

  package static let rejectionLimit = 1_000

  package struct Rejection: Sendable, Hashable, CustomStringConvertible {
    /// `FILE:LINE` or `FILE:LINE:COLUMN`.
    package var place: String
    package var reason: String

    package var description: String { "\(place): \(reason)" }
  }

  /// An identifier that several rows have. The record has the content of the last one.
  package struct Repeat: Sendable, Hashable, CustomStringConvertible {
    package var identifier: StoredKey
    /// The first rows, as `FILE:LINE`.
    package var rows: [String]
    /// The number of rows.
    package var count: Int

    package var description: String {
      let more = count > rows.count ? " and \(count - rows.count) more" : ""
      return
        "identifier \(identifier) is in \(count) rows, of which the last counts: \(rows.joined(separator: ", "))\(more)"
    }
  }

  package struct Loss: Sendable, Hashable {
    package var path: DocumentPath
    package var records: Int
  }

  /// `.qty (3 records), .note (1 record)`; empty if nothing is lost.
  package var lossText: String {
    losses.prefix(8).map { "\($0.path.shortText) (\(counted($0.records, "record")))" }.joined(separator: ", ")
      + (losses.count > 8 ? " and \(losses.count - 8) more fields" : "")
  }

  init(descriptor: DatastoreDescriptor) { self.descriptor = descriptor }

  mutating func reject(_ place: SourcePlace, _ reason: String) {
    rejected += 1
    if rejections.count < Self.rejectionLimit {
      rejections.append(Rejection(place: place.description, reason: reason))
    }
  }
}
