import DatastoreModel

extension Datastore {
  /// The instances whose text in an index begins with this one, in the order of the index.
  ///
  /// ```swift
  /// cities.load(prefix: "San", from: \.name)
  /// ```
  ///
  /// Texts begin alike where their composed characters (NFC) do.
  public nonisolated func load<Index: RetrievableIndexRepresentation<InstanceType, String>>(
    prefix: String, order: RangeOrder = .ascending, from index: KeyPath<Format, Index>
  ) -> some AsyncInstances<InstanceType> {
    StoredInstances(core, indexAt: index, isDescending: order == .descending) { _, _ in
      // A text's key ends with a zero, which is no part of what it begins with.
      let start = Array(try KeyEncoding.string.encode(.string(prefix)).dropLast())
      return EntryBounds(from: start, to: start + [0xFF])
    }
  }

  /// The instances of several identifiers, in their order; nil where one is missing.
  ///
  /// The cost is one load each.
  ///
  /// - Throws: ``StoreError`` where the store cannot be read, and what decoding an instance throws.
  public nonisolated func load(ids identifiers: some Sequence<IdentifierType>) async throws -> [InstanceType?] {
    var instances: [InstanceType?] = []
    for identifier in identifiers { instances.append(try await core.load(identifier)) }
    return instances
  }
}
