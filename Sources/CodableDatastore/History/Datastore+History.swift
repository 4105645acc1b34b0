public import StrataFoundation

extension Datastore {
  /// The datastore as of a commit, with the same calls for loading. Instances of older versions are converted. An index that did not exist
  /// yet throws ``IndexNotYetBuiltError``, which names the commit that added it.
  ///
  /// - Throws: ``StoreError`` of kind `noSuchCommit` if there is none, or if it was removed from the history.
  public nonisolated func view(at commit: Commit.Number) async throws -> Datastore<Format, ReadOnly> {
    Datastore<Format, ReadOnly>(core: try core.fixed(at: commit))
  }

  /// The datastore as of a date: that of the newest commit that is not later.
  ///
  /// - Throws: ``StoreError`` of kind `noSuchCommit` if there is none, or if it was removed from the history; `refused` for a date of NaN.
  public nonisolated func view(at date: Date) async throws -> Datastore<Format, ReadOnly> {
    Datastore<Format, ReadOnly>(core: try core.fixed(at: date))
  }

  /// The instances that differ between two commits, in the order of the identifiers. The cost is that of the differences, not of the
  /// datastore. The iteration throws ``UnreadableChangeError`` instead of a change that cannot be read; asked again, it goes on behind it.
  ///
  /// - Parameters:
  ///   - old: The commit of the old instances.
  ///   - new: The commit of the new instances; nil for the newest.
  public nonisolated func changes(
    from old: Commit.Number, to new: Commit.Number? = nil
  ) -> some AsyncInstances<ObservedEvent<IdentifierType, InstanceType>> {
    DatastoreDifference(core: core, old: old, new: new)
  }

  /// Every state that an instance has had, newest first, even if it is deleted now. If a merge made a state from those of both sides, the
  /// states of both sides are listed, in the order of their commits. The iteration throws ``UnreadableChangeError`` instead of a state that
  /// cannot be read; asked again, it goes on behind it.
  public nonisolated func history(of identifier: IdentifierType) -> some AsyncInstances<InstanceVersion<InstanceType>> {
    InstanceHistory(core: core, identifier: identifier)
  }
}
