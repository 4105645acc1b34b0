import StrataDocuments
public import StrataFoundation

extension Datastore {
  /// Makes a datastore. All factories call this.
  init(
    store: _StoreHandle, key: DatastoreKey, version: Version, coding: RecordCoding?,
    encoder: @escaping @Sendable (InstanceType) async throws -> Data = { _ in throw DiskPersistenceError.cannotWrite },
    jsonEncoder: JSONEncoder? = nil, decoders: [Version: RecordCoder<Format>.Decoder],
    direct: RecordCoder<Format>.DirectCoders? = nil, isIdentifiable: Bool = false
  ) {
    let coder = RecordCoder<Format>(
      version: version, coding: coding, encoder: encoder, jsonEncoder: jsonEncoder, decoders: decoders,
      direct: direct)
    self.init(
      core: DatastoreCore(
        store: store, key: key, coder: coder, isReadOnly: AccessMode.self == ReadOnly.self,
        isIdentifiable: isIdentifiable))
  }
}

extension Datastore where InstanceType: Identifiable, IdentifierType == InstanceType.ID {
  /// Makes a datastore whose instances contain their identifiers.
  init(
    store: _StoreHandle, key: DatastoreKey, version: Version, coding: RecordCoding?,
    encoder: @escaping @Sendable (InstanceType) async throws -> Data = { _ in throw DiskPersistenceError.cannotWrite },
    jsonEncoder: JSONEncoder? = nil, instances: [Version: @Sendable (Data) async throws -> InstanceType],
    direct: RecordCoder<Format>.DirectCoders? = nil
  ) {
    let decoders = instances.mapValues { decode -> RecordCoder<Format>.Decoder in
      { data in
        let instance = try await decode(data)
        return (instance.id, instance)
      }
    }
    self.init(
      store: store, key: key, version: version, coding: coding, encoder: encoder, jsonEncoder: jsonEncoder,
      decoders: decoders, direct: direct, isIdentifiable: true)
  }
}

// Coders of a program's own.

extension Datastore where AccessMode == ReadWrite {
  /// A datastore with coders of its own.
  ///
  /// - Parameters:
  ///   - persistence: The store that keeps the instances.
  ///   - format: The format that declares the datastore.
  ///   - key: The name of the datastore in the store.
  ///   - version: The version that is written.
  ///   - encoder: Makes the bytes of an instance.
  ///   - decoders: For each version, how its bytes become an instance of today's type, with its identifier.
  ///   - configuration: How the datastore behaves.
  public init(
    persistence: some Persistence<AccessMode>, format: Format.Type = Format.self, key: DatastoreKey = Format.defaultKey,
    version: Version = Format.currentVersion,
    encoder: @Sendable @escaping (_ instance: InstanceType) async throws -> Data,
    decoders: [Version: @Sendable (_ data: Data) async throws -> (id: IdentifierType, instance: InstanceType)],
    configuration: Configuration = .init()
  ) {
    self.init(
      store: persistence._store, key: key, version: version, coding: nil, encoder: encoder, decoders: decoders)
  }

  /// A datastore with coders of its own, the decoders in a dictionary of closures that run on no actor.
  public init<Failure: Error>(
    persistence: some Persistence<AccessMode>, format: Format.Type = Format.self, key: DatastoreKey = Format.defaultKey,
    version: Version = Format.currentVersion,
    encoder: @Sendable @escaping (_ instance: InstanceType) async throws -> Data,
    decoders: [Version:
      @concurrent @Sendable (_ data: Data) async throws(Failure) -> (
        id: IdentifierType, instance: InstanceType
      )],
    configuration: Configuration = .init(), onNoActor: Void = ()
  ) {
    self.init(
      store: persistence._store, key: key, version: version, coding: nil, encoder: encoder,
      decoders: decoders.mapValues { decode in { try await decode($0) } })
  }
}

extension Datastore where AccessMode == ReadWrite, InstanceType: Identifiable, IdentifierType == InstanceType.ID {
  /// A datastore with coders of its own.
  ///
  /// - Parameters:
  ///   - persistence: The store that keeps the instances.
  ///   - format: The format that declares the datastore.
  ///   - key: The name of the datastore in the store.
  ///   - version: The version that is written.
  ///   - encoder: Makes the bytes of an instance.
  ///   - decoders: For each version, how its bytes become an instance of today's type.
  ///   - configuration: How the datastore behaves.
  public init(
    persistence: some Persistence<AccessMode>, format: Format.Type = Format.self, key: DatastoreKey = Format.defaultKey,
    version: Version = Format.currentVersion,
    encoder: @Sendable @escaping (_ instance: InstanceType) async throws -> Data,
    decoders: [Version: @Sendable (_ data: Data) async throws -> InstanceType],
    configuration: Configuration = .init()
  ) {
    self.init(
      store: persistence._store, key: key, version: version, coding: nil, encoder: encoder,
      instances: decoders.mapValues { decode in { try await decode($0) } })
  }

