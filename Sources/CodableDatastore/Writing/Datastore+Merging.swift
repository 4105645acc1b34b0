import StrataModel
import StrataDocuments
import StrataEngine

extension Datastore where AccessMode == ReadWrite, InstanceType: Identifiable, IdentifierType == InstanceType.ID {
  /// Stores an instance that was made from its state at a commit. If the stored instance has changed since, both changes are combined,
  /// field by field, as in a merge of two copies of a store.
  ///
  /// ```swift
  /// let read = try await persistence.head
  /// …
  /// try await cities.persist(edited, readAt: read.id)
  /// ```
  ///
  /// Each call is a change of its own: of a counter, both of two equal changes count. Read the instance again before you save it again.
  ///
  /// - Parameter commit: The commit at which the instance was read.
  /// - Returns: The instance that is stored now.
  /// - Throws: ``StoreError`` of kind `refused` if both changed the same field, if the type cannot hold both changes, or if the instance was
  ///   deleted meanwhile: saving an old instance does not bring it back. Then nothing is written.
  @discardableResult
  public nonisolated func persist(
    _ instance: InstanceType, readAt commit: Commit.Number
  ) async throws -> InstanceType {
    try await core.readyForWriting()
    return try await Transactions.run(
      store: core.store, actionName: "persist \(core.key)", options: .retriesConflicts
    ) { scope, _ in
      if scope.isReading { throw DiskPersistenceError.cannotWrite }
      let merged = try await core.merged(instance, identifier: instance.id, readAt: commit)
      _ = try await core.persist(merged, identifier: instance.id)
      return merged
    }
  }
}

extension DatastoreCore {
  /// Merges an instance with the changes made since a commit; within a transaction.
  func merged(_ instance: Instance, identifier: Identifier, readAt commit: Commit.Number) async throws -> Instance {
    let prepared = try await prepare(instance, identifier: identifier)
    guard try store.model(forWriting: true) != nil, let scope = Transactions.scope(for: store) else { return instance }
    let place = try identifiers.order.place(of: prepared.key)
    let before = try ReadState.view(view(at: commit)).tree(recordsTree)?.record(at: place)
    let (attributes, present) = try scope.step { transaction -> ([UInt8], Bytes?) in
      let tree = try transaction.tree(recordsTree)
      return (tree?.attributes.array ?? [], try tree?.record(at: place))
    }
    guard !attributes.isEmpty else { return instance }
    let descriptor = try throwingStoreErrors { try DatastoreDescriptor(bytes: attributes) }
    let merge = try await RecordMerge(
      descriptor, base: content(of: before), mine: content(of: Bytes(prepared.record)), theirs: content(of: present),
      countsEqualChanges: true)
    switch merge.outcome {
    case .mine: return instance
    case .theirs:
      guard let present else { throw Self.changedMeanwhile(key, []) }
      return try await self.instance(of: present, key: prepared.key)
    case .merged(let content):
      do {
        return try await self.instance(of: Self.record(content), key: prepared.key, wrapsAll: true)
      } catch is UnreadableInstanceError {
        // Both changes together are nothing that the type can hold.
        throw Self.changedMeanwhile(key, [])
      }
    case .conflict(let fields): throw Self.changedMeanwhile(key, fields)
    }
  }

  /// The content in the current version, because an edit of a record of an older version would differ from it in every field.
  private func content(of record: Bytes?) async throws -> RecordContent? {
    guard var record else { return nil }
    if coder.tag(of: record) != coder.tag, let instance = try? await coder.decode(record).instance {
      record = try await coder.record(of: instance).map { Bytes($0.bytes) } ?? record
    }
    let (version, content) = try throwingStoreErrors { try RecordBytes.split(record) }
    return RecordContent(version: version, bytes: content.array)
  }

  private static func changedMeanwhile(_ datastore: String, _ fields: [FieldConflict]) -> StoreError {
    let place = fields.isEmpty ? "" : " in \(fields.map { "\($0.path)" }.joined(separator: ", "))"
    return StoreError(.refused, "The instance of \(datastore) was changed meanwhile\(place); nothing was written.")
  }
}
