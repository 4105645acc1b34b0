import Documents
import DatastoreModel
#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

// Stores whose instances are JSON. Each comes in four forms: migrations that answer identifier and instance or, for
// `Identifiable` instances, just the instance; and closures that run on the caller's actor or (dictionaries that a
// program built with closures of its own module's default) on none.
// Where both fit, as for a dictionary of functions of either kind, the first is taken: it does without the argument
// `onNoActor`, which is for that alone.

extension Datastore where AccessMode == ReadWrite {
  /// A datastore that keeps instances as JSON.
  ///
  /// - Parameters:
  ///   - persistence: Where the instances are kept.
  ///   - format: What is declared.
  ///   - key: The name of the datastore in the store.
  ///   - version: The version that is written.
  ///   - encoder: Encodes instances; by default with sorted members.
  ///   - decoder: Is given to the migrations.
  ///   - migrations: For each version, how an instance of it is decoded and converted.
  ///   - configuration: How the datastore behaves.
  public static func JSONStore(
    persistence: some Persistence<AccessMode>, format: Format.Type = Format.self, key: DatastoreKey = Format.defaultKey,
    version: Version = Format.currentVersion,
    encoder: JSONEncoder = StandardCoders.jsonEncoder, decoder: JSONDecoder = StandardCoders.jsonDecoder,
    migrations: [Version: Migration<JSONDecoder, Identified<Format>>],
    configuration: Configuration = .init()
  ) -> Self {
    Self(
      store: persistence._store, key: key, version: version, coding: .json, encoder: { try encoder.encode($0) },
      decoders: migrations.mapValues { migration in
        { data in
          try await migration(decoder, data)
        }
      })
  }

  /// A datastore that keeps instances as JSON.
  ///
  /// - Parameters:
  ///   - persistence: Where the instances are kept.
  ///   - format: What is declared.
  ///   - key: The name of the datastore in the store.
  ///   - version: The version that is written.
  ///   - encoder: Encodes instances; by default with sorted members.
  ///   - decoder: Is given to the migrations.
  ///   - migrations: For each version, how an instance of it is decoded and converted.
  ///   - configuration: How the datastore behaves.
  ///   - onNoActor: Tells the compiler which to prefer where both kinds of migrations fit.
  public static func JSONStore<Failure: Error>(
    persistence: some Persistence<AccessMode>, format: Format.Type = Format.self, key: DatastoreKey = Format.defaultKey,
    version: Version = Format.currentVersion,
    encoder: JSONEncoder = StandardCoders.jsonEncoder, decoder: JSONDecoder = StandardCoders.jsonDecoder,
    migrations: [Version: ConcurrentMigration<JSONDecoder, Identified<Format>, Failure>],
    configuration: Configuration = .init(), onNoActor: Void = ()
  ) -> Self {
    Self(
      store: persistence._store, key: key, version: version, coding: .json, encoder: { try encoder.encode($0) },
      decoders: migrations.mapValues { migration in
        { data in
          try await migration(decoder, data)
        }
      })
  }

  /// A datastore that keeps instances as JSON.
  ///
  /// - Parameters:
  ///   - persistence: Where the instances are kept.
  ///   - format: What is declared.
  ///   - key: The name of the datastore in the store.
  ///   - version: The version that is written.
  ///   - encoder: Encodes instances; by default with sorted members.
  ///   - decoder: Is given to the migrations.
  ///   - migrations: For each version, how an instance of it is decoded and converted.
  ///   - configuration: How the datastore behaves.
  @available(*, deprecated, message: "Migrations are given the decoder first, then the data.")
  @_disfavoredOverload
  public static func JSONStore(
    persistence: some Persistence<AccessMode>, format: Format.Type = Format.self, key: DatastoreKey = Format.defaultKey,
    version: Version = Format.currentVersion,
    encoder: JSONEncoder = StandardCoders.jsonEncoder, decoder: JSONDecoder = StandardCoders.jsonDecoder,
    migrations: [Version: DataFirstMigration<JSONDecoder, Identified<Format>>],
    configuration: Configuration = .init()
  ) -> Self {
    Self(
      store: persistence._store, key: key, version: version, coding: .json, encoder: { try encoder.encode($0) },
      decoders: migrations.mapValues { migration in
        { data in
          try await migration(data, decoder)
        }
      })
  }