  /// A datastore with coders of its own, the decoders in a dictionary of closures that run on no actor.
  public init<Failure: Error>(
    persistence: some Persistence<AccessMode>, format: Format.Type = Format.self, key: DatastoreKey = Format.defaultKey,
    version: Version = Format.currentVersion,
    encoder: @Sendable @escaping (_ instance: InstanceType) async throws -> Data,
    decoders: [Version: @concurrent @Sendable (_ data: Data) async throws(Failure) -> InstanceType],
    configuration: Configuration = .init(), onNoActor: Void = ()
  ) {
    self.init(
      store: persistence._store, key: key, version: version, coding: nil, encoder: encoder,
      instances: decoders.mapValues { decode in { try await decode($0) } })
  }
}

extension Datastore where AccessMode == ReadOnly {
  /// A datastore with decoders of its own that only reads.
  ///
  /// - Parameters:
  ///   - persistence: The store that keeps the instances.
  ///   - format: The format that declares the datastore.
  ///   - key: The name of the datastore in the store.
  ///   - version: The version of the declaration.
  ///   - decoders: For each version, how its bytes become an instance of today's type, with its identifier.
  ///   - configuration: How the datastore behaves.
  public init(
    persistence: some Persistence, format: Format.Type = Format.self, key: DatastoreKey = Format.defaultKey,
    version: Version = Format.currentVersion,
    decoders: [Version: @Sendable (_ data: Data) async throws -> (id: IdentifierType, instance: InstanceType)],
    configuration: Configuration = .init()
  ) {
    self.init(store: persistence._store, key: key, version: version, coding: nil, decoders: decoders)
  }

  /// A datastore that only reads, the decoders in a dictionary of closures that run on no actor.
  public init<Failure: Error>(
    persistence: some Persistence, format: Format.Type = Format.self, key: DatastoreKey = Format.defaultKey,
    version: Version = Format.currentVersion,
    decoders: [Version:
      @concurrent @Sendable (_ data: Data) async throws(Failure) -> (
        id: IdentifierType, instance: InstanceType
      )],
    configuration: Configuration = .init(), onNoActor: Void = ()
  ) {
    self.init(
      store: persistence._store, key: key, version: version, coding: nil,
      decoders: decoders.mapValues { decode in { try await decode($0) } })
  }
}

extension Datastore where AccessMode == ReadOnly, InstanceType: Identifiable, IdentifierType == InstanceType.ID {
  /// A datastore with decoders of its own that only reads.
  ///
  /// - Parameters:
  ///   - persistence: The store that keeps the instances.
  ///   - format: The format that declares the datastore.
  ///   - key: The name of the datastore in the store.
  ///   - version: The version of the declaration.
  ///   - decoders: For each version, how its bytes become an instance of today's type.
  ///   - configuration: How the datastore behaves.
  public init(
    persistence: some Persistence, format: Format.Type = Format.self, key: DatastoreKey = Format.defaultKey,
    version: Version = Format.currentVersion,
    decoders: [Version: @Sendable (_ data: Data) async throws -> InstanceType],
    configuration: Configuration = .init()
  ) {
    self.init(
      store: persistence._store, key: key, version: version, coding: nil,
      instances: decoders.mapValues { decode in { try await decode($0) } })
  }

  /// A datastore that only reads, the decoders in a dictionary of closures that run on no actor.
  public init<Failure: Error>(
    persistence: some Persistence, format: Format.Type = Format.self, key: DatastoreKey = Format.defaultKey,
    version: Version = Format.currentVersion,
    decoders: [Version: @concurrent @Sendable (_ data: Data) async throws(Failure) -> InstanceType],
    configuration: Configuration = .init(), onNoActor: Void = ()
  ) {
    self.init(
      store: persistence._store, key: key, version: version, coding: nil,
      instances: decoders.mapValues { decode in { try await decode($0) } })
  }
}
