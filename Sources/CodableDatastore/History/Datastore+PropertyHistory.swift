import StrataDocuments
import StrataEngine
public import StrataFoundation
import StrataModel

/// The values of one property of an instance at two commits.
public struct PropertyChange<Identifier: Sendable, Value: Sendable>: Sendable {
  /// The identifier of the instance.
  public var id: Identifier
  /// The value at the older commit; nil if the instance did not exist.
  public var old: Value?
  /// The value at the newer commit; nil if the instance no longer exists.
  public var new: Value?
}

/// The newest commit that changed a stored property.
public struct PropertyBlame: Hashable, Sendable {
  /// The property, as the record stores it: `.name`.
  public var property: String
  /// The newest commit that changed anything in it.
  public var commit: Commit
}

extension Datastore {
  /// Every value that a property of an instance has had, newest first, each with the commit that gave it.
  ///
  /// The cost is that of the versions of this one instance, as far back as they are read. A date of NaN is an error of the iteration.
  ///
  /// - Parameters:
  ///   - identifier: The identifier of the instance, which may be deleted now.
  ///   - property: The property.
  ///   - since: Only values that were given at this time or later.
  ///   - until: Only values that were given at this time or earlier.
  public nonisolated func history<Value: Equatable & Sendable>(
    of identifier: IdentifierType, _ property: KeyPath<InstanceType, Value>, since: Date? = nil, until: Date? = nil
  ) -> some AsyncInstances<PropertyVersion<Value>> {
    PropertyHistory(
      versions: InstanceHistory(core: core, identifier: identifier), property: property, since: since, until: until)
  }

  /// The value that a property of an instance had at a date; nil if the instance did not exist.
  ///
  /// - Throws: ``StoreError`` if there was no commit yet, and of kind `refused` for a date of NaN.
  public nonisolated func value<Value: Sendable>(
    of identifier: IdentifierType, _ property: KeyPath<InstanceType, Value>, at date: Date
  ) async throws -> Value? {
    try await view(at: date).load(identifier)?[keyPath: property]
  }

  /// For each stored property of an instance, the newest commit that changed it: its own value, or anything within it.
  ///
  /// They are ordered by the properties' names. The cost is that of the instance's versions, back to the oldest of these commits.
  ///
  /// - Returns: An empty array if the instance does not exist.
  /// - Throws: ``StoreError`` if the app's own coder made the records, because their properties are unknown.
  public nonisolated func blame(of identifier: IdentifierType) async throws -> [PropertyBlame] {
    try core.blame(of: identifier)
  }

  /// The newest commit that changed a property of an instance; nil if the instance does not exist.
  ///
  /// The cost is that of the instance's versions, back to this commit.
  ///
  /// - Throws: ``StoreError`` if the store cannot be read, and any error from decoding an instance.
  public nonisolated func blame<Value: Equatable & Sendable>(
    of identifier: IdentifierType, _ property: KeyPath<InstanceType, Value>
  ) async throws -> Commit? {
    guard try await load(identifier) != nil else { return nil }
    for try await version in history(of: identifier, property) { return version.commit }
    return nil
  }

  /// The instances whose property differs from its value at a commit, in the order of the identifiers.
  ///
  /// The cost is that of the instances that differ, not of the datastore.
  ///
  /// - Parameters:
  ///   - property: The property.
  ///   - commit: The commit that is compared with.
  public nonisolated func changes<Value: Equatable & Sendable>(
    of property: KeyPath<InstanceType, Value>, since commit: Commit.Number
  ) -> some AsyncInstances<PropertyChange<IdentifierType, Value>> {
    DatastoreDifference(core: core, old: commit, new: nil).compactMap { $0.change(of: property) }
  }
}

extension DatastoreCore {
  fileprivate func blame(of identifier: Identifier) throws -> [PropertyBlame] {
    guard let view = try currentView(), try view.tree(recordsTree) != nil, let model = try store.model() else {
      return []
    }
    let stored = try key(of: identifier)
    let place = RecordPlace(datastore: key, identifier: StoredKey(bytes: stored, value: .data(stored)))
    let life = try throwingStoreErrors { try model.life(of: place, from: CommitNumber(view.number)) }
    return life.parts.filter { $0.path.components.count == 1 }
      .map { PropertyBlame(property: $0.path.description, commit: Commit($0.commit)) }
      .sorted { $0.property < $1.property }
  }
}
