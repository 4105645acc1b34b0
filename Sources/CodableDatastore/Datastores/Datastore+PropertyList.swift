import StrataDocuments
public import StrataFoundation

// Stores whose instances are property lists. Each comes in four forms, as for JSON. The migrations return identifier and instance or, for
// `Identifiable` instances, only the instance. The closures run on the caller's actor or (in dictionaries that a program built with
// closures of its own module's default isolation) on none.

extension Datastore where AccessMode == ReadWrite {
  /// A datastore that keeps instances as property lists.
  ///
  /// - Parameters:
  ///   - persistence: The store that keeps the instances.
  ///   - format: The format that declares the datastore.
  ///   - key: The name of the datastore in the store.
  ///   - version: The version that is written.
  ///   - outputFormat: The kind of property list.
  ///   - migrations: For each version, how an instance of it is decoded and converted.
  ///   - configuration: How the datastore behaves.
  public static func propertyListStore(
    persistence: some Persistence<AccessMode>, format: Format.Type = Format.self, key: DatastoreKey = Format.defaultKey,
    version: Version = Format.currentVersion,
    outputFormat: StandardCoders.PropertyListFormat = .binary,
    migrations: [Version: Migration<PropertyListDecoder, Identified<Format>>],
    configuration: Configuration = .init()
  ) -> Self {
    Self(
      store: persistence._store, key: key, version: version, coding: outputFormat.coding, encoder: outputFormat.encode,
      decoders: migrations.mapValues { migration in { try await migration(StandardCoders.propertyListDecoder, $0) } })
  }

  /// A datastore that keeps instances as property lists.
  ///
  /// - Parameters:
  ///   - persistence: The store that keeps the instances.
  ///   - format: The format that declares the datastore.
  ///   - key: The name of the datastore in the store.
  ///   - version: The version that is written.
  ///   - outputFormat: The kind of property list.
  ///   - migrations: For each version, how an instance of it is decoded and converted.
  ///   - configuration: How the datastore behaves.
  ///   - onNoActor: Tells the compiler which overload to prefer if both kinds of migrations fit.
  public static func propertyListStore<Failure: Error>(
    persistence: some Persistence<AccessMode>, format: Format.Type = Format.self, key: DatastoreKey = Format.defaultKey,
    version: Version = Format.currentVersion,
    outputFormat: StandardCoders.PropertyListFormat = .binary,
    migrations: [Version: ConcurrentMigration<PropertyListDecoder, Identified<Format>, Failure>],
    configuration: Configuration = .init(), onNoActor: Void = ()
  ) -> Self {
    Self(
      store: persistence._store, key: key, version: version, coding: outputFormat.coding, encoder: outputFormat.encode,
      decoders: migrations.mapValues { migration in { try await migration(StandardCoders.propertyListDecoder, $0) } })
  }
}

extension Datastore where AccessMode == ReadWrite, InstanceType: Identifiable, IdentifierType == InstanceType.ID {
  /// A datastore that keeps instances as property lists.
  ///
  /// - Parameters:
  ///   - persistence: The store that keeps the instances.
  ///   - format: The format that declares the datastore.
  ///   - key: The name of the datastore in the store.
  ///   - version: The version that is written.
  ///   - outputFormat: The kind of property list.
  ///   - migrations: For each version, how an instance of it is decoded and converted.
  ///   - configuration: How the datastore behaves.
  public static func propertyListStore(
    persistence: some Persistence<AccessMode>, format: Format.Type = Format.self, key: DatastoreKey = Format.defaultKey,
    version: Version = Format.currentVersion,
    outputFormat: StandardCoders.PropertyListFormat = .binary,
    migrations: [Version: Migration<PropertyListDecoder, InstanceType>],
    configuration: Configuration = .init()
  ) -> Self {
    Self(
      store: persistence._store, key: key, version: version, coding: outputFormat.coding, encoder: outputFormat.encode,
      instances: migrations.mapValues { migration in { try await migration(StandardCoders.propertyListDecoder, $0) } })
  }

  /// A datastore that keeps instances as property lists.
  ///
  /// - Parameters:
  ///   - persistence: The store that keeps the instances.
  ///   - format: The format that declares the datastore.
  ///   - key: The name of the datastore in the store.
  ///   - version: The version that is written.
  ///   - outputFormat: The kind of property list.
  ///   - migrations: For each version, how an instance of it is decoded and converted.
  ///   - configuration: How the datastore behaves.
  ///   - onNoActor: Tells the compiler which overload to prefer if both kinds of migrations fit.
  public static func propertyListStore<Failure: Error>(
    persistence: some Persistence<AccessMode>, format: Format.Type = Format.self, key: DatastoreKey = Format.defaultKey,
    version: Version = Format.currentVersion,
    outputFormat: StandardCoders.PropertyListFormat = .binary,
    migrations: [Version: ConcurrentMigration<PropertyListDecoder, InstanceType, Failure>],
    configuration: Configuration = .init(), onNoActor: Void = ()
  ) -> Self {
    Self(
      store: persistence._store, key: key, version: version, coding: outputFormat.coding, encoder: outputFormat.encode,
      instances: migrations.mapValues { migration in { try await migration(StandardCoders.propertyListDecoder, $0) } })
  }
}

