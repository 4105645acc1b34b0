import StorageEngine

/// Fills an empty index from all records of a datastore.
struct IndexFill {
  let datastore: OwnDatastore
  let transaction: any WriteTransaction
  /// Whether records that the index cannot take are left out; otherwise they are an error when all are known.
  var leavesFailuresOut = false
  /// These are left out in any case where it cannot take them.
  var leavingOut: Set<StoredKey> = []
  private var index: IndexWriter
  private let writer: DatastoreWriter
  private var sorter = EntrySorter()
  private var failures: [LeftOutRecord] = []
  private var failureCount = 0

  /// Failures told one by one.
  private static let failureLimit = 1_000

  /// The step in which the entries are written.
  static func writing(_ index: String) -> String { "index \(index)" }

  init(datastore: OwnDatastore, index: IndexDescriptor, transaction: any WriteTransaction) {
    self.datastore = datastore
    self.transaction = transaction
    let format = datastore.view.store.formats[datastore.descriptor.key]
    self.index = IndexWriter(
      index, of: datastore.descriptor.key, order: format?.order(ofIndex: index.name) ?? .bytes)
    writer = DatastoreWriter(datastore.descriptor, in: transaction, format: format)
  }

  mutating func run(
    _ meter: WorkMeter, values: (Record) throws(ModelError) -> [[UInt8]]
  ) throws(ModelError) {
    try datastore.forEachRecord { key, reference throws(ModelError) in
      try add(key, reference, values)
      try meter.advance()
    }
    if failureCount > 0 {
      try meter.report()
      throw .failures(failures, total: failureCount)
    }
    try meter.begin(Self.writing(index.descriptor.name), total: sorter.count)
    let conflicts = try onWriter {
      try index.fill(from: &sorter, in: transaction, meter)
      return try index.duplicates(of: datastore.descriptor, in: transaction)
    }
    if !conflicts.isEmpty { throw .notUnique(conflicts) }
    try meter.finish()
  }

  private mutating func add(
    _ identifier: [UInt8], _ reference: RecordReference, _ values: (Record) throws(ModelError) -> [[UInt8]]
  ) throws(ModelError) {
    let key = datastore.descriptor.storedKey(identifier)
    do throws(ModelError) {
      for value in try values(datastore.record(key, at: reference)) {
        let limit = datastore.view.store.engine.isServed ? Limits.servedKey : Limits.key
        guard EntryKey.length(value: value, identifier: identifier) <= limit else {
          throw .refused(
            reason: "a value of \(value.count) bytes is longer than a key may be (\(limit))")
        }
        try onWriter { try sorter.add(value: value, identifier: identifier, reference, in: transaction) }
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
    if leavesFailuresOut || leavingOut.contains(key) {
      return try onWriter { try writer.leaveOut(key.bytes, "index \(index.descriptor.name): \(reason)") }
    }
    failureCount += 1
    if failures.count < Self.failureLimit { failures.append(LeftOutRecord(identifier: key, reason: reason)) }
  }
}

extension OwnDatastore {
  /// Goes through the places of all records, in the order of their identifiers.
  func forEachRecord(
    _ body: (_ identifier: [UInt8], _ reference: RecordReference) throws(ModelError) -> Void
  ) throws(ModelError) {
    var cursor = tree.cursor()
    try onStorage { () throws(StorageError) in try cursor.seek(rank: 0) }
    while let entry = cursor.current {
      if let reference = entry.payload.record { try body(entry.key.array, reference) }
      try onStorage { () throws(StorageError) in try cursor.next() }
    }
  }
}
