import StrataDocuments
public import StrataFoundation

// Stores of property lists whose migrations are given the data first, then the decoder: deprecated forms, which the original library has as
// well.

@available(*, deprecated, message: "Migrations are given the decoder first, then the data.")
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
  @_disfavoredOverload
  public static func propertyListStore(
    persistence: some Persistence<AccessMode>, format: Format.Type = Format.self, key: DatastoreKey = Format.defaultKey,
    version: Version = Format.currentVersion,
    outputFormat: StandardCoders.PropertyListFormat = .binary,
    migrations: [Version: DataFirstMigration<PropertyListDecoder, Identified<Format>>],
    configuration: Configuration = .init()
  ) -> Self {
    Self(
      store: persistence._store, key: key, version: version, coding: outputFormat.coding, encoder: outputFormat.encode,
      decoders: migrations.mapValues { migration in { try await migration($0, StandardCoders.propertyListDecoder) } })
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
  @_disfavoredOverload
  public static func propertyListStore<Failure: Error>(
    persistence: some Persistence<AccessMode>, format: Format.Type = Format.self, key: DatastoreKey = Format.defaultKey,
    version: Version = Format.currentVersion,
    outputFormat: StandardCoders.PropertyListFormat = .binary,
    migrations: [Version: ConcurrentDataFirstMigration<PropertyListDecoder, Identified<Format>, Failure>],
    configuration: Configuration = .init(), onNoActor: Void = ()
  ) -> Self {
    Self(
      store: persistence._store, key: key, version: version, coding: outputFormat.coding, encoder: outputFormat.encode,
      decoders: migrations.mapValues { migration in { try await migration($0, StandardCoders.propertyListDecoder) } })
  }
}

@available(*, deprecated, message: "Migrations are given the decoder first, then the data.")
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
  @_disfavoredOverload
  public static func propertyListStore(
    persistence: some Persistence<AccessMode>, format: Format.Type = Format.self, key: DatastoreKey = Format.defaultKey,
    version: Version = Format.currentVersion,
    outputFormat: StandardCoders.PropertyListFormat = .binary,
    migrations: [Version: DataFirstMigration<PropertyListDecoder, InstanceType>],
    configuration: Configuration = .init()
  ) -> Self {
    Self(
      store: persistence._store, key: key, version: version, coding: outputFormat.coding, encoder: outputFormat.encode,
      instances: migrations.mapValues { migration in { try await migration($0, StandardCoders.propertyListDecoder) } })
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
  @_disfavoredOverload
  public static func propertyListStore<Failure: Error>(
    persistence: some Persistence<AccessMode>, format: Format.Type = Format.self, key: DatastoreKey = Format.defaultKey,
    version: Version = Format.currentVersion,
    outputFormat: StandardCoders.PropertyListFormat = .binary,
    migrations: [Version: ConcurrentDataFirstMigration<PropertyListDecoder, InstanceType, Failure>],
    configuration: Configuration = .init(), onNoActor: Void = ()
  ) -> Self {
    Self(
      store: persistence._store, key: key, version: version, coding: outputFormat.coding, encoder: outputFormat.encode,
      instances: migrations.mapValues { migration in { try await migration($0, StandardCoders.propertyListDecoder) } })
  }
}

@available(*, deprecated, message: "Migrations are given the decoder first, then the data.")
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
  @_disfavoredOverload
  public static func readOnlyPropertyListStore(
    persistence: some Persistence, format: Format.Type = Format.self, key: DatastoreKey = Format.defaultKey,
    version: Version = Format.currentVersion,
    migrations: [Version: DataFirstMigration<PropertyListDecoder, Identified<Format>>],
    configuration: Configuration = .init()
  ) -> Self {
    Self(
      store: persistence._store, key: key, version: version, coding: .binaryPropertyList,
      decoders: migrations.mapValues { migration in { try await migration($0, StandardCoders.propertyListDecoder) } })
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
  @_disfavoredOverload
  public static func readOnlyPropertyListStore<Failure: Error>(
    persistence: some Persistence, format: Format.Type = Format.self, key: DatastoreKey = Format.defaultKey,
    version: Version = Format.currentVersion,
    migrations: [Version: ConcurrentDataFirstMigration<PropertyListDecoder, Identified<Format>, Failure>],
    configuration: Configuration = .init(), onNoActor: Void = ()
  ) -> Self {
    Self(
      store: persistence._store, key: key, version: version, coding: .binaryPropertyList,
      decoders: migrations.mapValues { migration in { try await migration($0, StandardCoders.propertyListDecoder) } })
  }
}

@available(*, deprecated, message: "Migrations are given the decoder first, then the data.")
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
  @_disfavoredOverload
  public static func readOnlyPropertyListStore(
    persistence: some Persistence, format: Format.Type = Format.self, key: DatastoreKey = Format.defaultKey,
    version: Version = Format.currentVersion,
    migrations: [Version: DataFirstMigration<PropertyListDecoder, InstanceType>],
    configuration: Configuration = .init()
  ) -> Self {
    Self(
      store: persistence._store, key: key, version: version, coding: .binaryPropertyList,
      instances: migrations.mapValues { migration in { try await migration($0, StandardCoders.propertyListDecoder) } })
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
  @_disfavoredOverload
  public static func readOnlyPropertyListStore<Failure: Error>(
    persistence: some Persistence, format: Format.Type = Format.self, key: DatastoreKey = Format.defaultKey,
    version: Version = Format.currentVersion,
    migrations: [Version: ConcurrentDataFirstMigration<PropertyListDecoder, InstanceType, Failure>],
    configuration: Configuration = .init(), onNoActor: Void = ()
  ) -> Self {
    Self(
      store: persistence._store, key: key, version: version, coding: .binaryPropertyList,
      instances: migrations.mapValues { migration in { try await migration($0, StandardCoders.propertyListDecoder) } })
  }
}