  /// A datastore that keeps instances as JSON.
  ///
  /// - Parameters:
  ///   - persistence: Where the instances are kept.
  ///   - format: What is declared.
  ///   - key: The name of the datastore in the store.
  ///   - version: The version that is written.
  ///   - encoder: Encodes instances; by default with sorted members.
  ///   - decoder: Is given to the migrations.
  ///   - migrations: For each version, how an instance of it is decoded and converted.
  ///   - configuration: How the datastore behaves.
  ///   - onNoActor: Tells the compiler which to prefer where both kinds of migrations fit.
  @available(*, deprecated, message: "Migrations are given the decoder first, then the data.")
  @_disfavoredOverload
  public static func JSONStore<Failure: Error>(
    persistence: some Persistence<AccessMode>, format: Format.Type = Format.self, key: DatastoreKey = Format.defaultKey,
    version: Version = Format.currentVersion,
    encoder: JSONEncoder = StandardCoders.jsonEncoder, decoder: JSONDecoder = StandardCoders.jsonDecoder,
    migrations: [Version: ConcurrentDataFirstMigration<JSONDecoder, Identified<Format>, Failure>],
    configuration: Configuration = .init(), onNoActor: Void = ()
  ) -> Self {
    Self(
      store: persistence._store, key: key, version: version, coding: .json, encoder: { try encoder.encode($0) },
      decoders: migrations.mapValues { migration in
        { data in
          try await migration(data, decoder)
        }
      })
  }
}

extension Datastore where AccessMode == ReadWrite, InstanceType: Identifiable, IdentifierType == InstanceType.ID {
  /// A datastore that keeps instances as JSON.
  ///
  /// - Parameters:
  ///   - persistence: Where the instances are kept.
  ///   - format: What is declared.
  ///   - key: The name of the datastore in the store.
  ///   - version: The version that is written.
  ///   - encoder: Encodes instances; by default with sorted members.
  ///   - decoder: Is given to the migrations.
  ///   - migrations: For each version, how an instance of it is decoded and converted.
  ///   - configuration: How the datastore behaves.
  public static func JSONStore(
    persistence: some Persistence<AccessMode>, format: Format.Type = Format.self, key: DatastoreKey = Format.defaultKey,
    version: Version = Format.currentVersion,
    encoder: JSONEncoder = StandardCoders.jsonEncoder, decoder: JSONDecoder = StandardCoders.jsonDecoder,
    migrations: [Version: Migration<JSONDecoder, InstanceType>],
    configuration: Configuration = .init()
  ) -> Self {
    Self(
      store: persistence._store, key: key, version: version, coding: .json, encoder: { try encoder.encode($0) },
      decoders: migrations.mapValues { migration in
        { data in
          let instance = try await migration(decoder, data)
          return (instance.id, instance)
        }
      }, isIdentifiable: true)
  }

  /// A datastore that keeps instances as JSON.
  ///
  /// - Parameters:
  ///   - persistence: Where the instances are kept.
  ///   - format: What is declared.
  ///   - key: The name of the datastore in the store.
  ///   - version: The version that is written.
  ///   - encoder: Encodes instances; by default with sorted members.
  ///   - decoder: Is given to the migrations.
  ///   - migrations: For each version, how an instance of it is decoded and converted.
  ///   - configuration: How the datastore behaves.
  ///   - onNoActor: Tells the compiler which to prefer where both kinds of migrations fit.
  public static func JSONStore<Failure: Error>(
    persistence: some Persistence<AccessMode>, format: Format.Type = Format.self, key: DatastoreKey = Format.defaultKey,
    version: Version = Format.currentVersion,
    encoder: JSONEncoder = StandardCoders.jsonEncoder, decoder: JSONDecoder = StandardCoders.jsonDecoder,
    migrations: [Version: ConcurrentMigration<JSONDecoder, InstanceType, Failure>],
    configuration: Configuration = .init(), onNoActor: Void = ()
  ) -> Self {
    Self(
      store: persistence._store, key: key, version: version, coding: .json, encoder: { try encoder.encode($0) },
      decoders: migrations.mapValues { migration in
        { data in
          let instance = try await migration(decoder, data)
          return (instance.id, instance)
        }
      }, isIdentifiable: true)
  }

  /// A datastore that keeps instances as JSON.
  ///
  /// - Parameters:
  ///   - persistence: Where the instances are kept.
  ///   - format: What is declared.
  ///   - key: The name of the datastore in the store.
  ///   - version: The version that is written.
  ///   - encoder: Encodes instances; by default with sorted members.
  ///   - decoder: Is given to the migrations.
  ///   - migrations: For each version, how an instance of it is decoded and converted.
  ///   - configuration: How the datastore behaves.
  @available(*, deprecated, message: "Migrations are given the decoder first, then the data.")
  @_disfavoredOverload
  public static func JSONStore(
    persistence: some Persistence<AccessMode>, format: Format.Type = Format.self, key: DatastoreKey = Format.defaultKey,
    version: Version = Format.currentVersion,
    encoder: JSONEncoder = StandardCoders.jsonEncoder, decoder: JSONDecoder = StandardCoders.jsonDecoder,
    migrations: [Version: DataFirstMigration<JSONDecoder, InstanceType>],
    configuration: Configuration = .init()
  ) -> Self {
    Self(
      store: persistence._store, key: key, version: version, coding: .json, encoder: { try encoder.encode($0) },
      decoders: migrations.mapValues { migration in
        { data in
          let instance = try await migration(data, decoder)
          return (instance.id, instance)
        }
      }, isIdentifiable: true)
  }

