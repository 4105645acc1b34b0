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
}
