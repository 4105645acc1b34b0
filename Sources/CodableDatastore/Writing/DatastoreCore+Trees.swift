import StrataDocuments
import StrataModel
import StrataLocks
import StrataEngine

extension DatastoreCore {
  /// Ensures that the trees exist and that the descriptor names the version that writes.
  func prepareTrees(for prepared: PreparedRecord<Identifier>?, in transaction: any WriteTransaction) throws {
    guard let tree = try transaction.tree(recordsTree) else { return try createTrees(for: prepared, in: transaction) }
    if prepared?.isForeign == true {
      return try stamp(tree, in: transaction) { $0.identifierPath = nil }
    }
    if written.withLock({ $0 }) == tree.attributes { return }
    try stamp(tree, in: transaction) { _ in }
  }

  /// The attributes of a store that this declaration alone has written.
  func descriptor(coding: RecordCoding) -> DatastoreDescriptor {
    var descriptor = declaration
    (descriptor.versionIsString, descriptor.coding) = (VersionTag<Format>.isString, coding)
    declare(in: &descriptor)
    return descriptor
  }

  /// Writes what the format says of merging and of compression.
  private func declare(in descriptor: inout DatastoreDescriptor) {
    descriptor.setMergeRules(Format.storedMergeRules)
    unordered.withLock { $0 }?.mark(in: &descriptor)
    if let compression = Format.compression { descriptor.compressesValues = compression == .values }
  }

  private func createTrees(for prepared: PreparedRecord<Identifier>?, in transaction: any WriteTransaction) throws {
    try requireFittingTargets(in: transaction)
    try requireFittingReferrers(in: transaction)
    let content = prepared.map { coder.content(of: $0.record) } ?? []
    let coding = coder.coding ?? RecordCoding.sniff(content)
    var descriptor = descriptor(coding: coding)
    if isIdentifiable, let prepared {
      descriptor.identifierPath = identifierPath(in: content, of: coding, key: prepared.key)
    }
    let attributes = try descriptor.bytes
    try transaction.createTree(recordsTree, kind: .records, order: identifiers.order.treeOrder, attributes: attributes)
    for index in indexes {
      try transaction.createTree(index.tree, kind: .entries, order: index.order.treeOrder, attributes: [])
    }
    remember(attributes)
  }

  /// Returns `.id` if that path holds the identifier.
  private func identifierPath(in content: [UInt8], of coding: RecordCoding, key: [UInt8]) -> String? {
    guard let path = try? DocumentPath(parsing: ".id"), let document = try? coding.document(of: content),
      let value = document[path].flatMap({ identifiers.encoding.keyValue(from: $0) }),
      let keyed = try? identifiers.encoding.encode(value), keyed == key
    else { return nil }
    return path.description
  }

  /// Sets the descriptor's version to the declaration's. An index that a newer version evaluated gets this older version, too, because
  /// this version has written since.
  private func stamp(
    _ tree: Tree, in transaction: any WriteTransaction, _ change: (inout DatastoreDescriptor) -> Void
  ) throws {
    var descriptor = try DatastoreDescriptor(bytes: tree.attributes.array)
    let before = descriptor
    change(&descriptor)
    descriptor.version = coder.tag
    descriptor.versionIsString = VersionTag<Format>.isString
    descriptor.instanceType = declaration.instanceType
    declare(in: &descriptor)
    for place in descriptor.indexes.indices
    where VersionTag<Format>.isNewer(descriptor.indexes[place].version, than: coder.version) {
      descriptor.indexes[place].version = coder.tag
    }
    let attributes = try descriptor.bytes
    if descriptor != before {
      try transaction.setAttributes(attributes, of: recordsTree)
    }
    if try plan(for: descriptor, isEmpty: false).isEmpty { remember(attributes) }
  }

  private func remember(_ attributes: [UInt8]) {
    let attributes = Bytes(attributes)
    written.withLock { $0 = attributes }
    fitting.withLock { $0 = attributes }
  }
}
