extension Datastore {
  /// The changes of all instances, from now on.
  ///
  /// Listening begins when this returns. Changes come after their commit, in the order of the commits and, within one, in the order of the
  /// calls. Changes that were rolled back do not come. A slow reader delays no writer, and misses nothing unless more than
  /// ``StoreConfiguration/waitingChangesLimit`` waits for it: then the iteration throws ``ChangesMissed`` once.
  ///
  /// - Throws: ``StoreError``; any error of the declaration. The iteration throws ``UnreadableChangeError`` instead of a change that does
  ///   not decode.
  public nonisolated func observe() async throws -> some AsyncInstances<ObservedEvent<IdentifierType, InstanceType>> {
    try await core.observe(only: nil)
  }

  /// The changes of one instance, from now on.
  ///
  /// - Throws: ``StoreError``; any error of the declaration. The iteration throws ``UnreadableChangeError`` instead of a change that does
  ///   not decode.
  public nonisolated func observe(
    id identifier: IdentifierType
  ) async throws -> some AsyncInstances<ObservedEvent<IdentifierType, InstanceType>> {
    try await core.observe(only: identifier)
  }

  /// The changes of one instance, from now on.
  ///
  /// - Throws: ``StoreError``; any error of the declaration. The iteration throws ``UnreadableChangeError`` instead of a change that does
  ///   not decode.
  public nonisolated func observe(
    _ identifier: IdentifierType
  ) async throws -> some AsyncInstances<ObservedEvent<IdentifierType, InstanceType>> {
    try await core.observe(only: identifier)
  }
}

extension Datastore where InstanceType: Identifiable, IdentifierType == InstanceType.ID {
  /// The changes of the instance with the identifier of this one, from now on.
  ///
  /// - Throws: ``StoreError``; any error of the declaration. The iteration throws ``UnreadableChangeError`` instead of a change that does
  ///   not decode.
  public nonisolated func observe(
    instance: InstanceType
  ) async throws -> some AsyncInstances<ObservedEvent<IdentifierType, InstanceType>> {
    try await core.observe(only: instance.id)
  }

  /// The changes of the instance with the identifier of this one, from now on.
  ///
  /// - Throws: ``StoreError``; any error of the declaration. The iteration throws ``UnreadableChangeError`` instead of a change that does
  ///   not decode.
  @_disfavoredOverload
  public nonisolated func observe(
    _ instance: InstanceType
  ) async throws -> some AsyncInstances<ObservedEvent<IdentifierType, InstanceType>> {
    try await core.observe(only: instance.id)
  }
}
