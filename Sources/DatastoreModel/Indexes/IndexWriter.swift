import StorageEngine

/// Keeps the entries of one index right as records come, change and go.
struct IndexWriter {
  let descriptor: IndexDescriptor
  let datastore: String
  let tree: TreeName
  let order: KeyOrder
  /// Values that this transaction gave to a record, where a value may have one only.
  private var touched: Set<[UInt8]> = []
  /// Entries by identifier, made when the index had to be searched a second time.
  private var entries: [[UInt8]: [[UInt8]]]?
  private var searches = 0

  init(_ descriptor: IndexDescriptor, of datastore: String, order: KeyOrder) {
    self.descriptor = descriptor
    self.datastore = datastore
    self.order = order
    tree = .index(descriptor.name, of: datastore)
  }

  var isDirect: Bool { descriptor.storage == .direct }
  var isStale: Bool { descriptor.isStale }

  /// Adds the entries of a record that had none.
  mutating func insert(
    _ values: [[UInt8]], of identifier: [UInt8], _ payload: Payload, in transaction: WriteTransaction
  ) throws(ModelError) {
    for value in values { try add(value, of: identifier, payload, in: transaction) }
  }

  /// Changes the entries of a record; answers how many were not where the old values said.
  mutating func replace(
    _ old: [[UInt8]], by new: [[UInt8]], of identifier: [UInt8], _ payload: Payload, in transaction: WriteTransaction
  ) throws(ModelError) -> Int {
    var missing = 0
    for value in old where !new.contains(value) {
      let key = EntryKey.make(value: value, identifier: identifier)
      if try !remove(key, in: transaction) { missing += 1 }
    }
    for value in new {
      let stays = old.contains(value)
      if stays, !isDirect, try contains(value, of: identifier, in: transaction) { continue }
      let isNew = try add(value, of: identifier, payload, in: transaction)
      if stays, isNew { missing += 1 }
    }
    guard missing > 0 else { return 0 }
    return max(missing, try removeStrays(of: identifier, keeping: new, in: transaction))
  }

  /// Gives a record exactly these entries, whatever it had.
  mutating func mend(
    _ values: [[UInt8]], of identifier: [UInt8], _ payload: Payload, in transaction: WriteTransaction
  ) throws(ModelError) -> Int {
    let strays = try removeStrays(of: identifier, keeping: values, in: transaction)
    for value in values { try add(value, of: identifier, payload, in: transaction) }
    return strays
  }

  /// Whether the index has an entry for each of these values (and, where it is direct, one that refers to the record).
  func holds(
    _ values: [[UInt8]], of identifier: [UInt8], _ reference: RecordReference, in transaction: WriteTransaction
  ) throws(ModelError) -> Bool {
    for value in values {
      let key = EntryKey.make(value: value, identifier: identifier)
      let entry = try onStorage { () throws(StorageError) in try transaction.tree(tree)?.find(order.probe(key)) }
      guard let entry, !isDirect || entry.payload.record == reference else { return false }
    }
    return true
  }

  static func isSameSet(_ left: [[UInt8]], _ right: [[UInt8]]) -> Bool {
    left == right || (left.count == right.count && left.allSatisfy(right.contains))
  }
}

extension IndexWriter {
  @discardableResult
  private mutating func add(
    _ value: [UInt8], of identifier: [UInt8], _ payload: Payload, in transaction: WriteTransaction
  ) throws(ModelError) -> Bool {
    let key = EntryKey.make(value: value, identifier: identifier)
    let isNew = try onStorage { () throws(StorageError) in
      try transaction.insert(key, isDirect ? payload : .none, in: tree, place: order.place(key))
    }
    guard isNew else { return false }
    if descriptor.isUnique { touched.insert(value) }
    if order.isAscending != nil {
      try order.check(
        key, in: tree, of: transaction, datastore: datastore, index: descriptor.name,
        describe: { key in descriptor.describe(key) })
    }
    return true
  }

  private func remove(_ key: [UInt8], in transaction: WriteTransaction) throws(ModelError) -> Bool {
    try onStorage { () throws(StorageError) in
      try transaction.remove(key, in: tree, place: order.place(key))
    }
  }

  private func contains(
    _ value: [UInt8], of identifier: [UInt8], in transaction: WriteTransaction
  ) throws(ModelError) -> Bool {
    let key = EntryKey.make(value: value, identifier: identifier)
    return try onStorage { () throws(StorageError) in try transaction.tree(tree)?.find(order.probe(key)) != nil }
  }

  /// Removes the entries of a record other than those of `values`, wherever they stand. Walks the whole index; from the
  /// second time on it remembers what it saw, so mending many records of a transaction costs two walks.
  private mutating func removeStrays(
    of identifier: [UInt8], keeping values: [[UInt8]], in transaction: WriteTransaction
  ) throws(ModelError) -> Int {
    let kept = Set(values.map { EntryKey.make(value: $0, identifier: identifier) })
    var removed = 0
    for key in try search(identifier, in: transaction) where !kept.contains(key) {
      if try remove(key, in: transaction) { removed += 1 }
    }
    return removed
  }

  private mutating func search(
    _ identifier: [UInt8], in transaction: WriteTransaction
  ) throws(ModelError) -> [[UInt8]] {
    searches += 1
    if searches == 2 { entries = try allEntries(in: transaction) }
    if let entries { return entries[identifier] ?? [] }
    var found: [[UInt8]] = []
    try walk(transaction) { key in
      key.withUnsafeBytes { bytes in
        if EntryKey.isEntry(bytes, of: identifier) { found.append(Array(bytes)) }
      }
    }
    return found
  }

  private func allEntries(in transaction: WriteTransaction) throws(ModelError) -> [[UInt8]: [[UInt8]]] {
    var entries: [[UInt8]: [[UInt8]]] = [:]
    try walk(transaction) { key in
      key.withUnsafeBytes { bytes in
        guard let range = EntryKey.identifierRange(bytes) else { return }
        entries[Array(bytes[range]), default: []].append(Array(bytes))
      }
    }
    return entries
  }

  private func walk(_ transaction: WriteTransaction, _ visit: (Bytes) -> Void) throws(ModelError) {
    try onStorage { () throws(StorageError) in
      guard let tree = try transaction.tree(tree) else { return }
      var cursor = tree.cursor()
      try cursor.seek(rank: 0)
      while let entry = cursor.current {
        visit(entry.key)
        try cursor.next()
      }
    }
  }
}

extension IndexWriter {
  /// The values of this transaction that now belong to more than one record.
  func duplicates(
    of datastore: DatastoreDescriptor, in transaction: WriteTransaction
  ) throws(ModelError) -> [UniquenessConflict] {
    guard descriptor.isUnique, !isStale, !touched.isEmpty,
      let tree = try onStorage({ () throws(StorageError) in try transaction.tree(tree) })
    else { return [] }
    var conflicts: [UniquenessConflict] = []
    for value in touched.sorted(by: { $0.lexicographicallyPrecedes($1) }) {
      let owners = try EntryScan.identifiers(of: value, in: tree, limit: 16)
      guard owners.count > 1 else { continue }
      conflicts.append(
        UniquenessConflict(
          datastore: datastore.key, index: descriptor.name, value: descriptor.shownValue(value),
          identifiers: owners.map { datastore.storedKey($0) }, isEnforced: true))
    }
    return conflicts
  }
}
