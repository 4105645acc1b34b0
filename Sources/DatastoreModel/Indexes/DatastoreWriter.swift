package import StorageEngine

/// Puts and deletes records of one datastore together with their index entries, inside a transaction.
///
/// The typed library, imports and hand edits all write through it. It parses nothing where it can help it: the caller
/// hands over the record's bytes and the values of its indexes, of the old state and of the new one, already encoded.
///
///     var writer = try DatastoreWriter(descriptor, in: transaction)
///     let current = try writer.current(identifier)
///     try writer.put(identifier, record, values: new, replacing: current, oldValues: old)
///     try writer.checkUniqueness()          // before the commit
///
/// An index never makes a record immovable: where an old entry is not where the old values say (a key path or a
/// conversion changed), the index is searched for the identifier and mended in the same transaction.
///
/// A put costs one descent of the primary tree and one per index value that comes or goes; values that stay are only
/// looked up. Not thread-safe: one writer belongs to one transaction's owner.
package struct DatastoreWriter {
  /// A record as it lies in the transaction.
  package struct Current {
    package var reference: RecordReference
    /// Version tag and content, as in `RecordBytes`.
    package var bytes: Bytes
  }

  package enum Outcome: Hashable, Sendable { case inserted, updated, unchanged }

  package let descriptor: DatastoreDescriptor
  let transaction: WriteTransaction
  let records: TreeName
  let recordOrder: KeyOrder
  private(set) var indexes: [IndexWriter]
  private let hasLeftOut: Bool
  /// How many index entries were not where the old values said, so far.
  package private(set) var mendedEntries = 0

  /// - Parameters:
  ///   - recordOrder: how identifiers are ordered, where not by their bytes.
  ///   - indexOrders: how entries of indexes are ordered, by index name, where not by their bytes.
  package init(
    _ descriptor: DatastoreDescriptor, in transaction: WriteTransaction, recordOrder: KeyOrder = .bytes,
    indexOrders: [String: KeyOrder] = [:]
  ) throws(ModelError) {
    self.descriptor = descriptor
    self.transaction = transaction
    self.recordOrder = recordOrder
    records = .records(of: descriptor.key)
    indexes = descriptor.indexes.map {
      IndexWriter($0, of: descriptor.key, order: indexOrders[$0.name] ?? .bytes)
    }
    hasLeftOut = try onStorage { () throws(StorageError) in try transaction.tree(.leftOut(of: descriptor.key)) != nil }
  }

  /// The record of an identifier, own writes included; nil where there is none.
  package func current(_ identifier: [UInt8]) throws(ModelError) -> Current? {
    try onStorage { () throws(StorageError) in
      guard let tree = try transaction.tree(records),
        let reference = try tree.find(recordOrder.probe(identifier))?.payload.record
      else { return nil }
      return Current(reference: reference, bytes: try tree.value(of: reference))
    }
  }

  /// Inserts or replaces a record.
  ///
  /// - Parameters:
  ///   - record: version tag and content, as in `RecordBytes`.
  ///   - values: the encoded values per index, in the order of the descriptor's indexes, distinct within each.
  ///   - current: what `current(_:)` answered; nil inserts.
  ///   - oldValues: the values of the current record; nil where they cannot be told (it does not decode), and then
  ///     every index is searched for its entries.
  package mutating func put(
    _ identifier: [UInt8], _ record: [UInt8], values: [[[UInt8]]], replacing current: Current?,
    oldValues: [[[UInt8]]]? = nil
  ) throws(ModelError) -> Outcome {
    if let current, let oldValues, try isUnchanged(identifier, record, values, current, oldValues) { return .unchanged }
    try onStorage { () throws(StorageError) in
      _ = try transaction.put(identifier, record, in: records, place: recordOrder.place(identifier))
    }
    if current == nil { try checkOrderOfRecords(identifier) }
    let payload = try directPayload(identifier)
    for position in indexes.indices where !indexes[position].isStale {
      let new = position < values.count ? values[position] : []
      if current == nil {
        try indexes[position].insert(new, of: identifier, payload, in: transaction)
      } else if let oldValues {
        let old = position < oldValues.count ? oldValues[position] : []
        mendedEntries += try indexes[position].replace(old, by: new, of: identifier, payload, in: transaction)
      } else {
        mendedEntries += try indexes[position].mend(new, of: identifier, payload, in: transaction)
      }
    }
    try takeFromLeftOut(identifier)
    return current == nil ? .inserted : .updated
  }

  /// Deletes a record; answers whether there was one.
  ///
  /// - Parameter oldValues: as for `put`.
  package mutating func delete(_ identifier: [UInt8], oldValues: [[[UInt8]]]?) throws(ModelError) -> Bool {
    let replaced = try onStorage { () throws(StorageError) in
      try transaction.delete(identifier, in: records, place: recordOrder.place(identifier))
    }
    guard replaced != nil else { return false }
    for position in indexes.indices where !indexes[position].isStale {
      if let oldValues {
        let old = position < oldValues.count ? oldValues[position] : []
        mendedEntries += try indexes[position].replace(old, by: [], of: identifier, .none, in: transaction)
      } else {
        mendedEntries += try indexes[position].mend([], of: identifier, .none, in: transaction)
      }
    }
    try takeFromLeftOut(identifier)
    return true
  }

  /// Throws `ModelError.notUnique` where an index with uniqueness switched on holds a value of this transaction's for
  /// more than one record. Called before the commit, so that records may swap values within a transaction.
  package mutating func checkUniqueness() throws(ModelError) {
    var conflicts: [UniquenessConflict] = []
    for position in indexes.indices {
      conflicts += try indexes[position].duplicates(of: descriptor, in: transaction)
    }
    if !conflicts.isEmpty { throw .notUnique(conflicts) }
  }

  private func directPayload(_ identifier: [UInt8]) throws(ModelError) -> Payload {
    guard indexes.contains(where: { $0.isDirect }) else { return .none }
    return try onStorage { () throws(StorageError) in
      let reference = try transaction.currentReference(
        of: identifier, in: records, place: recordOrder.place(identifier))
      return reference.map { .record($0) } ?? .none
    }
  }

  private func checkOrderOfRecords(_ identifier: [UInt8]) throws(ModelError) {
    guard recordOrder.isAscending != nil else { return }
    try recordOrder.check(
      identifier, in: records, of: transaction, datastore: descriptor.key, index: nil,
      describe: { (try? descriptor.identifierEncoding.decode($0.array))?.description ?? "?" })
  }

  private func takeFromLeftOut(_ identifier: [UInt8]) throws(ModelError) {
    guard hasLeftOut else { return }
    let leftOut = TreeName.leftOut(of: descriptor.key)
    try onStorage { () throws(StorageError) in
      guard try transaction.tree(leftOut) != nil else { return }
      _ = try transaction.remove(identifier, in: leftOut)
      if try transaction.tree(leftOut)?.count == 0 { try transaction.dropTree(leftOut) }
    }
  }

  /// Same version, same canonical document, and every index holds exactly these entries.
  private func isUnchanged(
    _ identifier: [UInt8], _ record: [UInt8], _ values: [[[UInt8]]], _ current: Current, _ oldValues: [[[UInt8]]]
  ) throws(ModelError) -> Bool {
    guard RecordSameness.isSame(current.bytes, record, coding: descriptor.coding) else { return false }
    for position in indexes.indices where !indexes[position].isStale {
      let new = position < values.count ? values[position] : []
      let old = position < oldValues.count ? oldValues[position] : []
      guard IndexWriter.isSameSet(old, new),
        try indexes[position].holds(new, of: identifier, current.reference, in: transaction)
      else { return false }
    }
    return true
  }
}

