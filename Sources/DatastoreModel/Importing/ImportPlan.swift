package import Documents

/// What an import makes of its documents.
package struct ImportPlan: Sendable, Hashable {
  package struct Index: Sendable, Hashable {
    package var name: String
    /// Where its values lie in a document.
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
  /// Where the identifier lies in a document.
  package var identifier: DocumentPath
  /// Indexes that are to be there afterwards; those that are there already under these names must have the same rule.
  package var indexes: [Index]
  /// Whether a document whose identifier exists is rejected; otherwise it replaces the record.
  package var isNewOnly: Bool
  /// Finds and counts everything, and writes nothing.
  package var isDryRun: Bool

  package init(
    datastore: String, identifier: DocumentPath, indexes: [Index] = [], isNewOnly: Bool = false, isDryRun: Bool = false
  ) {
    self.datastore = datastore
    self.identifier = identifier
    self.indexes = indexes
    self.isNewOnly = isNewOnly
    self.isDryRun = isDryRun
  }
}

/// What an import did, or would do.
package struct ImportReport: Sendable {
  /// Nil where nothing was written: after a dry run, and where every document was rejected.
  package var commit: CommitNumber?
  package var new = 0
  package var changed = 0
  package var unchanged = 0
  package var rejected = 0
  /// The first of the rejected documents, at most `ImportReport.rejectionLimit`.
  package var rejections: [Rejection] = []
  /// The first of the identifiers that several rows have, at most `ImportReport.rejectionLimit`.
  package var repeats: [Repeat] = []
  /// Rows whose record a later row of the same identifier replaced.
  package var repeated = 0
  /// As the datastore is afterwards, with the types that were guessed.
  package var descriptor: DatastoreDescriptor

  package static let rejectionLimit = 1_000

  package struct Rejection: Sendable, Hashable, CustomStringConvertible {
    /// `FILE:LINE` or `FILE:LINE:COLUMN`.
    package var place: String
    package var reason: String

    package var description: String { "\(place): \(reason)" }
  }

  /// An identifier that several rows have: the record is as the last of them says.
  package struct Repeat: Sendable, Hashable, CustomStringConvertible {
    package var identifier: StoredKey
    /// The first of its rows, as `FILE:LINE`.
    package var rows: [String]
    /// How many rows there are.
    package var count: Int

    package var description: String {
      let more = count > rows.count ? " and \(count - rows.count) more" : ""
      return
        "identifier \(identifier) is in \(count) rows, of which the last counts: \(rows.joined(separator: ", "))\(more)"
    }
  }

  init(descriptor: DatastoreDescriptor) { self.descriptor = descriptor }

  /// Whether every document was rejected.
  var isAllRejected: Bool { rejected > 0 && new + changed + unchanged == 0 }

  mutating func reject(_ place: SourcePlace, _ reason: String) {
    rejected += 1
    if rejections.count < Self.rejectionLimit {
      rejections.append(Rejection(place: place.description, reason: reason))
    }
  }
}
