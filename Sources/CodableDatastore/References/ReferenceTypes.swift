import StrataModel
import StrataEngine

// A reference and its target are declared separately, and by keys that are only texts. Whether the types agree is checked when the second
// of them is added to the store.

extension DatastoreCore {
  /// Throws if a reference of this declaration holds values other than identifiers of its target datastore.
  func requireFittingTargets(in transaction: any WriteTransaction) throws {
    for index in indexes {
      guard let target = index.descriptor.target, target != key,
        let stored = try Self.descriptor(of: target, in: transaction)
      else { continue }
      try Self.requireFit(
        of: index.descriptor, in: key, to: target, stored.identifierEncoding, stored.identifierType)
    }
  }

  /// Throws if another datastore refers to this one, which is being created, by values other than its identifiers.
  func requireFittingReferrers(in transaction: any WriteTransaction) throws {
    let trees = try transaction.trees(prefix: TreeName.records(of: "").bytes)
    for datastore in trees.compactMap(\.datastoreKey) where datastore != key {
      guard let stored = try Self.descriptor(of: datastore, in: transaction) else { continue }
      for index in stored.indexes where index.target == key {
        try Self.requireFit(of: index, in: datastore, to: key, identifiers.encoding, declaration.identifierType)
      }
    }
  }

  private static func requireFit(
    of index: IndexDescriptor, in datastore: String, to target: String, _ encoding: KeyEncoding, _ type: String
  ) throws {
    guard index.encoding.content != encoding else { return }
    throw ReferenceError.otherIdentifiers(
      datastore: DatastoreKey(datastore), index: IndexName(index.name), values: index.valueType,
      target: DatastoreKey(target), identifiers: type)
  }

  private static func descriptor(
    of datastore: String, in transaction: any WriteTransaction
  ) throws -> DatastoreDescriptor? {
    try transaction.tree(.records(of: datastore)).map { try DatastoreDescriptor(bytes: $0.attributes.array) }
  }
}
