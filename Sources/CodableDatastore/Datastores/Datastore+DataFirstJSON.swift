import StrataDocuments
public import StrataFoundation

// Stores of JSON whose migrations are given the data first, then the decoder: deprecated forms, which the original library has as well.

@available(*, deprecated, message: "Migrations are given the decoder first, then the data.")
extension Datastore where AccessMode == ReadWrite {
  /// A datastore that keeps instances as JSON.
  ///
  /// - Parameters:
  ///   - persistence: The store that keeps the instances.
  ///   - format: The format that declares the datastore.
  ///   - key: The name of the datastore in the store.
  ///   - version: The version that is written.
  ///   - encoder: Encodes instances; by default with sorted members.
  ///   - decoder: The decoder that is passed to the migrations.
  ///   - migrations: For each version, how an instance of it is decoded and converted.
  ///   - configuration: How the datastore behaves.
  @_disfavoredOverload
  public static func JSONStore(
    persistence: some Persistence<AccessMode>, format: Format.Type = Format.self, key: DatastoreKey = Format.defaultKey,
    version: Version = Format.currentVersion,
    encoder: JSONEncoder = StandardCoders.jsonEncoder, decoder: JSONDecoder = StandardCoders.jsonDecoder,
    migrations: [Version: DataFirstMigration<JSONDecoder, Identified<Format>>],
    configuration: Configuration = .init()
  ) -> Self {
    Self(
      store: persistence._store, key: key, version: version, coding: .json, jsonEncoder: encoder,
      decoders: migrations.mapValues { migration in { try await migration($0, decoder) } })
  }

  /// A datastore that keeps instances as JSON.
  ///
  /// - Parameters:
  ///   - persistence: The store that keeps the instances.
  ///   - format: The format that declares the datastore.
  ///   - key: The name of the datastore in the store.
  ///   - version: The version that is written.
  ///   - encoder: Encodes instances; by default with sorted members.
  ///   - decoder: The decoder that is passed to the migrations.
  ///   - migrations: For each version, how an instance of it is decoded and converted.
  ///   - configuration: How the datastore behaves.
  ///   - onNoActor: Tells the compiler which overload to prefer if both kinds of migrations fit.
  @_disfavoredOverload
  public static func JSONStore<Failure: Error>(
    persistence: some Persistence<AccessMode>, format: Format.Type = Format.self, key: DatastoreKey = Format.defaultKey,
    version: Version = Format.currentVersion,
    encoder: JSONEncoder = StandardCoders.jsonEncoder, decoder: JSONDecoder = StandardCoders.jsonDecoder,
    migrations: [Version: ConcurrentDataFirstMigration<JSONDecoder, Identified<Format>, Failure>],
    configuration: Configuration = .init(), onNoActor: Void = ()
  ) -> Self {
    Self(
      store: persistence._store, key: key, version: version, coding: .json, jsonEncoder: encoder,
      decoders: migrations.mapValues { migration in { try await migration($0, decoder) } })
  }
}

@available(*, deprecated, message: "Migrations are given the decoder first, then the data.")
extension Datastore where AccessMode == ReadWrite, InstanceType: Identifiable, IdentifierType == InstanceType.ID {
  /// A datastore that keeps instances as JSON.
  ///
  /// - Parameters:
  ///   - persistence: The store that keeps the instances.
  ///   - format: The format that declares the datastore.
  ///   - key: The name of the datastore in the store.
  ///   - version: The version that is written.
  ///   - encoder: Encodes instances; by default with sorted members.
  ///   - decoder: The decoder that is passed to the migrations.
  ///   - migrations: For each version, how an instance of it is decoded and converted.
  ///   - configuration: How the datastore behaves.
  @_disfavoredOverload
  public static func JSONStore(
    persistence: some Persistence<AccessMode>, format: Format.Type = Format.self, key: DatastoreKey = Format.defaultKey,
    version: Version = Format.currentVersion,
    encoder: JSONEncoder = StandardCoders.jsonEncoder, decoder: JSONDecoder = StandardCoders.jsonDecoder,
    migrations: [Version: DataFirstMigration<JSONDecoder, InstanceType>],
    configuration: Configuration = .init()
  ) -> Self {
    Self(
      store: persistence._store, key: key, version: version, coding: .json, jsonEncoder: encoder,
      instances: migrations.mapValues { migration in { try await migration($0, decoder) } })
  }

  /// A datastore that keeps instances as JSON.
  ///
  /// - Parameters:
  ///   - persistence: The store that keeps the instances.
  ///   - format: The format that declares the datastore.
  ///   - key: The name of the datastore in the store.
  ///   - version: The version that is written.
  ///   - encoder: Encodes instances; by default with sorted members.
  ///   - decoder: The decoder that is passed to the migrations.
  ///   - migrations: For each version, how an instance of it is decoded and converted.
  ///   - configuration: How the datastore behaves.
  ///   - onNoActor: Tells the compiler which overload to prefer if both kinds of migrations fit.
  @_disfavoredOverload
  public static func JSONStore<Failure: Error>(
    persistence: some Persistence<AccessMode>, format: Format.Type = Format.self, key: DatastoreKey = Format.defaultKey,
    version: Version = Format.currentVersion,
    encoder: JSONEncoder = StandardCoders.jsonEncoder, decoder: JSONDecoder = StandardCoders.jsonDecoder,
    migrations: [Version: ConcurrentDataFirstMigration<JSONDecoder, InstanceType, Failure>],
    configuration: Configuration = .init(), onNoActor: Void = ()
  ) -> Self {
    Self(
      store: persistence._store, key: key, version: version, coding: .json, jsonEncoder: encoder,
      instances: migrations.mapValues { migration in { try await migration($0, decoder) } })
  }
}

