import StrataDocuments
package import StrataEngine

/// Puts and deletes records of one datastore together with their index entries, inside a transaction.
///
/// The typed library, imports, hand edits and undo all write through it. It avoids parsing: the caller passes the record's bytes and
/// the values of its indexes, of the old state and of the new one, already encoded.
///
///     let writer = try DatastoreWriter(descriptor, in: transaction)
///     let current = try writer.current(identifier)
///     try writer.put(identifier, record, values: new, replacing: current, oldValues: old)
///     try writer.finish()          // before the commit
///
/// An index never makes a record immovable. If an old entry is not where the old values say (a key path or a conversion changed),
/// the writer searches the index for the identifier and mends it in the same transaction.
///
/// A put costs one descent of the primary tree and one per index value that comes or goes; values that stay are only looked up.
///
/// Errors are `StorageError`, `ModelError.disorder` and `.notUnique`, and a comparator's errors for keys that it cannot read. After an
/// error the transaction must be cancelled or rolled back, because a change may be half made. A rollback leaves the writer usable: it
/// remembers only where to look.
package final class DatastoreWriter: @unchecked Sendable {
  // `@unchecked`: used by whoever owns the transaction, one call at a time; the typed library calls it with `OpenTransaction.step` held.

  /// A record as it lies in the transaction.
  package struct Current: Sendable {
    package var reference: RecordReference
    /// Version tag and content, as in `RecordBytes`; empty if the record is damaged.
    package var bytes: Bytes
  }

  package enum Outcome: Hashable, Sendable { case inserted, updated, unchanged }

  package let descriptor: DatastoreDescriptor
  let transaction: any WriteTransaction
  let records: TreeName
  let recordOrder: KeyOrder
  private var indexes: [IndexWriter]
  private let hasDirectIndexes: Bool
  private let rules: MergeRules
  /// Whether there is a list of left-out records; nil until it was looked up.
  var hasLeftOut: Bool?

  /// - Parameter format: the app's types, which order the keys that are not in byte order.
  package convenience init(
    _ descriptor: DatastoreDescriptor, in transaction: any WriteTransaction, format: (any CompiledFormat)? = nil
  ) {
    self.init(descriptor, in: transaction, identifiers: format?.recordOrder ?? .bytes) { index in
      format?.order(ofIndex: index) ?? .bytes
    }
  }

  /// - Parameters:
  ///   - identifiers: the order of the records.
  ///   - order: that of the entries of an index, by its name.
  package init(
    _ descriptor: DatastoreDescriptor, in transaction: any WriteTransaction, identifiers: KeyOrder,
    order: (_ index: String) -> EntryOrder
  ) {
    self.descriptor = descriptor
    self.transaction = transaction
    recordOrder = identifiers
    records = .records(of: descriptor.key)
    indexes = descriptor.indexes.map { IndexWriter($0, of: descriptor.key, order: order($0.name)) }
    hasDirectIndexes = indexes.contains(where: \.isDirect)
    rules = descriptor.mergeRules
  }

  /// Holds the entries of empty indexes back until `finish()`, which writes them in order. For bulk work: no reader may use the
  /// indexes of the transaction before then.
  package func gatherEntries() throws {
    for position in indexes.indices where !indexes[position].isStale {
      try indexes[position].gather(in: transaction, sharing: indexes.count)
    }
  }

  /// Discards everything that others may have changed, for example after a rollback; it is looked up again when it is needed.
  package func forget() {
    hasLeftOut = nil
    for position in indexes.indices { indexes[position].forget() }
  }

  // MARK: Records

  /// The record of an identifier, including this transaction's own writes; nil if there is none.
  package func current(_ identifier: [UInt8]) throws -> Current? {
    guard let tree = try transaction.tree(records) else { return nil }
    let reference = try recordOrder.place(of: identifier).withProbe { try tree.payload($0)?.record }
    return try reference.map { try Current($0, in: tree) }
  }

  /// Inserts a record with its entries, in one descent of the records. If there is a record of this identifier already, returns it and
  /// writes nothing.
  package func insertIfNew(_ identifier: [UInt8], _ record: [UInt8], values: [[[UInt8]]]) throws -> Current? {
    try descriptor.requireKnownIndexes()
    try prefetch(identifier, values)
    if recordOrder.isBytes {
      if let found = try transaction.putIfNew(identifier, record, in: records) {
        return try transaction.tree(records).map { try Current(found, in: $0) }
      }
    } else {
      if let found = try current(identifier) { return found }
      try putRecord(identifier, record)
    }
    try insertEntries(values, of: identifier)
    return nil
  }

  /// Inserts or replaces a record.
  ///
  /// - Parameters:
  ///   - record: version tag and content, as in `RecordBytes`.
  ///   - values: the encoded values per index, in the order of the descriptor's indexes, distinct within each.
  ///   - current: the result of `current(_:)`; nil inserts.
  ///   - oldValues: the values of the current record; nil if they are unknown because it does not decode. Then
  ///     every index is searched for its entries.
  ///   - touch: whether an equal record is written again, as a new version.
  @discardableResult
  package func put(
    _ identifier: [UInt8], _ record: [UInt8], values: [[[UInt8]]], replacing current: Current?,
    oldValues: [[[UInt8]]]? = nil, touch: Bool = false
  ) throws -> Outcome {
    try descriptor.requireKnownIndexes()
    try prefetch(identifier, values)
    if let oldValues { try prefetch(identifier, oldValues) }
    guard let current else {
      try putRecord(identifier, record)
      try insertEntries(values, of: identifier)
      return .inserted
    }
    if !touch, let oldValues, try isUnchanged(identifier, record, values, current, oldValues) { return .unchanged }
    try putRecord(identifier, record)
    try replaceEntries(of: identifier, oldValues, by: values)
    return .updated
  }

  /// Deletes a record and returns whether there was one.
  ///
  /// - Parameter oldValues: as for `put`.
  @discardableResult
  package func delete(_ identifier: [UInt8], oldValues: [[[UInt8]]]?) throws -> Bool {
    try descriptor.requireKnownIndexes()
    try prefetch(identifier, oldValues ?? [])
    guard try deleteRecord(identifier) else { return false }
    try replaceEntries(of: identifier, oldValues, by: [])
    return true
  }

  /// Writes the entries that were held back, and throws `ModelError.notUnique` if an index with uniqueness switched on holds a
  /// value of this transaction's for more than one record. Called before the commit, so that records may swap values.
  package func finish() throws { try finish(nil) }

  /// The same, with a step of `meter` for each index whose entries were held back.
  func finish(_ meter: WorkMeter?) throws {
    try writeGathered(meter)
    var conflicts: [UniquenessConflict] = []
    for position in indexes.indices {
      conflicts += try indexes[position].duplicates(of: descriptor, in: transaction)
    }
    if !conflicts.isEmpty { throw ModelError.notUnique(conflicts) }
  }

  /// Writes what was held back, index by index; the entries of those that follow are sorted meanwhile, on another thread.
  private func writeGathered(_ meter: WorkMeter?) throws {
    var sorters: [(position: Int, sorter: EntrySorter)] = []
    for position in indexes.indices {
      if let sorter = indexes[position].removeGathered() { sorters.append((position, sorter)) }
    }
    guard sorters.count > 1, sorters.contains(where: { $0.sorter.count > Self.countToSortAhead }) else {
      for (position, sorter) in sorters { try indexes[position].writeGathered(sorter, in: transaction, meter) }
      return
    }
    sorters.reverse()
    try workingAhead(by: 1) { queue in
      while var next = sorters.popLast() {
        next.sorter.sort()
        if !queue.put(next) { return }
      }
    } use: { queue in
      while let (position, sorter) = queue.next() {
        try indexes[position].writeGathered(sorter, in: transaction, meter)
      }
    }
  }

  /// Fewer entries are sorted before a thread has started.
  private static let countToSortAhead = 1 << 13

  /// Sets a record without its entries, which the caller writes; whether it is new.
  @discardableResult
  package func putRecord(_ identifier: [UInt8], _ record: [UInt8]) throws -> Bool {
    if recordOrder.isBytes { return try transaction.put(identifier, record, in: records) == nil }
    let place = try recordOrder.place(of: identifier)
    let replaced = try place.withProbe { try transaction.put(identifier, record, in: records, probe: $0) }
    guard replaced == nil else { return false }
    try NeighbourCheck(datastore: descriptor.key, index: nil, place: recordOrder.place) { [descriptor] in
      descriptor.storedKey($0.array).description
    }.check(identifier, at: place, in: transaction.tree(records))
    return true
  }

  /// Deletes a record without its entries, which the caller removes; whether there was one.
  @discardableResult
  package func deleteRecord(_ identifier: [UInt8]) throws -> Bool {
    if recordOrder.isBytes { return try transaction.delete(identifier, in: records) != nil }
    return try recordOrder.place(of: identifier).withProbe {
      try transaction.delete(identifier, in: records, probe: $0) != nil
    }
  }

  /// Sets one entry by its key, for what copies entries as they are.
  package func insertEntry(_ key: [UInt8], in index: String) throws {
    guard let position = indexes.firstIndex(where: { $0.descriptor.name == index }) else { return }
    let identifier = key.withUnsafeBytes { EntryKey.identifier($0) } ?? []
    let reference = indexes[position].isDirect ? try reference(of: identifier) ?? .none : .none
    if try key.withUnsafeBytes({ try indexes[position].insert($0, reference, in: transaction) }) {
      indexes[position].markTouched(key)
    }
  }

  /// Takes one entry out by its key.
  package func removeEntry(_ key: [UInt8], in index: String) throws {
    guard let position = indexes.firstIndex(where: { $0.descriptor.name == index }) else { return }
    _ = try indexes[position].remove(key, in: transaction)
  }

  /// The reference to the record of an identifier; nil if there is none.
  package func reference(of identifier: [UInt8]) throws -> RecordReference? {
    if recordOrder.isBytes { return try transaction.currentReference(of: identifier, in: records) }
    return try recordOrder.place(of: identifier).withProbe {
      try transaction.currentReference(of: identifier, in: records, probe: $0)
    }
  }

  // MARK: Entries

  private func insertEntries(_ values: [[[UInt8]]], of identifier: [UInt8]) throws {
    let reference = try directReference(identifier)
    for position in indexes.indices where !indexes[position].isStale && position < values.count {
      try indexes[position].insert(values[position], of: identifier, reference, in: transaction)
    }
    try removeFromLeftOut(identifier)
  }

  private func replaceEntries(of identifier: [UInt8], _ oldValues: [[[UInt8]]]?, by values: [[[UInt8]]]) throws {
    let reference = values.isEmpty ? .none : try directReference(identifier)
    for position in indexes.indices where !indexes[position].isStale {
      let new = position < values.count ? values[position] : []
      if let oldValues {
        let old = position < oldValues.count ? oldValues[position] : []
        try indexes[position].replace(old, by: new, of: identifier, reference, in: transaction)
      } else {
        try indexes[position].mend(new, of: identifier, reference, in: transaction)
      }
    }
    try removeFromLeftOut(identifier)
  }

  /// Asks a server in one request for all that a change will look up: the record, and its entries of some values.
  private func prefetch(_ identifier: [UInt8], _ values: [[[UInt8]]]) throws {
    if transaction.asksServer(of: records) { try transaction.prefetch(places(identifier, values)) }
  }

  /// Asks a server in one request for all that the changes of some hundred records will look up, and in a second one for the entries of
  /// the records that exist: two round trips instead of two for each record. Costs nothing on a file.
  ///
  /// - Parameters:
  ///   - changes: identifiers with the values that they will have.
  ///   - stored: returns the values of a stored record; nil if they are unknown.
  package func prefetch(
    _ changes: @autoclosure () -> [(identifier: [UInt8], values: [[[UInt8]]])], stored: (Current) -> [[[UInt8]]]?
  ) throws {
    guard transaction.asksServer(of: records) else { return }
    let changes = changes()
    try transaction.prefetch(changes.flatMap { places($0.identifier, $0.values) })
    var old: [(tree: TreeName, key: [UInt8])] = []
    for change in changes {
      if let current = try current(change.identifier), let values = stored(current) {
        old += places(change.identifier, values)
      }
    }
    try transaction.prefetch(old)
  }

  private func places(_ identifier: [UInt8], _ values: [[[UInt8]]]) -> [(tree: TreeName, key: [UInt8])] {
    var keys: [(tree: TreeName, key: [UInt8])] = [(records, identifier)]
    for (index, values) in zip(indexes, values) where !index.isStale {
      for value in values { keys.append((index.tree, EntryKey.make(value: value, identifier: identifier))) }
    }
    return keys
  }

  private func directReference(_ identifier: [UInt8]) throws -> RecordReference {
    hasDirectIndexes ? try reference(of: identifier) ?? .none : .none
  }

  /// Same version, same canonical document, and every index holds exactly these entries.
  private func isUnchanged(
    _ identifier: [UInt8], _ record: [UInt8], _ values: [[[UInt8]]], _ current: Current, _ oldValues: [[[UInt8]]]
  ) throws -> Bool {
    guard RecordSameness.isSame(current.bytes, record, coding: descriptor.coding, rules: rules) else { return false }
    for position in indexes.indices where !indexes[position].isStale {
      let new = position < values.count ? values[position] : []
      let old = position < oldValues.count ? oldValues[position] : []
      guard IndexWriter.isSameSet(old, new),
        try indexes[position].holds(new, of: identifier, current.reference, in: transaction)
      else { return false }
    }
    return true
  }

  /// Makes the trees of a datastore that is not there yet and stores its descriptor.
  package static func create(_ descriptor: DatastoreDescriptor, in transaction: any WriteTransaction) throws(ModelError)
  {
    let attributes = try descriptor.bytes
    try onStorage {
      try transaction.createTree(
        .records(of: descriptor.key), kind: .records, order: descriptor.identifierEncoding.treeOrder,
        attributes: attributes)
    }
    for index in descriptor.indexes { try createIndex(index, of: descriptor, in: transaction) }
  }

  /// Removes the trees of a datastore and of its indexes; older commits keep them.
  package static func drop(_ descriptor: DatastoreDescriptor, in transaction: any WriteTransaction) throws(ModelError) {
    let indexes = descriptor.indexes.map { TreeName.index($0.name, of: descriptor.key) }
    try onStorage { for tree in indexes + [.records(of: descriptor.key)] { try transaction.dropTree(tree) } }
  }

  /// Creates the empty tree of an index, which replaces an existing tree of that name. The caller must store the
  /// descriptor.
  package static func createIndex(
    _ index: IndexDescriptor, of descriptor: DatastoreDescriptor, in transaction: any WriteTransaction
  ) throws(ModelError) {
    let name = TreeName.index(index.name, of: descriptor.key)
    let order: TreeOrder =
      index.encoding.isByteOrdered && descriptor.identifierEncoding.isByteOrdered ? .bytes : .caller
    try onStorage {
      if try transaction.tree(name) != nil { try transaction.dropTree(name) }
      try transaction.createTree(name, kind: .entries, order: order, attributes: [])
    }
  }

  /// Stores a changed descriptor; writes nothing if it equals the stored one.
  package static func store(_ descriptor: DatastoreDescriptor, in transaction: any WriteTransaction) throws(ModelError)
  {
    let attributes = try descriptor.bytes
    try onStorage {
      let name = TreeName.records(of: descriptor.key)
      if let tree = try transaction.tree(name), tree.attributes.array == attributes { return }
      try transaction.setAttributes(attributes, of: name)
    }
  }
}
