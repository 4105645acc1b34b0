import StrataModel
import StrataEngine

/// One index of an open datastore: how instances become entries, and where those lie. A class, because every write goes
/// through all of them and a copy would count a dozen references.
final class IndexPlan<Instance: Sendable>: Sendable {
  /// The index's part of the stored descriptor; the version is filled in when the index is built.
  let descriptor: IndexDescriptor
  let tree: TreeName
  let order: EntryOrder
  /// The distinct keys of an instance's values. Throws `NotOrdered`, or the error of an encoding.
  let values: @Sendable (Instance) throws -> [[UInt8]]
  /// The `KeyCoder` of the values.
  let coder: any Sendable
  /// Nil for an index of one tier that is not descending.
  let tiers: TierOrder?
  /// One per tier; none of a kind that a program declares.
  let keyPaths: [any AnyKeyPath & Sendable]

  let name: String
  let isDirect: Bool
  let isUnique: Bool

  init(
    descriptor: IndexDescriptor, tree: TreeName, order: EntryOrder,
    values: @escaping @Sendable (Instance) throws -> [[UInt8]], coder: any Sendable, tiers: TierOrder? = nil,
    keyPaths: [any AnyKeyPath & Sendable] = []
  ) {
    self.descriptor = descriptor
    self.tree = tree
    self.order = order
    self.values = values
    self.coder = coder
    self.tiers = tiers
    self.keyPaths = keyPaths
    name = descriptor.name
    isDirect = descriptor.storage == .direct
    isUnique = descriptor.isUnique
  }

  static func plan(
    _ declared: GeneratedIndexRepresentation<Instance>, isUnique: Bool, datastore: String,
    format: any DatastoreFormat.Type, identifiers: KeyOrder
  ) -> IndexPlan {
    let place = Place(
      name: declared.indexName.rawValue, storage: declared.storage == .direct ? .direct : .reference,
      isUnique: isUnique, datastore: datastore, format: format, identifiers: identifiers)
    if let index = declared.index as? any IndexValues<Instance> { return known(index, at: place) }
    if let index = declared.index as? any RetrievableIndexRepresentation, let plan = typed(index, at: place) {
      return plan
    }
    return untyped(declared.index, at: place)
  }

  /// The properties of an index that do not depend on its type.
  private struct Place {
    var name: String
    var storage: IndexStorageKind
    var isUnique: Bool
    var datastore: String
    var format: any DatastoreFormat.Type
    var identifiers: KeyOrder
  }

  /// One of the library's own kinds.
  private static func known<Index: IndexValues<Instance>>(_ index: Index, at place: Place) -> IndexPlan {
    let coder = KeyCoder<Index.Value>.make()
    let names = index.keyPaths.map { KeyPathName.path(of: $0, from: Instance.self) }
    let tiers = names.count > 1 ? CompoundTiers.describe(Index.Value.self, keyPathNames: names) : []
    return plan(
      place, kind: index.kind, type: index.indexType, keyPathName: names.count == 1 ? names[0] : nil, tiers: tiers,
      target: (index as? any TargetedIndex)?.target(in: place.datastore, of: place.format),
      keyPaths: index.keyPaths, coder: coder, values: index.keys(by: coder))
  }

  /// A kind that a program declares, with values of a known type.
  private static func typed<Index: RetrievableIndexRepresentation>(_ index: Index, at place: Place) -> IndexPlan? {
    let coder = KeyCoder<Index.Value>.make()
    let values: @Sendable (Index.Instance) throws -> [[UInt8]] = { instance in
      let values: Set<Index.Value> = index.valuesToIndex(for: instance)
      return try values.map { try coder.key(of: $0) }
    }
    guard let values = values as? @Sendable (Instance) throws -> [[UInt8]] else { return nil }
    let kind: IndexKind = index is any SingleInstanceIndexRepresentation ? .manyToOne : .manyToMany
    return plan(place, kind: kind, type: index.indexType, keyPathName: nil, tiers: [], coder: coder, values: values)
  }

  /// A kind that a program declares without a type of values: each is kept by its own type.
  private static func untyped(_ index: any IndexRepresentation<Instance>, at place: Place) -> IndexPlan {
    IndexPlan(
      descriptor: IndexDescriptor(
        name: place.name, kind: .manyToMany, type: index.indexType.rawValue, storage: place.storage,
        encoding: .comparator("AnyIndexable"), valueType: "AnyIndexable", isUnique: place.isUnique),
      tree: .index(place.name, of: place.datastore),
      order: EntryOrder(value: .bytes, identifier: place.identifiers),
      values: { instance in
        let keys = try index.valuesToIndex(for: instance).map { try untypedKey(of: $0.indexed) }
        return Array(Set(keys))
      },
      coder: 0)
  }

  private static func untypedKey<Value: Indexable>(of value: Value) throws -> [UInt8] {
    try KeyCoder<Value>.make().key(of: value)
  }

  private static func plan<Value: Indexable>(
    _ place: Place, kind: IndexKind, type: IndexType, keyPathName: String?, tiers: [IndexTier],
    target: DatastoreKey? = nil, keyPaths: [any AnyKeyPath & Sendable] = [],
    coder: KeyCoder<Value>, values: @escaping @Sendable (Instance) throws -> [[UInt8]]
  ) -> IndexPlan {
    IndexPlan(
      descriptor: IndexDescriptor(
        name: place.name, kind: kind, type: type.rawValue, storage: place.storage, encoding: coder.encoding,
        valueType: String(describing: Value.self), keyPathName: keyPathName, isUnique: place.isUnique, tiers: tiers,
        target: target?.rawValue),
      tree: .index(place.name, of: place.datastore),
      order: EntryOrder(value: coder.order, identifier: place.identifiers),
      values: values, coder: coder, tiers: TierOrder(coder), keyPaths: keyPaths)
  }
}

enum CompoundTiers {
  static func describe<Value>(_ type: Value.Type, keyPathNames: [String?]) -> [IndexTier] {
    guard let tiered = type as? any TieredValue.Type else { return [] }
    return zip(tiered.tiers, keyPathNames).map { tier, name in
      IndexTier(valueType: tier.valueType, keyPathName: name, isDescending: tier.isDescending)
    }
  }
}
