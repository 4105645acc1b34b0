import DatastoreModel
import StorageEngine

extension DatastoreCore {
  /// Makes the index entries of a record those of its new values.
  ///
  /// An old entry that is not where it should be (a changed key path or conversion) is searched for, so that an index
  /// never makes a record immovable.
  func replaceEntries(
    of key: [UInt8], old: StoredRecord<Instance>?, new: [[[UInt8]]]?, in transaction: WriteTransaction
  ) throws {
    for (place, index) in indexes.enumerated() {
      let oldValues = old?.values?[place] ?? []
      let newValues = new?[place] ?? []
      var isMissing = old != nil && old?.values == nil
      for value in oldValues where !newValues.contains(value) {
        if try !remove(value, of: key, from: index, in: transaction) { isMissing = true }
      }
      if isMissing { try mend(index, of: key, keeping: newValues, in: transaction) }
      let reference = index.isDirect && !newValues.isEmpty ? try reference(of: key, in: transaction) : nil
      for value in newValues where reference != nil || !oldValues.contains(value) {
        try insert(value, reference, of: key, into: index, in: transaction)
      }
    }
  }

  /// Adds one entry.
  func insert(
    _ value: [UInt8], _ reference: RecordReference?, of key: [UInt8], into index: IndexPlan<Instance>,
    in transaction: WriteTransaction
  ) throws {
    let payload: Payload = reference.map { .record($0) } ?? .none
    if index.isInByteOrder {
      return try throwingStoreErrors { () throws(StorageError) in
        _ = try transaction.insert(EntryKey.make(value: value, identifier: key), payload, in: index.tree)
      }
    }
    let place = try index.order.place(value: value, identifier: key)
    let isNew = try ordered(index: index) {
      try place.withProbe { probe in
        try transaction.insert(
          EntryKey.make(value: value, identifier: key), payload, in: index.tree, place: probe)
      }
    }
    guard isNew else { return }
    try requireOrder(at: place, index: index, in: transaction) { stored in
      guard let (value, identifier) = stored.withUnsafeBytes({ EntryKey.split($0) }) else { return place }
      return try index.order.place(value: value, identifier: identifier)
    }
  }

  /// Checks a key that was just inserted against both its neighbours, either way round: a `<` that contradicts itself, or
  /// that has changed, must not scatter keys where nobody finds them.
  func requireOrder(
    at place: SoughtPlace, index: IndexPlan<Instance>?, in transaction: WriteTransaction,
    placing: (Bytes) throws -> SoughtPlace
  ) throws {
    try ordered(index: index) {
      let name = index?.tree ?? recordsTree
      let (before, own, after) = try place.withProbe { probe in
        guard let tree = try transaction.tree(name) else { return (nil, nil, nil) as (Bytes?, Bytes?, Bytes?) }
        var next = tree.cursor()
        try next.seek(to: probe)
        let own = next.current?.key
        var previous = next
        try previous.previous()
        try next.next()
        return (previous.current?.key, own, next.current?.key)
      }
      guard let own else { return }
      for (left, right) in [(before, own), (own, after)] {
        guard let left, let right else { continue }
        let isAscending = try placing(right).compares(left) < 0 && placing(left).compares(right) > 0
        guard isAscending else { throw StorageError.disorder(first: left, second: right) }
      }
    }
  }

  /// Where the record of an identifier lies, or will lie.
  func reference(of key: [UInt8], in transaction: WriteTransaction) throws -> RecordReference? {
    if identifiers.order.isBytes {
      return try throwingStoreErrors { () throws(StorageError) in
        try transaction.currentReference(of: key, in: recordsTree)
      }
    }
    return try identifiers.order.place(of: key).withProbe { probe in
      try throwingStoreErrors { () throws(StorageError) in
        try transaction.currentReference(of: key, in: recordsTree, place: probe)
      }
    }
  }

  private func remove(
    _ value: [UInt8], of key: [UInt8], from index: IndexPlan<Instance>, in transaction: WriteTransaction
  ) throws -> Bool {
    let entry = EntryKey.make(value: value, identifier: key)
    if index.isInByteOrder {
      return try throwingStoreErrors { () throws(StorageError) in try transaction.remove(entry, in: index.tree) }
    }
    return try index.order.place(value: value, identifier: key).withProbe { probe in
      try throwingStoreErrors { () throws(StorageError) in
        try transaction.remove(entry, in: index.tree, place: probe)
      }
    }
  }

  /// Removes all entries of an identifier but those of given values, wherever they lie. Reads the whole index.
  private func mend(
    _ index: IndexPlan<Instance>, of key: [UInt8], keeping values: [[UInt8]], in transaction: WriteTransaction
  ) throws {
    let tree = try throwingStoreErrors { () throws(StorageError) in try transaction.tree(index.tree) }
    guard let tree else { return }
    var walk = RecordWalk(tree: tree, source: .itself, ranks: 0..<tree.count, isDescending: false)
    while let entry = try walk.nextEntry() {
      let stray: [UInt8]? = entry.key.withUnsafeBytes { entryKey in
        guard EntryKey.isEntry(entryKey, of: key), let value = EntryKey.split(entryKey)?.value else { return nil }
        return values.contains(value) ? nil : value
      }
      if let stray { _ = try remove(stray, of: key, from: index, in: transaction) }
    }
  }

  /// Runs an insertion; disorder comes out as ``DisorderedKeysError``.
  func ordered<R>(index: IndexPlan<Instance>?, _ body: () throws -> R) throws -> R {
    do {
      return try body()
    } catch StorageError.disorder(let first, let second) {
      let encoding = index?.descriptor.encoding ?? identifiers.encoding
      let keys = [first, second].map { key -> String in
        let bytes = index == nil ? key.array : key.withUnsafeBytes { EntryKey.split($0)?.value ?? [] }
        return (try? encoding.decode(bytes).description) ?? "\(bytes.count) bytes"
      }
      throw DisorderedKeysError(
        datastore: DatastoreKey(key), index: index.map { IndexName($0.name) }, keys: keys)
    } catch let error as StorageError {
      throw StoreError(error)
    }
  }

  /// Has the values of unique indexes looked at when the transaction ends, so that two records may swap theirs.
  func checkUniqueness(of values: [[[UInt8]]], in scope: TransactionScope) {
    guard hasUniqueIndexes else { return }
    for (place, index) in indexes.enumerated() where index.isUnique {
      for value in values[place] {
        scope.checkAtEnd(UniqueValue(index: index.tree, value: value)) { [key] transaction in
          let tree = try throwingStoreErrors { () throws(StorageError) in try transaction.tree(index.tree) }
          guard let tree else { return }
          let first = try tree.rank(of: index.order.bound(of: value, after: false))
          let end = try tree.rank(of: index.order.bound(of: value, after: true))
          guard end - first > 1 else { return }
          let shown = (try? index.descriptor.encoding.decode(value).description) ?? "a value"
          throw UniquenessError(datastore: DatastoreKey(key), index: IndexName(index.name), values: [shown])
        }
      }
    }
  }
}
