import StrataModel

extension Datastore {
  /// The instances whose text in an index begins with this one, in the order of the index.
  ///
  /// ```swift
  /// cities.load(prefix: "San", from: \.name)
  /// ```
  ///
  /// Texts begin alike if their composed characters (NFC) do.
  public nonisolated func load<Index: RetrievableIndexRepresentation<InstanceType, String>>(
    prefix: String, order: RangeOrder = .ascending, from index: KeyPath<Format, Index>
  ) -> Selection<Format, AccessMode> {
    beginning(with: prefix, order: order, from: index)
  }

  /// The instances whose text in an index begins with this one, without differences of case and of accents.
  ///
  /// ```swift
  /// cities.load(prefix: "zür", from: \.folded)
  /// ```
  public nonisolated func load<Index: RetrievableIndexRepresentation<InstanceType, FoldedText>>(
    prefix: String, order: RangeOrder = .ascending, from index: KeyPath<Format, Index>
  ) -> Selection<Format, AccessMode> {
    beginning(with: FoldedText(prefix).text, order: order, from: index)
  }

  private nonisolated func beginning<Index: IndexRepresentation<InstanceType>>(
    with prefix: String, order: RangeOrder, from index: KeyPath<Format, Index>
  ) -> Selection<Format, AccessMode> {
    let range = StoredRange(core, indexAt: index, isDescending: order == .descending) { _, _ in
      // The key of a text ends with a zero byte, which is not part of the prefix.
      let start = Array(try KeyEncoding.string.encode(.string(prefix)).dropLast())
      return EntryBounds(lower: .bytes(start), upper: .bytes(start + [0xFF]))
    }
    return Selection(core: core, range: range)
  }

  /// The instances of several identifiers, in their order; nil for each that does not exist.
  ///
  /// The cost is one load each.
  ///
  /// - Throws: ``StoreError`` if the store cannot be read; the error of decoding an instance.
  public nonisolated func load(ids identifiers: some Sequence<IdentifierType>) async throws -> [InstanceType?] {
    var instances: [InstanceType?] = []
    for identifier in identifiers { instances.append(try await core.load(identifier)) }
    return instances
  }
}