extension DatastoreWriter {
  /// Makes the trees of a datastore that is not there yet and stores its descriptor.
  package static func create(_ descriptor: DatastoreDescriptor, in transaction: WriteTransaction) throws(ModelError) {
    let attributes = try descriptor.bytes
    try onStorage { () throws(StorageError) in
      try transaction.createTree(
        .records(of: descriptor.key), kind: .records, order: descriptor.identifierEncoding.treeOrder,
        attributes: attributes)
    }
    for index in descriptor.indexes { try createIndex(index, of: descriptor, in: transaction) }
  }

  /// Makes the empty tree of an index, in place of the one of that name if there is one. The descriptor is the caller's
  /// to store.
  package static func createIndex(
    _ index: IndexDescriptor, of descriptor: DatastoreDescriptor, in transaction: WriteTransaction
  ) throws(ModelError) {
    let name = TreeName.index(index.name, of: descriptor.key)
    let order: TreeOrder =
      index.encoding.isByteOrdered && descriptor.identifierEncoding.isByteOrdered ? .bytes : .caller
    try onStorage { () throws(StorageError) in
      if try transaction.tree(name) != nil { try transaction.dropTree(name) }
      try transaction.createTree(name, kind: .entries, order: order, attributes: [])
    }
  }

  /// Stores a changed descriptor; writes nothing where it is the stored one.
  package static func store(_ descriptor: DatastoreDescriptor, in transaction: WriteTransaction) throws(ModelError) {
    let attributes = try descriptor.bytes
    try onStorage { () throws(StorageError) in
      let name = TreeName.records(of: descriptor.key)
      if let tree = try transaction.tree(name), tree.attributes.array == attributes { return }
      try transaction.setAttributes(attributes, of: name)
    }
  }
}

extension KeyEncoding {
  /// Whether a tree of these keys orders itself.
  package var treeOrder: TreeOrder { isByteOrdered ? .bytes : .caller }
}
