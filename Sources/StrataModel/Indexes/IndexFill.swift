import StrataEngine

struct IndexFill {
  let datastore: EngineDatastore
  let transaction: any WriteTransaction
  /// Whether records that the index cannot take are left out; otherwise they are an error when all are known.
  var leavesFailuresOut = false
  /// These are left out in any case where it cannot take them.
  var leavingOut: Set<StoredKey> = []
  private var index: IndexWriter
  private let writer: DatastoreWriter
  private var sorter = EntrySorter()
  /// The entries that an earlier build of the index left.
  var kept: KeptFill?
  /// The records whose entries are not to be kept for the next build: those that failed, in this build or before.
  private(set) var open: Set<StoredKey> = []
  private var failures: [LeftOutRecord] = []
  private var failureCount = 0

  /// Failures told one by one.
  private static let failureLimit = 1_000

  init(datastore: EngineDatastore, index: IndexDescriptor, transaction: any WriteTransaction) {
    self.datastore = datastore
    self.transaction = transaction
    let format = datastore.view.store.formats[datastore.descriptor.key]
    self.index = IndexWriter(
      index, of: datastore.descriptor.key, order: format?.order(ofIndex: index.name) ?? .bytes)
    writer = DatastoreWriter(datastore.descriptor, in: transaction, format: format)
  }

  var indexDescriptor: IndexDescriptor { index.descriptor }

  mutating func run(
    _ meter: WorkMeter, values: (Record) throws(ModelError) -> [[UInt8]]
  ) throws(ModelError) {
    try onStorage { try writer.removeFromLeftOut(ofIndex: index.descriptor.name) }
    if let kept {
      (sorter, open) = (kept.sorter, kept.open)
      try addMissing(meter, values)
    } else {
      try addAll(meter, values)
    }
    if failureCount > 0 {
      try meter.report()
      throw .failures(failures, total: failureCount)
    }
    try write(meter)
  }

  private mutating func addAll(
    _ meter: WorkMeter, _ values: (Record) throws(ModelError) -> [[UInt8]]
  ) throws(ModelError) {
    try begin(datastore.count, meter)
    var batch: [(key: [UInt8], reference: RecordReference)] = []
    try datastore.forEachRecord { key, reference throws(ModelError) in
      batch.append((key, reference))
      guard batch.count == Self.batchCount else { return }
      try addBatch(batch, meter, values)
      batch.removeAll(keepingCapacity: true)
    }
    try addBatch(batch, meter, values)
  }

  /// Looks only at the records whose entries are not known from an earlier build.
  private mutating func addMissing(
    _ meter: WorkMeter, _ values: (Record) throws(ModelError) -> [[UInt8]]
  ) throws(ModelError) {
    var batch: [(key: [UInt8], reference: RecordReference)] = []
    for key in open.sorted(by: { $0.bytes.precedes($1.bytes) }) {
      if let reference = try datastore.reference(of: key) { batch.append((key.bytes, reference)) }
    }
    try begin(batch.count, meter)
    try addBatch(batch, meter, values)
  }

  private func begin(_ count: Int, _ meter: WorkMeter) throws(ModelError) {
    try meter.begin(WorkStep.read, total: count)
    meter.enter(WorkStep.decode, total: count)
  }

  /// The entries of the records that are not open, for the next build.
  var sorterToKeep: EntrySorter { kept?.sorter ?? sorter }

  /// Few enough that a cancellation is heard at once, enough that the clock is not looked at for each record.
  private static let batchCount = 256

  /// Reads some records, then works out their entries: each is a step of its own, with its own time. Large records are taken in smaller
  /// parts.
  private mutating func addBatch(
    _ batch: [(key: [UInt8], reference: RecordReference)], _ meter: WorkMeter,
    _ values: (Record) throws(ModelError) -> [[UInt8]]
  ) throws(ModelError) {
    var rest = batch[...]
    while !rest.isEmpty {
      meter.enter(WorkStep.read)
      let records = read(from: &rest)
      try meter.advance(by: records.count)
      meter.enter(WorkStep.decode)
      for (key, reference, record) in records {
        try add(key, reference, record, meter, values)
        try meter.advance()
      }
    }
  }

  private typealias Reading = (key: [UInt8], reference: RecordReference, record: Result<Record, ModelError>)

  /// The first of these records, as many as have a megabyte together.
  private func read(from rest: inout ArraySlice<(key: [UInt8], reference: RecordReference)>) -> [Reading] {
    var (records, bytes): ([Reading], Int) = ([], 0)
    while bytes < 1 << 20, let (key, reference) = rest.popFirst() {
      do throws(ModelError) {
        let record = try datastore.record(datastore.descriptor.storedKey(key), at: reference)
        bytes += record.content.count
        records.append((key, reference, .success(record)))
      } catch {
        records.append((key, reference, .failure(error)))
      }
    }
    return records
  }

  private mutating func write(_ meter: WorkMeter) throws(ModelError) {
    try meter.begin(WorkStep.sort, total: sorter.count)
    sorter.sort()
    try meter.begin(WorkStep.writing(index.descriptor.name), total: sorter.count)
    let conflicts = try onStorage {
      try index.fill(from: &sorter, in: transaction, meter)
      return try index.duplicates(of: datastore.descriptor, in: transaction)
    }
    if !conflicts.isEmpty { throw .notUnique(conflicts) }
  }

  private mutating func add(
    _ identifier: [UInt8], _ reference: RecordReference, _ record: Result<Record, ModelError>, _ meter: WorkMeter,
    _ values: (Record) throws(ModelError) -> [[UInt8]]
  ) throws(ModelError) {
    let key = datastore.descriptor.storedKey(identifier)
    do throws(ModelError) {
      let values = try values(record.get())
      let limit = datastore.view.store.engine.isServed ? Limits.servedKey : Limits.key
      // Before any is added: a record that fails has no entries.
      if let long = values.first(where: { EntryKey.length(value: $0, identifier: identifier) > limit }) {
        throw .refused(reason: "a value of \(long.count) bytes is longer than a key may be (\(limit))")
      }
      for value in values {
        try onStorage { try sorter.add(value: value, identifier: identifier, reference, in: transaction) }
      }
    } catch .refused(let reason) {
      try fail(key, reason, meter)
    } catch .unreadable(let what, let place) {
      try fail(key, "\(what) cannot be read: \(place)", meter)
    } catch .storage(let damage, kind: .damaged) {
      try fail(key, damage, meter)
    }
  }

  private mutating func fail(_ key: StoredKey, _ reason: String, _ meter: WorkMeter) throws(ModelError) {
    open.insert(key)
    if leavesFailuresOut || leavingOut.contains(key) {
      return try onStorage { try writer.leaveOut(key.bytes, of: index.descriptor.name, reason) }
    }
    failureCount += 1
    meter.fail(key, reason)
    if failures.count < Self.failureLimit { failures.append(LeftOutRecord(identifier: key, reason: reason)) }
  }
}

extension EngineDatastore {
  /// Goes through the places of all records, in the order of their identifiers.
  func forEachRecord(
    _ body: (_ identifier: [UInt8], _ reference: RecordReference) throws(ModelError) -> Void
  ) throws(ModelError) {
    var cursor = tree.cursor()
    try onStorage { try cursor.seek(rank: 0) }
    while let entry = cursor.current {
      if let reference = entry.payload.record { try body(entry.key.array, reference) }
      try onStorage { try cursor.next() }
    }
  }
}
