/// Changes of records: staged, reviewed, committed, undone, or received from another store.
///
/// It has at most one edit per record; `ChangeSet.add` guarantees that.
package struct ChangeSet: Hashable, Sendable {
  /// The commit at which the old contents were read.
  package var base: CommitNumber?
  package var changes: [RecordEdit]

  package init(base: CommitNumber? = nil, changes: [RecordEdit] = []) {
    self.base = base
    self.changes = changes
  }

  package var isEmpty: Bool { changes.isEmpty }
  package var count: Int { changes.count }

  /// How many records of each datastore are inserted, updated and deleted, in the order of the datastores' keys.
  package var counts: [ChangeCount] {
    var tally = ChangeTally()
    for change in changes { tally.count(change.kind, in: change.datastore) }
    return tally.counts
  }

  /// Returns the same counts for all changes of a reader.
  static func counts(reading reader: any ChangeReader) throws(ModelError) -> [ChangeCount] {
    var tally = ChangeTally()
    while case let changes = try reader.next(512), !changes.isEmpty {
      for change in changes { tally.count(change.kind, in: change.datastore) }
    }
    return tally.counts
  }
}

/// Counts changes per datastore.
package struct ChangeTally {
  private var tally: [String: ChangeCount] = [:]

  package init() {}

  package var counts: [ChangeCount] { tally.values.sorted { $0.datastore < $1.datastore } }

  package mutating func count(_ kind: ChangeKind, in datastore: String, times: Int = 1) {
    if times > 0 { tally[datastore, default: ChangeCount(datastore: datastore)].count(kind, times: times) }
  }
}

/// The change of one record that a user makes, by contents.
package typealias RecordEdit = ChangedRecord<RecordContent>

/// The change of one record.
package struct ChangedRecord<Content: Sendable>: Sendable {
  package var datastore: String
  package var identifier: StoredKey
  /// The record as it was read; nil if it did not exist.
  package var old: Content?
  /// The new record; nil deletes it.
  package var new: Content?
  /// Whether the edit is made only once, so that a counter counts it also if the record was changed to the same number meanwhile.
  var countsEqualChanges = false

  package init(datastore: String, identifier: StoredKey, old: Content?, new: Content?) {
    self.datastore = datastore
    self.identifier = identifier
    self.old = old
    self.new = new
  }

  package var kind: ChangeKind {
    switch (old, new) {
    case (nil, _): .insert
    case (_, nil): .delete
    default: .update
    }
  }

  /// The record's place, as a key for dictionaries.
  package var place: RecordPlace { RecordPlace(datastore: datastore, identifier: identifier) }
}

extension ChangedRecord: Equatable where Content: Equatable {}
extension ChangedRecord: Hashable where Content: Hashable {}

/// The kind of a record's change.
package enum ChangeKind: String, Hashable, Sendable { case insert, update, delete }

/// A record's place in a store.
package struct RecordPlace: Hashable, Sendable {
  package var datastore: String
  package var identifier: StoredKey

  package init(datastore: String, identifier: StoredKey) {
    self.datastore = datastore
    self.identifier = identifier
  }
}

/// The bytes of a record with the app's version that wrote them.
package struct RecordContent: Hashable, Sendable {
  /// As in `Record.version`.
  package var version: String
  package var bytes: [UInt8]

  package init(version: String, bytes: [UInt8]) {
    self.version = version
    self.bytes = bytes
  }

  /// The old state of a record whose content is damaged: an edit replaces it without knowing it.
  package static let damaged = RecordContent(version: "", bytes: [])
}

extension Record {
  /// The record's content, as an edit expects it as the old state.
  package var stored: RecordContent { RecordContent(version: version, bytes: content) }
}