  /// A datastore that keeps instances as JSON.
  ///
  /// - Parameters:
  ///   - persistence: Where the instances are kept.
  ///   - format: What is declared.
  ///   - key: The name of the datastore in the store.
  ///   - version: The version that is written.
  ///   - encoder: Encodes instances; by default with sorted members.
  ///   - decoder: Is given to the migrations.
  ///   - migrations: For each version, how an instance of it is decoded and converted.
  ///   - configuration: How the datastore behaves.
  ///   - onNoActor: Tells the compiler which to prefer where both kinds of migrations fit.
  @available(*, deprecated, message: "Migrations are given the decoder first, then the data.")
  @_disfavoredOverload
  public static func JSONStore<Failure: Error>(
    persistence: some Persistence<AccessMode>, format: Format.Type = Format.self, key: DatastoreKey = Format.defaultKey,
    version: Version = Format.currentVersion,
    encoder: JSONEncoder = StandardCoders.jsonEncoder, decoder: JSONDecoder = StandardCoders.jsonDecoder,
    migrations: [Version: ConcurrentDataFirstMigration<JSONDecoder, InstanceType, Failure>],
    configuration: Configuration = .init(), onNoActor: Void = ()
  ) -> Self {
    Self(
      store: persistence._store, key: key, version: version, coding: .json, encoder: { try encoder.encode($0) },
      decoders: migrations.mapValues { migration in
        { data in
          let instance = try await migration(data, decoder)
          return (instance.id, instance)
        }
      }, isIdentifiable: true)
  }
}

extension Datastore where AccessMode == ReadOnly {
  /// A datastore that only reads instances kept as JSON.
  ///
  /// - Parameters:
  ///   - persistence: Where the instances are kept.
  ///   - format: What is declared.
  ///   - key: The name of the datastore in the store.
  ///   - version: The version of the declaration.
  ///   - decoder: Is given to the migrations.
  ///   - migrations: For each version, how an instance of it is decoded and converted.
  ///   - configuration: How the datastore behaves.
  public static func readOnlyJSONStore(
    persistence: some Persistence, format: Format.Type = Format.self, key: DatastoreKey = Format.defaultKey,
    version: Version = Format.currentVersion,
    decoder: JSONDecoder = StandardCoders.jsonDecoder,
    migrations: [Version: Migration<JSONDecoder, Identified<Format>>],
    configuration: Configuration = .init()
  ) -> Self {
    Self(
      store: persistence._store, key: key, version: version, coding: .json,
      decoders: migrations.mapValues { migration in
        { data in
          try await migration(decoder, data)
        }
      })
  }

  /// A datastore that only reads instances kept as JSON.
  ///
  /// - Parameters:
  ///   - persistence: Where the instances are kept.
  ///   - format: What is declared.
  ///   - key: The name of the datastore in the store.
  ///   - version: The version of the declaration.
  ///   - decoder: Is given to the migrations.
  ///   - migrations: For each version, how an instance of it is decoded and converted.
  ///   - configuration: How the datastore behaves.
  ///   - onNoActor: Tells the compiler which to prefer where both kinds of migrations fit.
  public static func readOnlyJSONStore<Failure: Error>(
    persistence: some Persistence, format: Format.Type = Format.self, key: DatastoreKey = Format.defaultKey,
    version: Version = Format.currentVersion,
    decoder: JSONDecoder = StandardCoders.jsonDecoder,
    migrations: [Version: ConcurrentMigration<JSONDecoder, Identified<Format>, Failure>],
    configuration: Configuration = .init(), onNoActor: Void = ()
  ) -> Self {
    Self(
      store: persistence._store, key: key, version: version, coding: .json,
      decoders: migrations.mapValues { migration in
        { data in
          try await migration(decoder, data)
        }
      })
  }

