import StrataLocks
import StrataEngine

/// The entries that a failed build of an index has worked out. The next build of the same index looks only at records that have changed
/// since, and at those that failed.
struct KeptFill: Sendable {
  let datastore: String
  /// The index as it was asked for, and with the type that its values have.
  let asked: IndexDescriptor
  let index: IndexDescriptor
  let commit: CommitNumber
  let generation: UInt64
  /// The entries of all records but the open ones.
  var sorter: EntrySorter
  /// Records whose entries are not among these.
  var open: Set<StoredKey>

  /// More records than these are looked at together with all others.
  static let openLimit = 10_000
}

extension EngineStore {
  /// Takes the entries that the last failed build left, if another build of the same index can use them; nothing stays kept.
  func removeKeptFill(of datastore: String, _ index: IndexDescriptor) -> KeptFill? {
    let kept = keptFill.withLock { kept in
      defer { kept = nil }
      return kept
    }
    guard let kept, kept.datastore == datastore, kept.asked == index else { return nil }
    return kept
  }

  /// Brings kept entries to the state of a datastore: the entries of records that changed since are taken out, and these records are
  /// open. Nil if too many have changed, or if a compaction has moved the records.
  func bring(
    _ kept: KeptFill, to datastore: EngineDatastore, mending: ChangeSet, in transaction: any WriteTransaction,
    values: (Record) throws(ModelError) -> [[UInt8]]
  ) throws(ModelError) -> KeptFill? {
    guard kept.generation == engine.identity.generation else { return nil }
    var kept = kept
    var changed = Set(mending.changes.filter { $0.datastore == kept.datastore }.map(\.identifier))
    if kept.commit != datastore.view.commit {
      let reader = try changes(from: kept.commit, to: datastore.view.commit)
      while case let next = try reader.next(256), !next.isEmpty {
        changed.formUnion(next.filter { $0.datastore == kept.datastore }.map(\.identifier))
        if changed.count > KeptFill.openLimit { return nil }
      }
    }
    let old = try engineView(at: kept.commit).requiredDatastore(kept.datastore)
    for key in changed where !kept.open.contains(key) {
      if let record = try old.record(key) { try kept.sorter.remove(values(record), of: key, in: transaction) }
      kept.open.insert(key)
    }
    return kept
  }
}

extension EntrySorter {
  mutating func remove(
    _ values: [[UInt8]], of key: StoredKey, in transaction: any WriteTransaction
  ) throws(ModelError) {
    for value in values {
      try onStorage { try add(value: value, identifier: key.bytes, .none, isRemoval: true, in: transaction) }
    }
  }
}