@available(*, deprecated, message: "Migrations are given the decoder first, then the data.")
extension Datastore where AccessMode == ReadOnly {
  /// A datastore that only reads instances kept as JSON.
  ///
  /// - Parameters:
  ///   - persistence: The store that keeps the instances.
  ///   - format: The format that declares the datastore.
  ///   - key: The name of the datastore in the store.
  ///   - version: The version of the declaration.
  ///   - decoder: The decoder that is passed to the migrations.
  ///   - migrations: For each version, how an instance of it is decoded and converted.
  ///   - configuration: How the datastore behaves.
  @_disfavoredOverload
  public static func readOnlyJSONStore(
    persistence: some Persistence, format: Format.Type = Format.self, key: DatastoreKey = Format.defaultKey,
    version: Version = Format.currentVersion,
    decoder: JSONDecoder = StandardCoders.jsonDecoder,
    migrations: [Version: DataFirstMigration<JSONDecoder, Identified<Format>>],
    configuration: Configuration = .init()
  ) -> Self {
    Self(
      store: persistence._store, key: key, version: version, coding: .json,
      decoders: migrations.mapValues { migration in { try await migration($0, decoder) } })
  }

  /// A datastore that only reads instances kept as JSON.
  ///
  /// - Parameters:
  ///   - persistence: The store that keeps the instances.
  ///   - format: The format that declares the datastore.
  ///   - key: The name of the datastore in the store.
  ///   - version: The version of the declaration.
  ///   - decoder: The decoder that is passed to the migrations.
  ///   - migrations: For each version, how an instance of it is decoded and converted.
  ///   - configuration: How the datastore behaves.
  ///   - onNoActor: Tells the compiler which overload to prefer if both kinds of migrations fit.
  @_disfavoredOverload
  public static func readOnlyJSONStore<Failure: Error>(
    persistence: some Persistence, format: Format.Type = Format.self, key: DatastoreKey = Format.defaultKey,
    version: Version = Format.currentVersion,
    decoder: JSONDecoder = StandardCoders.jsonDecoder,
    migrations: [Version: ConcurrentDataFirstMigration<JSONDecoder, Identified<Format>, Failure>],
    configuration: Configuration = .init(), onNoActor: Void = ()
  ) -> Self {
    Self(
      store: persistence._store, key: key, version: version, coding: .json,
      decoders: migrations.mapValues { migration in { try await migration($0, decoder) } })
  }
}

@available(*, deprecated, message: "Migrations are given the decoder first, then the data.")
extension Datastore where AccessMode == ReadOnly, InstanceType: Identifiable, IdentifierType == InstanceType.ID {
  /// A datastore that only reads instances kept as JSON.
  ///
  /// - Parameters:
  ///   - persistence: The store that keeps the instances.
  ///   - format: The format that declares the datastore.
  ///   - key: The name of the datastore in the store.
  ///   - version: The version of the declaration.
  ///   - decoder: The decoder that is passed to the migrations.
  ///   - migrations: For each version, how an instance of it is decoded and converted.
  ///   - configuration: How the datastore behaves.
  @_disfavoredOverload
  public static func readOnlyJSONStore(
    persistence: some Persistence, format: Format.Type = Format.self, key: DatastoreKey = Format.defaultKey,
    version: Version = Format.currentVersion,
    decoder: JSONDecoder = StandardCoders.jsonDecoder,
    migrations: [Version: DataFirstMigration<JSONDecoder, InstanceType>],
    configuration: Configuration = .init()
  ) -> Self {
    Self(
      store: persistence._store, key: key, version: version, coding: .json,
      instances: migrations.mapValues { migration in { try await migration($0, decoder) } })
  }

  /// A datastore that only reads instances kept as JSON.
  ///
  /// - Parameters:
  ///   - persistence: The store that keeps the instances.
  ///   - format: The format that declares the datastore.
  ///   - key: The name of the datastore in the store.
  ///   - version: The version of the declaration.
  ///   - decoder: The decoder that is passed to the migrations.
  ///   - migrations: For each version, how an instance of it is decoded and converted.
  ///   - configuration: How the datastore behaves.
  ///   - onNoActor: Tells the compiler which overload to prefer if both kinds of migrations fit.
  @_disfavoredOverload
  public static func readOnlyJSONStore<Failure: Error>(
    persistence: some Persistence, format: Format.Type = Format.self, key: DatastoreKey = Format.defaultKey,
    version: Version = Format.currentVersion,
    decoder: JSONDecoder = StandardCoders.jsonDecoder,
    migrations: [Version: ConcurrentDataFirstMigration<JSONDecoder, InstanceType, Failure>],
    configuration: Configuration = .init(), onNoActor: Void = ()
  ) -> Self {
    Self(
      store: persistence._store, key: key, version: version, coding: .json,
      instances: migrations.mapValues { migration in { try await migration($0, decoder) } })
  }
}
