import StrataModel

/// A rule for the instances that refer to an instance that is deleted.
public struct ReferenceRule<Target: DatastoreFormat>: Sendable {
  /// Receives the identifier, its datastore, and the instances that the call deletes, so that cycles of references end.
  let apply: @Sendable (Target.Identifier, DatastoreCore<Target>, inout Set<RecordPlace>) async throws -> Void

  /// Deletes nothing if an instance refers to it: ``ReferenceError/isReferredTo(datastore:by:count:)`` is thrown.
  public static func refuse<Format: DatastoreFormat, Value: Indexable>(
    _ datastore: Datastore<Format, ReadWrite>,
    _ reference: KeyPath<Format, ReferenceRepresentation<Format.Instance, Target, Value>>
  ) -> Self {
    let path = reference as any KeyPath<Format, ReferenceRepresentation<Format.Instance, Target, Value>> & Sendable
    return Self { identifier, target, deleted in
      let referring = try await datastore.core.referring(to: identifier, through: path, of: target, besides: deleted)
      guard referring.isEmpty else {
        throw ReferenceError.isReferredTo(
          datastore: DatastoreKey(target.key), by: DatastoreKey(datastore.core.key), count: referring.count)
      }
    }
  }

  /// Those who refer to it do no more: an optional becomes nil, of a list it is taken away.
  public static func clear<Format: DatastoreFormat, Value: Indexable>(
    _ datastore: Datastore<Format, ReadWrite>,
    _ reference: KeyPath<Format, ReferenceRepresentation<Format.Instance, Target, Value>>
  ) -> Self {
    let path = reference as any KeyPath<Format, ReferenceRepresentation<Format.Instance, Target, Value>> & Sendable
    return Self { identifier, target, deleted in
      let core = datastore.core
      let declared = try core.reference(path, to: target)
      for referring in try await core.referring(to: identifier, through: path, of: target, besides: deleted) {
        guard var instance = try await core.load(referring) else { continue }
        guard declared.clear(&instance, identifier),
          !declared.values(instance).contains(where: { declared.identifier($0) == identifier })
        else {
          throw ReferenceError.cannotBeCleared(
            datastore: DatastoreKey(core.key), index: IndexName(try core.index(at: path).name))
        }
        _ = try await core.persist(instance, identifier: referring)
      }
    }
  }

  /// Deletes the referring instances too, and applies `rules` to the instances that refer to those. A reference within one datastore is
  /// followed further: the whole tree below an instance is deleted. Each instance is deleted once, even if references form a cycle.
  public static func delete<Format: DatastoreFormat, Value: Indexable>(
    _ datastore: Datastore<Format, ReadWrite>,
    _ reference: KeyPath<Format, ReferenceRepresentation<Format.Instance, Target, Value>>,
    references rules: ReferenceRule<Format>...
  ) -> Self {
    let path = reference as any KeyPath<Format, ReferenceRepresentation<Format.Instance, Target, Value>> & Sendable
    @Sendable func rule() -> Self {
      Self { identifier, target, deleted in
        let core = datastore.core
        let further = target.key == core.key ? rule() as? ReferenceRule<Format> : nil
        for referring in try await core.referring(to: identifier, through: path, of: target, besides: deleted) {
          try await core.delete(referring, references: rules + (further.map { [$0] } ?? []), cascade: &deleted)
        }
      }
    }
    return rule()
  }
}

extension DatastoreCore {
  /// The instances that refer to an instance, except those that the same call deletes.
  func referring<Target: DatastoreFormat, Value: Indexable>(
    to identifier: Target.Identifier, through path: KeyPath<Format, ReferenceRepresentation<Instance, Target, Value>>,
    of target: DatastoreCore<Target>, besides deleted: Set<RecordPlace>
  ) async throws -> [Identifier] {
    let reference = try reference(path, to: target)
    let instances: Selection<Format, ReadOnly> = instances(
      IndexRange(only: reference.value(identifier)), order: .ascending, from: path)
    var referring: [Identifier] = []
    var run = try await instances.run()
    while let key = try await run?.nextKey() {
      guard !deleted.contains(place(of: key)), let identifier = identifiers.value(of: key) else { continue }
      referring.append(identifier)
    }
    return referring
  }

  /// Applies the rules and deletes an instance. Returns nil if it does not exist or is being deleted already.
  @discardableResult
  func delete(
    _ identifier: Identifier, references rules: [ReferenceRule<Format>], cascade deleted: inout Set<RecordPlace>
  ) async throws -> StoredRecord<Instance>? {
    guard deleted.insert(place(of: try key(of: identifier))).inserted else { return nil }
    for rule in rules { try await rule.apply(identifier, self, &deleted) }
    return try await delete(identifier, needsInstance: false)
  }

  private func place(of key: [UInt8]) -> RecordPlace {
    RecordPlace(datastore: self.key, identifier: StoredKey(bytes: key, value: .data(key)))
  }
}

extension Datastore where AccessMode == ReadWrite {
  /// Deletes the instance of an identifier, and applies the rules to the instances that refer to it, in one transaction.
  ///
  /// ```swift
  /// try await authors.delete(lem.id, references: .refuse(books, \.author), .clear(books, \.translators))
  /// ```
  ///
  /// - Returns: The deleted instance.
  /// - Throws: ``DatastoreInterfaceError/instanceNotFound`` if there was none; ``ReferenceError`` as the rules say. Then
  ///   nothing is changed.
  @discardableResult
  public nonisolated func delete(
    _ identifier: IdentifierType, references rule: ReferenceRule<Format>, _ rules: ReferenceRule<Format>...
  ) async throws -> InstanceType {
    try await delete(identifier, references: [rule] + rules)
  }

  nonisolated func delete(
    _ identifier: IdentifierType, references rules: [ReferenceRule<Format>]
  ) async throws -> InstanceType {
    try await Transactions.run(
      isolation: nil, store: core.store, actionName: "delete \(core.key)", options: .retriesConflicts
    ) { _, _ in
      var deleted: Set<RecordPlace> = []
      // Rules do not apply to references that dangle.
      guard try await core.load(identifier) != nil,
        let record = try await core.delete(identifier, references: rules, cascade: &deleted)
      else { throw DatastoreInterfaceError.instanceNotFound }
      return try record.instance.get()
    }
  }
}
