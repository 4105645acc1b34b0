import DatastoreModel

extension DiskPersistence {
  /// What of the store cannot be read, and up to which commit it can be, in one sentence; nil where opening found no damage.
  ///
  /// A damaged store reads as of the newest commit before the damage, and refuses to be written. `strata verify` says all that is wrong
  /// with it, and `strata salvage` makes a new store of what is whole.
  ///
  /// - Throws: ``StoreError`` where the store cannot be opened.
  public nonisolated var damage: String? {
    get throws { try _store.model()?.damage }
  }

  /// What opening found, and what has failed in the background since, as sentences: damage, bytes that were cut off, a retention that
  /// cannot be carried out. Empty if nothing is to be reported.
  ///
  /// If ``StoreConfiguration/retention`` cannot be carried out, as on a full disk, it is tried again after 1, 2, 4 … minutes, at most a
  /// day; the report says why until an attempt succeeds.
  ///
  /// - Throws: ``StoreError`` if the store cannot be opened.
  public nonisolated var openingReport: [String] {
    get throws { try _store.model()?.openingReport ?? [] }
  }
}
