package import Documents

/// What a commit of a change set would do, found without writing anything.
package struct ChangePreview: Sendable {
  /// The commit it was found on.
  package var head: CommitNumber
  /// Records per datastore.
  package var counts: [ChangeCount]
  /// What happens per record, in the order of the change set; only the first `detailLimit` of the options.
  package var records: [RecordPreview]
  /// Index entries that come and go, over all records.
  package var addedEntries: Int
  package var removedEntries: Int
  /// About how many bytes the commit adds to the store.
  package var byteCount: UInt64
  /// Records that changed since they were read, in ways that cannot be put together.
  package var conflicts: [EditConflict]
  /// Values that would belong to two records of an index that is meant for one.
  package var uniqueness: [UniquenessConflict]
  /// Why the commit would be refused.
  package var refusals: [EditRefusal]
  /// References that would name what is not there, the first of them; worth knowing, and no reason to refuse. Not looked for in a preview
  /// that describes no records, nor where more records change than can be looked at in a moment.
  package var dangling: [DanglingReference] = []

  /// Whether a commit would go through.
  package var isPossible: Bool { conflicts.isEmpty && refusals.isEmpty && !uniqueness.contains { $0.isEnforced } }
}

/// What a commit would do to one record.
package struct RecordPreview: Sendable, Hashable {
  package var place: RecordPlace
  package var kind: ChangeKind
  package var entries: [EntryChange]
}

/// An index entry that comes or goes.
package struct EntryChange: Sendable, Hashable {
  package var index: String
  package var value: KeyValue
  package var isAdded: Bool
}

/// A value that two or more records of an index have that is meant for one each.
package struct UniquenessConflict: Sendable, Hashable {
  package var datastore: String
  package var index: String
  package var value: KeyValue
  /// The records, lowest identifier first (which answers a load).
  package var identifiers: [StoredKey]
  /// Whether uniqueness is switched on, so that a commit is refused; otherwise it is only worth knowing.
  package var isEnforced: Bool

  package var sentence: String {
    "\(datastore): \(index) \(value) would belong to \(identifiers.prefix(4).map(\.description).joined(separator: " and "))"
  }
}

/// Why an edit is refused.
package struct EditRefusal: Sendable, Hashable {
  package var datastore: String
  /// Nil where it does not depend on an index.
  package var index: String?
  package var record: StoredKey?
  package var reason: String
  /// Whether `EditOptions.marksIndexesStale` would let it pass.
  package var canBeMarkedStale: Bool
}

/// A record that changed since it was read.
package struct EditConflict: Sendable, Hashable {
  package var place: RecordPlace
  /// As it was when the edit began, as the edit wants it, and as it is now.
  package var base: RecordContent?
  package var mine: RecordContent?
  package var theirs: RecordContent?
  /// The fields that both sides changed, to different values; empty where a whole record is gone, new, or opaque.
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

/// A field that both sides changed; nil where a side has not got it.
package struct FieldConflict: Sendable, Hashable {
  package var path: DocumentPath
  package var base: Document?
  package var mine: Document?
  package var theirs: Document?

  package init(path: DocumentPath, base: Document?, mine: Document?, theirs: Document?) {
    self.path = path
    self.base = base
    self.mine = mine
    self.theirs = theirs
  }
}
