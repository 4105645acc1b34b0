package import StrataDocuments

/// The effects of committing a change set, computed without writing anything.
package struct ChangePreview: Sendable {
  /// The effects per record, in the order of the change set; only the first `detailLimit` of the options.
  package var records: [RecordPreview] = []
  /// Index entries added and removed, over all records.
  package var addedEntries = 0
  package var removedEntries = 0
  /// The approximate number of bytes that the commit adds to the store.
  package var byteCount: UInt64 = 0
  /// Records that changed since they were read, in ways that cannot be merged.
  package var conflicts: [EditConflict] = []
  /// Values that two records would have in an index that is meant for one record each.
  package var uniqueness: [UniquenessConflict] = []
  /// Why the commit would be refused.
  package var refusals: [EditRefusal] = []
  /// The indexes that are marked stale because they cannot hold what is brought back, as `City name`.
  package var marked: [String] = []
  /// The first references whose target would be missing; worth knowing, and no reason to refuse. Not looked for in a preview that describes
  /// no records, nor if more records change than can be checked in a moment.
  package var dangling: [DanglingReference] = []
}

/// The effects of a commit on one record.
package struct RecordPreview: Sendable, Hashable {
  package var place: RecordPlace
  package var entries: [EntryChange]
}

/// An index entry that is added or removed.
package struct EntryChange: Sendable, Hashable {
  package var index: String
  package var value: KeyValue
  package var isAdded: Bool
}

/// A value that several records have in an index that is meant for one record each.
package struct UniquenessConflict: Sendable, Hashable {
  package var datastore: String
  package var index: String
  package var value: KeyValue
  /// The records, lowest identifier first (which a load returns).
  package var identifiers: [StoredKey]
  /// Whether uniqueness is switched on, so that a commit is refused; otherwise it is only worth knowing.
  package var isEnforced: Bool

  package var sentence: String {
    let names = identifiers.prefix(4).map(\.description) + (identifiers.count > 4 ? ["others"] : [])
    return "\(datastore): \(index) \(value) would belong to \(names.joined(separator: " and "))"
  }
}

/// Why an edit is refused.
package struct EditRefusal: Sendable, Hashable {
  package var datastore: String
  /// Nil if it does not depend on an index.
  package var index: String?
  package var reason: String
  /// Whether `EditOptions.marksIndexesStale` would permit it.
  package var canBeMarkedStale: Bool
}

/// A record that changed since it was read.
package struct EditConflict: Sendable, Hashable {
  package var place: RecordPlace
  /// The content when the edit began, the content that the edit wants, and the present content.
  package var base: RecordContent?
  package var mine: RecordContent?
  package var theirs: RecordContent?
  /// The fields that both sides changed, to different values; empty if a whole record was deleted or is opaque.
  package var fields: [FieldConflict]

  package var name: String { "\(place.datastore)/\(place.identifier)" }

  package var sentence: String {
    switch (base, theirs) {
    case (nil, _): "\(name) was inserted meanwhile"
    case (_, nil): "\(name) was deleted meanwhile"
    default:
      fields.isEmpty
        ? "\(name) was changed meanwhile"
        : "\(name) was changed meanwhile in \(fields.map(\.path.description).joined(separator: ", "))"
    }
  }
}
