import StrataModel

extension DiskPersistence {
  /// The part of the store that cannot be read, and the commit up to which it can be, in one sentence; nil if opening found no damage.
  ///
  /// A damaged store reads as of the newest commit before the damage, and refuses writes. `strata verify` reports everything that is wrong
  /// with it, and `strata salvage` makes a new store of the intact parts.
  ///
  /// - Throws: ``StoreError`` if the store cannot be opened.
  public nonisolated var damage: String? {
    get throws { try _store.model()?.damage }
  }

  /// The problems that opening found, and those that occurred in the background since, as sentences: damage, bytes that were cut off, a
  /// retention that cannot be carried out. Empty if there is nothing to report.
  ///
  /// If ``StoreConfiguration/retention`` cannot be carried out, as on a full disk, it is tried again after 1, 2, 4 … minutes, at most a
  /// day; the report says why until an attempt succeeds.
  ///
  /// - Throws: ``StoreError`` if the store cannot be opened.
  public nonisolated var openingReport: [String] {
    get throws { try _store.model()?.openingReport ?? [] }
  }
}
