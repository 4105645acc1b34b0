import StrataDocuments
public import StrataFoundation

// Datastores of formats that have had only one version: stored instances decode as today's type, and there is nothing to migrate. For the
// next version a program passes `migrations:`; until it does, older instances throw ``DatastoreError/missingDecoder(version:)``.

extension Persistence {
  /// The datastore of a format whose instances are JSON of one version.
  ///
  /// ```swift
  /// let books = persistence.datastore(BookFormat.self)
  /// ```
  ///
  /// - Parameters:
  ///   - format: The format that declares the datastore.
  ///   - key: The name of the datastore in the store.
  public nonisolated func datastore<Format: DatastoreFormat>(
    _ format: Format.Type = Format.self, key: DatastoreKey = Format.defaultKey
  ) -> Datastore<Format, AccessMode>
  where Format.Instance: Identifiable, Format.Instance.ID == Format.Identifier {
    Datastore(
      store: _store, key: key, encoder: AccessMode.self == ReadWrite.self ? StandardCoders.jsonEncoder : nil,
      decoder: StandardCoders.jsonDecoder)
  }
}

extension Datastore where InstanceType: Identifiable, IdentifierType == InstanceType.ID {
  /// - Parameter encoder: Nil if the datastore only reads.
  fileprivate init(store: _StoreHandle, key: DatastoreKey, encoder: JSONEncoder?, decoder: JSONDecoder) {
    self.init(
      store: store, key: key, version: Format.currentVersion, coding: .json, jsonEncoder: encoder,
      instances: [Format.currentVersion: { try decoder.decode(InstanceType.self, from: $0) }],
      // The library's own coders do not copy the bytes.
      direct: (decoder as? StandardJSONDecoder).map { decoder in
        .init(decoder: decoder, encoder: encoder as? StandardJSONEncoder) { $0.id }
      })
  }
}

extension Datastore where AccessMode == ReadWrite, InstanceType: Identifiable, IdentifierType == InstanceType.ID {
  /// A datastore that keeps instances as JSON, for a format of one version.
  ///
  /// - Parameters:
  ///   - persistence: The store that keeps the instances.
  ///   - format: The format that declares the datastore.
  ///   - key: The name of the datastore in the store.
  ///   - encoder: Encodes instances; by default with sorted members.
  ///   - decoder: Decodes instances.
  public static func JSONStore(
    persistence: some Persistence<AccessMode>, format: Format.Type = Format.self, key: DatastoreKey = Format.defaultKey,
    encoder: JSONEncoder = StandardCoders.jsonEncoder, decoder: JSONDecoder = StandardCoders.jsonDecoder
  ) -> Self {
    Self(store: persistence._store, key: key, encoder: encoder, decoder: decoder)
  }

  /// A datastore that keeps instances as property lists, for a format of one version.
  ///
  /// - Parameters:
  ///   - persistence: The store that keeps the instances.
  ///   - format: The format that declares the datastore.
  ///   - key: The name of the datastore in the store.
  ///   - outputFormat: The kind of property list.
  public static func propertyListStore(
    persistence: some Persistence<AccessMode>, format: Format.Type = Format.self, key: DatastoreKey = Format.defaultKey,
    outputFormat: StandardCoders.PropertyListFormat = .binary
  ) -> Self {
    Self(
      store: persistence._store, key: key, version: Format.currentVersion, coding: outputFormat.coding,
      encoder: outputFormat.encode,
      instances: [Format.currentVersion: { try StandardCoders.propertyListDecoder.decode(InstanceType.self, from: $0) }]
    )
  }
}

extension Datastore where AccessMode == ReadOnly, InstanceType: Identifiable, IdentifierType == InstanceType.ID {
  /// A datastore that only reads instances kept as JSON, for a format of one version.
  ///
  /// - Parameters:
  ///   - persistence: The store that keeps the instances.
  ///   - format: The format that declares the datastore.
  ///   - key: The name of the datastore in the store.
  ///   - decoder: Decodes instances.
  public static func readOnlyJSONStore(
    persistence: some Persistence, format: Format.Type = Format.self, key: DatastoreKey = Format.defaultKey,
    decoder: JSONDecoder = StandardCoders.jsonDecoder
  ) -> Self {
    Self(store: persistence._store, key: key, encoder: nil, decoder: decoder)
  }

  /// A datastore that only reads instances kept as property lists, for a format of one version.
  ///
  /// - Parameters:
  ///   - persistence: The store that keeps the instances.
  ///   - format: The format that declares the datastore.
  ///   - key: The name of the datastore in the store.
  public static func readOnlyPropertyListStore(
    persistence: some Persistence, format: Format.Type = Format.self, key: DatastoreKey = Format.defaultKey
  ) -> Self {
    Self(
      store: persistence._store, key: key, version: Format.currentVersion, coding: .binaryPropertyList,
      instances: [Format.currentVersion: { try StandardCoders.propertyListDecoder.decode(InstanceType.self, from: $0) }]
    )
  }
}
