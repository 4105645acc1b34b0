#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

extension Datastore {
  /// The datastore as of a commit, with the same calls for loading. Instances of older versions are converted; an index
  /// that was not there yet throws ``IndexNotYetBuiltError``, which names the commit that brought it.
  ///
  /// - Throws: ``StoreError`` of kind `noSuchCommit` where there is none, or it was removed from the history.
  public nonisolated func view(at commit: Commit.Number) async throws -> Datastore<Format, ReadOnly> {
    Datastore<Format, ReadOnly>(core: try core.fixed(at: commit))
  }

  /// The datastore as of a date: that of the newest commit not later.
  ///
  /// - Throws: ``StoreError`` of kind `noSuchCommit` where there is none, or it was removed from the history.
  public nonisolated func view(at date: Date) async throws -> Datastore<Format, ReadOnly> {
    Datastore<Format, ReadOnly>(core: try core.fixed(at: date))
  }

  /// What is different between two commits, in the order of the identifiers. The cost is that of the differences, not
  /// of the datastore.
  ///
  /// - Parameters:
  ///   - old: The commit that the old instances are of.
  ///   - new: The commit that the new instances are of; nil for the newest.
  public nonisolated func changes(
    from old: Commit.Number, to new: Commit.Number? = nil
  ) -> some AsyncInstances<ObservedEvent<IdentifierType, InstanceType>> {
    DatastoreDifference(core: core, old: old, new: new)
  }

  /// Every state that an instance has had, newest first, also where it is deleted now.
  public nonisolated func history(of identifier: IdentifierType) -> some AsyncInstances<InstanceVersion<InstanceType>> {
    InstanceHistory(core: core, identifier: identifier)
  }

}
