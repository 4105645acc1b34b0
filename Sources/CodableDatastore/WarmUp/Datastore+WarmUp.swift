extension Datastore {
  /// Makes the store fit this declaration, if it does not: builds indexes that are new or changed, drops those that are
  /// no longer declared. Every other use does the same first; calling it tells how far it is.
  ///
  /// All of it is one transaction. Where it fails or its task is cancelled, the store stays as it was.
  ///
  /// - Parameter progressHandler: Hears that the work begins and ends, and of each instance in between.
  /// - Throws: ``DatastoreError/incompatibleVersion(version:)`` for a store of a newer version; what a decoder throws.
  public nonisolated func warm(progressHandler: ProgressHandler? = nil) async throws {
    try await core.warm(listener: WarmUpListener(progressHandler))
  }

  /// Makes the store fit this declaration, telling of each step, of the rate, and of every instance that cannot be
  /// converted.
  ///
  /// - Parameter progress: Hears how far the work is, at most 20 times a second.
  /// - Throws: ``DatastoreError/incompatibleVersion(version:)`` for a store of a newer version; what a decoder throws;
  ///   `CancellationError`.
  @_disfavoredOverload
  public nonisolated func warm(reporting progress: @escaping WarmUpHandler) async throws {
    try await core.warm(listener: WarmUpListener(nil, detailed: progress))
  }
}

extension Datastore where AccessMode == ReadWrite {
  /// Builds an index anew if an older version of the program built it.
  ///
  /// It is for changes that the library cannot see, such as that of a computed property or of a type's `<`.
  ///
  /// - Parameters:
  ///   - index: The index.
  ///   - minimumVersion: The version since which the index is as it should be.
  ///   - progressHandler: Hears that the work begins and ends, and of each instance in between.
  /// - Throws: ``DatastoreError/missingIndex``; what a decoder throws; `CancellationError`. Then the store is as it was.
  public nonisolated func migrate<Index: IndexRepresentation<InstanceType>>(
    index: KeyPath<Format, Index>, ifLessThan minimumVersion: Version, progressHandler: ProgressHandler? = nil
  ) async throws {
    try await core.migrate(
      index: core.index(at: index), ifLessThan: minimumVersion, listener: WarmUpListener(progressHandler))
  }

  /// Writes every instance of an older version anew, under the current version, and builds the indexes anew.
  ///
  /// Reading converts old instances anyway; this is for decoders that are to go. The history calls the commit `migrate` and the
  /// datastore's key.
  ///
  /// - Parameters:
  ///   - minimumVersion: Instances of versions before this one are written.
  ///   - progressHandler: Hears that the work begins and ends, and of each instance in between.
  /// - Throws: What a decoder throws; `CancellationError`. Then the store is as it was.
  public nonisolated func migrateEntireStore(
    ifLessThan minimumVersion: Version, progressHandler: ProgressHandler? = nil
  ) async throws {
    try await core.migrateEntireStore(
      ifLessThan: minimumVersion, listener: WarmUpListener(progressHandler))
  }
}
