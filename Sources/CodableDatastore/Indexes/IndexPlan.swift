import StrataModel
import StrataEngine

/// One index of an open datastore: how instances become entries, and where those lie. A class, because every write goes
/// through all of them and a copy would count a dozen references.
final class IndexPlan<Instance: Sendable>: Sendable {
  /// The index's part of the stored descriptor, as of now.
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

  private init(
    _ descriptor: IndexDescriptor, of datastore: String, order: EntryOrder, coder: any Sendable,
    tiers: TierOrder? = nil, keyPaths: [any AnyKeyPath & Sendable] = [],
    values: @escaping @Sendable (Instance) throws -> [[UInt8]]
  ) {
    self.descriptor = descriptor
    tree = .index(descriptor.name, of: datastore)
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
    _ declared: GeneratedIndexRepresentation<Instance>, isUnique: Bool, version: String, datastore: String,
    format: any DatastoreFormat.Type, identifiers: KeyOrder
  ) -> IndexPlan {
    let index = declared.index
    let descriptor = IndexDescriptor(
      name: declared.indexName.rawValue, kind: .manyToMany, type: index.indexType.rawValue,
      storage: declared.storage == .direct ? .direct : .reference, encoding: .comparator("AnyIndexable"),
      valueType: "AnyIndexable", isUnique: isUnique, version: version,
      target: (index as? any TargetedIndex)?.target(in: datastore, of: format).rawValue)
    if let index = index as? any IndexValues<Instance> { return known(index, descriptor, of: datastore, identifiers) }
    if let index = index as? any RetrievableIndexRepresentation,
      let plan = typed(index, descriptor, of: datastore, identifiers)
    {
      return plan
    }
    // A kind that a program declares without a type of values: each is kept by its own type.
    return IndexPlan(
      descriptor, of: datastore, order: EntryOrder(value: .bytes, identifier: identifiers), coder: 0
    ) { instance in
      let keys = try index.valuesToIndex(for: instance).map { try untypedKey(of: $0.indexed) }
      return Array(Set(keys))
    }
  }

  /// One of the library's own kinds.
  private static func known<Index: IndexValues<Instance>>(
    _ index: Index, _ declared: IndexDescriptor, of datastore: String, _ identifiers: KeyOrder
  ) -> IndexPlan {
    let coder = KeyCoder<Index.Value>.make()
    var descriptor = declared
    descriptor.kind = index.kind
    return plan(
      descriptor, of: datastore, identifiers, coder: coder, keyPaths: index.keyPaths, values: index.keys(by: coder))
  }

  /// A kind that a program declares, with values of a known type.
  private static func typed<Index: RetrievableIndexRepresentation>(
    _ index: Index, _ declared: IndexDescriptor, of datastore: String, _ identifiers: KeyOrder
  ) -> IndexPlan? {
    let coder = KeyCoder<Index.Value>.make()
    let values: @Sendable (Index.Instance) throws -> [[UInt8]] = { instance in
      let values: Set<Index.Value> = index.valuesToIndex(for: instance)
      return try values.map { try coder.key(of: $0) }
    }
    guard let values = values as? @Sendable (Instance) throws -> [[UInt8]] else { return nil }
    var descriptor = declared
    if index is any SingleInstanceIndexRepresentation { descriptor.kind = .manyToOne }
    return plan(descriptor, of: datastore, identifiers, coder: coder, keyPaths: [], values: values)
  }

  private static func untypedKey<Value: Indexable>(of value: Value) throws -> [UInt8] {
    try KeyCoder<Value>.make().key(of: value)
  }

  private static func plan<Value: Indexable>(
    _ declared: IndexDescriptor, of datastore: String, _ identifiers: KeyOrder, coder: KeyCoder<Value>,
    keyPaths: [any AnyKeyPath & Sendable], values: @escaping @Sendable (Instance) throws -> [[UInt8]]
  ) -> IndexPlan {
    var descriptor = declared
    (descriptor.encoding, descriptor.valueType) = (coder.encoding, String(describing: Value.self))
    let tiers = TierOrder(coder)
    let names = keyPaths.map { KeyPathName.path(of: $0, from: Instance.self) }
    if names.count == 1 { descriptor.keyPathName = names[0] }
    if names.count > 1 {
      descriptor.tiers = zip(tiers?.tiers ?? [], names).map { tier, name in
        IndexTier(valueType: tier.valueType, keyPathName: name, isDescending: tier.isDescending)
      }
    }
    return IndexPlan(
      descriptor, of: datastore, order: EntryOrder(value: coder.order, identifier: identifiers), coder: coder,
      tiers: tiers, keyPaths: keyPaths, values: values)
  }
}