  /// A datastore that only reads instances kept as JSON.
  ///
  /// - Parameters:
  ///   - persistence: Where the instances are kept.
  ///   - format: What is declared.
  ///   - key: The name of the datastore in the store.
  ///   - version: The version of the declaration.
  ///   - decoder: Is given to the migrations.
  ///   - migrations: For each version, how an instance of it is decoded and converted.
  ///   - configuration: How the datastore behaves.
  @available(*, deprecated, message: "Migrations are given the decoder first, then the data.")
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
      decoders: migrations.mapValues { migration in
        { data in
          try await migration(data, decoder)
        }
      })
  }

  /// A datastore that only reads instances kept as JSON.
  ///
  /// - Parameters:
  ///   - persistence: Where the instances are kept.
  ///   - format: What is declared.
  ///   - key: The name of the datastore in the store.
  ///   - version: The version of the declaration.
  ///   - decoder: Is given to the migrations.
  ///   - migrations: For each version, how an instance of it is decoded and converted.
  ///   - configuration: How the datastore behaves.
  ///   - onNoActor: Tells the compiler which to prefer where both kinds of migrations fit.
  @available(*, deprecated, message: "Migrations are given the decoder first, then the data.")
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
      decoders: migrations.mapValues { migration in
        { data in
          try await migration(data, decoder)
        }
      })
  }
}

extension Datastore where AccessMode == ReadOnly, InstanceType: Identifiable, IdentifierType == InstanceType.ID {
  /// A datastore that only reads instances kept as JSON.
  ///
  /// - Parameters:
  ///   - persistence: Where the instances are kept.
  ///   - format: What is declared.
  ///   - key: The name of the datastore in the store.
  ///   - version: The version of the declaration.
  ///   - decoder: Is given to the migrations.
  ///   - migrations: For each version, how an instance of it is decoded and converted.
  ///   - configuration: How the datastore behaves.
  public static func readOnlyJSONStore(
    persistence: some Persistence, format: Format.Type = Format.self, key: DatastoreKey = Format.defaultKey,
    version: Version = Format.currentVersion,
    decoder: JSONDecoder = StandardCoders.jsonDecoder,
    migrations: [Version: Migration<JSONDecoder, InstanceType>],
    configuration: Configuration = .init()
  ) -> Self {
    Self(
      store: persistence._store, key: key, version: version, coding: .json,
      decoders: migrations.mapValues { migration in
        { data in
          let instance = try await migration(decoder, data)
          return (instance.id, instance)
        }
      }, isIdentifiable: true)
  }

  /// A datastore that only reads instances kept as JSON.
  ///
  /// - Parameters:
  ///   - persistence: Where the instances are kept.
  ///   - format: What is declared.
  ///   - key: The name of the datastore in the store.
  ///   - version: The version of the declaration.
  ///   - decoder: Is given to the migrations.
  ///   - migrations: For each version, how an instance of it is decoded and converted.
  ///   - configuration: How the datastore behaves.
  ///   - onNoActor: Tells the compiler which to prefer where both kinds of migrations fit.
  public static func readOnlyJSONStore<Failure: Error>(
    persistence: some Persistence, format: Format.Type = Format.self, key: DatastoreKey = Format.defaultKey,
    version: Version = Format.currentVersion,
    decoder: JSONDecoder = StandardCoders.jsonDecoder,
    migrations: [Version: ConcurrentMigration<JSONDecoder, InstanceType, Failure>],
    configuration: Configuration = .init(), onNoActor: Void = ()
  ) -> Self {
    Self(
      store: persistence._store, key: key, version: version, coding: .json,
      decoders: migrations.mapValues { migration in
        { data in
          let instance = try await migration(decoder, data)
          return (instance.id, instance)
        }
      }, isIdentifiable: true)
  }

  /// A datastore that only reads instances kept as JSON.
  ///
  /// - Parameters:
  ///   - persistence: Where the instances are kept.
  ///   - format: What is declared.
  ///   - key: The name of the datastore in the store.
  ///   - version: The version of the declaration.
  ///   - decoder: Is given to the migrations.
  ///   - migrations: For each version, how an instance of it is decoded and converted.
  ///   - configuration: How the datastore behaves.
  @available(*, deprecated, message: "Migrations are given the decoder first, then the data.")
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
      decoders: migrations.mapValues { migration in
        { data in
          let instance = try await migration(data, decoder)
          return (instance.id, instance)
        }
      }, isIdentifiable: true)
  }

  /// A datastore that only reads instances kept as JSON.
  ///
  /// - Parameters:
  ///   - persistence: Where the instances are kept.
  ///   - format: What is declared.
  ///   - key: The name of the datastore in the store.
  ///   - version: The version of the declaration.
  ///   - decoder: Is given to the migrations.
  ///   - migrations: For each version, how an instance of it is decoded and converted.
  ///   - configuration: How the datastore behaves.
  ///   - onNoActor: Tells the compiler which to prefer where both kinds of migrations fit.
  @available(*, deprecated, message: "Migrations are given the decoder first, then the data.")
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
      decoders: migrations.mapValues { migration in
        { data in
          let instance = try await migration(data, decoder)
          return (instance.id, instance)
        }
      }, isIdentifiable: true)
  }
}