extension Datastore where AccessMode == ReadOnly {
  /// A datastore that only reads instances kept as property lists.
  ///
  /// - Parameters:
  ///   - persistence: The store that keeps the instances.
  ///   - format: The format that declares the datastore.
  ///   - key: The name of the datastore in the store.
  ///   - version: The version of the declaration.
  ///   - migrations: For each version, how an instance of it is decoded and converted.
  ///   - configuration: How the datastore behaves.
  public static func readOnlyPropertyListStore(
    persistence: some Persistence, format: Format.Type = Format.self, key: DatastoreKey = Format.defaultKey,
    version: Version = Format.currentVersion,
    migrations: [Version: Migration<PropertyListDecoder, Identified<Format>>],
    configuration: Configuration = .init()
  ) -> Self {
    Self(
      store: persistence._store, key: key, version: version, coding: .binaryPropertyList,
      decoders: migrations.mapValues { migration in { try await migration(StandardCoders.propertyListDecoder, $0) } })
  }

  /// A datastore that only reads instances kept as property lists.
  ///
  /// - Parameters:
  ///   - persistence: The store that keeps the instances.
  ///   - format: The format that declares the datastore.
  ///   - key: The name of the datastore in the store.
  ///   - version: The version of the declaration.
  ///   - migrations: For each version, how an instance of it is decoded and converted.
  ///   - configuration: How the datastore behaves.
  ///   - onNoActor: Tells the compiler which overload to prefer if both kinds of migrations fit.
  public static func readOnlyPropertyListStore<Failure: Error>(
    persistence: some Persistence, format: Format.Type = Format.self, key: DatastoreKey = Format.defaultKey,
    version: Version = Format.currentVersion,
    migrations: [Version: ConcurrentMigration<PropertyListDecoder, Identified<Format>, Failure>],
    configuration: Configuration = .init(), onNoActor: Void = ()
  ) -> Self {
    Self(
      store: persistence._store, key: key, version: version, coding: .binaryPropertyList,
      decoders: migrations.mapValues { migration in { try await migration(StandardCoders.propertyListDecoder, $0) } })
  }
}

extension Datastore where AccessMode == ReadOnly, InstanceType: Identifiable, IdentifierType == InstanceType.ID {
  /// A datastore that only reads instances kept as property lists.
  ///
  /// - Parameters:
  ///   - persistence: The store that keeps the instances.
  ///   - format: The format that declares the datastore.
  ///   - key: The name of the datastore in the store.
  ///   - version: The version of the declaration.
  ///   - migrations: For each version, how an instance of it is decoded and converted.
  ///   - configuration: How the datastore behaves.
  public static func readOnlyPropertyListStore(
    persistence: some Persistence, format: Format.Type = Format.self, key: DatastoreKey = Format.defaultKey,
    version: Version = Format.currentVersion,
    migrations: [Version: Migration<PropertyListDecoder, InstanceType>],
    configuration: Configuration = .init()
  ) -> Self {
    Self(
      store: persistence._store, key: key, version: version, coding: .binaryPropertyList,
      instances: migrations.mapValues { migration in { try await migration(StandardCoders.propertyListDecoder, $0) } })
  }

  /// A datastore that only reads instances kept as property lists.
  ///
  /// - Parameters:
  ///   - persistence: The store that keeps the instances.
  ///   - format: The format that declares the datastore.
  ///   - key: The name of the datastore in the store.
  ///   - version: The version of the declaration.
  ///   - migrations: For each version, how an instance of it is decoded and converted.
  ///   - configuration: How the datastore behaves.
  ///   - onNoActor: Tells the compiler which overload to prefer if both kinds of migrations fit.
  public static func readOnlyPropertyListStore<Failure: Error>(
    persistence: some Persistence, format: Format.Type = Format.self, key: DatastoreKey = Format.defaultKey,
    version: Version = Format.currentVersion,
    migrations: [Version: ConcurrentMigration<PropertyListDecoder, InstanceType, Failure>],
    configuration: Configuration = .init(), onNoActor: Void = ()
  ) -> Self {
    Self(
      store: persistence._store, key: key, version: version, coding: .binaryPropertyList,
      instances: migrations.mapValues { migration in { try await migration(StandardCoders.propertyListDecoder, $0) } })
  }
}
