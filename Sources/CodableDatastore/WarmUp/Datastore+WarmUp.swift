extension Datastore {
  /// Makes the store fit this declaration, if it does not: builds indexes that are new or changed, drops those that are
  /// no longer declared. Every other use does the same first; this call reports the progress.
  ///
  /// All of it is one transaction. If it fails or its task is cancelled, the store stays as it was.
  ///
  /// - Parameter progressHandler: Called when the work begins and ends, and for each instance in between.
  /// - Throws: ``DatastoreError/incompatibleVersion(version:)`` for a store of a newer version, or a decoding error if the format does not
  ///   know that version; ``UnreadableInstanceError``; an error of a migration.
  public nonisolated func warm(progressHandler: ProgressHandler? = nil) async throws {
    try await core.warm(listener: WarmUpListener(progressHandler))
  }

  /// Makes the store fit this declaration, and reports each step, the rate, and every instance that cannot be
  /// converted.
  ///
  /// - Parameter progress: Called with the progress, at most 20 times a second.
  /// - Throws: The errors of ``warm(progressHandler:)``; `CancellationError`.
  @_disfavoredOverload
  public nonisolated func warm(reporting progress: @escaping WarmUpHandler) async throws {
    try await core.warm(listener: WarmUpListener(nil, detailed: progress))
  }
}

extension Datastore where AccessMode == ReadWrite {
  /// Rebuilds an index if an older version of the program built it.
  ///
  /// It is for changes that the library cannot see, such as that of a computed property or of a type's `<`.
  ///
  /// - Parameters:
  ///   - index: The index.
  ///   - minimumVersion: The version since which the index is as it should be.
  ///   - progressHandler: Called when the work begins and ends, and for each instance in between.
  /// - Throws: ``DatastoreError/missingIndex``; ``UnreadableInstanceError``; an error of a migration; `CancellationError`. Then the store
  ///   is as it was.
  public nonisolated func migrate<Index: IndexRepresentation<InstanceType>>(
    index: KeyPath<Format, Index>, ifLessThan minimumVersion: Version, progressHandler: ProgressHandler? = nil
  ) async throws {
    try await core.migrate(
      index: core.index(at: index), ifLessThan: minimumVersion, listener: WarmUpListener(progressHandler))
  }

  /// Rewrites every instance of an older version under the current version, and rebuilds the indexes.
  ///
  /// Reading converts old instances anyway; call this before you remove an old decoder. The action name of the commit in the
  /// history is `migrate` and the datastore's key.
  ///
  /// - Parameters:
  ///   - minimumVersion: Instances of versions before this one are rewritten.
  ///   - progressHandler: Called when the work begins and ends, and for each instance in between.
  /// - Throws: ``UnreadableInstanceError``; an error of a migration; `CancellationError`. Then the store is as it was.
  public nonisolated func migrateEntireStore(
    ifLessThan minimumVersion: Version, progressHandler: ProgressHandler? = nil
  ) async throws {
    try await core.migrateEntireStore(
      ifLessThan: minimumVersion, listener: WarmUpListener(progressHandler))
  }
}
