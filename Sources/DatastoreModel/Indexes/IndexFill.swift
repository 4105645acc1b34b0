import StorageEngine

/// Fills an empty index from all records of a datastore. Entries are collected and inserted in runs of their order, so
/// that neighbours are written together.
struct IndexFill {
  let datastore: OwnDatastore
  let index: IndexDescriptor
  let transaction: WriteTransaction
  var order = KeyOrder.bytes
  /// Whether records that the index cannot take are left out; otherwise they are an error when all are known.
  var leavesFailuresOut = false
  /// These are left out in any case where it cannot take them.
  var leavingOut: Set<StoredKey> = []
  private var run: [(key: [UInt8], payload: Payload)] = []
  private var failures: [LeftOutRecord] = []
  private var failureCount = 0

  /// Entries held at a time.
  private static let runLength = 1 << 18
  /// Failures told one by one.
  private static let failureLimit = 1_000

  init(datastore: OwnDatastore, index: IndexDescriptor, transaction: WriteTransaction, order: KeyOrder = .bytes) {
    self.datastore = datastore
    self.index = index
    self.transaction = transaction
    self.order = order
  }

  mutating func run(
    _ meter: WorkMeter, values: (Record) throws(ModelError) -> [[UInt8]]
  ) throws(ModelError) {
    var cursor = datastore.tree.cursor()
    try onStorage { () throws(StorageError) in try cursor.seek(rank: 0) }
    while let entry = cursor.current {
      if let reference = entry.payload.record { try add(entry.key.array, reference, values) }
      if run.count >= Self.runLength { try insertRun() }
      try meter.advance()
      try onStorage { () throws(StorageError) in try cursor.next() }
    }
    if failureCount > 0 { throw .failures(failures, total: failureCount) }
    try insertRun()
    try checkUniqueness()
    try meter.finish()
  }

  private mutating func add(
    _ identifier: [UInt8], _ reference: RecordReference, _ values: (Record) throws(ModelError) -> [[UInt8]]
  ) throws(ModelError) {
    let payload: Payload = index.storage == .direct ? .record(reference) : .none
    let key = datastore.descriptor.storedKey(identifier)
    do throws(ModelError) {
      for value in try values(datastore.record(key, at: reference)) {
        guard EntryKey.length(value: value, identifier: identifier) <= Limits.key else {
          throw .refused(
            reason: "a value of \(value.count) bytes is longer than a key may be (\(Limits.key))")
        }
        run.append((EntryKey.make(value: value, identifier: identifier), payload))
      }
    } catch .refused(let reason) {
      try fail(key, reason)
    } catch .unreadable(let what, let place) {
      try fail(key, "\(what) cannot be read: \(place)")
    } catch {
      throw error
    }
  }

  private mutating func fail(_ key: StoredKey, _ reason: String) throws(ModelError) {
    if leavesFailuresOut || leavingOut.contains(key) { return try leaveOut(key, reason) }
    failureCount += 1
    if failures.count < Self.failureLimit { failures.append(LeftOutRecord(identifier: key, reason: reason)) }
  }

  private mutating func leaveOut(_ key: StoredKey, _ reason: String) throws(ModelError) {
    let name = TreeName.leftOut(of: datastore.descriptor.key)
    try onStorage { () throws(StorageError) in
      if try transaction.tree(name) == nil {
        try transaction.createTree(name, kind: .entries, order: datastore.tree.order, attributes: [])
      }
      let text = Bytes(Array("index \(index.name): \(reason)".utf8.prefix(Limits.payload)))
      _ = try transaction.insert(key.bytes, .bytes(text), in: name)
    }
  }

  private mutating func insertRun() throws(ModelError) {
    run.sort { ByteOrder.precedes($0.key, $1.key) }
    let tree = TreeName.index(index.name, of: datastore.descriptor.key)
    for (key, payload) in run {
      try onStorage { () throws(StorageError) in
        _ = try transaction.insert(key, payload, in: tree, place: order.place(key))
      }
    }
    run.removeAll(keepingCapacity: true)
  }

  /// Neighbours with equal values are duplicates.
  private func checkUniqueness() throws(ModelError) {
    guard index.isUnique else { return }
    let name = TreeName.index(index.name, of: datastore.descriptor.key)
    guard let tree = try onStorage({ () throws(StorageError) in try transaction.tree(name) }) else { return }
    let conflicts = try DuplicateValues.find(in: tree, of: index, datastore.descriptor, limit: 20, isEnforced: true)
    if !conflicts.isEmpty { throw .notUnique(conflicts) }
  }
}

/// Finds the values of an index that more than one record has.
enum DuplicateValues {
  static func find(
    in tree: Tree, of index: IndexDescriptor, _ datastore: DatastoreDescriptor, limit: Int, isEnforced: Bool
  ) throws(ModelError) -> [UniquenessConflict] {
    try onStorage { () throws(StorageError) in
      var conflicts: [UniquenessConflict] = []
      var cursor = tree.cursor()
      var last: (value: [UInt8], identifiers: [[UInt8]]) = ([], [])
      func close() {
        guard last.identifiers.count > 1 else { return }
        conflicts.append(
          UniquenessConflict(
            datastore: datastore.key, index: index.name, value: index.shownValue(last.value),
            identifiers: last.identifiers.map { datastore.storedKey($0) }, isEnforced: isEnforced))
      }
      try cursor.seek(rank: 0)
      while let entry = cursor.current, conflicts.count < limit {
        if let (value, identifier) = entry.key.withUnsafeBytes({ EntryKey.split($0) }) {
          if value == last.value {
            last.identifiers.append(identifier)
          } else {
            close()
            last = (value, [identifier])
          }
        }
        try cursor.next()
      }
      if conflicts.count < limit { close() }
      return conflicts
    }
  }
}
